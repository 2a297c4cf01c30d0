/**
 * The line that callers type into a program that reads whole lines. The kernel accepts a limited length and
 * silently drops the rest; on macOS it also drops the Enter, so the program never gets the line. Such input
 * is refused before any byte is sent. People's input is not counted, since they see where it stops; their
 * Enter ends the line too.
 */
import { platform } from "../platform/platform.ts";
import { WshError } from "../protocol/errors.ts";
import type { PtyFlags } from "../pty/port.ts";

/** Bytes below the kernel's limit that stay free: for the line end, and for text that a person has already typed. */
const SPARE_BYTES = 24;

/** Keys that end the line or discard it: line feed, Enter, Ctrl+D; Ctrl+C, Ctrl+U, Ctrl+Z, Ctrl+\. */
const LINE_ENDING_KEYS: ReadonlySet<number> = new Set([0x0a, 0x0d, 0x04, 0x03, 0x15, 0x1a, 0x1c]);

export class CookedLine {
  /** Bytes typed since the line began. */
  private openBytes = 0;

  constructor(private readonly flags: () => PtyFlags | null) {}

  /**
   * Checks input before any of it is sent.
   * @throws WshError payload_too_large
   */
  requireFits(bytes: Uint8Array): void {
    if (this.flags()?.canonical !== true) return;
    const most = platform().limits.cookedLine - SPARE_BYTES;
    const length = this.longestOf(bytes);
    if (length <= most) return;
    const message = `a line of the input has ${length} bytes; a program that reads lines, like this one, gets at most ${most}`;
    const hint = "Nothing was sent. Send shorter lines, pass the text as stdin of a command, or put it into a file.";
    throw new WshError("payload_too_large", message, { hint });
  }

  /** Records sent input. */
  noteSent(bytes: Uint8Array): void {
    if (this.flags()?.canonical !== true) {
      this.openBytes = 0;
      return;
    }
    const last = bytes.findLastIndex((byte) => LINE_ENDING_KEYS.has(byte));
    this.openBytes = last < 0 ? this.openBytes + bytes.length : bytes.length - 1 - last;
  }

  /** Uncounted input was sent by a person or as a key of exec: it ends the line if it ends with such a key. */
  noteUncounted(bytes: Uint8Array): void {
    if (this.openBytes > 0 && LINE_ENDING_KEYS.has(bytes[bytes.length - 1] ?? 0)) this.openBytes = 0;
  }

  /** Length of the longest line; earlier input counts for the first. */
  private longestOf(bytes: Uint8Array): number {
    let most = 0;
    let length = this.openBytes;
    for (const byte of bytes) {
      length = LINE_ENDING_KEYS.has(byte) ? 0 : length + 1;
      if (length > most) most = length;
    }
    return most;
  }
}
