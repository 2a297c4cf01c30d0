/** Recognises the echo of a key: a few bytes that every terminal displays alike in any state. */

/** Longer output is not an echo. */
const ECHO_BYTES = 64;

export function isEcho(bytes: Uint8Array): boolean {
  return bytes.length <= ECHO_BYTES && bytes.every(isPlain);
}

/** ASCII characters, backspace and line ends. */
export function isPlain(byte: number): boolean {
  return isPrintable(byte) || byte === 0x08 || byte === 0x0a || byte === 0x0d;
}

/** Printable ASCII. */
export function isPrintable(byte: number): boolean {
  return byte >= 0x20 && byte < 0x7f;
}
