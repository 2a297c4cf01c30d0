/**
 * Decides from their bytes which escape sequences clients never receive.
 *
 * A query is answered once, by the session process: a terminal that received it would answer too, and its answer would
 * be typed into the program. So the filter removes every sequence that makes any terminal answer, print to a printer,
 * or change its window. It passes sequences that draw as the emulator does, or set modes that it supports
 * (`outer-state.ts`). Sources: XTerm Control Sequences; the kitty protocols; VT510 manual (reports).
 */

import type { OuterEffect } from "../../protocol/attach.ts";
import type { LastingChange } from "../../protocol/lasting-changes.ts";
import { INACTIVE_PROPERTY } from "../marks.ts";
import { lastingChange, passesCsi, passesEscape, passesOsc } from "./outer-state.ts";

/** `title`: `ESC k TEXT ESC \`, as in GNU screen and tmux. */
export type SequenceKind = "esc" | "csi" | "osc" | "dcs" | "string" | "title";

export interface Sequence {
  kind: SequenceKind;
  start: number;
  /** Start of its parameters or contents; for an "esc", its final character. */
  body: number;
  /** Past its end. */
  end: number;
}

/**
 * `stop`: kept, and the slice ends with it (marks of foreign shell integration). `own`: the same, but
 * removed: our own mark, or a sequence for which the emulator itself decides what clients get
 * (`completions.ts`; sixel graphics become a picture there). `picture`: a command of kitty's graphics
 * protocol, which only `pictures/` gets.
 */
export type Verdict = "keep" | "cut" | "stop" | "own" | "picture";

export interface Classifier {
  (bytes: Uint8Array, sequence: Sequence, start: number, end: number): Verdict;
  /** Whether a sequence that is too long to wait for is hidden, judged by its beginning. */
  hidesUnfinished(bytes: Uint8Array, kind: SequenceKind, body: number, end: number): boolean;
}

/** OSC numbers whose contents are free text, in which "?" has no meaning. */
const TEXT_OSCS: ReadonlySet<number> = new Set([0, 1, 2, 7, 8, 9]);
const TITLE_OSCS: ReadonlySet<number> = new Set([0, 1, 2]);
const MARK_OSCS: ReadonlySet<number> = new Set([7, 133, 633]);
const CLIPBOARD_OSC = 52;
/**
 * Sequences with effects besides drawing: directory, notifications and progress, pointer, iTerm2's state of the work.
 */
const EFFECT_OSCS: ReadonlySet<number> = new Set([7, 9, 22, 99, 777, 1337]);
const NOTIFICATION_OSCS: ReadonlySet<number> = new Set([9, 99, 777]);
/** Pointer shapes: a "?" before a list of names is a query. */
const POINTER_OSC = 22;
/** CSI with a count that the emulator executes in a loop: IL DL SU SD CHT CBT REP. */
const REP = 0x62;
const QUESTION = 0x3f;
const HASH = 0x23;
const EIGHT = 0x38;
/** `CSI 1 J` needs completion (`completions.ts`). */
const ED = 0x4a;
const ONE = 0x31;
/** Cost of a loop in rows of a slice, so that a slice of loops stays short. */
const LOOP_COST = 4;
const COUNTED = new Set([..."LMSTIZb"].map((c) => c.charCodeAt(0)));
/** A screen has at most 1,000 rows and columns: a larger count has no further effect. */
const MAX_COUNT = 1_000;
/** Rows that one REP may fill, so that a slice's scrolling stays bounded on a narrow screen. */
const MAX_REPEAT_ROWS = 100;
/** Window operations that pass: save and restore the title. */
const TITLE_STACK: ReadonlySet<number> = new Set([22, 23]);

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

interface ClassifierOptions {
  readonly nonce: string | null;
  /** Nonces of inner shells. */
  readonly childNonces?: ReadonlySet<string> | undefined;
  readonly hideClipboard: boolean;
  readonly hideTitles: boolean;
  /** Called with each change that resetting modes does not undo. */
  readonly changed?: (change: LastingChange) => void;
  /** Called with each kept sequence that has an effect besides drawing. */
  readonly effect?: (effect: OuterEffect) => void;
}

export function classifier(options: ClassifierOptions): Classifier {
  const { nonce, childNonces, hideClipboard, hideTitles, changed = () => {}, effect = () => {} } = options;
  const isOwn = (given: string | undefined): boolean =>
    given !== undefined && (given === nonce || childNonces?.has(given) === true);
  const classify = (bytes: Uint8Array, sequence: Sequence, start: number, end: number): Verdict => {
    const { kind, body } = sequence;
    switch (kind) {
      case "csi":
        if (bytes[end - 1] === ED && bytes[body] === ONE && end === body + 2) return "stop";
        if (hideTitles && isTitleStack(bytes, body, end - 1)) return "cut";
        // TBC.
        if (bytes[end - 1] === 0x67) changed("tabs");
        return judgeCsi(bytes, body, end - 1);
      case "esc":
        // HTS.
        if (bytes[end - 1] === 0x48 && end - sequence.start === 2) changed("tabs");
        if (needsCompletion(bytes, sequence.start, end)) return "stop";
        return passesEscape(bytes, sequence.start, end) ? "keep" : "cut";
      // If a string has no proper end, some terminals, including tmux, take all that follows as its contents.
      case "string":
        return isPicture(bytes, sequence.start, body) ? "picture" : "cut";
      case "dcs":
        return isSixel(bytes, body, end) ? "own" : "cut";
      // Other terminals print a title in this form: it is sent to them in the common one (`slice-scanner.ts`).
      case "title":
        return "cut";
      case "osc": {
        const number = oscNumber(bytes, body, end);
        if (!passesOsc(number, bytes, body, end) || (hideTitles && TITLE_OSCS.has(number))) return "cut";
        const change = lastingChange(number, bytes, body, end);
        if (change !== null) changed(change);
        const verdict = judgeOsc(bytes, body, end, isOwn, hideClipboard);
        if (EFFECT_OSCS.has(number) && verdict !== "cut" && verdict !== "own") {
          const isNotification = NOTIFICATION_OSCS.has(number) && change === null;
          effect({ bytes: bytes.slice(start, end), isNotification, change });
        }
        return verdict;
      }
    }
  };
  const hidesUnfinished = (bytes: Uint8Array, kind: SequenceKind, body: number, end: number): boolean => {
    if (kind === "string" || kind === "dcs" || kind === "title") return true;
    if (kind !== "osc") return false;
    const number = oscNumber(bytes, body, end);
    if (TITLE_OSCS.has(number)) return hideTitles;
    if (number === CLIPBOARD_OSC) return hideClipboard;
    return isColorOsc(number) || !passesOsc(number, bytes, body, end);
  };
  return Object.assign(classify, { hidesUnfinished });
}

/** `ESC _ G`; a C1 control at its start has already become that. */
export function isPicture(bytes: Uint8Array, start: number, body: number): boolean {
  return bytes[body] === 0x47 && bytes[start + 1] === 0x5f;
}

/** Parameters and `q`. */
function isSixel(bytes: Uint8Array, body: number, end: number): boolean {
  let p = body;
  while (p < end && isParameter(bytes[p] ?? 0)) p++;
  return bytes[p] === 0x71;
}

function isParameter(c: number): boolean {
  return (c >= 0x30 && c <= 0x39) || c === 0x3b;
}

/** DECRC and DECALN, which the emulator executes only in part (`completions.ts`). */
function needsCompletion(bytes: Uint8Array, start: number, end: number): boolean {
  if (bytes[end - 1] !== EIGHT) return false;
  return end - start === 2 || (end - start === 3 && bytes[end - 2] === HASH);
}

function isTitleStack(bytes: Uint8Array, body: number, finalAt: number): boolean {
  return bytes[finalAt] === 0x74 && TITLE_STACK.has(numberAt(bytes, body, finalAt));
}

function judgeCsi(bytes: Uint8Array, body: number, finalAt: number): Verdict {
  const final = bytes[finalAt] ?? 0;
  // SGR and cursor movements are nearly all of a stream.
  if (final === 0x48 || (final >= 0x41 && final <= 0x4b)) return "keep";
  const first = bytes[body] ?? 0;
  const prefix = first >= 0x3c && first <= 0x3f ? String.fromCharCode(first) : "";
  if (final === 0x6d && prefix !== ">") return prefix === "" ? "keep" : "cut";
  const last = finalAt > body ? (bytes[finalAt - 1] ?? 0) : 0;
  const intermediate = last >= 0x20 && last <= 0x2f ? String.fromCharCode(last) : "";
  const key = `${prefix}${intermediate}${String.fromCharCode(final)}`;
  switch (key) {
    case "'}": // DECIC
    case "'~": // DECDC
    case "?r": // XTRESTORE
      return "own";
    case "t":
      return TITLE_STACK.has(numberAt(bytes, body, finalAt)) ? "keep" : "cut";
    default:
      return passesCsi(bytes, body, finalAt, key) ? "keep" : "cut";
  }
}

function judgeOsc(
  bytes: Uint8Array,
  body: number,
  end: number,
  isOwn: (nonce: string | undefined) => boolean,
  hideClipboard: boolean,
): Verdict {
  const number = oscNumber(bytes, body, end);
  if (MARK_OSCS.has(number)) {
    if (number === 7) return "stop";
    return isOwnMark(decoder.decode(bytes.subarray(body, end)), isOwn) ? "own" : "stop";
  }
  if (TEXT_OSCS.has(number)) return "keep";
  if (number === POINTER_OSC && bytes[body + 3] === QUESTION) return "cut";
  if (number === CLIPBOARD_OSC) return hideClipboard || hasQuery(bytes, body, end) ? "cut" : "keep";
  return hasQuery(bytes, body, end) ? "cut" : "keep";
}

/**
 * A mark of wsh has `wsh=NONCE` among its parameters, or as 633;E or 633;L its nonce after the line. Only our
 * integration sends 633;T, around a typed command, and 633;P;WshInactive.
 */
function isOwnMark(text: string, isOwn: (nonce: string | undefined) => boolean): boolean {
  const parts = stripTerminator(text).split(";");
  if (parts[0] === "633" && parts[1] === "T") return true;
  if (parts[0] === "633" && parts[1] === "P" && parts[2]?.startsWith(`${INACTIVE_PROPERTY}=`)) return true;
  if (parts.some((part) => part.startsWith("wsh=") && isOwn(part.slice("wsh=".length)))) return true;
  return parts[0] === "633" && (parts[1] === "E" || parts[1] === "L") && isOwn(parts[3]);
}

const TERMINATOR = /(?:\x07|\x1b\\?|\x18|\x1a|\x9c)$/;

function stripTerminator(text: string): string {
  return text.replace(TERMINATOR, "");
}

/** Whether one of the parameters, or the value of a key, is "?". */
function hasQuery(bytes: Uint8Array, body: number, end: number): boolean {
  for (let p = bytes.indexOf(0x3f, body); p >= 0 && p < end; p = bytes.indexOf(0x3f, p + 1)) {
    const before = bytes[p - 1];
    const after = bytes[p + 1] ?? 0;
    const closes = p + 1 === end || after < 0x20 || after === 0x3a || after === 0x3b || after === 0xc2;
    if ((before === 0x3b || before === 0x3d) && closes) return true;
  }
  return false;
}

function isColorOsc(number: number): boolean {
  return number === 4 || number === 5 || (number >= 10 && number <= 19) || number === 21;
}

function oscNumber(bytes: Uint8Array, body: number, end: number): number {
  return numberAt(bytes, body, end);
}

/** The decimal number at `from`; -1 without digits. */
function numberAt(bytes: Uint8Array, from: number, end: number): number {
  let value = -1;
  for (let p = from; p < end; p++) {
    const digit = (bytes[p] ?? 0) - 0x30;
    if (digit < 0 || digit > 9 || value > 1e6) break;
    value = Math.max(value, 0) * 10 + digit;
  }
  return value;
}

/**
 * Limits the count of a sequence that the emulator executes in a loop to `MAX_COUNT`, in place: `CSI 2147483647 S`
 * would keep it busy for minutes. Returns the rows that the sequence can scroll, or its share of a slice's work.
 */
export function clampCount(bytes: Uint8Array, body: number, finalAt: number, cols: number): number {
  const final = bytes[finalAt] ?? 0;
  if (!COUNTED.has(final)) return 0;
  const max = final === REP ? Math.min(MAX_COUNT, MAX_REPEAT_ROWS * cols) : MAX_COUNT;
  let value = 0;
  // Controls among the digits are executed and do not change the number.
  for (let p = body; p < finalAt; p++) {
    const c = bytes[p] ?? 0;
    if (c < 0x20 || c === 0x7f) continue;
    if (c < 0x30 || c > 0x39) break;
    value = Math.min(value * 10 + c - 0x30, MAX_COUNT * 10);
  }
  if (value > max) {
    writeCount(bytes, body, finalAt, max);
    value = max;
  }
  return final === REP ? Math.ceil(Math.max(value, 1) / cols) : LOOP_COST;
}

function writeCount(bytes: Uint8Array, body: number, finalAt: number, count: number): void {
  const places: number[] = [];
  for (let p = body; p < finalAt; p++) {
    const c = bytes[p] ?? 0;
    if (c < 0x20 || c === 0x7f) continue;
    if (c < 0x30 || c > 0x39) break;
    places.push(p);
  }
  const digits = String(count).padStart(places.length, "0");
  for (const [k, p] of places.entries()) bytes[p] = digits.charCodeAt(k);
}
