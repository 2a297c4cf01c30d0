/**
 * History and screen as rows with their positions: the logical line a row belongs to, and the cell of that line at
 * which it begins.
 *
 * Rows are those of the given width. A position stays valid while its line is retained: it depends on neither the width
 * nor earlier dropped lines. Pieces of a very long line begin separate rows, as they do on the screen. Owns nothing;
 * read between two chunks. Skipped rows allocate nothing.
 */
import type { Position } from "../marks.ts";
import type { History } from "./history.ts";
import type { HotWindow } from "./hot-window.ts";
import { rowStarts, type Segment, unitOffset } from "./segment.ts";

interface PlacedRow {
  readonly segment: Segment;
  /** Cells of the segment. */
  readonly from: number;
  readonly to: number;
  /** Its line continues in the next row. */
  readonly wrapped: boolean;
}

/** A page of rows, oldest first. */
interface RowPage {
  readonly rows: readonly PlacedRow[];
  readonly moreAbove: boolean;
  /** Start of the next page; null: this page is the last. */
  readonly next: Position | null;
}

interface LineSource {
  readonly history: History;
  readonly hot: HotWindow;
}

/** The oldest and the newest retained line. */
interface LineBounds {
  readonly first: number;
  readonly last: number;
}

/** The row at a position, and those below it. */
export function rowsFrom(
  source: LineSource,
  { first, last }: LineBounds,
  from: Position,
  limit: number,
  cols: number,
): RowPage {
  const rows: PlacedRow[] = [];
  let passed = from.line > first;
  for (const row of placedRows(source, Math.max(first, from.line), last, cols)) {
    if (rows.length === limit) return { rows, moreAbove: passed, next: positionOf(row) };
    const { segment, to } = row;
    // The last row of a line also contains every position after its text.
    if (segment.id === from.line && row.wrapped && segment.offset + to <= from.col) passed = true;
    else rows.push(row);
  }
  return { rows, moreAbove: passed, next: null };
}

/** The rows directly above a position. */
export function rowsBefore(
  source: LineSource,
  { first, last }: LineBounds,
  before: Position,
  limit: number,
  cols: number,
): RowPage {
  let rows: PlacedRow[] = [];
  let next: Position | null = null;
  let count = 0;
  // Every line has a row.
  const from = Math.max(first, Math.min(before.line, last + 1) - limit);
  for (const row of placedRows(source, from, Math.min(last, before.line), cols)) {
    const place = positionOf(row);
    if (place.line === before.line && place.col >= before.col) {
      next = place;
      break;
    }
    rows.push(row);
    count++;
    if (rows.length >= 2 * limit) rows = rows.slice(-limit);
  }
  if (next === null && before.line <= last) next = before;
  return { rows: rows.slice(-limit), moreAbove: from > first || count > limit, next };
}

export function positionOf({ segment, from }: PlacedRow): Position {
  return { line: segment.id, col: segment.offset + from };
}

function* placedRows(source: LineSource, fromId: number, toId: number, cols: number): Generator<PlacedRow> {
  let held: Segment | null = null;
  for (const segment of readSegments(source, fromId, toId)) {
    if (held !== null) yield* wrapRows(held, cols, held.id === segment.id);
    held = segment;
  }
  if (held !== null) yield* wrapRows(held, cols, false);
}

function* readSegments({ history, hot }: LineSource, fromId: number, toId: number): Generator<Segment> {
  yield* history.segments(fromId, toId);
  yield* hot.segments(fromId, toId);
}

function* wrapRows(segment: Segment, cols: number, continues: boolean): Generator<PlacedRow> {
  const starts = rowStarts(segment, cols);
  for (const [index, from] of starts.entries()) {
    const to = starts[index + 1];
    yield { segment, from, to: to ?? segment.cells, wrapped: to !== undefined || continues };
  }
}

/** UTF-16 units of a line's text before a cell. */
export function unitsBeforeCell(source: LineSource, { line, col }: Position): number {
  let units = 0;
  for (const segment of readSegments(source, line, line)) {
    if (segment.offset >= col) break;
    units += unitOffset(segment, Math.min(col - segment.offset, segment.cells));
  }
  return units;
}

/** The cells of a line at the given UTF-16 offsets of its text. @param units ascending */
export function cellsOfUnits(source: LineSource, line: number, units: readonly number[]): number[] {
  const cells: number[] = [];
  let before = 0;
  let end = 0;
  for (const segment of readSegments(source, line, line)) {
    let unit = before;
    let cell = 0;
    for (let next = units[cells.length]; next !== undefined; next = units[cells.length]) {
      if (next - before >= segment.text.length) break;
      if (segment.units === null) cell = next - before;
      else while (cell < segment.cells && unit + (segment.units[cell] ?? 0) <= next) unit += segment.units[cell++] ?? 0;
      cells.push(segment.offset + cell);
    }
    before += segment.text.length;
    end = segment.offset + segment.cells;
  }
  while (cells.length < units.length) cells.push(end);
  return cells;
}
