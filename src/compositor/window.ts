/**
 * A window as one grid: its panes side by side, the titled lines between them, and floating panes in frames above.
 *
 * Invariants: every cell is a pane's or a line's; a picture whose size differs from its pane's is cut or
 * filled up, never moved; an unchanged row stays the same object, so that two pictures are compared quickly.
 * `setPlacement` runs when the layout, the active pane or a label changes, `grid` once per picture.
 */
import { blankRow, type Cell, type Grid, type GridCursor, type Row } from "../protocol/grid.ts";
import type { Size } from "../protocol/size.ts";
import { formatBorderTitle, type PaneLabel } from "./border-titles.ts";
import { lineGlyph } from "./borders.ts";
import { Canvas, joinRows, sliceRow } from "./canvas.ts";
import { makeFloatFrame } from "./float-frame.ts";
import { theme } from "./theme.ts";

/** A rectangle of the window. */
interface Rectangle extends Size {
  readonly row: number;
  readonly col: number;
}

export interface PlacedPane {
  readonly id: string;
  readonly box: Rectangle;
  /** Text in the line above the pane, if it has one; absent: none. */
  readonly label?: PaneLabel;
  /** Text in the pane itself, for a program that has ended. */
  readonly end?: PaneLabel;
  /** The pane floats above those before it: its cells with its frame, if it has one. */
  readonly float?: { readonly outer: Rectangle; readonly framed: boolean };
}

export interface WindowPlacement {
  readonly size: Size;
  readonly panes: readonly PlacedPane[];
  /** For each cell by row, the directions in which its line continues: 1 up, 2 right, 4 down, 8 left; 0 in panes. */
  readonly lines: Uint8Array;
  readonly active: string;
  /** Typed input goes to every pane. */
  readonly synchronized: boolean;
}

const hiddenCursor: GridCursor = { row: 0, col: 0, visible: false, shape: "block", blink: false };

/** A part of a row: cells of a pane's row of this width, or a line's. */
type RowPart =
  | {
      readonly pane: string;
      readonly row: number;
      readonly width: number;
      readonly from: number;
      readonly cols: number;
    }
  | { readonly cells: Row };

export class WindowCanvas {
  private rows: readonly (readonly RowPart[])[] = [];
  private composedRows: { readonly sources: readonly (Row | undefined)[]; readonly row: Row }[] = [];
  private placement: WindowPlacement | null = null;
  /** Rows with the end notices of panes, and the rows without them. */
  private readonly endNotices = new Map<string, { readonly from: Row | undefined; readonly row: Row }>();

  /** @param ascii for a terminal that shows no UTF-8 */
  constructor(private readonly ascii: boolean) {}

  setPlacement(placement: WindowPlacement): void {
    if (placement === this.placement) return;
    this.placement = placement;
    this.composedRows = [];
    this.endNotices.clear();
    const { size } = placement;
    const panes = placement.panes.filter(({ float }) => float === undefined).toSorted((a, b) => a.box.col - b.box.col);
    const cells = makeTitledLines({ ...placement, panes }, this.ascii);
    const floats = placement.panes.flatMap(({ id, box, label, float }) => {
      if (float === undefined) return [];
      const frame = float.framed ? makeFloatFrame(float.outer, label, id === placement.active, this.ascii) : null;
      return [{ id, box, outer: float.outer, frame }];
    });
    this.rows = Array.from({ length: size.rows }, (_, row) => {
      const across = panes.filter(({ box }) => row >= box.row && row < box.row + box.rows);
      const parts: RowPart[] = [];
      let col = 0;
      for (const { id, box } of across) {
        if (box.col > col) parts.push({ cells: cells(row, col, box.col) });
        parts.push({ pane: id, row: row - box.row, width: box.cols, from: 0, cols: box.cols });
        col = box.col + box.cols;
      }
      if (col < size.cols) parts.push({ cells: cells(row, col, size.cols) });
      return floats.reduce((below, float) => overlayFloat(below, float, row), parts);
    });
  }

  /** @param pictureOf a pane's newest picture; null without one */
  grid(pictureOf: (pane: string) => Grid | null): Grid {
    const { placement } = this;
    if (placement === null) return { rows: 0, cols: 0, lines: [], cursor: hiddenCursor };
    const pictures = new Map(placement.panes.map((pane) => [pane.id, this.withEndNotice(pane, pictureOf(pane.id))]));
    const lines = this.rows.map((parts, row) => this.row(parts, row, pictures));
    return { ...placement.size, lines, cursor: this.cursor(placement, pictures) };
  }

  private cursor({ panes, active }: WindowPlacement, pictures: ReadonlyMap<string, Grid | null>): GridCursor {
    const index = panes.findIndex(({ id }) => id === active);
    const pane = panes[index];
    if (pane === undefined) return hiddenCursor;
    const cursor = cursorInPane(pane.box, pictures.get(active) ?? null);
    const isUnder = panes
      .slice(index + 1)
      .some(({ float }) => float !== undefined && containsCell(float.outer, cursor));
    return isUnder ? { ...cursor, visible: false } : cursor;
  }

  /** After the program's output, or in a corner of its last row. */
  private withEndNotice({ id, box, end }: PlacedPane, picture: Grid | null): Grid | null {
    if (end === undefined || picture === null) return picture;
    const { cursor, lines } = picture;
    const at = Math.min(cursor.row + (cursor.col > 0 ? 1 : 0), box.rows - 1);
    const from = lines[at];
    let known = this.endNotices.get(id);
    if (known === undefined || known.from !== from) {
      known = { from, row: drawEndNotice(from, box.cols, end, this.ascii) };
      this.endNotices.set(id, known);
    }
    const row = known.row;
    return { ...picture, lines: lines.map((line, index) => (index === at ? row : line)) };
  }

  private row(parts: readonly RowPart[], at: number, pictures: ReadonlyMap<string, Grid | null>): Row {
    const sources = parts.map((part) => ("pane" in part ? pictures.get(part.pane)?.lines[part.row] : part.cells));
    const known = this.composedRows[at];
    if (known?.sources.every((source, index) => source === sources[index])) return known.row;
    const row = joinRows(parts.map((part, index) => ("pane" in part ? fitPart(sources[index], part) : part.cells)));
    this.composedRows[at] = { sources, row };
    return row;
  }
}

function drawEndNotice(line: Row | undefined, cols: number, end: PaneLabel, ascii: boolean): Row {
  const canvas = new Canvas(1, cols);
  canvas.putRow(0, fitted(line, cols));
  const text = formatBorderTitle(end, cols, ascii);
  const width = text.reduce((sum, cluster) => sum + cluster.width, 0);
  const isBlank = line === undefined || line.every((cell) => cell.text.trim() === "");
  canvas.text(0, isBlank ? 0 : Math.max(0, cols - width), text, theme.message, {
    row: 0,
    col: 0,
    height: 1,
    width: cols,
  });
  return canvas.finish()[0] ?? blankRow(cols);
}

interface Float {
  readonly id: string;
  readonly box: Rectangle;
  readonly outer: Rectangle;
  readonly frame: readonly Row[] | null;
}

/** The parts of a row, with a floating pane's replacing those below it. */
function overlayFloat(below: readonly RowPart[], { id, box, outer, frame }: Float, row: number): RowPart[] {
  if (row < outer.row || row >= outer.row + outer.rows) return [...below];
  const floatParts: RowPart[] = [];
  const line = frame?.[row - outer.row];
  if (row >= box.row && row < box.row + box.rows) {
    const inside: RowPart = { pane: id, row: row - box.row, width: box.cols, from: 0, cols: box.cols };
    if (line === undefined) floatParts.push(inside);
    else floatParts.push({ cells: line.slice(0, 1) }, inside, { cells: line.slice(1) });
  } else if (line !== undefined) floatParts.push({ cells: line });
  return [
    ...sliceParts(below, 0, outer.col),
    ...floatParts,
    ...sliceParts(below, outer.col + outer.cols, Number.POSITIVE_INFINITY),
  ];
}

/** Parts of a row between two of its cells. */
function sliceParts(parts: readonly RowPart[], from: number, to: number): RowPart[] {
  let col = 0;
  return parts.flatMap((part): RowPart[] => {
    const width = "pane" in part ? part.cols : part.cells.length;
    const [first, last] = [Math.max(0, from - col), Math.min(width, to - col)];
    col += width;
    if (first >= last) return [];
    if (first === 0 && last === width) return [part];
    if ("pane" in part) return [{ ...part, from: part.from + first, cols: last - first }];
    return [{ cells: sliceRow(part.cells, first, last) }];
  });
}

function fitPart(source: Row | undefined, { width, from, cols }: Extract<RowPart, { readonly pane: string }>): Row {
  const whole = fitted(source, width);
  return cols === width ? whole : sliceRow(whole, from, from + cols);
}

function containsCell(
  { row, col, rows, cols }: Rectangle,
  at: { readonly row: number; readonly col: number },
): boolean {
  return at.row >= row && at.row < row + rows && at.col >= col && at.col < col + cols;
}

function fitted(line: Row | undefined, cols: number): Row {
  if (line === undefined) return blankRow(cols);
  if (line.length === cols) return line;
  return line.length > cols ? sliceRow(line, 0, cols) : [...line, ...blankRow(cols - line.length)];
}

function cursorInPane(box: Rectangle, picture: Grid | null): GridCursor {
  if (picture === null) return { ...hiddenCursor, row: box.row, col: box.col };
  const { cursor } = picture;
  const inside = cursor.row < box.rows && cursor.col < box.cols;
  const row = box.row + Math.min(cursor.row, box.rows - 1);
  return { ...cursor, row, col: box.col + Math.min(cursor.col, box.cols - 1), visible: cursor.visible && inside };
}

/** Like makeLineCells, including the text of the lines. */
function makeTitledLines(placement: WindowPlacement, ascii: boolean): (row: number, from: number, to: number) => Row {
  const cells = makeLineCells(placement, ascii);
  const titled = placement.panes.flatMap(({ box, label }) =>
    label === undefined || box.row === 0 ? [] : [{ box, label }],
  );
  return (row, from, to) => {
    const titledAbove = titled.filter(({ box }) => box.row === row + 1 && box.col >= from && box.col + box.cols <= to);
    const line = cells(row, from, to);
    if (titledAbove.length === 0) return line;
    const canvas = new Canvas(1, to - from);
    canvas.putRow(0, line);
    for (const { box, label } of titledAbove) {
      const at = box.col - from;
      const within = { row: 0, col: at, height: 1, width: box.cols };
      canvas.text(0, at + 1, formatBorderTitle(label, box.cols, ascii), theme.title, within);
    }
    return canvas.finish()[0] ?? line;
  };
}

/** Returns a function that makes the cells of lines in part of a row. */
function makeLineCells(placement: WindowPlacement, ascii: boolean): (row: number, from: number, to: number) => Row {
  const { size, lines, synchronized } = placement;
  const isActive = findActiveLines(placement);
  const activeStyle = synchronized ? theme.border_synchronized : theme.border_active;
  const lightCells: Cell[] = Array.from({ length: 16 }, (_, bits) => {
    const arms = [bits & 1, (bits >> 1) & 1, (bits >> 2) & 1, bits >> 3] as const;
    return { text: lineGlyph(arms, ascii), width: 1, style: theme.border };
  });
  return (row, from, to) =>
    Array.from({ length: to - from }, (_, index): Cell => {
      const col = from + index;
      const bits = lines[row * size.cols + col] ?? 0;
      const known = isActive(row, col) ? undefined : lightCells[bits];
      if (known !== undefined) return known;
      const arm = (bit: number, y: number, x: number): number => {
        if ((bits & bit) === 0) return 0;
        const inside = y >= 0 && y < size.rows && x >= 0 && x < size.cols;
        return !inside || isActive(y, x) ? 2 : 1;
      };
      const arms = [arm(1, row - 1, col), arm(2, row, col + 1), arm(4, row + 1, col), arm(8, row, col - 1)] as const;
      return { text: lineGlyph(arms, ascii), width: 1, style: activeStyle };
    });
}

/**
 * The line cells around the active pane. Between exactly two panes all of them qualify: then only the half of the line
 * beside the active one is marked, the first half for the first pane.
 */
function findActiveLines({ panes, active }: WindowPlacement): (row: number, col: number) => boolean {
  const activeBox = panes.find(({ id }) => id === active)?.box;
  const [first, second, ...more] = panes;
  if (activeBox === undefined || first === undefined || second === undefined) return () => false;
  const touches = (row: number, col: number): boolean =>
    row >= activeBox.row - 1 &&
    row <= activeBox.row + activeBox.rows &&
    col >= activeBox.col - 1 &&
    col <= activeBox.col + activeBox.cols;
  if (more.length > 0) return touches;
  const isFirst = first.id === active;
  const isStacked = first.box.col === second.box.col;
  const half = isStacked ? activeBox.col + activeBox.cols / 2 : activeBox.row + activeBox.rows / 2;
  return (row, col) => touches(row, col) && (isStacked ? col : row) < half === isFirst;
}
