/**
 * The guard interval for keys that were meant for a dialog that closed while a person typed: it timed out,
 * was cancelled, or was answered elsewhere. The program would receive the rest of an answer, or of a secret,
 * as input. So keys of that terminal are dropped until it pauses.
 */
import { decodeKeys, initialKeyState } from "../../keys/decode.ts";
import { continuesTyping } from "./dialog.ts";

/** Time since the last key at a dialog after which further keys no longer count as meant for it, in ms. */
const TYPING_MS = 600;
/** Pause after which keys go to the program again, in ms. */
const PAUSE_MS = 300;

export class GuardInterval {
  /** Time of each terminal's last key at the latest open dialog, in ms. */
  private readonly dialogKeyAt = new Map<number, number>();
  /** Time of each terminal's last late key, or of the end of its dialog. */
  private readonly lateKeyAt = new Map<number, number>();

  /** A terminal has typed at the dialog. */
  noteDialogKey(viewer: number, now: number): void {
    this.dialogKeyAt.set(viewer, now);
  }

  /** @param by the terminal whose key closed the dialog; null: none */
  noteClosed(now: number, by: number | null): void {
    for (const [viewer, at] of this.dialogKeyAt)
      if (viewer !== by && now - at < TYPING_MS) this.lateKeyAt.set(viewer, now);
    this.dialogKeyAt.clear();
  }

  /** @returns whether input without a dialog was meant for the one that has closed */
  swallows(viewer: number, bytes: Uint8Array, now: number): boolean {
    const since = this.lateKeyAt.get(viewer);
    if (since === undefined) return false;
    if (now - since >= PAUSE_MS) {
      this.lateKeyAt.delete(viewer);
      return false;
    }
    // A program may have the terminal write every key as an escape sequence.
    if (decodeKeys(initialKeyState, bytes).events.some(continuesTyping)) this.lateKeyAt.set(viewer, now);
    return true;
  }

  forget(viewer: number): void {
    this.dialogKeyAt.delete(viewer);
    this.lateKeyAt.delete(viewer);
  }
}
