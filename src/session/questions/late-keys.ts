/**
 * Keys that were meant for a dialog which has closed under the hands of who typed at it: its time was over, it was
 * cancelled, somebody else answered. They are nobody's: a program would take the rest of an answer, or of a secret, for
 * its own input. Until that terminal types nothing for a moment, what it types is dropped.
 */

/** Time since the last key at a dialog after which the next one is not meant for it any more, in ms. */
const TYPING_MS = 600;
/** Pause after which keys are the program's again, in ms. */
const PAUSE_MS = 300;
const ESC = 0x1b;
const CTRL_C = 0x03;

export class LateKeys {
  /** When each terminal typed at the dialog that is open last, in ms. */
  private readonly typed = new Map<number, number>();
  /** When each terminal typed late last, or its dialog closed. */
  private readonly late = new Map<number, number>();

  /** A terminal has typed at the dialog. */
  atDialog(viewer: number, now: number): void {
    this.typed.set(viewer, now);
  }

  /** @param by the terminal whose key closed the dialog; null: none */
  closed(now: number, by: number | null): void {
    for (const [viewer, at] of this.typed) if (viewer !== by && now - at < TYPING_MS) this.late.set(viewer, now);
    this.typed.clear();
  }

  /** @returns whether what a terminal types without a dialog was meant for the one that has closed */
  takes(viewer: number, bytes: Uint8Array, now: number): boolean {
    const since = this.late.get(viewer);
    if (since === undefined) return false;
    if (now - since >= PAUSE_MS) {
      this.late.delete(viewer);
      return false;
    }
    // Neither the mouse nor what dismisses is typing that goes on.
    if (bytes[0] !== ESC && bytes[0] !== CTRL_C) this.late.set(viewer, now);
    return true;
  }

  forget(viewer: number): void {
    this.typed.delete(viewer);
    this.late.delete(viewer);
  }
}
