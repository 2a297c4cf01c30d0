/**
 * Moving borders: a pane gets more or fewer cells, and its neighbours in the same split give or take them.
 *
 * Pure. Invariants: only the children between which cells move change their weights, and no child gets fewer cells than
 * its minimum. A request for more cells than available moves all available cells.
 */

import { type Border, childCells, minimumCells, type Placement } from "./cells.ts";
import {
  type Axis,
  axisOf,
  isLeaf,
  type LayoutNode,
  nodeAt,
  type Path,
  pathTo,
  reweigh,
  type Side,
  weightPerCell,
} from "./tree.ts";

/** Returns the layout in which a pane has this many cells along an axis, or as many as there is room for. */
export function resizePane(
  root: LayoutNode,
  placement: Placement,
  pane: string,
  axis: Axis,
  cells: number,
): LayoutNode {
  const found = splitAround(root, placement, pane, axis);
  if (found === null) return root;
  const { path, index, sizes } = found;
  const last = index === sizes.length - 1;
  const change = Math.round(cells) - (sizes[index] ?? 0);
  return moveBorder(root, placement, path, last ? index - 1 : index, last ? -change : change);
}

/**
 * Moves a pane's border at the end of the axis (right, lower), or, without one, its border at the beginning,
 * as tmux does.
 * @param by cells
 */
export function growPane(root: LayoutNode, placement: Placement, pane: string, side: Side, by: number): LayoutNode {
  const { axis, after } = axisOf(side);
  const found = splitAround(root, placement, pane, axis);
  if (found === null) return root;
  const { path, index, sizes } = found;
  const border = index === sizes.length - 1 ? index - 1 : index;
  return moveBorder(root, placement, path, border, after ? by : -by);
}

/** Moves a border to a row or column of the window, for the mouse. */
export function dragBorder(
  root: LayoutNode,
  placement: Placement,
  border: Border,
  row: number,
  col: number,
): LayoutNode {
  if (placement.tree !== root) return root;
  const by = border.axis === "row" ? col - border.col : row - border.row;
  return moveBorder(root, placement, border.path, border.index, by);
}

/** The innermost split along an axis around a pane. Null when the pane has the window's whole extent, or is hidden. */
function splitAround(
  root: LayoutNode,
  placement: Placement,
  pane: string,
  axis: Axis,
): { readonly path: Path; readonly index: number; readonly sizes: readonly number[] } | null {
  const whole = pathTo(root, pane);
  for (let depth = whole.length - 1; depth >= 0; depth--) {
    const path = whole.slice(0, depth);
    const split = nodeAt(root, path);
    const index = whole[depth];
    if (isLeaf(split) || split.axis !== axis || index === undefined) continue;
    const extent = placement.extents.get(split);
    if (extent === undefined) return null;
    return { path, index, sizes: childCells(split, extent) };
  }
  return null;
}

/** @param by cells towards the end; negative towards the beginning */
function moveBorder(root: LayoutNode, placement: Placement, path: Path, border: number, by: number): LayoutNode {
  const split = nodeAt(root, path);
  if (isLeaf(split)) return root;
  const extent = placement.extents.get(split);
  if (extent === undefined || by === 0) return root;
  const sizes = childCells(split, extent);
  const needs = split.children.map((child) => minimumCells(child, split.axis));
  const changed = [...sizes];
  // The child at the border grows; those beyond it shrink, the nearest first.
  const [taker, givers] =
    by > 0
      ? [border, sizes.map((_, index) => index).slice(border + 1)]
      : [
          border + 1,
          sizes
            .map((_, index) => index)
            .slice(0, border + 1)
            .reverse(),
        ];
  let remaining = Math.abs(by);
  for (const giver of givers) {
    const gives = Math.min(remaining, Math.max(0, (changed[giver] ?? 0) - (needs[giver] ?? 0)));
    changed[giver] = (changed[giver] ?? 0) - gives;
    changed[taker] = (changed[taker] ?? 0) + gives;
    remaining -= gives;
  }
  const unit = weightPerCell(split, extent);
  const weights = split.children.map(
    ({ weight }, index) => weight + ((changed[index] ?? 0) - (sizes[index] ?? 0)) * unit,
  );
  // If minimum sizes have distorted the shares, cells become the new weights.
  const exact =
    weights.every((weight) => weight > 0) &&
    areEqual(
      childCells(
        { ...split, children: split.children.map((child, index) => ({ ...child, weight: weights[index] ?? 1 })) },
        extent,
      ),
      changed,
    );
  return reweigh(root, path, exact ? weights : changed);
}

function areEqual(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index]);
}
