/**
 * Pieces of logical lines, packed by the hundred: one run of bytes for their Latin-1 text and a few arrays, so that a
 * line of 80 characters takes about 100 bytes and a flood allocates no object per line. Text beyond Latin-1, links and
 * fancy underlines are stored beside them, by piece.
 *
 * Packed pieces never change. The builder is the block being filled: readers treat it like packed pieces, and only it
 * can lose its last piece again.
 */

import type { CellExtra } from "../rows/styles.ts";
import { CELL_WORDS, type StoredRow, simpleCode } from "../rows/xterm-row.ts";
import { hasStale, rowStarts, type Segment, withoutStaleCells } from "./segment.ts";
import type { SegmentBuilder } from "./segment-builder.ts";

/** Pieces of a block: enough to make its overhead small, few enough to walk for a single line. */
const BLOCK_PIECES = 128;
/** Bytes of a block, of a piece, and of the data beside a special one, without texts and arrays; roughly. */
const BLOCK_OVERHEAD = 400;
const PIECE_OVERHEAD = 14;
const SPECIAL_OVERHEAD = 100;

interface Special {
  /** Null when the text is Latin-1 and is stored with the others. */
  readonly text: string | null;
  readonly units: Uint8Array | null;
  readonly extras: readonly CellExtra[] | null;
}

/** Pieces of consecutive lines, in any storage form. */
export interface Pieces {
  readonly count: number;
  /** Estimated memory in bytes. */
  readonly bytes: number;
  /** Whether every piece begins its line. */
  readonly areWhole: boolean;
  /** Pieces of `from` to `to` (exclusive) that begin a line. */
  lineCount(from: number, to: number): number;
  /** The line of a piece. */
  lineId(index: number): number;
  beginsLine(index: number): boolean;
  /** Cells of the line up to the piece's end. */
  cellEnd(index: number): number;
  /** Text as in output: blanks replace cells from before a command. */
  text(index: number): string;
  segment(index: number): Segment;
  /** Characters of the pieces `from` to `to` (exclusive) together. */
  textLength(from: number, to: number): number;
  /** The pieces `from` to `to` as UTF-8, each ended by CR LF or LF, if they are stored in that form; else null. */
  lineBytes(from: number, to: number): Uint8Array | null;
  /** Rows of the pieces `from` to `to` when each is wrapped at `cols`. */
  rowCount(from: number, to: number, cols: number): number;
}

/** The data of packed pieces. Arrays have one entry a piece; ends are exclusive. */
interface Packed {
  readonly count: number;
  readonly firstId: number;
  /** Beyond firstId. */
  readonly ids: Uint16Array;
  /** Cells of the line before a piece; null when every piece begins its line. */
  readonly offsets: Float64Array | null;
  readonly cells: Uint16Array;
  readonly text: Buffer;
  readonly textEnds: Uint32Array;
  readonly runs: Uint32Array;
  /** Null when all have the default style throughout. */
  readonly runEnds: Uint32Array | null;
  readonly specials: ReadonlyMap<number, Special> | null;
  /** Estimate. */
  readonly bytes: number;
}

class PackedPieces implements Pieces {
  constructor(private readonly packed: Packed) {}

  get count(): number {
    return this.packed.count;
  }

  get bytes(): number {
    return this.packed.bytes;
  }

  get areWhole(): boolean {
    return this.packed.offsets === null;
  }

  lineCount(from: number, to: number): number {
    const { offsets } = this.packed;
    if (offsets === null) return to - from;
    let lines = 0;
    for (let index = from; index < to; index++) if (offsets[index] === 0) lines++;
    return lines;
  }

  lineId(at: number): number {
    const { firstId, ids } = this.packed;
    return firstId + (ids[at] ?? 0);
  }

  cellEnd(at: number): number {
    return (this.packed.offsets?.[at] ?? 0) + (this.packed.cells[at] ?? 0);
  }

  beginsLine(at: number): boolean {
    return (this.packed.offsets?.[at] ?? 0) === 0;
  }

  text(at: number): string {
    const { runs, runEnds } = this.packed;
    if (runEnds === null || !hasStale(runs, at === 0 ? 0 : (runEnds[at - 1] ?? 0), runEnds[at] ?? 0)) {
      return this.visibleText(at);
    }
    return withoutStaleCells(this.segment(at)).text;
  }

  private visibleText(at: number): string {
    const { specials, textEnds, text } = this.packed;
    const special = specials?.get(at)?.text;
    if (special !== undefined && special !== null) return special;
    const start = at === 0 ? 0 : (textEnds[at - 1] ?? 0);
    return text.toString("latin1", start, textEnds[at] ?? 0);
  }

  segment(index: number): Segment {
    const { packed } = this;
    const special = packed.specials?.get(index);
    const runStart = index === 0 ? 0 : (packed.runEnds?.[index - 1] ?? 0);
    const runEnd = packed.runEnds?.[index] ?? 0;
    return {
      id: this.lineId(index),
      offset: packed.offsets?.[index] ?? 0,
      cells: packed.cells[index] ?? 0,
      text: this.visibleText(index),
      units: special?.units ?? null,
      runs: runEnd > runStart ? packed.runs.slice(runStart, runEnd) : null,
      extras: special?.extras ?? null,
    };
  }

  textLength(from: number, to: number): number {
    const { textEnds, specials } = this.packed;
    let length = (to === 0 ? 0 : (textEnds[to - 1] ?? 0)) - (from === 0 ? 0 : (textEnds[from - 1] ?? 0));
    for (const [at, { text }] of specials ?? []) if (at >= from && at < to) length += text?.length ?? 0;
    return length;
  }

  lineBytes(): null {
    return null;
  }

  rowCount(from: number, to: number, cols: number): number {
    const { packed } = this;
    let rows = 0;
    for (let index = from; index < to; index++) {
      const cells = packed.cells[index] ?? 0;
      if (cells <= cols) rows++;
      else if (packed.specials?.get(index)?.units == null) rows += Math.ceil(cells / cols);
      else rows += rowStarts(this.segment(index), cols).length;
    }
    return rows;
  }
}

export class BlockBuilder implements Packed {
  readonly pieces = new PackedPieces(this);
  count = 0;
  firstId = 0;
  readonly ids = new Uint16Array(BLOCK_PIECES);
  offsets: Float64Array | null = null;
  readonly cells = new Uint16Array(BLOCK_PIECES);
  text = Buffer.allocUnsafeSlow(1_024);
  readonly textEnds = new Uint32Array(BLOCK_PIECES);
  runs = new Uint32Array(64);
  readonly runEnds = new Uint32Array(BLOCK_PIECES);
  specials: Map<number, Special> | null = null;
  private length = 0;
  private runWords = 0;
  private specialBytes = 0;

  get isFull(): boolean {
    return this.count === BLOCK_PIECES;
  }

  get bytes(): number {
    if (this.count === 0) return 0;
    return BLOCK_OVERHEAD + this.count * PIECE_OVERHEAD + this.length + this.runWords * 4 + this.specialBytes;
  }

  /** A whole line of one row, if it is Latin-1 in the default style; else false. Runs once per line of a flood. */
  addPlain(id: number, row: StoredRow, cells: number): boolean {
    if (this.text.length < this.length + cells) this.growText(cells);
    const { text } = this;
    const data = row._data;
    let end = this.length;
    for (let index = 0; index < cells * CELL_WORDS; index += CELL_WORDS) {
      if (data[index + 1] !== 0 || data[index + 2] !== 0) return false;
      const code = simpleCode(data[index] ?? 0, 256);
      if (code < 0) return false;
      text[end++] = code;
    }
    this.length = end;
    this.pushPiece(id, 0, cells);
    return true;
  }

  /** Adds the contents of a segment builder. */
  addBuilt(id: number, offset: number, built: SegmentBuilder): void {
    const wide = built.isWide ? built.finishText() : null;
    if (wide === null) {
      if (this.text.length < this.length + built.cells) this.growText(built.cells);
      built.copyText(this.text, this.length);
      this.length += built.cells;
    }
    this.addRuns(built.styleRuns, built.styleWords);
    this.addSpecial(wide, wide === null ? null : built.finishUnits(), built.finishExtras());
    this.pushPiece(id, offset, built.cells);
    built.clear();
  }

  addSegment(segment: Segment): void {
    const { text, units, runs, extras } = segment;
    if (units === null) {
      if (this.text.length < this.length + text.length) this.growText(text.length);
      this.length += this.text.write(text, this.length, "latin1");
    }
    if (runs !== null) this.addRuns(runs, runs.length);
    this.addSpecial(units === null ? null : text, units, extras);
    this.pushPiece(segment.id, segment.offset, segment.cells);
  }

  pop(): void {
    const at = --this.count;
    this.length = at === 0 ? 0 : (this.textEnds[at - 1] ?? 0);
    this.runWords = at === 0 ? 0 : (this.runEnds[at - 1] ?? 0);
    const special = this.specials?.get(at);
    if (special === undefined) return;
    this.specialBytes -= specialBytes(special);
    this.specials?.delete(at);
  }

  /** Detaches the pieces so far; the builder is empty afterwards. */
  seal(): PackedPieces {
    const { count, firstId, length, runWords, specials, bytes } = this;
    const text = Buffer.allocUnsafeSlow(length);
    this.text.copy(text, 0, 0, length);
    const pieces = new PackedPieces({
      count,
      firstId,
      ids: this.ids.slice(0, count),
      offsets: this.offsets?.slice(0, count) ?? null,
      cells: this.cells.slice(0, count),
      text,
      textEnds: this.textEnds.slice(0, count),
      runs: this.runs.slice(0, runWords),
      runEnds: runWords === 0 ? null : this.runEnds.slice(0, count),
      specials: specials === null || specials.size === 0 ? null : specials,
      bytes,
    });
    this.clear();
    return pieces;
  }

  clear(): void {
    this.count = 0;
    this.length = 0;
    this.runWords = 0;
    this.specialBytes = 0;
    this.offsets = null;
    this.specials = null;
  }

  private pushPiece(id: number, offset: number, cells: number): void {
    const at = this.count++;
    if (at === 0) this.firstId = id;
    this.ids[at] = id - this.firstId;
    this.cells[at] = cells;
    this.textEnds[at] = this.length;
    this.runEnds[at] = this.runWords;
    if (offset > 0) this.offsets ??= new Float64Array(BLOCK_PIECES);
    if (this.offsets !== null) this.offsets[at] = offset;
  }

  private addSpecial(text: string | null, units: Uint8Array | null, extras: readonly CellExtra[] | null): void {
    if (text === null && extras === null) return;
    const special = { text, units, extras };
    this.specials ??= new Map();
    this.specials.set(this.count, special);
    this.specialBytes += specialBytes(special);
  }

  private addRuns(runs: Uint32Array, words: number): void {
    if (words === 0) return;
    if (this.runs.length < this.runWords + words) {
      const longer = new Uint32Array(2 * (this.runWords + words));
      longer.set(this.runs);
      this.runs = longer;
    }
    for (let index = 0; index < words; index++) this.runs[this.runWords + index] = runs[index] ?? 0;
    this.runWords += words;
  }

  private growText(more: number): void {
    const longer = Buffer.allocUnsafeSlow(2 * (this.length + more));
    this.text.copy(longer, 0, 0, this.length);
    this.text = longer;
  }
}

/** Lines that history drops: the pieces `from` to `to` of a complete block. */
export class RetiredLines {
  constructor(
    private readonly pieces: Pieces,
    private readonly from: number,
    private readonly to: number,
  ) {}

  /** Pieces of lines. */
  get count(): number {
    return this.to - this.from;
  }

  /** Whether every piece begins its line. */
  get areWhole(): boolean {
    return this.pieces.areWhole;
  }

  lineId(index: number): number {
    return this.pieces.lineId(this.from + index);
  }

  beginsLine(index: number): boolean {
    return this.pieces.beginsLine(this.from + index);
  }

  text(index: number): string {
    return this.pieces.text(this.from + index);
  }

  /** Characters of the pieces `from` to `to` (exclusive) together. */
  length(from: number, to: number): number {
    return this.pieces.textLength(this.from + from, this.from + to);
  }

  /**
   * The pieces `from` to `to` (exclusive) as UTF-8, each ended by CR LF or LF, if they are stored in that form; else
   * null.
   */
  bytes(from: number, to: number): Uint8Array | null {
    return this.pieces.lineBytes(this.from + from, this.from + to);
  }
}

function specialBytes({ text, units }: Special): number {
  return SPECIAL_OVERHEAD + 2 * (text?.length ?? 0) + (units?.length ?? 0);
}
