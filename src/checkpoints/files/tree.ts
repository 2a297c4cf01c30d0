/**
 * A checkpoint's layout of a session with several panes: properties of the whole session, and the arrangement.
 * Only wsh writes it, completely or not at all: a restore needs no separate checks of its parts.
 */
import * as v from "valibot";
import type { PersistentElements } from "../../session/drawing/element.ts";
import type { Windows } from "../../session/windows/state.ts";
import type { LayoutRecord } from "./record.ts";

const VERSION = 1;

const StoredSchema = v.object({
  version: v.literal(VERSION),
  /** Id of its process in the registry; 0: it had none. */
  host: v.number(),
  session: v.number(),
  name: v.string(),
  tags: v.array(v.string()),
  private: v.boolean(),
  created_at: v.number(),
  rows: v.number(),
  cols: v.number(),
  elements: v.unknown(),
  windows: v.unknown(),
  env: v.record(v.string(), v.string()),
  nofile: v.nullable(v.number()),
});

export interface StoredLayout
  extends Readonly<Omit<v.InferOutput<typeof StoredSchema>, "version" | "tags" | "elements" | "windows">> {
  readonly tags: readonly string[];
  readonly elements: PersistentElements;
  readonly windows: Windows;
}

/** The session in the form that `parseTree` reads. */
export function encodeTree(stored: StoredLayout): object {
  return { version: VERSION, ...stored };
}

export function parseTree(value: unknown): StoredLayout {
  return v.parse(StoredSchema, value) as StoredLayout;
}

const ProcessSchema = v.object({ host: v.number() });

/** The id of its process; 0: it had none, or the layout cannot be read. */
export function readProcessId({ tree }: Pick<LayoutRecord, "tree">): number {
  const parsed = v.safeParse(ProcessSchema, tree);
  return parsed.success ? parsed.output.host : 0;
}

interface SavedWindow {
  /** Number of the window: 5 for `@w5`. */
  readonly id: number;
  readonly index: number;
  /** Name set by a user; null: its program's. */
  readonly name: string | null;
  readonly active: boolean;
  readonly activePane: number;
  readonly zoomed: boolean;
  /** Panes in the order of their indexes. */
  readonly panes: readonly number[];
  /** The layout as text, such as `row(@1 1, column(@2 1, @3 2) 1)`: panes with their shares. */
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
const LayoutSchema = v.object({
  windows: v.object({
    windows: v.array(
      v.object({
        id: v.number(),
        index: v.number(),
        name: v.nullable(v.string()),
        root: NodeSchema,
        floats: v.optional(v.array(v.object({ pane: v.string() })), []),
        active: v.string(),
        zoomed: v.boolean(),
      }),
    ),
    recent: v.array(v.number()),
  }),
});

const MovesSchema = v.object({
  windows: v.object({
    panes: v.record(v.string(), v.object({ view: v.nullable(v.string()), moves: v.optional(v.number(), 0) })),
  }),
});

/** Number of times that each pane moved to another session; empty if the tree is unreadable. */
export function readMoves({ tree }: Pick<LayoutRecord, "tree">): Map<number, number> {
  const parsed = v.safeParse(MovesSchema, tree);
  const panes = parsed.success ? Object.entries(parsed.output.windows.panes) : [];
  return new Map(panes.flatMap(([id, { view, moves }]) => (view === null ? [[paneNumberOf(id), moves] as const] : [])));
}

/** The layout without panes that have moved to another session. */
export function layoutWithout(layout: LayoutRecord, movedPanes: ReadonlySet<number>): LayoutRecord {
  if (movedPanes.size === 0) return layout;
  const windows = readWindows(layout).flatMap(({ id, panes }) =>
    panes.some((pane) => !movedPanes.has(pane)) ? [id] : [],
  );
  const session = { ...layout.session, window: windows[0] ?? layout.session.window };
  return { ...layout, session, windows, panes: layout.panes.filter((pane) => !movedPanes.has(pane)) };
}

/** @returns an empty list when the tree is unreadable */
export function readWindows({
  tree,
  windows: remainingWindows,
}: Pick<LayoutRecord, "tree" | "windows">): SavedWindow[] {
  const parsed = v.safeParse(LayoutSchema, tree);
  if (!parsed.success) return [];
  const { windows, recent } = parsed.output.windows;
  const active = windows.some(({ id }) => id === recent[0]) ? recent[0] : windows[0]?.id;
  return windows.flatMap((window) =>
    remainingWindows.includes(window.id)
      ? {
          id: window.id,
          index: window.index,
          name: window.name,
          active: window.id === active,
          activePane: paneNumberOf(window.active),
          zoomed: window.zoomed,
          panes: [...panesOf(window.root), ...window.floats.map(({ pane }) => pane)].map(paneNumberOf),
          layout: [formatNode(window.root), ...window.floats.map(({ pane }) => `floating ${pane}`)].join(", "),
        }
      : [],
  );
}

function panesOf(node: Node): string[] {
  return "pane" in node ? [node.pane] : node.children.flatMap(panesOf);
}

function paneNumberOf(pane: string): number {
  return Number(pane.slice(1));
}

/** Shares are rounded to hundredths: people see only cells. */
function formatNode(node: Node, isRoot = true): string {
  const share = isRoot ? "" : ` ${Math.round(node.weight * 100) / 100}`;
  if ("pane" in node) return node.pane + share;
  return `${node.axis}(${node.children.map((child) => formatNode(child, false)).join(", ")})${share}`;
}
