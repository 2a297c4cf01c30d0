/**
 * How an attached terminal shows its session. The host decides what it sends: the program's own bytes, which are passed
 * on as they are, or pictures, of which what is new is painted. This end keeps the last picture and puts the terminal in
 * order where the one begins and the other ends.
 */
import * as v from "valibot";
import { applyFrame, FrameUpdateSchema, type FrameView, MAX_SCROLLED, type ViewRow } from "../protocol/frame-view.ts";
import type { Size } from "../session/viewers.ts";
import { paint } from "./paint.ts";
import { enterRelay, type OuterCaps } from "./paint-modes.ts";

const BEGIN_SYNCHRONIZED = "\x1b[?2026h";
const END_SYNCHRONIZED = "\x1b[?2026l";

export interface ViewTerminal {
  readonly output: { write(bytes: Uint8Array): void };
  readonly size: Size;
}

export class SessionView {
  /** What the terminal shows, painted here; null when that is not known. */
  private shown: FrameView | null = null;
  /** The picture that the host's next one builds on. */
  private latest: FrameView | null = null;
  /** Lines for the terminal's scrollback that came with pictures which could not be shown. */
  private scrolled: ViewRow[] = [];
  private restoring = false;

  constructor(
    private readonly terminal: ViewTerminal,
    private readonly caps: OuterCaps,
  ) {}

  /** The program's bytes follow, its whole screen first. */
  relayBegins(): void {
    this.shown = null;
    this.latest = null;
    this.scrolled = [];
    this.restoring = true;
  }

  output(bytes: Uint8Array): void {
    const { output, size } = this.terminal;
    if (!this.restoring) {
      output.write(bytes);
      return;
    }
    this.restoring = false;
    const { synchronized } = this.caps;
    const before = (synchronized ? BEGIN_SYNCHRONIZED : "") + enterRelay(size.rows, this.caps);
    const after = synchronized ? END_SYNCHRONIZED : "";
    output.write(new Uint8Array(Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)])));
  }

  picture(payload: Uint8Array): void {
    const update = v.parse(FrameUpdateSchema, JSON.parse(new TextDecoder().decode(payload)));
    const { view, events } = applyFrame(this.latest, update);
    this.latest = view;
    const { rows, cols } = this.terminal.size;
    const scrolled = [...this.scrolled, ...events.scrolled];
    // Made before the host knew of a new size: the next one is whole.
    if (view.rows !== rows || view.cols !== cols) {
      this.shown = null;
      this.scrolled = scrolled.slice(-MAX_SCROLLED);
      return;
    }
    const bytes = paint(this.shown, view, { ...events, scrolled }, this.caps);
    this.shown = view;
    this.scrolled = [];
    if (bytes.length > 0) this.terminal.output.write(bytes);
  }
}
