/**
 * How an attached terminal shows its session. The host decides what it sends: the program's own bytes, which are passed
 * on as they are, or pictures, of which what is new is painted. This end keeps the last picture and puts the terminal in
 * order where the one begins and the other ends.
 */
import * as v from "valibot";
import type { LastingChange } from "../protocol/attach.ts";
import { type Frame, type FrameEvents, MAX_SCROLLED } from "../protocol/frame.ts";
import { applyFrame, FrameUpdateSchema } from "../protocol/frame-codec.ts";
import type { Row } from "../protocol/grid.ts";
import type { Size } from "../protocol/size.ts";
import { enterRelay, type OuterCaps } from "./paint/modes.ts";
import { paint } from "./paint/paint.ts";

const BEGIN_SYNCHRONIZED = "\x1b[?2026h";
const END_SYNCHRONIZED = "\x1b[?2026l";

export interface ViewTerminal {
  readonly output: {
    write(bytes: Uint8Array): void;
    /** Bytes that the terminal has not taken yet. */
    readonly pending: number;
  };
  readonly size: Size;
  /** What programs that were relayed have changed and no reset of modes undoes. */
  readonly lastingChanges: ReadonlySet<LastingChange>;
}

export class SessionView {
  /** What the terminal shows, painted here; null when that is not known. */
  private shown: Frame | null = null;
  /** The picture that the host's next one builds on. */
  private latest: Frame | null = null;
  /** `latest` is news to the terminal. */
  private due = false;
  /** What came with pictures that have not been painted. */
  private scrolled: Row[] = [];
  private bell = false;
  private clipboard: FrameEvents["clipboard"] = null;
  private restoring = false;

  constructor(
    private readonly terminal: ViewTerminal,
    private caps: OuterCaps,
  ) {}

  /** The terminal has told more of itself: what is painted from now on, and what was, follows it. */
  learn(caps: Partial<OuterCaps>): void {
    const before = JSON.stringify(this.caps);
    this.caps = { ...this.caps, ...caps };
    if (JSON.stringify(this.caps) === before || this.latest === null) return;
    this.shown = null;
    this.due = true;
    if (this.terminal.output.pending === 0) this.paintLatest();
  }

  /** Another process has written to the terminal: everything is painted anew. */
  forget(): void {
    this.shown = null;
  }

  /** The program's bytes follow, its whole screen first. */
  relayBegins(): void {
    this.paintLatest();
    this.shown = null;
    this.latest = null;
    this.scrolled = [];
    this.restoring = true;
  }

  output(bytes: Uint8Array): void {
    const { output, size, lastingChanges } = this.terminal;
    if (!this.restoring) {
      output.write(bytes);
      return;
    }
    this.restoring = false;
    const { synchronized } = this.caps;
    const before = (synchronized ? BEGIN_SYNCHRONIZED : "") + enterRelay(size, this.caps, lastingChanges);
    const after = synchronized ? END_SYNCHRONIZED : "";
    output.write(new Uint8Array(Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)])));
  }

  /** @returns whether the terminal is brought to show it here, now or when it has taken what it has */
  frame(payload: Uint8Array): boolean {
    const update = v.parse(FrameUpdateSchema, JSON.parse(new TextDecoder().decode(payload)));
    const before = this.latest;
    const { view, events } = applyFrame(before, update);
    this.latest = view;
    if (update.shown === false) this.shown = null;
    if (update.shown === true) {
      const { rows, cols } = this.terminal.size;
      const known = !this.due && this.shown !== null && this.shown === before;
      this.shown = known && view.rows === rows && view.cols === cols ? view : null;
      // Else the host could not know what stood there: everything is painted anew.
      if (this.shown !== null) return false;
    }
    this.scrolled = [...this.scrolled, ...events.scrolled].slice(-MAX_SCROLLED);
    this.bell ||= events.bell;
    this.clipboard = events.clipboard ?? this.clipboard;
    this.due = true;
    // A terminal that is slower than the pictures gets the newest of them when it has taken what it has.
    if (this.terminal.output.pending === 0) this.paintLatest();
    return true;
  }

  /** Paints what waits: call when the terminal has taken everything, and before nothing more comes. */
  paintLatest(): void {
    const { latest } = this;
    if (!this.due || latest === null) return;
    this.due = false;
    const { rows, cols } = this.terminal.size;
    // Made before the host knew of a new size: the next one is whole.
    if (latest.rows !== rows || latest.cols !== cols) {
      this.shown = null;
      return;
    }
    const { scrolled, bell, clipboard } = this;
    const bytes = paint(this.shown, latest, { scrolled, bell, clipboard }, this.caps);
    this.shown = latest;
    this.scrolled = [];
    this.bell = false;
    this.clipboard = null;
    if (bytes.length > 0) this.terminal.output.write(bytes);
  }
}
