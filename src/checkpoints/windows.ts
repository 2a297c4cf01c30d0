/** The windows of a saved session: the panes of each, and their layout. */
import * as v from "valibot";
import type { LayoutRecord } from "./files/record.ts";

export interface KeptWindow {
  /** 5 for `@w5`. */
  readonly id: number;
  readonly index: number;
  /** Name set by a user; null: its program's. */
  readonly name: string | null;
  readonly active: boolean;
  readonly activePane: number;
  readonly zoomed: boolean;
  /** In the order of their indexes. */
  readonly panes: readonly number[];
  /** `row(@1 1, column(@2 1, @3 2) 1)`: places with their shares. */
  readonly layout: string;
}

type Node = { readonly weight: number } & (
  | { readonly pane: string }
  | { readonly axis: "row" | "column"; readonly children: readonly Node[] }
);
const weight = v.number();
const NodeSchema: v.GenericSchema<Node> = v.union([
  v.object({ weight, pane: v.string() }),
  v.object({ weight, axis: v.picklist(["row", "column"]), children: v.array(v.lazy(() => NodeSchema)) }),
]);
const TreeSchema = v.object({
  windows: v.object({
    windows: v.array(
      v.object({
        id: v.number(),
        index: v.number(),
        name: v.nullable(v.string()),
        root: NodeSchema,
        active: v.string(),
        zoomed: v.boolean(),
      }),
    ),
    recent: v.array(v.number()),
  }),
});

/** @returns an empty list when the tree is unreadable */
export function windowsIn({ tree }: Pick<LayoutRecord, "tree">): KeptWindow[] {
  const parsed = v.safeParse(TreeSchema, tree);
  if (!parsed.success) return [];
  const { windows, recent } = parsed.output.windows;
  const active = windows.some(({ id }) => id === recent[0]) ? recent[0] : windows[0]?.id;
  return windows.map((window) => ({
    id: window.id,
    index: window.index,
    name: window.name,
    active: window.id === active,
    activePane: numberOf(window.active),
    zoomed: window.zoomed,
    panes: panesOf(window.root).map(numberOf),
    layout: textOf(window.root),
  }));
}

function panesOf(node: Node): string[] {
  return "pane" in node ? [node.pane] : node.children.flatMap(panesOf);
}

function numberOf(pane: string): number {
  return Number(pane.slice(1));
}

/** Shares are rounded to hundredths: people see only cells. */
function textOf(node: Node, isRoot = true): string {
  const share = isRoot ? "" : ` ${Math.round(node.weight * 100) / 100}`;
  if ("pane" in node) return node.pane + share;
  return `${node.axis}(${node.children.map((child) => textOf(child, false)).join(", ")})${share}`;
}
