/** Layouts by name, as tmux calls them: the same panes, in order, in a new tree. Pure. */
import type { layoutPresetNames } from "../../protocol/layout-presets.ts";
import { type Axis, type LayoutNode, leaf, panesOf } from "./tree.ts";

export type LayoutPreset = (typeof layoutPresetNames)[number];

/** Share of the main pane: more than half, and the others stay usable. */
const MAIN_SHARE = 0.6;

export function arrange(root: LayoutNode, preset: LayoutPreset): LayoutNode {
  const panes = panesOf(root);
  const [first, ...others] = panes;
  if (first === undefined || others.length === 0) return root;
  const beside = (axis: Axis, mirrored: boolean): LayoutNode => {
    const rest = { ...evenSplit(axis === "row" ? "column" : "row", others), weight: 1 - MAIN_SHARE };
    const children = [leaf(first, MAIN_SHARE), rest];
    return { axis, weight: 1, children: mirrored ? children.reverse() : children };
  };
  switch (preset) {
    case "even-horizontal":
      return evenSplit("row", panes);
    case "even-vertical":
      return evenSplit("column", panes);
    case "main-horizontal":
      return beside("column", false);
    case "main-horizontal-mirrored":
      return beside("column", true);
    case "main-vertical":
      return beside("row", false);
    case "main-vertical-mirrored":
      return beside("row", true);
    case "tiled":
      return tiledGrid(panes);
  }
}

function evenSplit(axis: Axis, panes: readonly string[]): LayoutNode {
  const [only] = panes;
  if (only !== undefined && panes.length === 1) return leaf(only);
  return { axis, weight: 1, children: panes.map((pane) => leaf(pane)) };
}

/** As square as possible; the last row may have fewer, wider panes. */
function tiledGrid(panes: readonly string[]): LayoutNode {
  let rows = 1;
  let cols = 1;
  while (rows * cols < panes.length) {
    rows++;
    if (rows * cols < panes.length) cols++;
  }
  const lines: LayoutNode[] = [];
  for (let index = 0; index < panes.length; index += cols)
    lines.push(evenSplit("row", panes.slice(index, index + cols)));
  const [only] = lines;
  return only !== undefined && lines.length === 1 ? only : { axis: "column", weight: 1, children: lines };
}
