/**
 * Finds the positions at which a program's output may be cut.
 *
 * Owns the reading of the raw stream, before the emulator: it finds the points of rest, where no escape sequence and no
 * UTF-8 character is unfinished, and the parts that clients get in another form (without queries, wsh's own marks, and
 * invalid bytes: see `client-filter.ts` and `edits.ts`). Invariants: a slice ends at rest unless it was forced; it
 * scrolls at most `MAX_SCROLL` rows, even when crafted to scroll more; a mark is the last thing in its slice, so that
 * the slice's end is the mark's offset. Runs once per byte: plain text takes one comparison.
 */

import { type Classifier, clampCount, type Sequence, type SequenceKind, type Verdict } from "./client-filter.ts";
import { canonicalForm, type Edit, extractControls, NOTHING, stringEnding } from "./edits.ts";
import {
  characterLength,
  isPlaceholder,
  joinsPrevious,
  neutralize,
  PLACEHOLDER_LEAD,
  placeholdersEnd,
  sequenceKind,
  stringEnd,
} from "./sequence-bounds.ts";

/**
 * Maximum rows that one slice can scroll: line feeds, and jumps to the last column, where a character or two wrap
 * (256), long rows (128), one REP at the end (101).
 */
export const MAX_SCROLL = 512;
const ROWS_PER_SLICE = 256;
const WRAPPED_ROWS_PER_SLICE = 128;
/** Maximum bytes of a string sequence (OSC, APC) for the emulator: more than any title, link or clipboard. */
const STRING_LIMIT = 1_048_576;
/**
 * The same for a DCS: sixel graphics that fill a screen of 1920×1080 with a photo take 2.5 MB, encoded by img2sixel.
 */
const SIXEL_LIMIT = 8_388_608;

/** Common sequences that do not move the cursor: styles, erasing. Any other counts as a row. */
const IN_PLACE_FINALS = new Set([..."mJK"].map((c) => c.charCodeAt(0)));

const TAB = 0x09;
const ESC = 0x1b;
const CAN = 0x18;
const SUB = 0x1a;
const ENQ = 0x05;
const DEL = 0x7f;
const BRACKET = 0x5b;
const C1_CSI = 0x9b;
const STRING_TERMINATOR = Uint8Array.of(ESC, 0x5c);
const CANCEL = Uint8Array.of(CAN);
/** U+FFFD. */
const REPLACEMENT = Uint8Array.of(0xef, 0xbf, 0xbd);
const NO_EDITS: readonly Edit[] = [];
const TITLE_INTRODUCER = Uint8Array.of(ESC, 0x5d, 0x32, 0x3b);

interface Slice {
  /** Its end; equal to its start while it contains nothing complete. */
  end: number;
  /** Replacements for clients. */
  edits: Edit[];
  /** Replacements for the emulator: invalid bytes. */
  replaced: readonly Edit[];
  /** Whether it ended before a sequence or character that the input does not complete. */
  isUnfinished: boolean;
  /** It ended with SO (1) or SI (0), which the emulator's hooks do not report. */
  shift: 0 | 1 | null;
  /** The title in the common form, if the slice ended with one in screen's form, which it no longer contains. */
  title: Uint8Array | null;
  /** Set if it ended with a picture: a command, or placeholders. Neither the emulator nor clients get that part. */
  picture?: { readonly start: number; readonly text: string };
}

interface OpenSequence {
  readonly kind: SequenceKind;
  readonly isHidden: boolean;
  length: number;
}

export class SliceScanner {
  /** The sequence that a forced slice left open. */
  private openSequence: OpenSequence | null = null;
  private sequence: Sequence = { kind: "esc", start: 0, body: 0, end: 0 };
  private rows = 0;
  /** Whether the bytes just read have no meaning for the emulator. */
  private isVoid = false;
  /** Whether the current sequence contains foreign characters, or begins with a C1 control. */
  private isDirty = false;
  private title: Uint8Array | null = null;
  private picture = "";
  /** Whether the last slice ended with something that clients do not get. */
  private endsInCut = false;

  constructor(
    private readonly classify: Classifier,
    private cols: number,
  ) {}

  resize(cols: number): void {
    this.cols = cols;
  }

  /** Whether the last slice ended inside a sequence that was too long to wait for. */
  get isInside(): boolean {
    return this.openSequence !== null;
  }

  /** Whether the emulator should get no more of the open sequence: it is longer than any useful one. */
  get isExcessive(): boolean {
    const { openSequence } = this;
    return openSequence !== null && openSequence.length > (openSequence.kind === "dcs" ? SIXEL_LIMIT : STRING_LIMIT);
  }

  /** The next slice of `bytes` from `from`. */
  nextSlice(bytes: Uint8Array, from: number): Slice {
    if (this.openSequence !== null) return this.resumeOpen(this.openSequence, bytes, from);
    const slice = this.scan(bytes, from);
    if (slice.end > from) this.endsInCut = this.followsCut(bytes, from, slice.end, slice.edits);
    return slice;
  }

  /** Whether the last control or sequence before `at` that has a meaning for the emulator is hidden from clients. */
  private followsCut(bytes: Uint8Array, from: number, offset: number, edits: readonly Edit[]): boolean {
    let end = offset;
    for (let k = edits.length - 1; ; k--) {
      while (end > from && bytes[end - 1] === DEL) end--;
      if (end === from) return this.endsInCut;
      const edit = edits[k];
      if (edit === undefined || edit.end !== end || edit.start === end || edit.replacement.length > 0) return false;
      if (separates(bytes, edit.start, end)) return true;
      end = edit.start;
    }
  }

  private scan(bytes: Uint8Array, from: number): Slice {
    const edits: Edit[] = [];
    let replaced = NO_EDITS as Edit[];
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
      if (c === PLACEHOLDER_LEAD && isPlaceholder(bytes, i)) {
        return i > from ? completeSlice(i, edits, replaced) : placeholders(bytes, from, limit);
      }
      this.isVoid = false;
      this.isDirty = false;
      const end =
        c === ESC
          ? this.scanEscape(bytes, i)
          : c >= 0x80
            ? this.scanCharacter(bytes, i)
            : this.scanControl(c, i, edits);
      if (end < 0) return { ...completeSlice(i, edits, replaced), isUnfinished: true };
      if (this.sequence.end === end) {
        this.title = null;
        const verdict = this.judge(bytes, edits);
        if (verdict === "picture")
          return { ...completeSlice(end, edits, replaced), picture: { start: i, text: this.picture } };
        if (verdict === "stop" || verdict === "own" || this.rows >= ROWS_PER_SLICE) {
          return { ...completeSlice(end, edits, replaced), title: this.title };
        }
      } else if (this.isVoid && c >= 0x80 && !isC1(bytes, i)) {
        const edit = { start: i, end, replacement: REPLACEMENT };
        edits.push(edit);
        if (replaced === NO_EDITS) replaced = [];
        replaced.push(edit);
      } else if (this.isVoid) {
        edits.push({ start: i, end, replacement: extractControls(bytes, i, end) });
      } else if (c === 0x0e || c === 0x0f) {
        return { ...completeSlice(end, edits, replaced), shift: c === 0x0e ? 1 : 0 };
      } else if (c >= 0x80 && this.followsCut(bytes, from, i, edits) && joinsPrevious(bytes, i, end)) {
        // In the emulator, the removed part separated the character from the previous one.
        edits.push({ start: i, end: i, replacement: STRING_TERMINATOR });
      }
      i = end;
    }
    return completeSlice(i, edits, replaced);
  }

  /** Decides how to treat the sequence that was found. */
  private judge(bytes: Uint8Array, edits: Edit[]): Verdict {
    const { sequence } = this;
    const { kind, start, end } = sequence;
    if (kind === "title") return this.judgeTitle(bytes, edits);
    const isControl = kind === "esc" || kind === "csi";
    // Nearly all control sequences of programs are clean, and they make up most of a stream.
    const clean = isControl && !this.isDirty ? null : canonicalForm(bytes, sequence);
    if (clean === null) {
      const verdict = this.classify(bytes, sequence, start, end);
      sequence.end = 0;
      if (verdict === "picture") this.picture = latin1(bytes, sequence.body, end - STRING_TERMINATOR.length);
      if (verdict === "cut" || verdict === "own" || verdict === "picture")
        edits.push({ start, end, replacement: NOTHING });
      return verdict;
    }
    sequence.end = 0;
    const controls = isControl ? extractControls(bytes, start, end) : NOTHING;
    // Cancelled: no terminal executes it.
    if (clean.length === 0) {
      edits.push({ start, end, replacement: NOTHING });
      return "keep";
    }
    const verdict = this.classify(
      clean,
      canonicalSequence(kind, controls.length, clean.length),
      controls.length,
      clean.length,
    );
    if (verdict === "picture") this.picture = latin1(clean, 2, clean.length - STRING_TERMINATOR.length);
    edits.push({ start, end, replacement: verdict === "keep" || verdict === "stop" ? clean : controls });
    return verdict;
  }

  /** Neither the emulator nor other terminals get the original form: each would print it. */
  private judgeTitle(bytes: Uint8Array, edits: Edit[]): Verdict {
    const { start, body, end } = this.sequence;
    const ending = stringEnding(bytes, this.sequence);
    this.sequence.end = 0;
    const text = bytes.slice(body, end).filter((c) => c >= 0x20 && c !== 0x7f);
    // Of its end, a backslash or the second half of a C1 control is left.
    const contents = ending === "proper" ? text.subarray(0, text.length - (bytes[end - 1] === 0x5c ? 1 : 2)) : text;
    bytes.fill(0, start, end);
    // Like the ESC, it ends an unfinished sequence before it.
    bytes[start] = CAN;
    if (ending === "cancelled") {
      edits.push({ start, end, replacement: NOTHING });
      return "keep";
    }
    const title = Buffer.concat([TITLE_INTRODUCER, contents, STRING_TERMINATOR]);
    this.title = title;
    const verdict = this.classify(title, canonicalSequence("osc", 0, title.length), 0, title.length);
    edits.push({ start, end, replacement: verdict === "cut" ? NOTHING : title });
    return "stop";
  }

  /** Takes an unfinished tail that has become too long to wait for. */
  forceSlice(bytes: Uint8Array, from: number): Slice {
    // A last ESC may be half of the end (ESC \) of the sequence.
    const end = bytes[bytes.length - 1] === ESC ? bytes.length - 1 : bytes.length;
    const first = bytes[from];
    const second = bytes[from + 1] ?? 0;
    const kind = first === ESC ? sequenceKind(second) : first === 0xc2 ? sequenceKind(second - 0x40) : "esc";
    const isHidden = kind === "esc" || kind === "csi" || this.classify.hidesUnfinished(bytes, kind, from + 2, end);
    this.openSequence = { kind, isHidden, length: end - from };
    neutralize(bytes, from + 2, end, kind);
    return completeSlice(end, isHidden ? [this.hiddenEdit(bytes, from, end, kind)] : [], NO_EDITS);
  }

  private resumeOpen(open: OpenSequence, bytes: Uint8Array, from: number): Slice {
    let end = stringEnd(bytes, from, open.kind);
    const unfinished = end < 0;
    if (unfinished) end = bytes[bytes.length - 1] === ESC ? bytes.length - 1 : bytes.length;
    else this.openSequence = null;
    open.length += end - from;
    neutralize(bytes, from, end, open.kind);
    const edits: Edit[] = [];
    if (open.isHidden) edits.push(this.hiddenEdit(bytes, from, end, open.kind));
    else if (!unfinished) {
      const ending = stringEnding(bytes, { kind: open.kind, start: from, body: from, end });
      // Clients already have its beginning, which cannot be revoked: it ends for them as it does here.
      if (ending !== "proper")
        edits.push({ start: end, end, replacement: ending === "cut off" ? STRING_TERMINATOR : CANCEL });
    }
    return { ...completeSlice(end, edits, NO_EDITS), isUnfinished: unfinished && end < bytes.length };
  }

  private hiddenEdit(bytes: Uint8Array, start: number, end: number, kind: SequenceKind): Edit {
    const isControl = kind === "esc" || kind === "csi";
    return { start, end, replacement: isControl ? extractControls(bytes, start, end) : NOTHING };
  }

  private scanControl(c: number, at: number, edits: Edit[]): number {
    // Answerback: a terminal may be configured to type an answer to ENQ.
    if (c === ENQ) edits.push({ start: at, end: at + 1, replacement: NOTHING });
    return at + 1;
  }

  /** The end of the character at `i`, or of the sequence that a C1 control begins; -1 when it is unfinished. */
  private scanCharacter(bytes: Uint8Array, i: number): number {
    const length = characterLength(bytes, i);
    if (length === 0) return -1;
    if (length < 0) {
      // Terminals print different characters for it.
      this.isVoid = true;
      return i - length;
    }
    const second = bytes[i + 1] ?? 0;
    if (bytes[i] !== 0xc2 || second > 0x9f) return i + length;
    this.isDirty = true;
    return this.scanIntroduced(bytes, i, i + 2, second - 0x40);
  }

  private scanEscape(bytes: Uint8Array, i: number): number {
    let intermediates = false;
    for (let p = i + 1; ; p++) {
      const c = bytes[p];
      if (c === undefined) return -1;
      if (c === ESC || c === CAN || c === SUB || c >= 0x80) {
        const end = this.scanInterruption(bytes, p);
        if (end !== p + 1 || c < 0x80 || this.isVoid) return end;
      } else if (c < 0x20 || c === 0x7f) this.countEmbedded(bytes, p);
      else if (c < 0x30) intermediates = true;
      else if (intermediates) return this.setSequence("esc", i, p, p + 1);
      else return this.scanIntroduced(bytes, i, p + 1, c);
    }
  }

  /** Handles the sequence that `ESC c`, or the equivalent C1 control, begins. */
  private scanIntroduced(bytes: Uint8Array, start: number, body: number, c: number): number {
    const kind = sequenceKind(c);
    if (kind === "esc") {
      // IND and NEL scroll, DECRC jumps.
      this.rows++;
      return this.setSequence("esc", start, body - 1, body);
    }
    if (kind === "csi") return this.scanCsi(bytes, start, body);
    const end = stringEnd(bytes, body, kind);
    if (end < 0) return -1;
    if (kind !== "title") neutralize(bytes, body, end, kind);
    return this.setSequence(kind, start, body, end);
  }

  private scanCsi(bytes: Uint8Array, start: number, body: number): number {
    for (let p = body; ; p++) {
      const c = bytes[p];
      if (c === undefined) return -1;
      if (c === ESC || c === CAN || c === SUB || c >= 0x80) {
        const end = this.scanInterruption(bytes, p);
        if (end !== p + 1 || c < 0x80 || this.isVoid) return end;
      } else if (c < 0x20 || c === 0x7f) this.countEmbedded(bytes, p);
      else if (c >= 0x40) {
        if (!IN_PLACE_FINALS.has(c)) this.rows += Math.max(1, clampCount(bytes, body, p, this.cols));
        return this.setSequence("csi", start, body, p + 1);
      }
    }
  }

  /**
   * Handles a byte that ends a sequence without effect: returns that end, -1 when it is missing. The emulator
   * ignores an invalid byte: it becomes NUL, and the sequence continues.
   */
  private scanInterruption(bytes: Uint8Array, offset: number): number {
    const c = bytes[offset] ?? 0;
    if (c >= 0x80) {
      const length = characterLength(bytes, offset);
      if (length === 0) return -1;
      if (length < 0) {
        bytes.fill(0, offset, offset - length);
        this.isDirty = true;
        return offset + 1;
      }
      this.isVoid = true;
      // A C1 control begins a new sequence; another character is discarded with the current one.
      const isC1 = c === 0xc2 && (bytes[offset + 1] ?? 0) <= 0x9f;
      if (isC1) return offset;
      // In some states the emulator would continue the sequence.
      bytes.fill(0, offset, offset + length);
      bytes[offset] = CAN;
      return offset + length;
    }
    this.isVoid = true;
    return c === ESC ? offset : offset + 1;
  }

  /** A control inside a sequence is executed at once. Excess line feeds become NUL: only an attack has them. */
  private countEmbedded(bytes: Uint8Array, offset: number): void {
    const c = bytes[offset] ?? 0;
    this.isDirty = true;
    if (c < 0x0a || c > 0x0c) return;
    if (this.rows < ROWS_PER_SLICE) this.rows++;
    else bytes[offset] = 0;
  }

  private setSequence(kind: SequenceKind, start: number, body: number, end: number): number {
    this.sequence.kind = kind;
    this.sequence.start = start;
    this.sequence.body = body;
    this.sequence.end = end;
    return end;
  }
}

/**
 * Whether these bytes separate characters in the emulator. Invalid bytes do not, nor does ST in C1, nor a control
 * sequence that a C1 control cuts off.
 */
function separates(bytes: Uint8Array, start: number, end: number): boolean {
  const first = bytes[start] ?? 0;
  if (first >= 0x80 && !(isC1(bytes, start) && bytes[start + 1] !== 0x9c)) return false;
  if (!isC1(bytes, end)) return true;
  const last = bytes[end - 1] ?? 0;
  const isBegun = end - start === 1 || (end - start === 2 && (last === BRACKET || last === C1_CSI));
  return !isBegun && (last < 0x20 || last >= 0x40);
}

function isC1(bytes: Uint8Array, offset: number): boolean {
  return bytes[offset] === 0xc2 && (bytes[offset + 1] ?? 0xff) <= 0x9f;
}

function latin1(bytes: Uint8Array, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("latin1");
}

function placeholders(bytes: Uint8Array, from: number, limit: number): Slice {
  const end = placeholdersEnd(bytes, from, limit);
  if (end === from) return { ...completeSlice(from, [], NO_EDITS), isUnfinished: true };
  const text = Buffer.from(bytes.subarray(from, end)).toString();
  return {
    ...completeSlice(end, [{ start: from, end, replacement: NOTHING }], NO_EDITS),
    picture: { start: from, text },
  };
}

/** A slice that ends at rest without special data. */
function completeSlice(end: number, edits: Edit[], replaced: readonly Edit[]): Slice {
  return { end, edits, replaced, isUnfinished: false, shift: null, title: null };
}

/** A sequence in its canonical form. */
function canonicalSequence(kind: SequenceKind, start: number, end: number): Sequence {
  return { kind, start, body: kind === "esc" ? end - 1 : start + 2, end };
}
