/**
 * Places the panes of a window: a layout tree and a size give each pane its cells.
 *
 * Pure and deterministic. Invariants: every cell of the window belongs to one pane or one border; no pane is smaller
 * than MIN_PANE_ROWS by MIN_PANE_COLS unless the window is; one border cell separates neighbours. A pane that does not
 * fit is hidden, the least recently used one first, and shown again when there is room. Runs for every change of a
 * layout or size, not for frames.
 */
import { MIN_PANE_COLS, MIN_PANE_ROWS, type Size } from "../../protocol/size.ts";
import {
  type Axis,
  BORDER,
  type ExtentOf,
  filterPanes,
  isLeaf,
  type LayoutNode,
  type Path,
  panesOf,
  type Side,
  type Split,
  weightOf,
} from "./tree.ts";

export interface PaneBox {
  /** Top left cell, 0-based, in the window. */
  readonly row: number;
  readonly col: number;
  readonly rows: number;
  readonly cols: number;
}

/** A line between two children of a split. */
export interface Border extends PaneBox {
  /** The axis of the split: the border of a row is vertical. */
  readonly axis: Axis;
  /** Path of the split in the placed tree, and index of the child before the border. */
  readonly path: Path;
  readonly index: number;
}

/** A floating pane at its displayed position; the cells inside its frame are in the placement's boxes. */
export interface PlacedFloat {
  readonly pane: string;
  readonly outer: PaneBox;
  readonly framed: boolean;
}

export interface Placement {
  /** The tree without the hidden panes; boxes and borders refer to it. */
  readonly tree: LayoutNode;
  readonly boxes: ReadonlyMap<string, PaneBox>;
  readonly borders: readonly Border[];
  /** Panes without room. */
  readonly hidden: readonly string[];
  /** Cells of each split along its axis. */
  readonly extents: ReadonlyMap<Split, number>;
  /** Floating panes above the tiled ones, lowest first. */
  readonly floats: readonly PlacedFloat[];
  readonly size: Size;
}

/** Added before rounding, so that sums that are whole numbers except for floating-point errors round correctly. */
const EPSILON = 1e-6;

/** @param recent panes, most recently used first; missing ones count as the least recently used */
export function placePanes(root: LayoutNode, size: Size, recent: readonly string[] = []): Placement {
  const rank = new Map(recent.map((pane, i) => [pane, i]));
  const byUse = panesOf(root).sort((a, b) => (rank.get(a) ?? Infinity) - (rank.get(b) ?? Infinity) || 0);
  const visible = new Set(byUse);
  let tree: LayoutNode = root;
  for (const pane of byUse.slice(1).reverse()) {
    if (fits(tree, size)) break;
    visible.delete(pane);
    tree = filterPanes(root, (each) => visible.has(each)) ?? tree;
  }
  const boxes = new Map<string, PaneBox>();
  const borders: Border[] = [];
  const extents = new Map<Split, number>();
  const placeNode = (node: LayoutNode, box: PaneBox, path: Path): void => {
    if (isLeaf(node)) {
      boxes.set(node.pane, box);
      return;
    }
    const extent = node.axis === "row" ? box.cols : box.rows;
    extents.set(node, extent);
    let start = 0;
    for (const [index, cells] of childCells(node, extent).entries()) {
      const child = node.children[index];
      if (child === undefined) continue;
      placeNode(child, sliceBox(node.axis, box, start, cells), [...path, index]);
      start += cells;
      if (index === node.children.length - 1) continue;
      borders.push({ axis: node.axis, path, index, ...sliceBox(node.axis, box, start, BORDER) });
      start += BORDER;
    }
  };
  placeNode(tree, { row: 0, col: 0, rows: Math.max(1, size.rows), cols: Math.max(1, size.cols) }, []);
  return { tree, boxes, borders, hidden: byUse.filter((pane) => !visible.has(pane)), extents, floats: [], size };
}

/** Returns the cells of splits for a change of the tree; a hidden split counts by its weights. */
export function extentsIn(placement: Placement): ExtentOf {
  return (split) => placement.extents.get(split) ?? weightOf(split.children) + BORDER * (split.children.length - 1);
}

function sliceBox(axis: Axis, box: PaneBox, start: number, cells: number): PaneBox {
  return axis === "row" ? { ...box, col: box.col + start, cols: cells } : { ...box, row: box.row + start, rows: cells };
}

function fits(node: LayoutNode, size: Size): boolean {
  return minimumCells(node, "row") <= size.cols && minimumCells(node, "column") <= size.rows;
}

/** Fewest cells that a node needs along an axis. */
export function minimumCells(node: LayoutNode, axis: Axis): number {
  if (isLeaf(node)) return axis === "row" ? MIN_PANE_COLS : MIN_PANE_ROWS;
  const needs = node.children.map((child) => minimumCells(child, axis));
  if (node.axis !== axis) return Math.max(...needs);
  return needs.reduce((sum, need) => sum + need, 0) + BORDER * (needs.length - 1);
}

/**
 * Cells of the children of a split. Each border is at the rounded sum of the weights before it, so that a border moves
 * only if something before it, or the whole, changes; then every child gets at least its minimum.
 */
export function childCells(split: Split, extent: number): number[] {
  const { children, axis } = split;
  const cells = Math.max(children.length, extent - BORDER * (children.length - 1));
  const total = weightOf(children);
  const needs = children.map((child) => minimumCells(child, axis));
  const needed = needs.reduce((sum, need) => sum + need, 0);
  // Less room than needed: only a window smaller than its only pane has that.
  const floor = needed <= cells ? needs : needs.map(() => 1);
  const ends: number[] = [];
  let sum = 0;
  let before = 0;
  let behind = floor.reduce((all, need) => all + need, 0);
  for (const [index, child] of children.entries()) {
    sum += child.weight;
    const need = floor[index] ?? 1;
    behind -= need;
    const wanted = Math.floor((sum / total) * cells + 0.5 + EPSILON);
    const end = index === children.length - 1 ? cells : Math.min(cells - behind, Math.max(before + need, wanted));
    ends.push(end - before);
    before = end;
  }
  return ends;
}

/** Returns the pane beside another: the most recently used of those that touch it, or of those at the opposite edge. */
export function neighbour(
  { boxes, size }: Placement,
  pane: string,
  side: Side,
  recent: readonly string[] = [],
): string | null {
  const from = boxes.get(pane);
  if (from === undefined) return null;
  const horizontal = side === "left" || side === "right";
  const limit = horizontal ? size.cols : size.rows;
  const edge = {
    left: from.col - BORDER,
    right: from.col + from.cols + BORDER,
    up: from.row - BORDER,
    down: from.row + from.rows + BORDER,
  }[side];
  const around = edge <= 0 && (side === "left" || side === "up") ? limit : edge >= limit ? 0 : edge;
  const touches = ([each, box]: [string, PaneBox]): boolean => {
    if (each === pane) return false;
    const at = horizontal ? box.col : box.row;
    const end = at + (horizontal ? box.cols : box.rows);
    const meets = side === "left" || side === "up" ? end === around : at === around;
    const [a, b] = horizontal ? [from.row, from.row + from.rows] : [from.col, from.col + from.cols];
    const [c, d] = horizontal ? [box.row, box.row + box.rows] : [box.col, box.col + box.cols];
    return meets && c < b + BORDER && d + BORDER > a;
  };
  const touching = [...boxes].filter(touches).map(([each]) => each);
  const rank = (each: string): number => (recent.includes(each) ? recent.indexOf(each) : recent.length);
  return touching.sort((a, b) => rank(a) - rank(b))[0] ?? null;
}

/** Directions in which a border continues from a cell, as bits that select its glyph. */
export const lineBits = { up: 1, right: 2, down: 4, left: 8 } as const;

/** Returns, for each cell of the window by row, the bits of its border; 0 in panes. */
export function borderCells({ borders, size }: Placement): Uint8Array {
  const { rows, cols } = size;
  const isLine = new Uint8Array(rows * cols);
  for (const border of borders) {
    for (let row = border.row; row < border.row + border.rows; row++) {
      isLine.fill(1, row * cols + border.col, row * cols + border.col + border.cols);
    }
  }
  const bits = new Uint8Array(rows * cols);
  for (let row = 0; row < rows; row++) {
    for (let col = 0; col < cols; col++) {
      const at = row * cols + col;
      if (isLine[at] === 0) continue;
      if (row > 0 && isLine[at - cols] === 1) bits[at] = (bits[at] ?? 0) | lineBits.up;
      if (row < rows - 1 && isLine[at + cols] === 1) bits[at] = (bits[at] ?? 0) | lineBits.down;
      if (col > 0 && isLine[at - 1] === 1) bits[at] = (bits[at] ?? 0) | lineBits.left;
      if (col < cols - 1 && isLine[at + 1] === 1) bits[at] = (bits[at] ?? 0) | lineBits.right;
      // A line of one cell, in a window of one row or column.
      if (bits[at] === 0) bits[at] = cols > rows ? lineBits.up | lineBits.down : lineBits.left | lineBits.right;
    }
  }
  return bits;
}
