/**
 * Bytes read from a person's terminal, split into events: one per key, paste, mouse report, focus change or reply.
 *
 * Pure: the state is the rest of the last read (an unfinished sequence or paste). Invariants: the raw bytes of all
 * events and the rest, concatenated, are the bytes that were read; nothing is dropped or invented; the rest is limited.
 * A lone Escape may begin a sequence, so it waits in the rest until the caller, after its timeout (tens of
 * milliseconds), asks for `flushKeys`. Runs once per read and per byte of typing. Names are those of input events
 * (docs/keys.md, In events), so they can be sent back by `encodeKeys`.
 */

import { PASTE_BEGIN, PASTE_END } from "../protocol/pasted-text.ts";
import { parseCsi, parseSs3 } from "./sequences.ts";
import type { InputEvent, InputKind, ParsedKey } from "./types.ts";

export interface KeyState {
  /** Bytes of an unfinished sequence, character or paste. */
  readonly rest: Uint8Array;
  /** Part of a paste was already returned, and its end has not arrived. */
  readonly isPasting: boolean;
}

export const initialKeyState: KeyState = { rest: new Uint8Array(0), isPasting: false };

/** Whether something waits for more bytes, so that `flushKeys` is due after the timeout. */
export function isWaiting({ rest, isPasting }: KeyState): boolean {
  return rest.length > 0 || isPasting;
}

const ESC = 0x1b;
/** Bytes of a CSI or SS3 sequence; the longest real one (a kitty key with text) is far shorter. */
const MAX_SEQUENCE_BYTES = 256;
/** Bytes of a reply such as OSC or DCS; a clipboard's answer, the longest, is never requested. */
const MAX_REPLY_BYTES = 65_536;
/** Longest paste in one event, in bytes: the limit of input in every transport; a longer one becomes several. */
const MAX_PASTE_BYTES = 1024 * 1024;
/** Zero-width joiner: the next code point belongs to the same character. */
const JOINER = "\u200d";

/** One event and its bytes; null when more bytes are needed to decide. */
type DecodedStep = {
  readonly length: number;
  readonly kind: InputKind;
  readonly parsed: ParsedKey | null;
  /** The paste continues after these bytes. */
  readonly continues?: boolean;
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
  let isPasting = state.isPasting && !(flush && all.length === 0);
  let offset = 0;
  while (offset < all.length) {
    const step = isPasting ? decodePaste(all, offset, offset, flush) : decodeNext(all, offset, flush);
    if (step === null) break;
    events.push({
      raw: new Uint8Array(all.subarray(offset, offset + step.length)),
      parsed: step.parsed,
      kind: step.kind,
    });
    offset += step.length;
    isPasting = step.continues === true;
    // The rest may contain the beginning of the paste's end.
    if (isPasting) break;
  }
  return { events, state: { rest: new Uint8Array(all.subarray(offset)), isPasting } };
}

function decodeNext(bytes: Buffer, offset: number, flush: boolean): DecodedStep {
  const first = bytes[offset] ?? 0;
  if (first === ESC) return decodeEscape(bytes, offset, flush);
  if (first < 0x80) return { length: 1, kind: "key", parsed: parseByte(first) };
  return decodeCharacter(bytes, offset, flush);
}

/** Parses a single byte (docs/keys.md, In events). */
function parseByte(byte: number): ParsedKey | null {
  if (byte === 0x09) return unmodified("Tab");
  if (byte === 0x0d) return unmodified("Enter");
  if (byte === ESC) return unmodified("Escape");
  if (byte === 0x7f) return unmodified("Backspace");
  if (byte >= 0x20) return unmodified(String.fromCharCode(byte));
  if (byte >= 0x01 && byte <= 0x1a) return { key: String.fromCharCode(byte + 0x60), modifiers: ["ctrl"] };
  if (byte >= 0x1c) return { key: String.fromCharCode(byte + 0x40), modifiers: ["ctrl"] };
  return null;
}

function unmodified(key: string): ParsedKey {
  return { key, modifiers: [] };
}

function withAlt(parsed: ParsedKey | null): ParsedKey | null {
  if (parsed === null || parsed.modifiers.includes("alt")) return parsed;
  const [ctrl, ...others] = parsed.modifiers;
  return ctrl === "ctrl"
    ? { key: parsed.key, modifiers: ["ctrl", "alt", ...others] }
    : { key: parsed.key, modifiers: ["alt", ...parsed.modifiers] };
}

function decodeEscape(bytes: Buffer, offset: number, flush: boolean): DecodedStep {
  const second = bytes[offset + 1];
  if (second === undefined) return flush ? { length: 1, kind: "key", parsed: unmodified("Escape") } : null;
  if (second === 0x5b) return decodeCsi(bytes, offset, flush);
  if (second === 0x4f) return decodeSs3(bytes, offset, flush);
  const reply = decodeReply(bytes, offset, flush);
  if (reply !== "none") return reply;
  if (second === ESC) {
    // Escape pressed twice, or Alt with a key that is a sequence itself (as rxvt and the Mac's Terminal send it).
    const third = bytes[offset + 2];
    if (third === undefined && !flush) return null;
    if (third !== 0x5b && third !== 0x4f) return { length: 1, kind: "key", parsed: unmodified("Escape") };
  }
  const step = decodeNext(bytes, offset + 1, flush);
  if (step === null) return null;
  if (step.kind !== "key") return { length: 1, kind: "key", parsed: unmodified("Escape") };
  return { length: step.length + 1, kind: "key", parsed: withAlt(step.parsed) };
}

function decodeCsi(bytes: Buffer, offset: number, flush: boolean): DecodedStep {
  if (startsWith(bytes, offset, PASTE_BEGIN)) return decodePaste(bytes, offset, offset + PASTE_BEGIN.length, flush);
  if (bytes[offset + 2] === 0x4d) return decodeX10Mouse(bytes, offset, flush);
  // The Linux console encodes F1 to F5 as CSI [ A to CSI [ E.
  let end = bytes[offset + 2] === 0x5b ? offset + 3 : offset + 2;
  while (end < bytes.length && end - offset < MAX_SEQUENCE_BYTES) {
    const byte = bytes[end] ?? 0;
    if (byte >= 0x40 && byte <= 0x7e) {
      const { parsed, kind } = parseCsi(bytes.toString("latin1", offset + 2, end + 1));
      return { length: end + 1 - offset, kind, parsed };
    }
    if (byte < 0x20 || byte > 0x7e) break;
    end++;
  }
  const cut = end < bytes.length || end - offset >= MAX_SEQUENCE_BYTES;
  return endUnfinished(bytes, offset, end, cut || flush);
}

/** An unfinished sequence: `ESC [` alone is Alt with the bracket; a longer one has no name. */
function endUnfinished(bytes: Buffer, offset: number, end: number, final: boolean): DecodedStep {
  if (!final) return null;
  if (end - offset === 2) return { length: 2, kind: "key", parsed: withAlt(parseByte(bytes[offset + 1] ?? 0)) };
  return { length: end - offset, kind: "key", parsed: null };
}

function decodeSs3(bytes: Buffer, offset: number, flush: boolean): DecodedStep {
  let end = offset + 2;
  while (end < bytes.length && end - offset < MAX_SEQUENCE_BYTES && isDigit(bytes[end])) end++;
  const byte = bytes[end];
  if (byte === undefined) return endUnfinished(bytes, offset, end, flush);
  const parsed = parseSs3(bytes.toString("latin1", offset + 2, end + 1));
  // `ESC O` before anything else was Alt with a capital O, followed by that.
  if (parsed === null) return endUnfinished(bytes, offset, offset + 2, true);
  return { length: end + 1 - offset, kind: "key", parsed };
}

function decodeX10Mouse(bytes: Buffer, offset: number, flush: boolean): DecodedStep {
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
function decodePaste(bytes: Buffer, offset: number, from: number, flush: boolean): DecodedStep {
  const paste = { kind: "paste", parsed: null } as const;
  const end = bytes.indexOf(PASTE_END, from);
  if (end >= 0) return { ...paste, length: end + PASTE_END.length - offset };
  if (!flush && bytes.length - offset <= MAX_PASTE_BYTES) return null;
  // The rest may contain part of the end.
  let heldBack = Math.min(PASTE_END.length - 1, bytes.length - from);
  while (heldBack > 0 && !startsWith(bytes, bytes.length - heldBack, PASTE_END.slice(0, heldBack))) heldBack--;
  const length = bytes.length - heldBack - offset;
  return length === 0 ? { ...paste, length: heldBack } : { ...paste, length, continues: true };
}

/** OSC, DCS and APC answers of the terminal. No keyboard input begins like them. */
function decodeReply(bytes: Buffer, offset: number, flush: boolean): DecodedStep | "none" {
  const opener = String.fromCharCode(bytes[offset + 1] ?? 0);
  const begin = opener === "]" ? /[0-9]/ : opener === "P" ? /[0-9!>$+|=]/ : opener === "_" ? /G/ : null;
  if (begin === null) return "none";
  const third = bytes[offset + 2];
  if (third === undefined) return flush ? "none" : null;
  if (!begin.test(String.fromCharCode(third))) return "none";
  for (let end = offset + 3; end < bytes.length && end - offset < MAX_REPLY_BYTES; end++) {
    const byte = bytes[end] ?? 0;
    if (byte === 0x07 && opener === "]") return { length: end + 1 - offset, kind: "reply", parsed: null };
    if (byte === ESC) {
      if (bytes[end + 1] === undefined && !flush) return null;
      if (bytes[end + 1] === 0x5c) return { length: end + 2 - offset, kind: "reply", parsed: null };
      return "none";
    }
    if (byte < 0x20) return "none";
  }
  return flush || bytes.length - offset >= MAX_REPLY_BYTES ? "none" : null;
}

/** One character as a person counts them, from UTF-8: includes marks, joiners and skin tones. */
function decodeCharacter(bytes: Buffer, offset: number, flush: boolean): DecodedStep {
  const first = codePointAt(bytes, offset);
  if (first === "unfinished") return flush ? { length: 1, kind: "key", parsed: null } : null;
  if (first === "invalid") return { length: 1, kind: "key", parsed: null };
  let text = first;
  let end = offset + Buffer.byteLength(first);
  while (end < bytes.length && (bytes[end] ?? 0) >= 0x80) {
    const more = codePointAt(bytes, end);
    if (more === "unfinished" || more === "invalid" || !joinsCharacter(text, more)) break;
    text += more;
    end += Buffer.byteLength(more);
  }
  return { length: end - offset, kind: "key", parsed: unmodified(text) };
}

function joinsCharacter(before: string, char: string): boolean {
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
