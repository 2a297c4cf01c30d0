/**
 * A screen being drawn: rows of cells that receive boxes and text.
 *
 * Owns its rows; rows passed in are copied when first drawn on, so untouched rows stay the same objects and need not be
 * compared later. Invariants: every row has exactly `cols` cells, and no wide character is left half: a cell that loses
 * its other half becomes a blank of the same style. Runs per cell drawn, per frame.
 */
import { blankRow, type Cell, type Grid, type Row, type Style } from "../protocol/grid.ts";
import type { Cluster } from "./graphemes.ts";

/** A rectangle in cells; it may extend beyond the canvas. */
export interface CanvasBox {
  readonly row: number;
  readonly col: number;
  readonly height: number;
  readonly width: number;
}

function blank(style: Style): Cell {
  return { text: " ", width: 1, style };
}

export class Canvas {
  readonly #rows: Row[];
  readonly #copies: (Cell[] | undefined)[];

  constructor(
    readonly rows: number,
    readonly cols: number,
  ) {
    this.#rows = new Array<Row>(rows).fill(blankRow(cols));
    this.#copies = new Array<Cell[] | undefined>(rows).fill(undefined);
  }

  /** A canvas that begins as this picture. */
  static over({ rows, cols, lines }: Pick<Grid, "rows" | "cols" | "lines">): Canvas {
    const canvas = new Canvas(rows, cols);
    for (const [row, line] of lines.entries()) canvas.putRow(row, line);
    return canvas;
  }

  /** Puts a whole row, cut or filled to the canvas's width. A row without broken halves stays the same object. */
  putRow(row: number, line: Row): void {
    if (row < 0 || row >= this.rows) return;
    this.#copies[row] = undefined;
    const fittedRow = line.length === this.cols ? line : fitRow(line, this.cols);
    this.#rows[row] = isWhole(fittedRow) ? fittedRow : repairHalves(fittedRow);
  }

  /** Puts part of a row at a column; the rest is cut. */
  putCells(row: number, col: number, line: Row): void {
    if (col === 0 && line.length === this.cols) {
      this.putRow(row, line);
      return;
    }
    line.forEach((cell, index) => {
      if (cell.width !== 0) this.#put(row, col + index, cell, this.cols);
    });
  }

  fill(box: CanvasBox, style: Style): void {
    const cell = blank(style);
    const lastRow = Math.min(box.row + box.height, this.rows);
    const right = Math.min(box.col + box.width, this.cols);
    for (let row = Math.max(0, box.row); row < lastRow; row++) {
      for (let col = Math.max(0, box.col); col < right; col++) this.#put(row, col, cell, right);
    }
  }

  /** Draws one line from (row, col), cut at the right edge of box and canvas. Draws nothing above, below or left. */
  text(row: number, col: number, line: readonly Cluster[], style: Style, box: CanvasBox): void {
    if (row < box.row || row >= box.row + box.height) return;
    const right = Math.min(box.col + box.width, this.cols);
    let at = col;
    for (const { text, width } of line) {
      if (at >= right) return;
      if (at >= Math.max(0, box.col)) this.#put(row, at, { text, width, style }, right);
      at += width;
    }
  }

  /** The rows. The canvas must not be drawn on afterwards. */
  finish(): readonly Row[] {
    return this.#rows;
  }

  /** Puts one grapheme; a wide one across `right` becomes a blank. */
  #put(row: number, col: number, cell: Cell, right: number): void {
    if (row < 0 || row >= this.rows || col < 0 || col >= this.cols) return;
    const cells = this.#writableRow(row);
    const whole = cell.width === 2 && col + 2 > right ? blank(cell.style) : cell;
    this.#separate(cells, col);
    if (whole.width === 2) {
      this.#separate(cells, col + 1);
      cells[col + 1] = { text: "", width: 0, style: whole.style };
    }
    cells[col] = whole;
  }

  /** Blanks the other half of a wide character when one half is about to be overwritten. */
  #separate(cells: Cell[], col: number): void {
    const here = cells[col];
    if (here === undefined || here.width === 1) return;
    const other = here.width === 2 ? col + 1 : col - 1;
    const half = cells[other];
    if (half !== undefined) cells[other] = blank(half.style);
    cells[col] = blank(here.style);
  }

  #writableRow(row: number): Cell[] {
    const existingCopy = this.#copies[row];
    if (existingCopy !== undefined) return existingCopy;
    const copy = [...(this.#rows[row] ?? [])];
    this.#copies[row] = copy;
    this.#rows[row] = copy;
    return copy;
  }
}

function isWholeAt(line: Row, col: number): boolean {
  const width = line[col]?.width;
  if (width === 1) return true;
  return width === 2 ? line[col + 1]?.width === 0 : line[col - 1]?.width === 2;
}

/** Rows known to be whole. Few rows change between frames, and a changed row is another object. */
const wholeRows = new WeakSet<Row>();

function isWhole(line: Row): boolean {
  if (wholeRows.has(line)) return true;
  for (let col = 0; col < line.length; col++) if (!isWholeAt(line, col)) return false;
  wholeRows.add(line);
  return true;
}

/** Rows side by side; without broken halves if the parts have none. */
export function joinRows(parts: readonly Row[]): Row {
  const [first = [], ...rest] = parts;
  if (rest.length === 0) return first;
  const row = first.concat(...rest);
  if (parts.every(isWhole)) wholeRows.add(row);
  return row;
}

/** A narrower emulator may leave half a wide character at the edge: a blank replaces it. */
function repairHalves(line: Row): Row {
  return line.map((cell, col) => (isWholeAt(line, col) ? cell : blank(cell.style)));
}

/** A row cut or filled up; a wide character at the cut becomes a blank. */
function fitRow(line: Row, cols: number): Row {
  return line.length < cols ? [...line, ...blankRow(cols - line.length)] : sliceRow(line, 0, cols);
}

/** Part of a row; a wide character at either cut becomes a blank. */
export function sliceRow(line: Row, from: number, to: number): Row {
  const cells = line.slice(from, to);
  const first = cells[0];
  const last = cells.at(-1);
  if (first?.width === 0) cells[0] = blank(first.style);
  if (last?.width === 2) cells[cells.length - 1] = blank(last.style);
  return cells;
}
