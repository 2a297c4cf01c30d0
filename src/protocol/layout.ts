/**
 * Windows and panes in every transport: the contents of a window, and a layout as a tree that can be stored, sent and
 * edited (docs/protocol.md, Windows and panes).
 */
import * as v from "valibot";
import { described, integerBetween, optional } from "./fields.ts";
import { MAX_WINDOW_INDEX } from "./names.ts";
import { WindowInfoSchema } from "./session.ts";

/** Deepest nesting of a layout in a message: more than any window can show. */
const MAX_DEPTH = 32;
/** Maximum panes of a tree in a message. */
const MAX_TREE_PANES = 256;

export const WindowIndexSchema = described(integerBetween(0, MAX_WINDOW_INDEX), "its number");

/** Whether a pane stays after its program has ended; `failed`: unless it exited with 0. */
export const KeepSchema = v.union([v.boolean(), v.literal("failed")]);
export type Keep = v.InferOutput<typeof KeepSchema>;

/** The program of a new pane. */
export const ProgramFields = {
  command: v.optional(v.nullable(described(v.string(), "command to run instead of an interactive shell; never typed"))),
  cwd: v.optional(
    v.nullable(described(v.string(), "an existing directory (default: that of the pane it is created from)")),
  ),
  env: v.optional(v.nullable(described(v.record(v.string(), v.string()), "environment variables over the session's"))),
  shell: v.optional(v.nullable(described(v.string(), "a path, or bash, zsh, fish, sh, pwsh"))),
  stdin: optional(v.string(), "text that the command reads as its standard input"),
  title: v.optional(v.nullable(described(v.pipe(v.string(), v.maxLength(256)), "shown instead of the program's"))),
  keep_after_exit: v.optional(
    v.nullable(described(KeepSchema, "keep the pane after its program has exited; failed: unless with 0")),
  ),
  view: v.optional(v.nullable(described(v.string(), "show this session or pane instead of starting a program"))),
};

const extent = v.union([
  integerBetween(1, 1000),
  v.pipe(v.string(), v.regex(/^([1-9]\d?|100)%$/, 'a share is written "40%"')),
]);
const position = v.union([
  integerBetween(0, 1000),
  v.pipe(v.string(), v.regex(/^(\d{1,2}%|100%|center)$/, 'a place is a number of cells, "40%" or "center"')),
]);

/** The rectangle of a floating pane. An absent value means unchanged, or the default. */
export const BoundsFields = {
  x: optional(position, 'column of its frame, a share such as "10%", or "center"'),
  y: optional(position, 'row of its frame, a share such as "10%", or "center"'),
  width: optional(extent, 'columns with its frame, or a share such as "80%" (default: 70%)'),
  height: optional(extent, 'rows with its frame, or a share such as "80%" (default: 70%)'),
};
export const BoundsSchema = v.object(BoundsFields);
export type Bounds = v.InferOutput<typeof BoundsSchema>;

const ProgramSchema = v.object(ProgramFields);
/** The program of a new pane. */
export type PaneProgram = v.InferOutput<typeof ProgramSchema>;

/** Weights are shares: these leave room for any share of any screen, and for arithmetic with them. */
export const MIN_WEIGHT = 1e-6;
export const MAX_WEIGHT = 1e9;
const WeightField = v.optional(v.pipe(v.number(), v.minValue(MIN_WEIGHT), v.maxValue(MAX_WEIGHT)), 1);

/** A node of a layout: an existing pane, a program to start, or a row or column of nodes with shares of the room. */
export type LayoutTree =
  | (PaneProgram & { readonly pane?: string | undefined; readonly weight: number })
  | { readonly row: readonly LayoutTree[]; readonly weight: number }
  | { readonly column: readonly LayoutTree[]; readonly weight: number };

const ChildrenSchema = v.pipe(
  v.array(v.lazy((): v.GenericSchema<unknown, LayoutTree> => LayoutTreeSchema)),
  v.minLength(1),
  v.maxLength(MAX_TREE_PANES),
);

const RowSchema = v.object({
  row: described(ChildrenSchema, "nodes side by side"),
  weight: WeightField,
});
const ColumnSchema = v.object({
  column: described(ChildrenSchema, "nodes one above the other"),
  weight: WeightField,
});
const LeafSchema = v.object({
  pane: optional(
    v.pipe(v.string(), v.regex(/^@\d{1,9}$/, "not a pane id such as @7")),
    "a pane of the session: it is moved",
  ),
  ...ProgramFields,
  weight: WeightField,
});
const AnyNodeSchema: v.GenericSchema<unknown, LayoutTree> = v.union([RowSchema, ColumnSchema, LeafSchema]);
const NoNodeSchema = v.custom<never>(() => false, "a node has 'row' or 'column', or describes its pane");
const TwoPanesSchema = v.custom<never>(() => false, "a node names an existing pane, or describes a new one");
/** The possible contents of a new pane. */
const CONTENTS = ["command", "shell", "stdin", "view"];

/**
 * A node is parsed as the kind that it resembles: otherwise a row with a mistake could be parsed as a program to start,
 * which would replace all the panes that it names.
 */
export const LayoutTreeSchema: v.GenericSchema<unknown, LayoutTree> = {
  ...AnyNodeSchema,
  "~run": (dataset, config) => meantBy(dataset.value)["~run"](dataset, config),
};

function meantBy(input: unknown): v.GenericSchema<unknown, LayoutTree> {
  if (typeof input !== "object" || input === null) return AnyNodeSchema;
  if (Array.isArray(input)) return NoNodeSchema;
  const keys = Object.keys(input);
  const kinds = ["row", "column", "pane"].filter((kind) => keys.includes(kind));
  if (kinds.length > 1) return NoNodeSchema;
  if (kinds[0] === "pane" && Object.entries(input).some(([key, value]) => value != null && CONTENTS.includes(key)))
    return TwoPanesSchema;
  if (kinds[0] === "row") return RowSchema;
  if (kinds[0] === "column") return ColumnSchema;
  return keys.length > 0 && !keys.some((key) => key in LeafSchema.entries) ? NoNodeSchema : LeafSchema;
}

/** Number of panes in a tree; null: beyond the limits, or nested too deep. */
export function countPanes(tree: LayoutTree, depth = 0): number | null {
  if (depth > MAX_DEPTH) return null;
  const children = "row" in tree ? tree.row : "column" in tree ? tree.column : null;
  if (children === null) return 1;
  let sum = 0;
  for (const child of children) {
    const count = countPanes(child, depth + 1);
    if (count === null) return null;
    sum += count;
  }
  return sum > MAX_TREE_PANES ? null : sum;
}

/** Answer to every change of windows and panes: its subject, and the resulting windows. */
export const ArrangementSchema = v.object({
  /** Name and id of the session. */
  session: v.string(),
  session_id: v.string(),
  /** `@w5` and `@7`: created by the change, or its subject. */
  window: v.string(),
  pane: v.string(),
  windows: v.array(WindowInfoSchema),
});
export type Arrangement = v.InferOutput<typeof ArrangementSchema>;

/**
 * The target of a change's result or subject. A view has the id of its source pane, so it is named by its position in
 * this session.
 */
export function changedPane({ session, pane, windows }: Arrangement): string {
  for (const window of windows) {
    const viewPane = window.panes.find(({ id, view }) => id === pane && view !== undefined);
    if (viewPane !== undefined) return `${session}:${window.index}.${viewPane.index}`;
  }
  return pane;
}

/** A floating pane in a layout to set: an existing pane, or a program to start. */
export const FloatLeafSchema = v.object({
  ...BoundsFields,
  pane: LeafSchema.entries.pane,
  hidden: optional(v.boolean(), "it is not shown; its program continues"),
  border: optional(v.boolean(), "with a frame around it (default: true)"),
  ...ProgramFields,
});
export type FloatLeaf = v.InferOutput<typeof FloatLeafSchema>;

/** A window's layout as a tree without programs, and in tmux's format. Panes include their settings. */
export const WindowLayoutSchema = v.object({
  id: v.string(),
  index: v.number(),
  name: v.string(),
  named: optional(v.literal(true), "the name was set explicitly and does not follow the program"),
  tree: v.unknown(),
  floats: optional(v.array(v.unknown()), "floating panes, the lowest first; absent: none"),
  tmux: v.string(),
});
