/**
 * History and screen as one text of logical lines, for one copy mode.
 *
 * Lines that may still change, those of the screen, are frozen when copy mode begins and when it is refreshed. So
 * copied text equals the displayed text, whatever the program prints meanwhile. Lines above are read on demand; the
 * newest are cached. A line is its cells as printed; a position in it is a cell. Lines wrap at the shown width.
 */
import { plainStyle, type Row, sameStyle } from "../../protocol/grid.ts";
import { withoutPictures } from "../../protocol/placeholder.ts";

/** Cached lines above the screen: some screens. */
const MAX_CACHED_LINES = 1024;
/**
 * Lines read on either side of a requested one: a moving cursor needs them next, and reading one line costs as much.
 */
const READ_AHEAD_LINES = 64;

export interface Point {
  readonly line: number;
  readonly col: number;
}

/** A command that ran at the shell's prompt. */
interface CommandLines {
  /** The line on which its output begins, and its last line; equal without output. */
  readonly first: number;
  readonly last: number;
  readonly isEmpty: boolean;
}

/** A terminal's interface for copy mode. Read between two chunks of output. */
export interface CopyModeSource {
  readonly rows: number;
  readonly cols: number;
  /** The oldest retained logical line. */
  readonly firstLine: number;
  /** Start of the screen: lines from here on may change. */
  readonly top: Point;
  readonly lastLine: number;
  /** The program's cursor on the screen. */
  readonly cursor: { readonly row: number; readonly col: number };
  /** The rows of a full-screen program, which replace the screen's lines; null on the normal screen. */
  readonly alternateRows: readonly Row[] | null;
  /** The cells of a range of lines. */
  cells(from: number, to: number): Iterable<{ readonly id: number; readonly cells: Row }>;
  /** The text of a range of lines, for searches. */
  texts(from: number, to: number): Iterable<{ readonly id: number; readonly text: string }>;
  /** Oldest first. */
  commands(): readonly CommandLines[];
}

/** Letters, digits and underscores: vi's words. */
export const wordCharacter = /[\p{L}\p{N}\p{M}_]/u;

const empty: Row = [];

export class CopyModeText {
  private frozen = new Map<number, Row>();
  /** The first of the frozen lines. */
  private frozenFrom = 0;
  private end = 0;
  private frozenTop: Point = { line: 0, col: 0 };
  private rowCache = new Map<number, Row>();

  constructor(readonly source: CopyModeSource) {
    this.refresh();
  }

  /** Freezes the current screen. */
  refresh(): void {
    const { source } = this;
    const { top, alternateRows } = source;
    this.frozenFrom = top.line;
    this.frozenTop = top;
    this.rowCache.clear();
    if (alternateRows === null) {
      this.end = Math.max(source.lastLine, this.frozenFrom);
      this.frozen = new Map([...source.cells(this.frozenFrom, this.end)].map(({ id, cells }) => [id, cells]));
    } else {
      // The line at the top of the normal screen may begin above it: that part does not belong to this program.
      this.frozenFrom = top.col > 0 ? top.line + 1 : top.line;
      this.frozenTop = { line: this.frozenFrom, col: 0 };
      this.end = this.frozenFrom + alternateRows.length - 1;
      this.frozen = new Map(alternateRows.map((row, index) => [this.frozenFrom + index, withoutPlainEnd(row)]));
    }
  }

  /** The oldest line. */
  get first(): number {
    return Math.min(this.source.firstLine, this.frozenFrom);
  }

  get last(): number {
    return this.end;
  }

  /** Start of the screen when it was frozen. */
  get top(): Point {
    return this.frozenTop;
  }

  /** Number of lines printed since then. */
  get newLineCount(): number {
    return this.source.alternateRows === null ? Math.max(0, this.source.lastLine - this.end) : 0;
  }

  cells(line: number): Row {
    const cached = this.frozen.get(line) ?? this.rowCache.get(line);
    if (cached !== undefined) return cached;
    if (line >= this.frozenFrom || line < this.first) return empty;
    if (this.rowCache.size >= MAX_CACHED_LINES) this.rowCache.clear();
    const to = Math.min(this.frozenFrom - 1, line + READ_AHEAD_LINES);
    for (const { id, cells } of this.source.cells(Math.max(this.first, line - READ_AHEAD_LINES), to))
      this.rowCache.set(id, cells);
    return this.rowCache.get(line) ?? empty;
  }

  /** The lines as text, oldest first. */
  *texts(): Generator<{ readonly id: number; readonly text: string }> {
    yield* this.source.texts(this.first, this.frozenFrom - 1);
    for (const [id, cells] of this.frozen) yield { id, text: textOf(cells) };
  }

  /** Cells at which the rows of a line begin; at least one. */
  starts(line: number): number[] {
    const cells = this.cells(line);
    const { cols } = this.source;
    const starts = [0];
    let start = 0;
    while (cells.length - start > cols) {
      // A wide cell that does not fit moves to the next row whole.
      start += cells[start + cols]?.width === 0 && cols > 1 ? cols - 1 : cols;
      starts.push(start);
    }
    return starts;
  }

  /** The row of its line that contains a cell. */
  rowOf({ line, col }: Point): number {
    return Math.max(
      0,
      this.starts(line).findLastIndex((start) => start <= col),
    );
  }

  /** The last cell of a line that is not blank; for a blank line, its first cell. */
  lastLetter(line: number): Point {
    return this.wholeCellAt({ line, col: Math.max(0, withoutBlankEnd(this.cells(line)).length - 1) });
  }

  /** The left half of the cell at a position, inside the line. */
  wholeCellAt({ line, col }: Point): Point {
    const cells = this.cells(line);
    const inside = Math.max(0, Math.min(col, cells.length - 1));
    return { line, col: cells[inside]?.width === 0 ? Math.max(0, inside - 1) : inside };
  }
}

/** A full-screen program's row without plain trailing cells; styled blanks are visible. */
function withoutPlainEnd(cells: Row): Row {
  const last = cells.findLastIndex((cell, at) => !isBlank(cells, at) || !sameStyle(cell.style, plainStyle));
  return cells.slice(0, last + 1);
}

function withoutBlankEnd(cells: Row): Row {
  let { length } = cells;
  while (length > 0 && isBlank(cells, length - 1)) length--;
  return length === cells.length ? cells : cells.slice(0, length);
}

function isBlank(cells: Row, at: number): boolean {
  const cell = cells[at];
  return cell === undefined || (cell.text === " " && cell.width === 1);
}

export function textOf(row: Row, from = 0, to = row.length): string {
  const cells = withoutPictures(row);
  let text = "";
  for (let index = from; index < to; index++) text += cells[index]?.text ?? "";
  return text;
}

/** Whether a position precedes another one. */
export function isBefore(a: Point, b: Point): boolean {
  return a.line < b.line || (a.line === b.line && a.col < b.col);
}
