/**
 * The bounds of sequences and characters, byte for byte as the emulator reads them. Pure; `slice-scanner.ts`
 * walks the stream with it. Only `neutralize` writes: it replaces, in place, bytes that the emulator would
 * read differently from other terminals.
 */
import type { SequenceKind } from "./client-filter.ts";

const ESC = 0x1b;
const CAN = 0x18;
const SUB = 0x1a;
const BEL = 0x07;
/** Marks, joiners, emoji and flags, Hangul. */
const JOINING =
  /^(?:[\p{M}\p{Extended_Pictographic}\p{RI}\p{Emoji_Modifier}\u1100-\u11ff\ua960-\ua97c\uac00-\ud7fb]|\u200c|\u200d)/u;
/** First byte of U+10EEEE, which few other characters have. */
export const PLACEHOLDER_LEAD = 0xf4;

/** The kind of sequence that the character after ESC begins. */
export function sequenceKind(c: number): SequenceKind {
  switch (c) {
    case 0x5b:
      return "csi";
    case 0x5d:
      return "osc";
    case 0x50:
      return "dcs";
    case 0x6b:
      return "title";
    case 0x58:
    case 0x5e:
    case 0x5f:
      return "string";
    default:
      return "esc";
  }
}

/**
 * Replaces text that the emulator would print: the rest of some string sequences after the first character
 * beyond ASCII, and all of a title in screen's form.
 */
export function neutralize(bytes: Uint8Array, body: number, end: number, kind: SequenceKind): void {
  if (kind === "title") bytes.fill(0, body, end);
  if (kind !== "string" && kind !== "dcs") return;
  // An end in C1 is kept.
  const last = bytes[end - 1] === 0x9c ? end - 2 : end;
  for (let p = body; p < last; p++) if ((bytes[p] ?? 0) >= 0x80) bytes[p] = 0x7f;
}

/** Past the end of the string sequence whose contents begin at `from`; -1 when it is unfinished. */
export function stringEnd(bytes: Uint8Array, from: number, kind: SequenceKind): number {
  for (let p = from; p < bytes.length; p++) {
    const c = bytes[p] ?? 0;
    if (c === ESC) {
      const next = bytes[p + 1];
      if (next === undefined) return -1;
      return next === 0x5c ? p + 2 : p;
    }
    if (c === CAN || c === SUB) return p + 1;
    if (c === BEL && kind === "osc") return p + 1;
    // C1 controls: ST ends it, the others cancel it.
    if (c >= 0x80 && c <= 0x9f && p > from && bytes[p - 1] === 0xc2) return c === 0x9c ? p + 1 : p - 1;
    // A CSI cannot be this long; the bytes that end a CSI end it.
    if ((kind === "csi" || kind === "esc") && c >= 0x40 && c < 0x7f) return p + 1;
  }
  return -1;
}

/**
 * Bytes of the character at `i`; 0 when it is unfinished. For an invalid one, minus the length of its maximal valid
 * prefix, for which WHATWG's decoder emits one U+FFFD (Encoding Standard, 9.1.1).
 */
export function characterLength(bytes: Uint8Array, i: number): number {
  const c = bytes[i] ?? 0;
  const length = c < 0xc2 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 1;
  if (length === 1) return -1;
  for (let k = 1; k < length; k++) {
    const next = bytes[i + k];
    if (next === undefined) return 0;
    // Not a continuation: the bytes so far are invalid and end here.
    if (next < 0x80 || next > 0xbf) return -k;
    if (k === 1 && isInvalidStart(c, next)) return -1;
  }
  return length;
}

/** Overlong forms, surrogates, and code points beyond Unicode. */
function isInvalidStart(first: number, second: number): boolean {
  return (
    (first === 0xe0 && second < 0xa0) ||
    (first === 0xed && second > 0x9f) ||
    (first === 0xf0 && second < 0x90) ||
    (first === 0xf4 && second > 0x8f)
  );
}

/** Whether a character may join the one before it. */
export function joinsPrevious(bytes: Uint8Array, start: number, end: number): boolean {
  return JOINING.test(Buffer.from(bytes.subarray(start, end)).toString());
}

export function isPlaceholder(bytes: Uint8Array, offset: number): boolean {
  return (
    bytes[offset] === PLACEHOLDER_LEAD &&
    bytes[offset + 1] === 0x8e &&
    bytes[offset + 2] === 0xbb &&
    bytes[offset + 3] === 0xae
  );
}

/** The end of placeholders with their numbers, starting at `from`; the last one of the input waits for more. */
export function placeholdersEnd(bytes: Uint8Array, from: number, limit: number): number {
  let last = from;
  for (let p = from; p < bytes.length; ) {
    const length = characterLength(bytes, p);
    if (length === 0) break;
    if (isPlaceholder(bytes, p)) {
      last = p;
      if (p > limit) return p;
    } else if (length < 0 || !joinsPrevious(bytes, p, p + length)) return p;
    p += length;
  }
  return last;
}
