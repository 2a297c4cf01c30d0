/**
 * Bytes read from a person's terminal, split into events: one per key, paste, mouse report, focus change or reply.
 *
 * Pure: the state is the rest of the last read (an unfinished sequence or paste). Invariants: the raw bytes of all
 * events and the rest, concatenated, are the bytes that were read; nothing is dropped or invented; the rest is limited.
 * A lone Escape may begin a sequence, so it waits in the rest until the caller, after its timeout (tens of
 * milliseconds), asks for `flushKeys`. Runs once per read and per byte of typing. Names are those of input events
 * (docs/keys.md, In events), so they can be sent back by `encodeKeys`.
 */

import { parseCsi, parseSs3 } from "./sequences.ts";
import type { InputEvent, InputKind, ParsedKey } from "./types.ts";

export interface KeyState {
  /** Bytes of an unfinished sequence, character or paste. */
  readonly rest: Uint8Array;
  /** Part of a paste was already returned, and its end has not arrived. */
  readonly pasting: boolean;
}

export const initialKeyState: KeyState = { rest: new Uint8Array(0), pasting: false };

/** Whether something waits for more bytes, so that `flushKeys` is due after the timeout. */
export function isWaiting({ rest, pasting }: KeyState): boolean {
  return rest.length > 0 || pasting;
}

const ESC = 0x1b;
/** Bytes of a CSI or SS3 sequence; the longest real one (a kitty key with text) is far shorter. */
const LONGEST_SEQUENCE = 256;
/** Bytes of a reply such as OSC or DCS; a clipboard's answer, the longest, is never requested. */
const LONGEST_REPLY = 65_536;
/** Longest paste in one event, in bytes: the limit of input in every transport; a longer one becomes several. */
const LONGEST_PASTE = 1024 * 1024;
/** Zero-width joiner: the next code point belongs to the same character. */
const JOINER = "\u200d";
const pasteStart = "\x1b[200~";
const pasteEnd = "\x1b[201~";

/** One event and its bytes; null when more bytes are needed to decide. */
type DecodedInput = {
  readonly length: number;
  readonly kind: InputKind;
  readonly parsed: ParsedKey | null;
  /** The paste continues after these bytes. */
  readonly open?: boolean;
} | null;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Splits read bytes. The returned state belongs to the next call, or to `flushKeys` when no more bytes arrive. */
export function decodeKeys(state: KeyState, bytes: Uint8Array): { events: InputEvent[]; state: KeyState } {
  return split(state, bytes, false);
}

/**
 * Returns the rest as events: a lone Escape is the Escape key, and the paste so far is an event. A second flush with
 * nothing in between ends a paste whose end was lost, so that it cannot swallow keys forever.
 */
export function flushKeys(state: KeyState): { events: InputEvent[]; state: KeyState } {
  return split(state, new Uint8Array(0), true);
}

function split(state: KeyState, bytes: Uint8Array, flush: boolean): { events: InputEvent[]; state: KeyState } {
  const all = state.rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([state.rest, bytes]);
  const events: InputEvent[] = [];
  let pasting = state.pasting && !(flush && all.length === 0);
  let offset = 0;
  while (offset < all.length) {
    const step = pasting ? nextPaste(all, offset, offset, flush) : next(all, offset, flush);
    if (step === null) break;
    events.push({
      raw: new Uint8Array(all.subarray(offset, offset + step.length)),
      parsed: step.parsed,
      kind: step.kind,
    });
    offset += step.length;
    pasting = step.open === true;
    // The rest may contain the beginning of the paste's end.
    if (pasting) break;
  }
  return { events, state: { rest: new Uint8Array(all.subarray(offset)), pasting } };
}

function next(bytes: Buffer, offset: number, flush: boolean): DecodedInput {
  const first = bytes[offset] ?? 0;
  if (first === ESC) return nextEscape(bytes, offset, flush);
  if (first < 0x80) return { length: 1, kind: "key", parsed: parseByte(first) };
  return nextCharacter(bytes, offset, flush);
}

/** Parses a single byte (docs/keys.md, In events). */
function parseByte(byte: number): ParsedKey | null {
  if (byte === 0x09) return plain("Tab");
  if (byte === 0x0d) return plain("Enter");
  if (byte === ESC) return plain("Escape");
  if (byte === 0x7f) return plain("Backspace");
  if (byte >= 0x20) return plain(String.fromCharCode(byte));
  if (byte >= 0x01 && byte <= 0x1a) return { key: String.fromCharCode(byte + 0x60), modifiers: ["ctrl"] };
  if (byte >= 0x1c) return { key: String.fromCharCode(byte + 0x40), modifiers: ["ctrl"] };
  return null;
}

function plain(key: string): ParsedKey {
  return { key, modifiers: [] };
}

function withAlt(parsed: ParsedKey | null): ParsedKey | null {
  if (parsed === null || parsed.modifiers.includes("alt")) return parsed;
  const [ctrl, ...others] = parsed.modifiers;
  return ctrl === "ctrl"
    ? { key: parsed.key, modifiers: ["ctrl", "alt", ...others] }
    : { key: parsed.key, modifiers: ["alt", ...parsed.modifiers] };
}

function nextEscape(bytes: Buffer, offset: number, flush: boolean): DecodedInput {
  const second = bytes[offset + 1];
  if (second === undefined) return flush ? { length: 1, kind: "key", parsed: plain("Escape") } : null;
  if (second === 0x5b) return nextCsi(bytes, offset, flush);
  if (second === 0x4f) return nextSs3(bytes, offset, flush);
  const reply = nextReply(bytes, offset, flush);
  if (reply !== "none") return reply;
  if (second === ESC) {
    // Escape pressed twice, or Alt with a key that is a sequence itself (as rxvt and the Mac's Terminal send it).
    const third = bytes[offset + 2];
    if (third === undefined && !flush) return null;
    if (third !== 0x5b && third !== 0x4f) return { length: 1, kind: "key", parsed: plain("Escape") };
  }
  const step = next(bytes, offset + 1, flush);
  if (step === null) return null;
  if (step.kind !== "key") return { length: 1, kind: "key", parsed: plain("Escape") };
  return { length: step.length + 1, kind: "key", parsed: withAlt(step.parsed) };
}

function nextCsi(bytes: Buffer, offset: number, flush: boolean): DecodedInput {
  if (startsWith(bytes, offset, pasteStart)) return nextPaste(bytes, offset, offset + pasteStart.length, flush);
  if (bytes[offset + 2] === 0x4d) return nextX10Mouse(bytes, offset, flush);
  // The Linux console encodes F1 to F5 as CSI [ A to CSI [ E.
  let end = bytes[offset + 2] === 0x5b ? offset + 3 : offset + 2;
  while (end < bytes.length && end - offset < LONGEST_SEQUENCE) {
    const byte = bytes[end] ?? 0;
    if (byte >= 0x40 && byte <= 0x7e) {
      const { parsed, kind } = parseCsi(bytes.toString("latin1", offset + 2, end + 1));
      return { length: end + 1 - offset, kind, parsed };
    }
    if (byte < 0x20 || byte > 0x7e) break;
    end++;
  }
  const cut = end < bytes.length || end - offset >= LONGEST_SEQUENCE;
  return endUnfinished(bytes, offset, end, cut || flush);
}

/** An unfinished sequence: `ESC [` alone is Alt with the bracket; a longer one has no name. */
function endUnfinished(bytes: Buffer, offset: number, end: number, final: boolean): DecodedInput {
  if (!final) return null;
  if (end - offset === 2) return { length: 2, kind: "key", parsed: withAlt(parseByte(bytes[offset + 1] ?? 0)) };
  return { length: end - offset, kind: "key", parsed: null };
}

function nextSs3(bytes: Buffer, offset: number, flush: boolean): DecodedInput {
  let end = offset + 2;
  while (end < bytes.length && end - offset < LONGEST_SEQUENCE && isDigit(bytes[end])) end++;
  const byte = bytes[end];
  if (byte === undefined) return endUnfinished(bytes, offset, end, flush);
  const parsed = parseSs3(bytes.toString("latin1", offset + 2, end + 1));
  // `ESC O` and anything else was Alt with a capital O, and then that.
  if (parsed === null) return endUnfinished(bytes, offset, offset + 2, true);
  return { length: end + 1 - offset, kind: "key", parsed };
}

function nextX10Mouse(bytes: Buffer, offset: number, flush: boolean): DecodedInput {
  // Button and coordinates are a byte each, or a character each in UTF-8 mode (1005), in which a byte of 0x80 to 0xff
  // without a continuation is still the plain encoding.
  let end = offset + 3;
  for (let i = 0; i < 3; i++) {
    const byte = bytes[end];
    if (byte === undefined) return endUnfinished(bytes, offset, end, flush);
    const follows = bytes[end + 1];
    end += byte >= 0xc2 && byte <= 0xdf && follows !== undefined && (follows & 0xc0) === 0x80 ? 2 : 1;
  }
  return { length: end - offset, kind: "mouse", parsed: null };
}

/** @param from first possible position of the paste's end */
function nextPaste(bytes: Buffer, offset: number, from: number, flush: boolean): DecodedInput {
  const paste = { kind: "paste", parsed: null } as const;
  const end = bytes.indexOf(pasteEnd, from);
  if (end >= 0) return { ...paste, length: end + pasteEnd.length - offset };
  if (!flush && bytes.length - offset <= LONGEST_PASTE) return null;
  // The rest may contain part of the end.
  let kept = Math.min(pasteEnd.length - 1, bytes.length - from);
  while (kept > 0 && !startsWith(bytes, bytes.length - kept, pasteEnd.slice(0, kept))) kept--;
  const length = bytes.length - kept - offset;
  return length === 0 ? { ...paste, length: kept } : { ...paste, length, open: true };
}

/** OSC, DCS and APC answers of the terminal. No keyboard input begins like them. */
function nextReply(bytes: Buffer, offset: number, flush: boolean): DecodedInput | "none" {
  const opener = String.fromCharCode(bytes[offset + 1] ?? 0);
  const begin = opener === "]" ? /[0-9]/ : opener === "P" ? /[0-9!>$+|=]/ : opener === "_" ? /G/ : null;
  if (begin === null) return "none";
  const third = bytes[offset + 2];
  if (third === undefined) return flush ? "none" : null;
  if (!begin.test(String.fromCharCode(third))) return "none";
  for (let end = offset + 3; end < bytes.length && end - offset < LONGEST_REPLY; end++) {
    const byte = bytes[end] ?? 0;
    if (byte === 0x07 && opener === "]") return { length: end + 1 - offset, kind: "reply", parsed: null };
    if (byte === ESC) {
      if (bytes[end + 1] === undefined && !flush) return null;
      if (bytes[end + 1] === 0x5c) return { length: end + 2 - offset, kind: "reply", parsed: null };
      return "none";
    }
    if (byte < 0x20) return "none";
  }
  return flush || bytes.length - offset >= LONGEST_REPLY ? "none" : null;
}

/** One character as a person counts them, from UTF-8: includes marks, joiners and skin tones. */
function nextCharacter(bytes: Buffer, offset: number, flush: boolean): DecodedInput {
  const first = codePointAt(bytes, offset);
  if (first === "unfinished") return flush ? { length: 1, kind: "key", parsed: null } : null;
  if (first === "invalid") return { length: 1, kind: "key", parsed: null };
  let text = first;
  let end = offset + Buffer.byteLength(first);
  while (end < bytes.length && (bytes[end] ?? 0) >= 0x80) {
    const more = codePointAt(bytes, end);
    if (more === "unfinished" || more === "invalid" || !joins(text, more)) break;
    text += more;
    end += Buffer.byteLength(more);
  }
  return { length: end - offset, kind: "key", parsed: plain(text) };
}

function joins(before: string, char: string): boolean {
  if (before.endsWith(JOINER) || char === JOINER) return true;
  if (/\p{M}|\p{Emoji_Modifier}|[\u{e0020}-\u{e007f}]/u.test(char)) return true;
  return /^\p{Regional_Indicator}$/u.test(before) && /^\p{Regional_Indicator}$/u.test(char);
}

function codePointAt(bytes: Buffer, offset: number): string | "unfinished" | "invalid" {
  const first = bytes[offset] ?? 0;
  const length = first >= 0xf0 && first <= 0xf4 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return "invalid";
  for (let i = 1; i < length; i++) {
    const byte = bytes[offset + i];
    if (byte === undefined) return "unfinished";
    if ((byte & 0xc0) !== 0x80) return "invalid";
  }
  try {
    return utf8.decode(bytes.subarray(offset, offset + length));
  } catch {
    return "invalid"; // overlong or a surrogate: no character
  }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function startsWith(bytes: Buffer, offset: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[offset + i] !== text.charCodeAt(i)) return false;
  return true;
}
