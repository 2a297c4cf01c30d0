/**
 * Layouts as tmux writes them (`#{window_layout}`), so that a layout can move between tmux and wsh:
 * `bb62,159x48,0,0{79x48,0,0,0,79x48,80,0,1}`: four hexadecimal digits of checksum, then a cell of width, height,
 * column and row, followed by a pane's number or by its children in `{}` (side by side) or `[]` (one above the other).
 *
 * Pure. Invariant: accepted text is complete and consistent; anything else is refused, with the position.
 */

import { WshError } from "../../protocol/errors.ts";
import type { Size } from "../../protocol/size.ts";
import type { PaneBox, Placement } from "./cells.ts";
import { type Axis, BORDER, isLeaf, type LayoutNode, normalise, panesOf } from "./tree.ts";

/** Maximum nesting and panes to read: more than any window can show. */
const MAX_DEPTH = 64;
const MAX_PANES = 1000;
const brackets: Readonly<Record<string, { readonly axis: Axis; readonly close: string }>> = {
  "{": { axis: "row", close: "}" },
  "[": { axis: "column", close: "]" },
};

/** Returns the leading checksum: a rotating sum of 16 bits. */
function checksum(text: string): string {
  let sum = 0;
  for (const letter of text) sum = (((sum >> 1) | ((sum & 1) << 15)) + letter.charCodeAt(0)) & 0xffff;
  return sum.toString(16).padStart(4, "0");
}

/** @param number a pane's number in the text */
export function writeTmuxLayout(placement: Placement, number: (pane: string) => number): string {
  const { boxes, tree } = placement;
  const boxOf = (node: LayoutNode): PaneBox => {
    const all = panesOf(node).flatMap((pane) => boxes.get(pane) ?? []);
    const row = Math.min(...all.map((box) => box.row));
    const col = Math.min(...all.map((box) => box.col));
    const rows = Math.max(...all.map((box) => box.row + box.rows)) - row;
    return { row, col, rows, cols: Math.max(...all.map((box) => box.col + box.cols)) - col };
  };
  const write = (node: LayoutNode): string => {
    const { row, col, rows, cols } = boxOf(node);
    const cell = `${cols}x${rows},${col},${row}`;
    if (isLeaf(node)) return `${cell},${number(node.pane)}`;
    const [open, close] = node.axis === "row" ? "{}" : "[]";
    return `${cell}${open}${node.children.map(write).join(",")}${close}`;
  };
  const text = write(tree);
  return `${checksum(text)},${text}`;
}

interface TmuxLayout {
  /** The tree, whose panes are named by their order: `0`, `1`, … */
  readonly tree: LayoutNode;
  readonly size: Size;
  readonly panes: number;
}

/** @throws WshError invalid_layout, with the position in the text */
export function readTmuxLayout(text: string): TmuxLayout {
  const trimmed = text.trim();
  const head = /^([0-9a-f]{4}),/.exec(trimmed);
  if (head === null)
    throw layoutError("a tmux layout begins with a checksum of four hexadecimal digits and a comma", 0);
  const body = trimmed.slice(5);
  if (checksum(body) !== head[1]) throw layoutError(`the checksum is ${checksum(body)}, not ${head[1]}`, 0);
  let offset = 0;
  let panes = 0;
  const cell = (depth: number): { node: LayoutNode; box: PaneBox } => {
    if (depth > MAX_DEPTH) throw layoutError(`nested deeper than ${MAX_DEPTH}`, offset);
    const match = /^(\d{1,4})x(\d{1,4}),(\d{1,4}),(\d{1,4})/.exec(body.slice(offset, offset + 24));
    if (match === null) throw layoutError("a cell is WIDTHxHEIGHT,COLUMN,ROW", offset);
    const [all, cols = 0, rows = 0, col = 0, row = 0] = [match[0], ...match.slice(1).map(Number)];
    const box: PaneBox = { row, col, rows, cols };
    if (rows < 1 || cols < 1) throw layoutError("a cell has at least one row and one column", offset);
    offset += all.length;
    const bracket = brackets[body[offset] ?? ""];
    if (bracket === undefined) {
      offset += /^,\d{1,10}(?!\d*x)/.exec(body.slice(offset))?.[0].length ?? 0;
      if (++panes > MAX_PANES) throw layoutError(`more than ${MAX_PANES} panes`, offset);
      return { node: { pane: String(panes - 1), weight: 1 }, box };
    }
    offset++;
    const children: LayoutNode[] = [];
    const boxes: PaneBox[] = [];
    for (;;) {
      const child = cell(depth + 1);
      const weight = bracket.axis === "row" ? child.box.cols : child.box.rows;
      children.push({ ...child.node, weight });
      boxes.push(child.box);
      const next = body[offset++];
      if (next === bracket.close) break;
      if (next !== ",") throw layoutError(`',' or '${bracket.close}' is missing`, offset - 1);
    }
    if (!addsUp(bracket.axis, box, boxes)) throw layoutError("the cells do not fill the cell around them", offset);
    return { node: { axis: bracket.axis, weight: 1, children }, box };
  };
  const { node, box } = cell(0);
  if (offset !== body.length)
    throw layoutError(`unexpected '${body.slice(offset, offset + 20)}' after the end`, offset);
  const size = { rows: box.rows, cols: box.cols };
  const cells = (child: LayoutNode): number => (isLeaf(child) ? 0 : cellsAlong(child));
  return { tree: normalise(node, cells), size, panes };
}

/** The weights of a parsed layout are cells. */
function cellsAlong(split: Exclude<LayoutNode, { pane: string }>): number {
  return split.children.reduce((sum, { weight }) => sum + weight, 0) + BORDER * (split.children.length - 1);
}

function addsUp(axis: Axis, box: PaneBox, children: readonly PaneBox[]): boolean {
  let at = axis === "row" ? box.col : box.row;
  for (const child of children) {
    const fits =
      axis === "row"
        ? child.row === box.row && child.rows === box.rows && child.col === at
        : child.col === box.col && child.cols === box.cols && child.row === at;
    if (!fits) return false;
    at += (axis === "row" ? child.cols : child.rows) + BORDER;
  }
  return at - BORDER === (axis === "row" ? box.col + box.cols : box.row + box.rows);
}

function layoutError(reason: string, at: number): WshError {
  return new WshError("invalid_layout", `invalid tmux layout: ${reason} (at character ${at + 1})`, {
    hint: "Send the whole text, as `tmux display -p '#{window_layout}'` prints it.",
  });
}
