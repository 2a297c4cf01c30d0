/**
 * Replacements of parts of the stream for clients, and the forms in which sequences leave the session process.
 *
 * Terminals agree on complete sequences but on little else: some execute a string that another sequence cuts off and
 * others drop it, some know C1 controls and others print the text after them. So a kept sequence is sent in one form
 * that all terminals read alike, and a cut includes everything that would change the meaning of the rest: after every
 * edit a client's terminal is in the emulator's state. Pure; runs once per sequence, and copies only those that need
 * it.
 */
import type { Sequence } from "./client-filter.ts";

export interface Edit {
  readonly start: number;
  /** Exclusive; equal to `start` for an insertion. */
  readonly end: number;
  readonly replacement: Uint8Array;
}

export const NOTHING = new Uint8Array(0);

const ESC = 0x1b;
const BEL = 0x07;
const ENQ = 0x05;
const CAN = 0x18;
const SUB = 0x1a;
/** First byte of a C1 control in UTF-8, and ST as the second. */
const C1_LEAD = 0xc2;
const C1_ST = 0x9c;

/** The bytes from `from` to `to` with the edits (ascending, apart) made. */
export function applyEdits(bytes: Uint8Array, from: number, to: number, edits: readonly Edit[]): Uint8Array {
  if (edits.length === 0) return bytes.subarray(from, to);
  const parts: Uint8Array[] = [];
  let offset = from;
  for (const { start, end, replacement } of edits) {
    if (start > offset) parts.push(bytes.subarray(offset, start));
    if (replacement.length > 0) parts.push(replacement);
    offset = end;
  }
  if (offset < to) parts.push(bytes.subarray(offset, to));
  return parts.length === 1 ? (parts[0] ?? NOTHING) : Buffer.concat(parts);
}

/** Controls inside an escape or control sequence: they are executed in place, whether or not the sequence is. */
export function extractControls(bytes: Uint8Array, start: number, end: number): Uint8Array {
  let count = 0;
  for (let p = start; p < end; p++) if (isExecuted(bytes[p] ?? 0)) count++;
  return count === 0 ? NOTHING : bytes.slice(start, end).filter(isExecuted);
}

function isExecuted(c: number): boolean {
  return c < 0x20 && c !== 0 && c !== ESC && c !== CAN && c !== SUB && c !== ENQ;
}

/** How the emulator interprets the end of a string sequence. */
type StringEnd = "proper" | "cut off" | "cancelled";

export function stringEnding(bytes: Uint8Array, { kind, body, end }: Sequence): StringEnd {
  const last = bytes[end - 1] ?? 0;
  const before = end - 2 >= body ? (bytes[end - 2] ?? 0) : 0;
  if (last === CAN || last === SUB) return "cancelled";
  if (last === BEL && kind === "osc") return "proper";
  if ((last === 0x5c && before === ESC) || (last === C1_ST && before === C1_LEAD)) return "proper";
  return bytes[end] === ESC ? "cut off" : "cancelled";
}

/** A kept sequence in the form that every terminal reads alike; null: it already has that form. */
export function canonicalForm(bytes: Uint8Array, sequence: Sequence): Uint8Array | null {
  const { kind, start, body, end } = sequence;
  if (kind === "esc" || kind === "csi") return canonicalControl(bytes, sequence);
  const ending = stringEnding(bytes, sequence);
  if (ending === "cancelled") return NOTHING;
  const last = bytes[end - 1];
  const terminator = ending === "cut off" ? 0 : last === BEL ? 1 : 2;
  const contents = bytes.subarray(body, end - terminator);
  const isClean = contents.every((c) => c >= 0x20);
  if (isClean && bytes[start] === ESC && ending === "proper" && last !== C1_ST) return null;
  const first = bytes[start] === ESC ? (bytes[body - 1] ?? 0) : (bytes[body - 1] ?? 0) - 0x40;
  return Buffer.concat([[ESC, first], contents.filter((c) => c >= 0x20), [ESC, 0x5c]].map((part) => Buffer.from(part)));
}

/** Without C1, and with embedded controls moved in front of it. */
function canonicalControl(bytes: Uint8Array, { kind, start, body, end }: Sequence): Uint8Array | null {
  const isC1 = bytes[start] !== ESC;
  let isClean = !isC1;
  for (let p = body; p < end && isClean; p++) isClean = (bytes[p] ?? 0) >= 0x20 && bytes[p] !== 0x7f;
  // An escape sequence with intermediates has them before its body, the final character.
  for (let p = start + 1; p < body && isClean; p++) isClean = (bytes[p] ?? 0) >= 0x20 && bytes[p] !== 0x7f;
  if (isClean) return null;
  const head = isC1 ? [ESC, (bytes[start + 1] ?? 0) - 0x40] : [ESC];
  const from = isC1 ? start + 2 : start + 1;
  if (isC1 && kind === "esc") return Uint8Array.from(head);
  const rest = bytes.slice(from, end).filter((c) => c >= 0x20 && c !== 0x7f);
  return Buffer.concat([extractControls(bytes, from, end), Buffer.from(head), rest]);
}
