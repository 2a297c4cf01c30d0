/**
 * Lines that have left the emulator: packed, oldest first.
 *
 * Owns segments of logical lines in the order they were printed: a line is one segment, or several when it is very long.
 * The newest segments are plain objects; older ones are packed by the hundred into one string and a few arrays (a
 * line of 80 Latin-1 characters takes about 100 bytes). Only the end grows and shrinks (`append`, `truncate`), only the
 * beginning is dropped (`trim`), by rows and by bytes. Row counts are those of wrapping each segment at `cols`, kept
 * for one width and counted again when it changes.
 */

import { rowStarts, type Segment } from "./lines.ts";
import type { Extra } from "./styles.ts";

/** Segments of a packed block: enough to make its overhead small, few enough to unpack one for a single line. */
const BLOCK_SEGMENTS = 128;
/** Bytes of a block or segment beside its text and arrays, roughly. */
const BLOCK_OVERHEAD = 400;
const SEGMENT_OVERHEAD = 14;

interface Special {
  readonly units: Uint8Array | null;
  readonly extras: readonly Extra[] | null;
}

/** Packed segments. Arrays have one entry a segment; ends are exclusive. */
interface Block {
  readonly firstId: number;
  readonly ids: Uint16Array;
  /** Null when every segment begins its line. */
  readonly offsets: Float64Array | null;
  readonly cells: Uint16Array;
  readonly text: string;
  readonly textEnds: Uint32Array;
  readonly runs: Uint32Array | null;
  readonly runEnds: Uint32Array | null;
  /** What only lines beyond Latin-1, or with links and fancy underlines, have. */
  readonly specials: ReadonlyMap<number, Special> | null;
  readonly bytes: number;
  rows: number;
}

/** Rows of wrapped segments: from which cell to which. */
export interface HistoryRow {
  readonly segment: Segment;
  readonly from: number;
  readonly to: number;
}

export class History {
  private blocks: Block[] = [];
  /** Segments at the beginning of the first block that are dropped already. */
  private dropped = 0;
  private droppedRows = 0;
  private open: Segment[] = [];
  private openRows = 0;
  private openBytes = 0;
  private blockRows = 0;
  private blockBytes = 0;

  constructor(private cols: number) {}

  /** Rows at the present width. */
  get rows(): number {
    return this.blockRows - this.droppedRows + this.openRows;
  }

  /** Bytes held, by estimate. */
  get bytes(): number {
    return this.blockBytes + this.openBytes;
  }

  get first(): Segment | null {
    const block = this.blocks[0];
    return block !== undefined ? unpack(block, this.dropped) : (this.open[0] ?? null);
  }

  get last(): Segment | null {
    const open = this.open.at(-1);
    if (open !== undefined) return open;
    const block = this.blocks.at(-1);
    return block === undefined ? null : unpack(block, block.cells.length - 1);
  }

  /** Count rows for another width. */
  resize(cols: number): void {
    if (cols === this.cols) return;
    this.cols = cols;
    this.blockRows = 0;
    for (const block of this.blocks) {
      block.rows = countRows(block, 0, block.cells.length, cols);
      this.blockRows += block.rows;
    }
    const head = this.blocks[0];
    this.droppedRows = head === undefined ? 0 : countRows(head, 0, this.dropped, cols);
    this.openRows = this.open.reduce((sum, segment) => sum + rowsOf(segment, cols), 0);
  }

  append(segment: Segment): void {
    this.open.push(segment);
    this.openRows += rowsOf(segment, this.cols);
    this.openBytes += bytesOf(segment);
    if (this.open.length >= 2 * BLOCK_SEGMENTS) this.seal();
  }

  /** Drop what is at or after `offset` cells into line `id`. */
  truncate(id: number, offset: number): void {
    for (;;) {
      if (this.open.length === 0) {
        const block = this.blocks.pop();
        if (block === undefined) return;
        this.unseal(block);
      }
      const segment = this.open.at(-1);
      if (segment === undefined) continue;
      if (segment.id < id || (segment.id === id && segment.offset + segment.cells <= offset && offset > 0)) return;
      this.open.pop();
      this.openRows -= rowsOf(segment, this.cols);
      this.openBytes -= bytesOf(segment);
      if (segment.id === id && segment.offset < offset) {
        this.append(cutSegment(segment, offset - segment.offset));
        return;
      }
    }
  }

  /** Drop the oldest until at most so many rows and bytes are left. */
  trim(maxRows: number, maxBytes: number): void {
    while (this.rows > maxRows || this.bytes > maxBytes) {
      const block = this.blocks[0];
      if (block === undefined) {
        const segment = this.open.shift();
        if (segment === undefined) return;
        this.openRows -= rowsOf(segment, this.cols);
        this.openBytes -= bytesOf(segment);
        continue;
      }
      const left = block.rows - this.droppedRows;
      if (this.bytes > maxBytes || this.rows - left >= maxRows || this.dropped + 1 >= block.cells.length) {
        this.blocks.shift();
        this.blockRows -= block.rows;
        this.blockBytes -= block.bytes;
        this.dropped = 0;
        this.droppedRows = 0;
      } else {
        this.droppedRows += countRows(block, this.dropped, this.dropped + 1, this.cols);
        this.dropped++;
      }
    }
  }

  clear(): void {
    this.blocks = [];
    this.open = [];
    this.dropped = 0;
    this.droppedRows = 0;
    this.openRows = 0;
    this.openBytes = 0;
    this.blockRows = 0;
    this.blockBytes = 0;
  }

  /** Segments of lines `fromId` to `toId`, oldest first. */
  *segments(fromId: number, toId: number): Generator<Segment> {
    for (const [index, block] of this.blocks.entries()) {
      const lastId = block.firstId + (block.ids[block.ids.length - 1] ?? 0);
      if (lastId < fromId) continue;
      if (block.firstId > toId) return;
      for (let i = index === 0 ? this.dropped : 0; i < block.cells.length; i++) {
        const id = block.firstId + (block.ids[i] ?? 0);
        if (id > toId) return;
        if (id >= fromId) yield unpack(block, i);
      }
    }
    for (const segment of this.open) {
      if (segment.id > toId) return;
      if (segment.id >= fromId) yield segment;
    }
  }

  /** Rows `from` to `to` (exclusive), 0 being the oldest. */
  *rowsBetween(from: number, to: number): Generator<HistoryRow> {
    let row = -this.droppedRows;
    for (const [index, block] of this.blocks.entries()) {
      if (row >= to) return;
      if (row + block.rows <= from) {
        row += block.rows;
        continue;
      }
      for (let i = 0; i < block.cells.length && row < to; i++) {
        const rows = countRows(block, i, i + 1, this.cols);
        if (row + rows > from && (index > 0 || i >= this.dropped)) {
          yield* wrapped(unpack(block, i), this.cols, from - row, to - row);
        }
        row += rows;
      }
    }
    for (const segment of this.open) {
      if (row >= to) return;
      const rows = rowsOf(segment, this.cols);
      if (row + rows > from) yield* wrapped(segment, this.cols, from - row, to - row);
      row += rows;
    }
  }

  private seal(): void {
    const segments = this.open.splice(0, BLOCK_SEGMENTS);
    const block = pack(segments, this.cols);
    this.openRows -= block.rows;
    for (const segment of segments) this.openBytes -= bytesOf(segment);
    this.blocks.push(block);
    this.blockRows += block.rows;
    this.blockBytes += block.bytes;
  }

  /** Bring a block that was taken off the end back as plain segments. */
  private unseal(block: Block): void {
    this.blockRows -= block.rows;
    this.blockBytes -= block.bytes;
    const first = this.blocks.length === 0 ? this.dropped : 0;
    if (this.blocks.length === 0) {
      this.dropped = 0;
      this.droppedRows = 0;
    }
    for (let i = first; i < block.cells.length; i++) {
      const segment = unpack(block, i);
      this.open.push(segment);
      this.openRows += rowsOf(segment, this.cols);
      this.openBytes += bytesOf(segment);
    }
  }
}

function* wrapped(segment: Segment, cols: number, from: number, to: number): Generator<HistoryRow> {
  const starts = rowStarts(segment, cols);
  for (let i = Math.max(from, 0); i < Math.min(to, starts.length); i++) {
    yield { segment, from: starts[i] ?? 0, to: starts[i + 1] ?? segment.cells };
  }
}

function rowsOf(segment: Segment, cols: number): number {
  if (segment.cells <= cols) return 1;
  return segment.units === null ? Math.ceil(segment.cells / cols) : rowStarts(segment, cols).length;
}

function bytesOf(segment: Segment): number {
  const { text, units, runs } = segment;
  const special = units !== null || segment.extras !== null;
  return (
    SEGMENT_OVERHEAD +
    text.length * (units === null ? 1 : 2) +
    (units?.length ?? 0) +
    (runs?.byteLength ?? 0) +
    (special ? BLOCK_OVERHEAD / 4 : 0)
  );
}

/** The first `cells` cells of a segment. */
function cutSegment(segment: Segment, cells: number): Segment {
  let length = cells;
  if (segment.units !== null) {
    length = 0;
    for (let x = 0; x < cells; x++) length += segment.units[x] ?? 0;
  }
  // Readers stop at `cells`, whatever the last run says.
  const units = segment.units === null ? null : segment.units.slice(0, cells);
  return { ...segment, cells, text: segment.text.slice(0, length), units };
}

function pack(segments: readonly Segment[], cols: number): Block {
  const count = segments.length;
  const firstId = segments[0]?.id ?? 0;
  const ids = new Uint16Array(count);
  const cells = new Uint16Array(count);
  const textEnds = new Uint32Array(count);
  const split = segments.some((segment) => segment.offset > 0);
  const offsets = split ? new Float64Array(count) : null;
  let words = 0;
  for (const segment of segments) words += segment.runs?.length ?? 0;
  const runs = words > 0 ? new Uint32Array(words) : null;
  const runEnds = words > 0 ? new Uint32Array(count) : null;
  const specials = new Map<number, Special>();
  const texts: string[] = [];
  let textEnd = 0;
  let runEnd = 0;
  let bytes = BLOCK_OVERHEAD;
  let rows = 0;
  for (const [i, segment] of segments.entries()) {
    ids[i] = segment.id - firstId;
    cells[i] = segment.cells;
    if (offsets !== null) offsets[i] = segment.offset;
    texts.push(segment.text);
    textEnd += segment.text.length;
    textEnds[i] = textEnd;
    if (segment.runs !== null && runs !== null) {
      runs.set(segment.runs, runEnd);
      runEnd += segment.runs.length;
    }
    if (runEnds !== null) runEnds[i] = runEnd;
    if (segment.units !== null || segment.extras !== null) {
      specials.set(i, { units: segment.units, extras: segment.extras });
    }
    bytes += bytesOf(segment);
    rows += rowsOf(segment, cols);
  }
  return {
    firstId,
    ids,
    offsets,
    cells,
    // Joined at once: a string that grows by += keeps all its pieces.
    text: texts.join(""),
    textEnds,
    runs,
    runEnds,
    specials: specials.size > 0 ? specials : null,
    bytes,
    rows,
  };
}

function unpack(block: Block, i: number): Segment {
  const start = i === 0 ? 0 : (block.textEnds[i - 1] ?? 0);
  const runStart = i === 0 ? 0 : (block.runEnds?.[i - 1] ?? 0);
  const runEnd = block.runEnds?.[i] ?? 0;
  const special = block.specials?.get(i);
  return {
    id: block.firstId + (block.ids[i] ?? 0),
    offset: block.offsets?.[i] ?? 0,
    cells: block.cells[i] ?? 0,
    text: block.text.slice(start, block.textEnds[i] ?? 0),
    units: special?.units ?? null,
    runs: runEnd > runStart ? (block.runs?.subarray(runStart, runEnd) ?? null) : null,
    extras: special?.extras ?? null,
  };
}

function countRows(block: Block, from: number, to: number, cols: number): number {
  let rows = 0;
  for (let i = from; i < to; i++) {
    const cells = block.cells[i] ?? 0;
    if (cells <= cols) rows++;
    else if (block.specials?.get(i)?.units == null) rows += Math.ceil(cells / cols);
    else rows += rowStarts(unpack(block, i), cols).length;
  }
  return rows;
}
