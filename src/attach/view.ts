/**
 * How an attached terminal shows its session. The session process sends either the program's own bytes, which
 * pass unchanged, or pictures, whose changes are rendered here. This side keeps the last picture and resets
 * the terminal between the two modes.
 */
import * as v from "valibot";
import { type Frame, type FrameEvents, MAX_SCROLLED } from "../protocol/frame.ts";
import { applyFrame, FrameUpdateSchema } from "../protocol/frame-codec.ts";
import type { Row } from "../protocol/grid.ts";
import type { LastingChange } from "../protocol/lasting-changes.ts";
import { messageTypes, type WireMessage } from "../protocol/messages.ts";
import type { Size } from "../protocol/size.ts";
import { enterPassThrough, type OuterCaps } from "./render/modes.ts";
import { render } from "./render/render.ts";
import type * as Sixel from "./render/sixel.ts";

const BEGIN_SYNCHRONIZED = "\x1b[?2026h";
const END_SYNCHRONIZED = "\x1b[?2026l";

interface ViewTerminal {
  readonly output: {
    write(bytes: Uint8Array): void;
    /** Bytes that the terminal has not taken. */
    readonly pending: number;
  };
  readonly size: Size;
  /** Changes by passed-through programs that no reset of modes undoes. */
  readonly lastingChanges: ReadonlySet<LastingChange>;
}

export class SessionView {
  /** The terminal's contents, if rendered here; null when unknown. */
  private lastFrame: Frame | null = null;
  /** The picture that the session process's next one builds on. */
  private latest: Frame | null = null;
  /** The terminal does not show `latest` yet. */
  private isPending = false;
  /** Scrolled lines of pictures that are not rendered yet. */
  private scrolled: Row[] = [];
  private bell = false;
  private clipboard: FrameEvents["clipboard"] = null;
  private isFirstOutput = false;
  /** Set for a terminal that supports only sixel graphics. */
  private sixel: Sixel.SixelPictures | null = null;

  constructor(
    private readonly terminal: ViewTerminal,
    private caps: OuterCaps,
  ) {}

  /** The terminal has reported more about itself: the screen is repainted accordingly. */
  learn(caps: Partial<OuterCaps>): void {
    const before = JSON.stringify(this.caps);
    this.caps = { ...this.caps, ...caps };
    if (JSON.stringify(this.caps) === before || this.latest === null) return;
    this.lastFrame = null;
    this.isPending = true;
    if (this.terminal.output.pending === 0) this.renderLatest();
  }

  /** The terminal has sixel graphics. @param cell pixels of one of its cells @returns whether pictures can be drawn */
  showSixel(cell: { readonly width: number; readonly height: number } | undefined): boolean {
    if (cell === undefined) return false;
    const { SixelPictures }: typeof Sixel = require("./render/sixel.ts");
    this.sixel = new SixelPictures(cell);
    return true;
  }

  /** Another process has written to the terminal: everything is repainted. */
  forget(): void {
    this.lastFrame = null;
  }

  /**
   * The terminal has cut or wrapped its contents, even if it regains its former size before anything is rendered.
   * @returns its size now
   */
  resized(): Size {
    this.forget();
    return this.terminal.size;
  }

  /** The program's bytes follow, beginning with its whole screen. */
  beginPassThrough(): void {
    this.renderLatest();
    this.lastFrame = null;
    this.latest = null;
    this.scrolled = [];
    this.isFirstOutput = true;
  }

  output(bytes: Uint8Array): void {
    const { output, size, lastingChanges } = this.terminal;
    if (!this.isFirstOutput) {
      output.write(bytes);
      return;
    }
    this.isFirstOutput = false;
    const { synchronized } = this.caps;
    const before = (synchronized ? BEGIN_SYNCHRONIZED : "") + enterPassThrough(size, this.caps, lastingChanges);
    const after = synchronized ? END_SYNCHRONIZED : "";
    output.write(new Uint8Array(Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)])));
  }

  /** @returns whether it is written here, now or when the terminal has taken the pending bytes */
  showPicture({ type, payload }: WireMessage): boolean {
    if (type !== messageTypes.images) return this.showFrame(payload);
    if (this.sixel === null) this.terminal.output.write(payload);
    else {
      this.sixel.take(payload);
      if (this.lastFrame !== null) this.terminal.output.write(Buffer.from(this.sixel.draw(null, this.lastFrame)));
    }
    return true;
  }

  /** @returns whether the picture is rendered here, now or when the terminal has taken the pending bytes */
  showFrame(payload: Uint8Array): boolean {
    const update = v.parse(FrameUpdateSchema, JSON.parse(new TextDecoder().decode(payload)));
    const before = this.latest;
    const { view, events } = applyFrame(before, update);
    this.latest = view;
    if (update.shown === false) this.lastFrame = null;
    if (update.shown === true) {
      const { rows, cols } = this.terminal.size;
      const isKnown = !this.isPending && this.lastFrame !== null && this.lastFrame === before;
      this.lastFrame = isKnown && view.rows === rows && view.cols === cols ? view : null;
      // The session process did not know the contents: everything is repainted.
      if (this.lastFrame !== null) return false;
    }
    this.scrolled = [...this.scrolled, ...events.scrolled].slice(-MAX_SCROLLED);
    this.bell ||= events.bell;
    this.clipboard = events.clipboard ?? this.clipboard;
    this.isPending = true;
    // A terminal that is slower than the pictures gets the newest one when it has taken the pending bytes.
    if (this.terminal.output.pending === 0) this.renderLatest();
    return true;
  }

  /** Renders a pending picture: call when the terminal has taken everything, and before the end. */
  renderLatest(): void {
    const { latest } = this;
    if (!this.isPending || latest === null) return;
    this.isPending = false;
    const { rows, cols } = this.terminal.size;
    // The picture was composed before the session process knew a new size: the next one is complete.
    if (latest.rows !== rows || latest.cols !== cols) {
      this.lastFrame = null;
      return;
    }
    const { scrolled, bell, clipboard } = this;
    const events = { scrolled, bell, clipboard };
    const bytes =
      this.sixel === null ? render(this.lastFrame, latest, events, this.caps) : this.renderWithPictures(latest, events);
    this.lastFrame = latest;
    this.scrolled = [];
    this.bell = false;
    this.clipboard = null;
    if (bytes.length > 0) this.terminal.output.write(bytes);
  }

  private renderWithPictures(latest: Frame, events: FrameEvents): Uint8Array {
    const { sixel, caps } = this;
    // Lines that leave the screen take pictures with them.
    const shown = events.scrolled.length > 0 ? null : this.lastFrame;
    const [before, next] = sixel?.hidePictures(shown, latest) ?? [shown, latest];
    const drawn = sixel?.draw(shown, latest) ?? "";
    const painted = render(before, next, events, { ...caps, writesBlanks: sixel?.isUsed === true });
    return Buffer.concat([painted, Buffer.from(drawn)]);
  }
}
