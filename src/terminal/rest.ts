/**
 * Where the output of a program may be cut.
 *
 * Owns the reading of the raw stream, before the emulator: it finds the points of rest, where no escape sequence and no
 * UTF-8 character is unfinished, and the bytes that no client may get (queries, our own marks, see `sequences.ts`).
 * What must stay true: a slice ends at rest unless it was forced; it scrolls at most `MAX_SCROLL` rows, however it was
 * crafted; a mark is the last thing in its slice, so that the slice's end is the mark's offset. Runs once per byte:
 * plain text takes one comparison.
 */
import { type Classifier, clampCount, type Sequence, type SequenceKind } from "./sequences.ts";

/**
 * Rows that one slice can scroll at most: line feeds, and jumps to the last column, from where a character or two wrap
 * (256), long rows (128), one REP on top (101).
 */
export const MAX_SCROLL = 512;
const ROWS_PER_SLICE = 256;
const WRAPPED_ROWS_PER_SLICE = 128;
/** Bytes of a string sequence (OSC, DCS, APC) that the emulator gets to see: more than any title, link or clipboard. */
const STRING_LIMIT = 1_048_576;

/** Sequences that leave the cursor where it is and are common: styles, erasing. Any other counts as a row. */
const STAYS = new Set([..."mJK"].map((c) => c.charCodeAt(0)));

const TAB = 0x09;
const ESC = 0x1b;
const CAN = 0x18;
const SUB = 0x1a;
const BEL = 0x07;
const ENQ = 0x05;

export interface Slice {
  /** Where it ends; where it began when nothing of it is at rest yet. */
  end: number;
  /** Pairs of start and end: what is removed for clients. */
  cuts: number[];
  /** It ended in front of a sequence or character that the input does not finish. */
  unfinished: boolean;
  /** It ended with SO (1) or SI (0), which the emulator's hooks do not report. */
  shift: 0 | 1 | null;
}

interface Open {
  readonly kind: SequenceKind;
  readonly hidden: boolean;
  length: number;
}

export class RestScanner {
  /** The sequence that a forced slice left open. */
  private open: Open | null = null;
  private sequence: Sequence = { kind: "esc", start: 0, body: 0, end: 0 };
  private rows = 0;

  constructor(
    private readonly classify: Classifier,
    private cols: number,
  ) {}

  resize(cols: number): void {
    this.cols = cols;
  }

  /** Whether the last slice ended inside a sequence that was too long to wait for. */
  get inside(): boolean {
    return this.open !== null;
  }

  /** Whether the emulator should see the open sequence no more: it is longer than anything that it could use. */
  get excessive(): boolean {
    return this.open !== null && this.open.length > STRING_LIMIT;
  }

  /** The next slice of `bytes` from `from`. */
  next(bytes: Uint8Array, from: number): Slice {
    if (this.open !== null) return this.resume(this.open, bytes, from);
    const cuts: number[] = [];
    const limit = Math.min(bytes.length, from + WRAPPED_ROWS_PER_SLICE * this.cols);
    this.rows = 0;
    let i = from;
    while (i < limit) {
      const c = bytes[i] ?? 0;
      if (c >= 0x20 && c < 0x80) {
        i++;
        continue;
      }
      if (c >= TAB && c <= 0x0c) {
        i++;
        if (++this.rows >= ROWS_PER_SLICE) break;
        continue;
      }
      const end = c === ESC ? this.escape(bytes, i) : c >= 0x80 ? this.character(bytes, i) : this.control(c, i, cuts);
      if (end < 0) return { end: i, cuts, unfinished: true, shift: null };
      if (this.sequence.end === end) {
        const start = this.sequence.start;
        this.sequence.end = 0;
        const verdict = this.classify(bytes, this.sequence, start, end);
        if (verdict !== "keep" && verdict !== "stop") cuts.push(start, end);
        if (verdict === "stop" || verdict === "own") return { end, cuts, unfinished: false, shift: null };
        if (this.rows >= ROWS_PER_SLICE) return { end, cuts, unfinished: false, shift: null };
      } else if (c === 0x0e || c === 0x0f) {
        return { end, cuts, unfinished: false, shift: c === 0x0e ? 1 : 0 };
      }
      i = end;
    }
    return { end: i, cuts, unfinished: false, shift: null };
  }

  /** Take an unfinished tail as it is, because it has become too long to wait for. */
  force(bytes: Uint8Array, from: number): Slice {
    // A last ESC may be half of the end (ESC \) of the sequence.
    const end = bytes[bytes.length - 1] === ESC ? bytes.length - 1 : bytes.length;
    const first = bytes[from];
    const second = bytes[from + 1] ?? 0;
    const kind = first === ESC ? kindOf(second) : first === 0xc2 ? kindOf(second - 0x40) : "esc";
    const hidden = this.classify.hides(bytes, kind, from + 2, end);
    this.open = { kind, hidden, length: end - from };
    return { end, cuts: hidden ? [from, end] : [], unfinished: false, shift: null };
  }

  private resume(open: Open, bytes: Uint8Array, from: number): Slice {
    let end = stringEnd(bytes, from, open.kind);
    const unfinished = end < 0;
    if (unfinished) end = bytes[bytes.length - 1] === ESC ? bytes.length - 1 : bytes.length;
    else this.open = null;
    open.length += end - from;
    return { end, cuts: open.hidden ? [from, end] : [], unfinished: unfinished && end < bytes.length, shift: null };
  }

  private control(c: number, at: number, cuts: number[]): number {
    // Answerback: a terminal could be set to type something for it.
    if (c === ENQ) cuts.push(at, at + 1);
    return at + 1;
  }

  /** The end of the character at `i`, or of the sequence that a C1 control begins; -1 when it is unfinished. */
  private character(bytes: Uint8Array, i: number): number {
    const c = bytes[i] ?? 0;
    const length = c < 0xc2 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 1;
    for (let k = 1; k < length; k++) {
      const next = bytes[i + k];
      if (next === undefined) return -1;
      // Not a continuation: what was begun is invalid and ends here.
      if (next < 0x80 || next > 0xbf) return i + k;
    }
    const second = bytes[i + 1] ?? 0;
    if (c !== 0xc2 || second > 0x9f) return i + length;
    return this.introduced(bytes, i, i + 2, second - 0x40);
  }

  private escape(bytes: Uint8Array, i: number): number {
    let p = i + 1;
    let intermediates = false;
    for (; ; p++) {
      const c = bytes[p];
      if (c === undefined) return -1;
      if (c === ESC || c >= 0x80) return p;
      if (c === CAN || c === SUB) return p + 1;
      if (c === 0x7f) continue;
      if (c < 0x20) this.embedded(bytes, p);
      else if (c < 0x30) intermediates = true;
      else if (intermediates) return this.found("esc", i, p, p + 1);
      else return this.introduced(bytes, i, p + 1, c);
    }
  }

  /** What `ESC c`, or the C1 control that means the same, begins. */
  private introduced(bytes: Uint8Array, start: number, body: number, c: number): number {
    const kind = kindOf(c);
    if (kind === "esc") {
      // IND and NEL scroll, DECRC jumps.
      this.rows++;
      return this.found("esc", start, body - 1, body);
    }
    if (kind === "csi") return this.csi(bytes, start, body);
    const end = stringEnd(bytes, body, kind);
    return end < 0 ? -1 : this.found(kind, start, body, end);
  }

  private csi(bytes: Uint8Array, start: number, body: number): number {
    for (let p = body; ; p++) {
      const c = bytes[p];
      if (c === undefined) return -1;
      if (c === ESC || c >= 0x80) return p;
      if (c === CAN || c === SUB) return p + 1;
      if (c < 0x20) this.embedded(bytes, p);
      else if (c >= 0x40 && c < 0x7f) {
        if (!STAYS.has(c)) this.rows += Math.max(1, clampCount(bytes, body, p, this.cols));
        return this.found("csi", start, body, p + 1);
      }
    }
  }

  /** A control inside a sequence is obeyed at once. Line feeds beyond a slice's share become NUL: only an attack has them. */
  private embedded(bytes: Uint8Array, at: number): void {
    const c = bytes[at] ?? 0;
    if (c < 0x0a || c > 0x0c) return;
    if (this.rows < ROWS_PER_SLICE) this.rows++;
    else bytes[at] = 0;
  }

  private found(kind: SequenceKind, start: number, body: number, end: number): number {
    this.sequence.kind = kind;
    this.sequence.start = start;
    this.sequence.body = body;
    this.sequence.end = end;
    return end;
  }
}

/** What the character after ESC begins. */
function kindOf(c: number): SequenceKind {
  switch (c) {
    case 0x5b:
      return "csi";
    case 0x5d:
      return "osc";
    case 0x50:
      return "dcs";
    case 0x58:
    case 0x5e:
    case 0x5f:
      return "string";
    default:
      return "esc";
  }
}

/** Past the end of the string sequence whose contents begin at `from`; -1 when it is unfinished. */
function stringEnd(bytes: Uint8Array, from: number, kind: SequenceKind): number {
  for (let p = from; p < bytes.length; p++) {
    const c = bytes[p] ?? 0;
    if (c === ESC) {
      const next = bytes[p + 1];
      if (next === undefined) return -1;
      return next === 0x5c ? p + 2 : p;
    }
    if (c === CAN || c === SUB) return p + 1;
    if (c === BEL && kind === "osc") return p + 1;
    // ST as a C1 control, U+009C.
    if (c === 0x9c && p > from && bytes[p - 1] === 0xc2) return p + 1;
    // A CSI cannot be this long; whatever ends one ends it.
    if ((kind === "csi" || kind === "esc") && c >= 0x40 && c < 0x7f) return p + 1;
  }
  return -1;
}
