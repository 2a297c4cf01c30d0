/**
 * The last picture of a pane, for windows that show several. It is composed when a window requests it and kept
 * until the pane changes. Its renewal waits while a person types in another pane, since reading the emulator
 * would cost the time that its bypass saves, and during a synchronized update, which is shown only as a whole.
 * Invariants: a picture is taken between two chunks; none waits longer than the limits below.
 */
import type { Frame } from "../../protocol/frame.ts";
import type { Size } from "../../protocol/size.ts";
import type { TerminalModel } from "../../terminal/model.ts";
import { SYNCHRONIZED_MS } from "../../viewer/terminal/frame-pacer.ts";

/**
 * Age at which a picture is renewed while a person types in another pane, in ms (measured: 60 ms cost a third), along with
 * the picture after an echo, when the next key is furthest away; and the longest age in any case.
 */
const MAX_AGE_BESIDE_TYPING_MS = 400;
const MAX_AGE_MS = 650;

interface PicturedPane {
  readonly size: Size;
  readonly terminal: TerminalModel;
  isTypingElsewhere(): boolean;
  compose(): Frame;
  /** The picture can be requested again. */
  rendered(): void;
}

export class PanePicture {
  private cached: {
    readonly frame: Frame;
    readonly epoch: number;
    readonly drawn: number;
    readonly at: number;
  } | null = null;
  /** Counts changes of overlays, panels and copy mode above the program. */
  private overlayVersion = 0;
  /** Since when a synchronized update keeps the last picture. */
  private heldSince: number | null = null;
  private renewTimer: Timer | null = null;

  constructor(private readonly pane: PicturedPane) {}

  /** The last picture, if the pane has not changed since. Runs for every pane and picture. */
  get current(): Frame | null {
    const { cached } = this;
    return cached?.epoch === this.pane.terminal.epoch && cached.drawn === this.overlayVersion ? cached.frame : null;
  }

  get frame(): Frame | null {
    const { cached, current } = this;
    const { terminal } = this.pane;
    if (!terminal.intake.isAtRest) return cached?.frame ?? null;
    if (current !== null) return current;
    const now = performance.now();
    if (
      cached !== null &&
      ((now - cached.at < MAX_AGE_BESIDE_TYPING_MS && this.isRenewalPostponed()) || this.isHeld(now))
    )
      return cached.frame;
    const frame = this.pane.compose();
    this.cached = { frame, epoch: terminal.epoch, drawn: this.overlayVersion, at: now };
    this.heldSince = null;
    return frame;
  }

  /** A change of overlays, panels or copy mode above the program. */
  overlaysChanged(): void {
    this.overlayVersion++;
  }

  /** Whether the picture's renewal waits: a person types in another pane, and it is recent. Runs per chunk. */
  isRenewalPostponed(): boolean {
    const { cached } = this;
    if (cached === null || !this.hasPaneSize(cached.frame)) return false;
    const remainingMs = cached.at + MAX_AGE_MS - performance.now();
    if (remainingMs <= 0 || !this.pane.isTypingElsewhere()) return false;
    this.renewIn(remainingMs);
    return true;
  }

  /** Stops renewals: no picture is requested for now. */
  pause(): void {
    clearTimeout(this.renewTimer ?? undefined);
    this.renewTimer = null;
  }

  /** Whether the program is in the middle of a synchronized update, within its limit. */
  private isHeld(now: number): boolean {
    const { cached } = this;
    if (cached === null || cached.drawn !== this.overlayVersion || !this.hasPaneSize(cached.frame)) return false;
    if (!this.pane.terminal.modes.synchronizedOutput) return false;
    this.heldSince ??= now;
    const remainingMs = this.heldSince + SYNCHRONIZED_MS - now;
    if (remainingMs > 0) this.renewIn(remainingMs);
    return remainingMs > 0;
  }

  private hasPaneSize({ rows, cols }: Frame): boolean {
    const { size } = this.pane;
    return rows === size.rows && cols === size.cols;
  }

  private renewIn(ms: number): void {
    this.renewTimer ??= setTimeout(() => {
      this.renewTimer = null;
      this.pane.rendered();
    }, ms);
  }
}
