/**
 * The layout of one window: a tree of rows and columns with panes as leaves, and users' changes to it.
 *
 * Pure. A tree is a value: every change returns a new one. Invariants: a pane occurs once; a split has two or more
 * children, none of them a split along the same axis. Weights are shares of a split without its borders, without a
 * unit; a change of the window's size changes none of them, so that a window shrunk and enlarged again looks as before.
 * Changes that move a border get the size of the split in cells, because a border takes a cell.
 */
import { WshError } from "../../protocol/errors.ts";

/** `row`: children side by side. `column`: one above the other. */
export type Axis = "row" | "column";
export type Side = "left" | "right" | "up" | "down";

interface PaneLeaf {
  /** `@7` */
  readonly pane: string;
  /** Share of the parent's cells, above 0. */
  readonly weight: number;
}

export interface Split {
  readonly axis: Axis;
  readonly weight: number;
  readonly children: readonly LayoutNode[];
}

export type LayoutNode = PaneLeaf | Split;

/** Cells between two neighbours. */
export const BORDER = 1;
/** Least share that arithmetic may leave a child, so that none vanishes: a thousandth of a large window. */
const LEAST_SHARE = 1e-3;

export function leaf(pane: string, weight = 1): PaneLeaf {
  return { pane, weight };
}

export function isLeaf(node: LayoutNode): node is PaneLeaf {
  return "pane" in node;
}

/** Returns the panes in reading order: the order of their indexes. */
export function panesOf(node: LayoutNode): string[] {
  return isLeaf(node) ? [node.pane] : node.children.flatMap(panesOf);
}

export function hasPane(node: LayoutNode, pane: string): boolean {
  return isLeaf(node) ? node.pane === pane : node.children.some((child) => hasPane(child, pane));
}

/** Indexes of children from the root to a node. */
export type Path = readonly number[];

/** Returns the path to a pane. @throws WshError pane_not_found */
export function pathTo(node: LayoutNode, pane: string): Path {
  const path = findPath(node, pane);
  if (path === null) throw new WshError("pane_not_found", `the window has no pane '${pane}'`);
  return path;
}

function findPath(node: LayoutNode, pane: string): Path | null {
  if (isLeaf(node)) return node.pane === pane ? [] : null;
  for (const [index, child] of node.children.entries()) {
    const path = findPath(child, pane);
    if (path !== null) return [index, ...path];
  }
  return null;
}

export function nodeAt(node: LayoutNode, path: Path): LayoutNode {
  const [first, ...rest] = path;
  if (first === undefined) return node;
  const child = isLeaf(node) ? undefined : node.children[first];
  if (child === undefined) throw new RangeError(`the layout has no node at ${path.join(".")}`);
  return nodeAt(child, rest);
}

/** Returns the tree with one node replaced; its invariants may be violated (`normalise`). */
function replaceAt(node: LayoutNode, path: Path, replacement: LayoutNode): LayoutNode {
  const [first, ...rest] = path;
  if (first === undefined || isLeaf(node)) return replacement;
  return {
    ...node,
    children: node.children.map((child, index) => (index === first ? replaceAt(child, rest, replacement) : child)),
  };
}

/** Cells that each split has along its axis, by the split itself: `extentsIn` of the placement (cells.ts). */
export type ExtentOf = (split: Split) => number;

interface SplitRequest {
  /** The pane to split. */
  readonly pane: string;
  readonly newPane: string;
  readonly side: Side;
  /** The new pane's cells along the axis; default: half of the available ones. */
  readonly cells?: number;
}

/** The axis of a side, and whether the side is its end. */
export function axisOf(side: Side): { readonly axis: Axis; readonly after: boolean } {
  return { axis: side === "left" || side === "right" ? "row" : "column", after: side === "right" || side === "down" };
}

/**
 * Puts a new pane beside another one, within that pane's room.
 * @param extents cells of the existing splits
 * @param extent cells of the pane along the axis of the side
 * @throws WshError pane_not_found
 */
export function splitPane(root: LayoutNode, request: SplitRequest, extents: ExtentOf, extent: number): LayoutNode {
  const { pane, newPane, side, cells } = request;
  const { axis, after } = axisOf(side);
  const path = pathTo(root, pane);
  const target = nodeAt(root, path);
  const free = Math.max(2, extent - BORDER);
  const fresh = Math.min(free - 1, Math.max(1, cells ?? Math.floor(free / 2)));
  const parentPath = path.slice(0, -1);
  const parent = path.length === 0 ? null : nodeAt(root, parentPath);
  const pair = (old: number, young: number): LayoutNode[] => {
    const two = [
      { ...target, weight: old },
      { pane: newPane, weight: young },
    ];
    return after ? two : two.reverse();
  };
  if (parent === null || isLeaf(parent) || parent.axis !== axis) {
    return replaceAt(root, path, { axis, weight: target.weight, children: pair(free - fresh, fresh) });
  }
  const unit = weightPerCell(parent, extents(parent));
  const index = path.at(-1) ?? 0;
  // The new border takes a cell of the pane, so that its neighbours keep theirs.
  const left = Math.max(target.weight * LEAST_SHARE, target.weight - unit * BORDER);
  const share = left * (fresh / free);
  const children = parent.children.flatMap((child, i) => (i === index ? pair(left - share, share) : [child]));
  return replaceAt(root, parentPath, { ...parent, children });
}

/** Puts a new pane along a whole side of the window. @param extent cells of the window along the axis of the side */
export function splitWindow(
  root: LayoutNode,
  { newPane, side, cells }: Omit<SplitRequest, "pane">,
  extents: ExtentOf,
  extent: number,
): LayoutNode {
  const { axis, after } = axisOf(side);
  const free = Math.max(2, extent - BORDER);
  const fresh = Math.min(free - 1, Math.max(1, cells ?? Math.floor(free / 2)));
  const two: LayoutNode[] = [
    { ...root, weight: free - fresh },
    { pane: newPane, weight: fresh },
  ];
  return normalise({ axis, weight: 1, children: after ? two : two.reverse() }, (split) =>
    split.axis === axis && !isLeaf(root) && split === two[0] ? free - fresh : extents(split),
  );
}

/**
 * Removes a pane; the neighbour before it, or else the one after it, takes its room.
 * @returns null: it was the last one
 * @throws WshError pane_not_found
 */
export function removePane(root: LayoutNode, pane: string, extents: ExtentOf): LayoutNode | null {
  const path = pathTo(root, pane);
  const index = path.at(-1);
  if (index === undefined) return null;
  const parentPath = path.slice(0, -1);
  const parent = nodeAt(root, parentPath);
  if (isLeaf(parent)) return null;
  const extent = extents(parent);
  const weight = parent.children[index]?.weight ?? 0;
  const heir = index === 0 ? 1 : index - 1;
  const room = weight + weightPerCell(parent, extent) * BORDER;
  const children = parent.children
    .map((child, i) => (i === heir ? { ...child, weight: child.weight + room } : child))
    .filter((_, i) => i !== index);
  const changed: Split = { ...parent, children };
  const changedExtents: ExtentOf = (split) => (split === changed ? extent : extents(split));
  return normalise(replaceAt(root, parentPath, changed), changedExtents);
}

/** Moves every pane to the place of the next one, or of the one before. */
export function rotatePanes(root: LayoutNode, by: 1 | -1): LayoutNode {
  const panes = panesOf(root);
  const moved = new Map(panes.map((_, at) => [at, panes[(at - by + panes.length) % panes.length]]));
  let at = 0;
  return mapPanes(root, (pane) => moved.get(at++) ?? pane);
}

/** Gives the children of every split, or only of the one around a pane, equal shares. */
export function equalise(root: LayoutNode, around?: string): LayoutNode {
  if (around === undefined) return equalShares(root);
  const path = pathTo(root, around);
  if (path.length === 0) return root;
  const parent = nodeAt(root, path.slice(0, -1));
  if (isLeaf(parent)) return root;
  const children = parent.children.map((child) => ({ ...child, weight: 1 }));
  return replaceAt(root, path.slice(0, -1), { ...parent, children });
}

function equalShares(node: LayoutNode): LayoutNode {
  if (isLeaf(node)) return node;
  return { ...node, children: node.children.map((child) => ({ ...equalShares(child), weight: 1 })) };
}

/** Returns the tree with other weights for the children of the split at a path. */
export function reweigh(root: LayoutNode, path: Path, weights: readonly number[]): LayoutNode {
  const split = nodeAt(root, path);
  if (isLeaf(split)) return root;
  const children = split.children.map((child, index) => ({ ...child, weight: weights[index] ?? child.weight }));
  return replaceAt(root, path, { ...split, children });
}

/** Keeps the panes that a test accepts, for a placement only: weights are unchanged. @returns null: none is left */
export function filterPanes(node: LayoutNode, accepts: (pane: string) => boolean): LayoutNode | null {
  if (isLeaf(node)) return accepts(node.pane) ? node : null;
  const children = node.children.flatMap((child) => filterPanes(child, accepts) ?? []);
  if (children.length === node.children.length && children.every((child, index) => child === node.children[index])) {
    return node;
  }
  const [only] = children;
  if (only === undefined) return null;
  return children.length === 1 ? { ...only, weight: node.weight } : { ...node, children };
}

export function mapPanes(node: LayoutNode, change: (pane: string) => string): LayoutNode {
  if (isLeaf(node)) return { ...node, pane: change(node.pane) };
  return { ...node, children: node.children.map((child) => mapPanes(child, change)) };
}

/** Weight of one cell in a split. */
export function weightPerCell(split: Split, extent: number): number {
  const cells = Math.max(1, extent - BORDER * (split.children.length - 1));
  return weightOf(split.children) / cells;
}

export function weightOf(children: readonly LayoutNode[]): number {
  return children.reduce((sum, { weight }) => sum + weight, 0);
}

/**
 * Restores the tree's invariants: a split with one child is replaced by that child, and a split along its parent's axis
 * by its children, at their sizes.
 */
export function normalise(node: LayoutNode, extents: ExtentOf): LayoutNode {
  if (isLeaf(node)) return node;
  const extent = extents(node);
  const children = node.children.map((child) => normalise(child, extents));
  const [only] = children;
  if (only !== undefined && children.length === 1) return { ...only, weight: node.weight };
  const unit = weightPerCell(node, extent);
  return {
    ...node,
    children: children.flatMap((child) => {
      if (isLeaf(child) || child.axis !== node.axis) return [child];
      const inner = weightOf(child.children);
      const borders = unit * BORDER * (child.children.length - 1);
      const room = Math.max(child.weight * LEAST_SHARE, child.weight - borders);
      return child.children.map((grandchild) => ({ ...grandchild, weight: (grandchild.weight / inner) * room }));
    }),
  };
}
