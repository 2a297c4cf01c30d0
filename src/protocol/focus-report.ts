/**
 * Focus reports of terminals (xterm, `CSI ? 1004 h`), for programs that requested them. A person has typed
 * nothing then.
 */

const encoder = new TextEncoder();
const FOCUS_IN = encoder.encode("\x1b[I");
const FOCUS_OUT = encoder.encode("\x1b[O");

/** @param on whether the focus was gained */
export function focusReport(on: boolean): Uint8Array {
  return on ? FOCUS_IN : FOCUS_OUT;
}

/** Runs per key. @returns whether the focus was gained; null: the bytes are something else */
export function readFocusReport(bytes: Uint8Array): boolean | null {
  if (bytes.length !== 3 || bytes[0] !== 0x1b || bytes[1] !== 0x5b) return null;
  return bytes[2] === 0x49 ? true : bytes[2] === 0x4f ? false : null;
}
