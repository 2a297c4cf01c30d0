/**
 * Places floating panes: each is a rectangle above the tiled panes, with a frame of one cell around it.
 *
 * Pure and deterministic. Invariants: a floating pane keeps its given size and position; only the placement moves and
 * cuts panes that do not fit into a window, so that a window shrunk and enlarged again looks as before. Runs for every
 * change of a layout or size, not for frames.
 */
import { type Amount, MIN_PANE_COLS, MIN_PANE_ROWS, type Size } from "../../protocol/size.ts";
import type { Border, PaneBox, PlacedFloat, Placement } from "./cells.ts";

/** Position and size of a floating pane in its window, including its frame. */
export interface FloatBounds {
  /** Left and upper edge; null: centred. */
  readonly x: Amount | null;
  readonly y: Amount | null;
  readonly width: Amount;
  readonly height: Amount;
}

export interface FloatEntry extends FloatBounds {
  readonly pane: string;
  readonly hidden: boolean;
  /** Whether it has no frame. */
  readonly bare: boolean;
  /** Whether it is a popup: it is open while its program runs and a person can see it, and gets all keys. */
  readonly popup: boolean;
}

/** Cells of a frame: one on each side. */
export const FRAME = 2;

export const defaultBounds: FloatBounds = { x: null, y: null, width: { percent: 70 }, height: { percent: 70 } };

/** @param whole the cells that a percentage refers to */
function cellsIn(amount: Amount, whole: number): number {
  return "cells" in amount ? amount.cells : Math.round((whole * amount.percent) / 100);
}

/** The cells of a floating pane with its frame, inside the window. */
export function outerBox(entry: FloatBounds, size: Size): PaneBox {
  const side = (extent: Amount, at: Amount | null, room: number, least: number) => {
    const cells = Math.min(room, Math.max(least, cellsIn(extent, room)));
    const free = room - cells;
    const start = at === null ? Math.floor(free / 2) : Math.min(free, Math.max(0, cellsIn(at, room)));
    return { start, cells };
  };
  const across = side(entry.width, entry.x, Math.max(1, size.cols), MIN_PANE_COLS + FRAME);
  const down = side(entry.height, entry.y, Math.max(1, size.rows), MIN_PANE_ROWS + FRAME);
  return { row: down.start, col: across.start, rows: down.cells, cols: across.cells };
}

/** A placement with floating panes above it, lowest first. */
export function addFloats(tiled: Placement, floats: readonly FloatEntry[]): Placement {
  const shown = floats.filter(({ hidden }) => !hidden);
  const hidden = floats.flatMap((each) => (each.hidden ? [each.pane] : []));
  const boxes = new Map(tiled.boxes);
  const places = shown.map((entry): PlacedFloat => {
    const outer = outerBox(entry, tiled.size);
    const framed = !entry.bare && outer.rows >= MIN_PANE_ROWS + FRAME && outer.cols >= MIN_PANE_COLS + FRAME;
    const { row, col, rows, cols } = outer;
    boxes.set(entry.pane, framed ? { row: row + 1, col: col + 1, rows: rows - FRAME, cols: cols - FRAME } : outer);
    return { pane: entry.pane, outer, framed };
  });
  return { ...tiled, boxes, floats: places, hidden: [...tiled.hidden, ...hidden] };
}

/** A part of a floating pane's frame, for the mouse: the upper edge moves it, the others resize it. */
export interface FloatEdge {
  readonly float: string;
  readonly edge: "move" | "left" | "right" | "bottom" | "bottom-left" | "bottom-right";
  /** Cells between the frame's upper left corner and the pointer at the press. */
  readonly row: number;
  readonly col: number;
}

/** The topmost floating pane at a cell. */
function floatAt({ floats }: Placement, row: number, col: number): PlacedFloat | null {
  return floats.findLast(({ outer }) => contains(outer, row, col)) ?? null;
}

/** The part of a frame at a cell; null: the cell is inside. */
function edgeAt({ pane, outer, framed }: PlacedFloat, row: number, col: number): FloatEdge | null {
  if (!framed) return null;
  const at = { row: row - outer.row, col: col - outer.col };
  const isLeft = at.col === 0;
  const isRight = at.col === outer.cols - 1;
  const isBottom = at.row === outer.rows - 1;
  const side = isLeft ? "left" : isRight ? "right" : null;
  if (at.row === 0) return { float: pane, edge: "move", ...at };
  if (isBottom) return { float: pane, edge: side === null ? "bottom" : (`bottom-${side}` as const), ...at };
  return side === null ? null : { float: pane, edge: side, ...at };
}

/** The position and size of a floating pane after its frame was dragged to a cell. */
export function dragFrame(
  { edge, row: fromRow, col: fromCol }: FloatEdge,
  outer: PaneBox,
  row: number,
  col: number,
): PaneBox {
  if (edge === "move") return { ...outer, row: row - fromRow, col: col - fromCol };
  const right = outer.col + outer.cols;
  const left = edge.endsWith("left") ? Math.max(0, Math.min(col, right - MIN_PANE_COLS - FRAME)) : outer.col;
  const cols = edge.endsWith("left") ? right - left : edge.endsWith("right") ? col - outer.col + 1 : outer.cols;
  const rows = edge.startsWith("bottom") ? row - outer.row + 1 : outer.rows;
  return { row: outer.row, col: left, rows, cols };
}

/** Whether a floating pane above a pane covers some of its cells. */
export function isCovered({ boxes, floats }: Placement, pane: string): boolean {
  const box = boxes.get(pane);
  if (box === undefined || floats.length === 0) return false;
  const above = floats.slice(floats.findIndex((each) => each.pane === pane) + 1);
  return above.some(
    ({ outer }) =>
      outer.row < box.row + box.rows &&
      box.row < outer.row + outer.rows &&
      outer.col < box.col + box.cols &&
      box.col < outer.col + outer.cols,
  );
}

/** Returns the border at a cell, or the part of a floating pane's frame, for the mouse. */
export function borderAt(placement: Placement, row: number, col: number): Border | FloatEdge | null {
  const float = floatAt(placement, row, col);
  if (float !== null) return edgeAt(float, row, col);
  return placement.borders.find((border) => contains(border, row, col)) ?? null;
}

/** Returns the pane at a cell, null on a border. */
export function paneAt(placement: Placement, row: number, col: number): string | null {
  const float = floatAt(placement, row, col);
  if (float !== null) return edgeAt(float, row, col) === null ? float.pane : null;
  for (const [pane, box] of placement.boxes) if (contains(box, row, col)) return pane;
  return null;
}

function contains(box: PaneBox, row: number, col: number): boolean {
  return row >= box.row && row < box.row + box.rows && col >= box.col && col < box.col + box.cols;
}
