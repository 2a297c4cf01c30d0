/**
 * Plain lines in their printed form, many at a time: a flood costs a copy of its bytes, and a line is read
 * only on request, as very few ever are. Never changes.
 */

import { isSimpleLine, LineReader, usedCellsOf } from "../bypass/plain-line.ts";
import type { Pieces } from "./packed-block.ts";
import type { Segment } from "./segment.ts";
import { SegmentBuilder } from "./segment-builder.ts";

/** Memory of the objects and arrays around the bytes, and of a line's entries; roughly. */
const OVERHEAD_BYTES = 400;
const LINE_BYTES = 8;

const reader = new LineReader();
const builder = new SegmentBuilder();

export class RawLines implements Pieces {
  readonly areWhole = true;

  /**
   * @param source contains the lines; those bytes are copied
   * @param starts start of each line in it, and `end` the end of the last one
   * @param words `LineReader.word` of each
   * @param cols width of the terminal that printed them
   */
  static copyFrom(
    firstId: number,
    source: Uint8Array,
    starts: Uint32Array,
    end: number,
    words: Uint32Array,
    cols: number,
  ): RawLines {
    const begin = starts[0] ?? end;
    // Its own memory, not part of a pool.
    const own = Buffer.allocUnsafeSlow(end - begin);
    own.set(source.subarray(begin, end));
    const ownStarts = starts.map((start) => start - begin);
    return new RawLines(firstId, own, ownStarts, words, cols);
  }

  private constructor(
    private readonly firstId: number,
    private readonly source: Buffer,
    private readonly starts: Uint32Array,
    private readonly words: Uint32Array,
    private readonly cols: number,
  ) {}

  get count(): number {
    return this.starts.length;
  }

  get bytes(): number {
    return OVERHEAD_BYTES + this.source.length + this.count * LINE_BYTES;
  }

  lineCount(from: number, to: number): number {
    return to - from;
  }

  lineId(index: number): number {
    return this.firstId + index;
  }

  cellEnd(index: number): number {
    return this.segment(index).cells;
  }

  beginsLine(): boolean {
    return true;
  }

  text(index: number): string {
    const word = this.words[index] ?? 0;
    if (!isSimpleLine(word)) return this.segment(index).text;
    const start = this.starts[index] ?? 0;
    return this.source.toString("latin1", start, start + usedCellsOf(word));
  }

  segment(index: number): Segment {
    reader.pack(this.source, this.starts[index] ?? 0, this.cols, usedCellsOf(this.words[index] ?? 0), builder);
    return builder.finish(this.lineId(index), 0);
  }

  textLength(from: number, to: number): number {
    let length = 0;
    for (let index = from; index < to; index++) length += usedCellsOf(this.words[index] ?? 0);
    return length;
  }

  lineBytes(from: number, to: number): Uint8Array | null {
    for (let index = from; index < to; index++) if (!isSimpleLine(this.words[index] ?? 0)) return null;
    return this.source.subarray(this.starts[from], this.starts[to] ?? this.source.length);
  }

  rowCount(from: number, to: number, cols: number): number {
    let rows = 0;
    for (let index = from; index < to; index++) {
      const cells = usedCellsOf(this.words[index] ?? 0);
      rows += cells <= cols ? 1 : Math.ceil(cells / cols);
    }
    return rows;
  }
}
