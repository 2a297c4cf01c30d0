/**
 * The hot window: the rows that the emulator still holds, joined to the history above them.
 *
 * xterm drops its oldest row silently when its buffer is full. So rows are packed into history before that:
 * the oldest rows of the buffer, up to `boundary`, are already in history, and a slice never scrolls more
 * rows than that (`MAX_SCROLL`). Readers find a row either in history or at `boundary` and below, never in
 * both. A marker just above the screen shows how many rows xterm has dropped. Only rows above the screen are
 * packed, and they no longer change; a resize, which reflows them, first takes them back out of history.
 * Logical ids: a row that is not wrapped begins the next line, counted from the last line packed.
 */
import type { IBuffer, IMarker, Terminal } from "@xterm/headless";
import type { Position } from "../marks.ts";
import type { LinkTable } from "../rows/hyperlinks.ts";
import { cursorPosition, restoreCursor } from "../rows/reflowed-cursor.ts";
import { type StoredRow, storedRow, usedCells, wrappedCells } from "../rows/xterm-row.ts";
import { MAX_SCROLL } from "../stream/slice-scanner.ts";
import type { History } from "./history.ts";
import type { RawLines } from "./raw-lines.ts";
import type { Segment } from "./segment.ts";
import { SegmentBuilder } from "./segment-builder.ts";

/** Rows that xterm keeps above the screen: as many as one slice can scroll, and ~700 that a screen may show again. */
export const HOT_ROWS = 1_216;
/** Least rows above the screen that the emulator has after a flood or a resize: a taller screen shows them again. */
export const ROWS_ABOVE = 256;
/** Extra rows per packing, so that packing happens in batches. */
const BATCH_ROWS = 64;
/** Cells of one segment: longer lines are packed in pieces. */
const SEGMENT_CELLS = 4_096;

export class HotWindow {
  /** First row of the normal buffer that is not in history. */
  private boundary = 0;
  /** Rows before this one do not follow the end of history directly: bypassed lines are in between (`bypass.ts`). */
  private staleEnd = 0;
  /** The line of the row above the boundary, and its cells before the boundary. */
  private lastLineId: number;
  private lastCells = 0;
  private marker: IMarker | null = null;
  private markerRow = 0;
  /** The line of the row above row `row`, and its cells up to there; -1: unknown. */
  private lastLookup = { row: -1, line: 0, cells: 0 };
  private readonly builder = new SegmentBuilder();

  constructor(
    private readonly terminal: Terminal,
    private readonly history: History,
    private readonly links: LinkTable,
    private readonly limits: { readonly lines: number; readonly bytes: number },
    /** The last line that an earlier emulator put into history; -1 for the first. */
    lastLine: number,
  ) {
    this.lastLineId = lastLine;
  }

  /** Before any output: sets the number of the first line. */
  setFirstLine(line: number): void {
    this.lastLineId = line - 1;
  }

  /** The newest line in history. */
  get lastLine(): number {
    return this.lastLineId;
  }

  private get buffer(): IBuffer {
    return this.terminal.buffer.normal;
  }

  /** Rows that are not in history, including the screen's, within the line limit. */
  get rows(): number {
    return this.buffer.length - this.startRow;
  }

  /** How many of those rows are above the screen. */
  get above(): number {
    return this.rows - this.terminal.rows;
  }

  /** Row `index` of those rows. */
  row(index: number): StoredRow {
    return storedRow(this.buffer, this.startRow + index);
  }

  /** Trims history to its limits, given this many lines neither there nor on the screen: call after every chunk. */
  trim(above = this.linesBefore(0)): void {
    this.history.trim(Math.max(0, this.limits.lines - above), this.limits.bytes);
  }

  /** Lines that begin in the rows above row `y` of the screen and are not in history. */
  linesBefore(y: number): number {
    this.syncDroppedRows();
    const { buffer } = this;
    const row = Math.max(this.boundary, buffer.baseY + y);
    const { line } = this.position(row - buffer.baseY, 0);
    return line - this.lastLineId - (storedRow(buffer, row).isWrapped ? 0 : 1);
  }

  private get startRow(): number {
    this.syncDroppedRows();
    const { buffer, boundary, limits } = this;
    // Every row may begin a line.
    if (buffer.baseY - boundary <= limits.lines) return boundary;
    let start = buffer.baseY;
    for (let lines = 0; start > boundary; start--) {
      if (lines >= limits.lines && !storedRow(buffer, start).isWrapped) break;
      if (!storedRow(buffer, start - 1).isWrapped) lines++;
    }
    return start;
  }

  /** Evicts rows before a slice: call before every one. */
  prepare(): void {
    this.syncDroppedRows();
    const { buffer } = this;
    const needed = buffer.length + MAX_SCROLL - (this.terminal.rows + HOT_ROWS);
    if (needed <= 0) return;
    if (this.boundary < needed) this.packUntil(Math.min(buffer.baseY, needed + BATCH_ROWS));
    this.ensureMarker();
  }

  /** The normal buffer has become the active one again. */
  handleActivation(): void {
    this.ensureMarker();
  }

  /** Position of column `col` of row `y` of the normal screen. Runs per chunk, so it starts at its last result. */
  position(y: number, col: number): Position {
    this.syncDroppedRows();
    const { buffer, lastLookup } = this;
    const target = buffer.baseY + y;
    // Rows above the screen no longer change, and the cells counted for a row depend on the next one.
    const last = buffer.baseY - 1;
    const isKnown = lastLookup.row >= this.boundary && lastLookup.row <= Math.min(last, target);
    let rowIndex = isKnown ? lastLookup.row : this.boundary;
    let line = isKnown ? lastLookup.line : this.lastLineId;
    let cells = isKnown ? lastLookup.cells : this.lastCells;
    let row = storedRow(buffer, rowIndex);
    for (; rowIndex <= target; rowIndex++) {
      if (rowIndex === last) this.lastLookup = { row: rowIndex, line, cells };
      if (!row.isWrapped) {
        line++;
        cells = 0;
      }
      if (rowIndex === target) break;
      const next = storedRow(buffer, rowIndex + 1);
      if (next.isWrapped) cells += wrappedCells(row, next);
      row = next;
    }
    return { line, col: cells + col };
  }

  /** Index of the first row above the screen that begins at or after a position; the screen's top row if none does. */
  indexOf({ line, col }: Position): number {
    const { startRow, buffer } = this;
    let id = this.lastLineId;
    let cells = this.lastCells;
    for (let rowIndex = this.boundary; rowIndex < buffer.baseY; rowIndex++) {
      const row = storedRow(buffer, rowIndex);
      if (!row.isWrapped) {
        id++;
        cells = 0;
      }
      if (rowIndex >= startRow && (id > line || (id === line && cells >= col))) return rowIndex - startRow;
      const next = storedRow(buffer, rowIndex + 1);
      if (next.isWrapped) cells += wrappedCells(row, next);
    }
    return buffer.baseY - startRow;
  }

  /** Moves the rows above the screen to history, because the emulator is about to forget them. */
  retireAll(): void {
    this.syncDroppedRows();
    this.packUntil(this.buffer.baseY);
    this.restart();
  }

  /** Moves the screen's contents to history, because they are about to be erased: line numbers are never reused. */
  retireScreen(): void {
    this.syncDroppedRows();
    const { buffer } = this;
    let end = buffer.length;
    while (end > buffer.baseY && usedCells(storedRow(buffer, end - 1)) === 0) end--;
    this.packRows(end);
    this.boundary = buffer.baseY;
    this.staleEnd = buffer.baseY;
    this.lastLookup.row = -1;
    this.trim();
  }

  /** Moves the rows above the cursor to history: bypassed lines push them out and follow them there. */
  retireToCursor(): void {
    this.syncDroppedRows();
    this.packUntil(this.buffer.baseY + this.buffer.cursorY);
  }

  /** Adds lines in their printed form after those in history; the last has `cells`. */
  appendRaw(lines: RawLines, cells: number): void {
    this.lastLineId += lines.count;
    this.lastCells = cells;
    this.history.appendRaw(lines);
  }

  /** Adds the next line to history, or its start: the first `cells` of what `build` adds. */
  append(cells: number, build: (builder: SegmentBuilder) => void): void {
    build(this.builder);
    this.lastLineId++;
    this.lastCells = cells;
    this.history.append(this.lastLineId, 0, this.builder);
  }

  /** Only the newest `rows` rows above the cursor's row, and the rows from there on, follow the lines in history. */
  markBypassed(rows: number): void {
    this.restart();
    this.boundary = this.buffer.baseY + this.buffer.cursorY - rows;
    this.staleEnd = this.boundary;
  }

  private restart(): void {
    this.boundary = 0;
    this.staleEnd = 0;
    this.lastLookup.row = -1;
    this.marker?.dispose();
    this.marker = null;
  }

  /**
   * Resizes and reflows.
   * @param redraws whether the program redraws the cursor's line, as shells' line editors do: that line is cut instead
   * of rewrapped, since they would leave parts of a rewrapped line on the screen
   */
  resize(cols: number, rows: number, redraws: boolean): void {
    this.syncDroppedRows();
    // Reflow moves rows and markers: afterwards the marker no longer shows how many rows were dropped.
    this.marker?.dispose();
    this.marker = null;
    this.lastLookup.row = -1;
    const { terminal, buffer } = this;
    const first = this.firstReflowed(cols, rows);
    if (this.boundary < first) this.packRows(first);
    else if (this.boundary > first) this.unpackFrom(first);
    if (first > 0) terminal.options.scrollback = buffer.length - terminal.rows - first;
    this.boundary = 0;
    this.staleEnd = 0;
    // Room for every row that reflow can make, so that nothing is dropped unpacked: a wide character that does not fit
    // leaves a row's last cell empty.
    const wraps = cols < terminal.cols ? Math.ceil(terminal.cols / Math.max(1, cols - 1)) : 1;
    terminal.options.scrollback = Math.max(HOT_ROWS, buffer.length * wraps + rows);
    const cursor = redraws && cols !== terminal.cols ? null : cursorPosition(buffer);
    terminal.options.reflowCursorLine = cursor !== null;
    terminal.resize(cols, rows);
    if (cursor !== null) restoreCursor(terminal, cursor);
    this.history.resize(cols);
    const surplus = buffer.length - (rows + HOT_ROWS);
    if (surplus > 0) this.packUntil(Math.min(buffer.baseY, surplus));
    const before = buffer.length;
    terminal.options.scrollback = HOT_ROWS;
    this.lastLookup.row = -1;
    this.boundary = Math.max(0, this.boundary - (before - buffer.length));
    this.ensureMarker();
  }

  /**
   * The first row that a resize keeps in the emulator: reflow time grows with the rows, and a screen needs few above
   * it. It begins a line, since reflow joins the rows of a line.
   */
  private firstReflowed(cols: number, rows: number): number {
    const { buffer, terminal, staleEnd } = this;
    const needed = rows * Math.ceil(cols / terminal.cols) + ROWS_ABOVE;
    let first = Math.max(staleEnd, buffer.baseY - needed);
    while (first > staleEnd && storedRow(buffer, first).isWrapped) first--;
    return first;
  }

  /** The only row of line `id`; null: the line has several, or is in history. Runs per key, for the cursor's line. */
  soleRow(id: number): StoredRow | null {
    this.syncDroppedRows();
    const { buffer, lastLookup } = this;
    const { length } = buffer;
    const known = lastLookup.row >= this.boundary && lastLookup.line < id;
    let line = known ? lastLookup.line : this.lastLineId;
    for (let at = known ? lastLookup.row : this.boundary; at < length && line < id; at++) {
      const row = storedRow(buffer, at);
      if (!row.isWrapped) line++;
      if (line === id) return at + 1 < length && storedRow(buffer, at + 1).isWrapped ? null : row;
    }
    return null;
  }

  /** Segments of the lines `fromId` to `toId` that are not in history. */
  *segments(fromId: number, toId: number): Generator<Segment> {
    this.syncDroppedRows();
    const { buffer, lastLookup } = this;
    const builder = new SegmentBuilder();
    const isKnown = lastLookup.row >= this.boundary && lastLookup.line < fromId;
    let id = isKnown ? lastLookup.line : this.lastLineId;
    let offset = isKnown ? lastLookup.cells : this.lastCells;
    const { length } = buffer;
    let next = storedRow(buffer, isKnown ? lastLookup.row : this.boundary);
    for (let rowIndex = isKnown ? lastLookup.row : this.boundary; rowIndex < length; rowIndex++) {
      const row = next;
      if (!row.isWrapped) {
        id++;
        offset = 0;
      }
      if (id > toId) return;
      if (rowIndex + 1 < length) next = storedRow(buffer, rowIndex + 1);
      const wraps = rowIndex + 1 < length && next.isWrapped;
      const count = wraps ? wrappedCells(row, next) : usedCells(row);
      if (id >= fromId) {
        builder.add(row, count, this.links);
        const from = offset + count - builder.cells;
        if (!wraps || builder.cells >= SEGMENT_CELLS) yield builder.finish(id, from);
      }
      offset += count;
    }
  }

  /** Counts the rows that xterm has dropped. */
  private syncDroppedRows(): void {
    const { marker } = this;
    if (marker === null) return;
    if (marker.isDisposed) {
      this.marker = null;
      return;
    }
    const dropped = this.markerRow - marker.line;
    if (dropped === 0) return;
    this.boundary = Math.max(0, this.boundary - dropped);
    this.staleEnd = Math.max(0, this.staleEnd - dropped);
    if (this.lastLookup.row >= 0) this.lastLookup.row -= dropped;
    this.markerRow = marker.line;
  }

  /** Makes sure that a marker outlives the next slice. It can only be set while the normal buffer is active. */
  private ensureMarker(): void {
    if (this.marker !== null && !this.marker.isDisposed && this.marker.line >= MAX_SCROLL) return;
    const { buffer } = this;
    if (buffer.baseY === 0 || this.terminal.buffer.active.type !== "normal") return;
    this.syncDroppedRows();
    this.marker?.dispose();
    this.marker = this.terminal.registerMarker(-1 - buffer.cursorY) ?? null;
    this.markerRow = buffer.baseY - 1;
  }

  /** Moves the rows up to `until` into history. */
  private packUntil(until: number): void {
    if (this.boundary >= until) return;
    this.packRows(until);
    this.trim();
  }

  /** Runs once per row of a flood. */
  private packRows(until: number): void {
    const { buffer, builder, history } = this;
    if (this.boundary >= until) return;
    let row = storedRow(buffer, this.boundary);
    while (this.boundary < until) {
      const next = this.boundary + 1 < buffer.length ? storedRow(buffer, this.boundary + 1) : null;
      if (!row.isWrapped) {
        this.lastLineId++;
        this.lastCells = 0;
      }
      const wraps = next?.isWrapped === true;
      const count = wraps ? wrappedCells(row, next) : usedCells(row);
      const whole = !row.isWrapped && !wraps;
      this.lastCells += count;
      this.boundary++;
      if (!whole || !history.appendPlain(this.lastLineId, row, count)) {
        builder.add(row, count, this.links);
        if (!wraps || builder.cells >= SEGMENT_CELLS || this.boundary === until) {
          history.append(this.lastLineId, this.lastCells - builder.cells, builder);
        }
      }
      row = next ?? row;
    }
  }

  /** Takes the rows from `first` on, which the emulator still holds, back out of history. */
  private unpackFrom(first: number): void {
    let starts = 0;
    let cells = 0;
    for (let index = first; index < this.boundary; index++) {
      const row = storedRow(this.buffer, index);
      if (!row.isWrapped) starts++;
      if (starts > 0) continue;
      const next = storedRow(this.buffer, index + 1);
      cells += next.isWrapped ? wrappedCells(row, next) : usedCells(row);
    }
    const wrapped = storedRow(this.buffer, first).isWrapped;
    const id = this.lastLineId - starts + (wrapped ? 0 : 1);
    const offset = wrapped ? Math.max(0, this.lineCells(id, starts === 0) - cells) : 0;
    this.history.truncate(id, offset);
    this.lastLineId = wrapped ? id : id - 1;
    this.lastCells = offset;
  }

  /** Cells of line `id` that are in history. */
  private lineCells(id: number, isLast: boolean): number {
    if (isLast) return this.lastCells;
    let cells = 0;
    for (const segment of this.history.segments(id, id)) cells = segment.offset + segment.cells;
    return cells;
  }
}
