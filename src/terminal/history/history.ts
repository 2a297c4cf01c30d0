/**
 * Lines that have left the emulator: packed, oldest first.
 *
 * Owns pieces of logical lines in print order: a line is one piece, or several when it is very long. Only the
 * end grows and shrinks (`append`, `truncate`); only the beginning is dropped (`trim`), by logical lines and
 * by bytes. Neither depends on the width, so a narrow terminal drops nothing. Row counts result from wrapping
 * each piece at `cols`; they are cached for one width, recounted when it changes, and affect the display,
 * never retention. The block reports dropped lines once, before they disappear: only a consumer that needs
 * their text reads it; others pay nothing.
 */

import type { StoredRow } from "../rows/xterm-row.ts";
import { BlockBuilder, type Pieces, RetiredLines } from "./packed-block.ts";
import type { RawLines } from "./raw-lines.ts";
import { rowStarts, type Segment } from "./segment.ts";
import type { SegmentBuilder } from "./segment-builder.ts";

export type { RetiredLines } from "./packed-block.ts";

/** Rows of wrapped segments: from which cell to which. */
interface HistoryRow {
  readonly segment: Segment;
  readonly from: number;
  readonly to: number;
}

interface Block {
  readonly pieces: Pieces;
  /** At the history's width. */
  rows: number;
  readonly lines: number;
}

export class History {
  private blocks: Block[] = [];
  /** Pieces at the start of the first block that are already dropped. */
  private droppedPieces = 0;
  private droppedRows = 0;
  private droppedLines = 0;
  /** Follows the blocks. */
  private readonly openBlock = new BlockBuilder();
  private openRows = 0;
  private blockRows = 0;
  private blockLines = 0;
  private blockBytes = 0;

  constructor(
    private cols: number,
    private readonly onRetired: (lines: RetiredLines) => void,
  ) {}

  /** Rows at the current width. */
  get rows(): number {
    return this.blockRows - this.droppedRows + this.openRows;
  }

  /** Logical lines that begin here, regardless of the width. */
  get lines(): number {
    return this.blockLines - this.droppedLines + this.openLines;
  }

  /** Estimated size in bytes. */
  get bytes(): number {
    return this.blockBytes + this.openBlock.bytes;
  }

  /** Id of the oldest line; null without lines. */
  get firstId(): number | null {
    const block = this.blocks[0];
    if (block !== undefined) return block.pieces.lineId(this.droppedPieces);
    return this.openBlock.count > 0 ? this.openBlock.firstId : null;
  }

  /** Recounts rows for another width. */
  resize(cols: number): void {
    if (cols === this.cols) return;
    this.cols = cols;
    this.blockRows = 0;
    for (const block of this.blocks) {
      block.rows = block.pieces.rowCount(0, block.pieces.count, cols);
      this.blockRows += block.rows;
    }
    const head = this.blocks[0];
    this.droppedRows = head === undefined ? 0 : head.pieces.rowCount(0, this.droppedPieces, cols);
    this.openRows = this.openBlock.pieces.rowCount(0, this.openBlock.count, cols);
  }

  /** Adds a line of one row; false when it is not plain (see `append`). */
  appendPlain(id: number, row: StoredRow, cells: number): boolean {
    if (this.openBlock.isFull) this.seal();
    if (!this.openBlock.addPlain(id, row, cells)) return false;
    this.openRows += cells <= this.cols ? 1 : Math.ceil(cells / this.cols);
    return true;
  }

  /** Adds a piece of line `id` with `offset` cells before it; the builder is empty afterwards. */
  append(id: number, offset: number, built: SegmentBuilder): void {
    if (this.openBlock.isFull) this.seal();
    this.openBlock.addBuilt(id, offset, built);
    this.countAppended();
  }

  /** Adds lines in their printed form. */
  appendRaw(pieces: RawLines): void {
    if (this.openBlock.count > 0) this.seal();
    this.pushBlock({ pieces, rows: pieces.rowCount(0, pieces.count, this.cols), lines: pieces.count });
  }

  /** Drops everything at or after `offset` cells into line `id`. */
  truncate(id: number, offset: number): void {
    for (;;) {
      if (this.openBlock.count === 0) {
        const block = this.blocks.pop();
        if (block === undefined) return;
        this.unseal(block);
        continue;
      }
      const segment = this.openBlock.pieces.segment(this.openBlock.count - 1);
      if (segment.id < id || (segment.id === id && segment.offset + segment.cells <= offset && offset > 0)) return;
      this.openRows -= this.openBlock.pieces.rowCount(this.openBlock.count - 1, this.openBlock.count, this.cols);
      this.openBlock.pop();
      if (segment.id === id && segment.offset < offset) {
        this.openBlock.addSegment(cutSegment(segment, offset - segment.offset));
        this.countAppended();
        return;
      }
    }
  }

  /** Drops the oldest until at most this many lines and bytes are left. Runs per slice of output. */
  trim(maxLines: number, maxBytes: number): void {
    // If no line may remain, the rest of a line without its start may not either.
    while (this.lines > maxLines || this.bytes > maxBytes || (maxLines === 0 && this.bytes > 0)) {
      const block = this.blocks[0];
      if (block === undefined) {
        if (this.openBlock.count === 0) return;
        this.seal();
        continue;
      }
      const { pieces } = block;
      const from = this.droppedPieces;
      const surplus = this.lines - maxLines;
      let to = pieces.count;
      if (this.bytes <= maxBytes && surplus < block.lines - this.droppedLines) {
        // A line is dropped with all its pieces.
        let lines = 0;
        for (to = from; to < pieces.count; to++) {
          if (!pieces.beginsLine(to)) continue;
          if (lines === surplus) break;
          lines++;
        }
        this.droppedLines += lines;
        this.droppedRows += pieces.rowCount(from, to, this.cols);
      }
      this.droppedPieces = to;
      this.onRetired(new RetiredLines(pieces, from, to));
      if (to === pieces.count) this.dropFirstBlock(block);
    }
  }

  clear(): void {
    if (this.openBlock.count > 0) this.seal();
    for (let block = this.blocks[0]; block !== undefined; block = this.blocks[0]) {
      this.onRetired(new RetiredLines(block.pieces, this.droppedPieces, block.pieces.count));
      this.dropFirstBlock(block);
    }
  }

  /** Segments of lines `fromId` to `toId`, oldest first; of the first line, those that end after a cell. */
  *segments(fromId: number, toId: number, fromCell = 0): Generator<Segment> {
    for (const { pieces, first } of this.pieceGroups()) {
      if (pieces.count === 0 || pieces.lineId(pieces.count - 1) < fromId) continue;
      if (pieces.lineId(0) > toId) return;
      for (let index = first; index < pieces.count; index++) {
        const id = pieces.lineId(index);
        if (id > toId) return;
        if (id < fromId || (fromCell > 0 && id === fromId && pieces.cellEnd(index) <= fromCell)) continue;
        yield pieces.segment(index);
      }
    }
  }

  /** Rows `from` to `to` (exclusive), 0 being the oldest. */
  *rowsBetween(from: number, to: number): Generator<HistoryRow> {
    let row = 0;
    for (const { pieces, first, rows: all } of this.pieceGroups()) {
      if (row >= to) return;
      if (row + all <= from) {
        row += all;
        continue;
      }
      for (let index = first; index < pieces.count && row < to; index++) {
        const rows = pieces.rowCount(index, index + 1, this.cols);
        if (row + rows > from) yield* wrapSegment(pieces.segment(index), this.cols, from - row, to - row);
        row += rows;
      }
    }
  }

  /** Lines that begin in the open block: at most as many as it has pieces. */
  private get openLines(): number {
    return this.openBlock.pieces.lineCount(0, this.openBlock.count);
  }

  /** Everything in order: the blocks, the first piece of each, and their rows. */
  private *pieceGroups(): Generator<{ readonly pieces: Pieces; readonly first: number; readonly rows: number }> {
    for (const [index, { pieces, rows }] of this.blocks.entries()) {
      if (index === 0) yield { pieces, first: this.droppedPieces, rows: rows - this.droppedRows };
      else yield { pieces, first: 0, rows };
    }
    yield { pieces: this.openBlock.pieces, first: 0, rows: this.openRows };
  }

  /** Counts the piece just added to the end. */
  private countAppended(): void {
    this.openRows += this.openBlock.pieces.rowCount(this.openBlock.count - 1, this.openBlock.count, this.cols);
  }

  private seal(): void {
    const rows = this.openRows;
    this.openRows = 0;
    const pieces = this.openBlock.seal();
    this.pushBlock({ pieces, rows, lines: pieces.lineCount(0, pieces.count) });
  }

  private pushBlock(block: Block): void {
    this.blocks.push(block);
    this.blockRows += block.rows;
    this.blockLines += block.lines;
    this.blockBytes += block.pieces.bytes;
  }

  /** Drops the first block whole. */
  private dropFirstBlock(block: Block): void {
    this.blocks.shift();
    this.blockRows -= block.rows;
    this.blockLines -= block.lines;
    this.blockBytes -= block.pieces.bytes;
    this.droppedPieces = 0;
    this.droppedRows = 0;
    this.droppedLines = 0;
  }

  /** Restores a block taken off the end to a form from which pieces can be removed. */
  private unseal(block: Block): void {
    this.blockRows -= block.rows;
    this.blockLines -= block.lines;
    this.blockBytes -= block.pieces.bytes;
    const first = this.blocks.length === 0 ? this.droppedPieces : 0;
    if (this.blocks.length === 0) {
      this.droppedPieces = 0;
      this.droppedRows = 0;
      this.droppedLines = 0;
    }
    for (let index = first; index < block.pieces.count; index++) {
      if (this.openBlock.isFull) this.seal();
      this.openBlock.addSegment(block.pieces.segment(index));
      this.countAppended();
    }
  }
}

function* wrapSegment(segment: Segment, cols: number, from: number, to: number): Generator<HistoryRow> {
  const starts = rowStarts(segment, cols);
  for (let i = Math.max(from, 0); i < Math.min(to, starts.length); i++) {
    yield { segment, from: starts[i] ?? 0, to: starts[i + 1] ?? segment.cells };
  }
}

/** The first `cells` cells of a segment. */
function cutSegment(segment: Segment, cells: number): Segment {
  let length = cells;
  if (segment.units !== null) {
    length = 0;
    for (let x = 0; x < cells; x++) length += segment.units[x] ?? 0;
  }
  // Readers stop at `cells`, whatever the last run's length.
  const units = segment.units === null ? null : segment.units.slice(0, cells);
  return { ...segment, cells, text: segment.text.slice(0, length), units };
}
