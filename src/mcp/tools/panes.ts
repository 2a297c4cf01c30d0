/** Tools on windows and panes. A person's view moves only if a call requests it. */
import * as v from "valibot";
import type { JsonSchema } from "../../operations/json-schema.ts";
import { inputSchema } from "../../operations/table.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { described, integerBetween, integerFrom, optional } from "../../protocol/fields.ts";
import { type Arrangement, changedPane, type PaneProgram } from "../../protocol/layout.ts";
import { layoutPresetNames } from "../../protocol/layout-presets.ts";
import { firstCursor } from "../../protocol/pane-numbers.ts";
import { EndedField } from "../../protocol/session.ts";
import { shownWindows } from "./shown-session.ts";
import { type Ask, done, requireField, TargetField, tool } from "./tool.ts";

const createAnnotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true };
const changeAnnotations = { ...createAnnotations, openWorldHint: false };
/** Rights and hints of tools that may end programs. */
const ends = { core: false, access: "operate", annotations: { ...changeAnnotations, destructiveHint: true } } as const;

const sides = v.picklist(["right", "down", "left", "up"]);
/** Cells, or a share as "40%". */
const AmountSchema = v.union([
  integerBetween(1, 1000),
  v.pipe(v.string(), v.regex(/^\d{1,2}%$/, 'a share is written "40%"')),
]);
const amountJson: JsonSchema = { type: ["integer", "string"] };

type Amount = v.InferOutput<typeof AmountSchema>;

/** The fields of an operation that takes cells under one name and percent under another. */
function amount<C extends string, P extends string>(given: Amount | undefined, cells: C, percent: P) {
  const share = typeof given === "string" ? Number(given.slice(0, -1)) : undefined;
  return {
    ...(typeof given === "number" ? { [cells]: given } : {}),
    ...defined({ [percent]: share }),
  } as Partial<Record<C | P, number>>;
}

export const createPane = tool({
  name: "wsh_create_pane",
  title: "Open a pane",
  description: "Start a shell, or command, in a pane beside another, where attached people see it; returns its id.",
  core: true,
  access: "operate",
  annotations: createAnnotations,
  parameters: v.object({
    session: described(v.string(), "beside this pane, or in this session"),
    direction: optional(sides, "default: right"),
    window: optional(v.picklist(["new", "float", "popup"]), "new: its own"),
    size: optional(AmountSchema, 'cells or "40%"'),
    command: v.optional(v.string()),
    cwd: optional(v.string(), "default: that pane's"),
    env: v.optional(v.record(v.string(), v.string())),
    title: optional(v.string(), "on the border"),
    keep_after_exit: optional(v.boolean(), "keep it then"),
    view: optional(v.string(), "show this pane, no program"),
    focus: optional(v.boolean(), "move the person's", false),
  }),
  schemaOverrides: { size: { ...amountJson, description: 'cells or "40%"' } },
  unlisted: ["keep_after_exit"],
  output: v.object({
    pane: v.string(),
    window: v.string(),
    rows: v.number(),
    cols: v.number(),
    output_cursor: v.number(),
  }),
  run: async ({ session, direction, window, size, view, ...program }, ask) => {
    if (window !== undefined && (direction !== undefined || (window === "new" && size !== undefined))) {
      throw new WshError("invalid_request", `'direction' and 'size' cannot be used with window '${window}'`, {
        hint: "Omit them, or omit window; a floating pane takes a size.",
      });
    }
    const paneFields = { ...program, ...defined({ view }) };
    if (window === "popup") return openPopup({ ...paneFields, size }, session, ask);
    const made =
      window === "new"
        ? await ask("window.create", paneFields, session)
        : window === "float"
          ? await ask("pane.split", { ...paneFields, float: true, width: size, height: size }, session)
          : await ask("pane.split", { ...paneFields, direction, ...amount(size, "cells", "percent") }, session);
    const { pane } = made;
    const info = made.windows.flatMap(({ panes }) => panes).find(({ id }) => id === pane);
    // No output of a newly started program has been read; a view's contents already existed.
    const cursor = view === undefined ? firstCursor(pane) : (await ask("status.get", {}, pane)).output_cursor;
    return {
      pane: changedPane(made),
      window: made.window,
      rows: info?.rows ?? 0,
      cols: info?.cols ?? 0,
      output_cursor: cursor,
    };
  },
});

/** Returns the popup's pane at once: its program's end is awaited like any other's. */
async function openPopup(
  {
    focus: _,
    view,
    size,
    ...program
  }: Partial<PaneProgram> & { readonly focus: boolean; readonly size: Amount | undefined },
  session: string,
  ask: Ask,
) {
  if (view != null) throw new WshError("invalid_request", "'view' cannot be used with window 'popup'");
  const { pane, window } = await ask("popup.open", { ...program, width: size, height: size }, session);
  const info = (await ask("pane.list", {}, pane)).find(({ id }) => id === pane);
  return { pane, window, rows: info?.rows ?? 0, cols: info?.cols ?? 0, output_cursor: firstCursor(pane) };
}

export const closePane = tool({
  name: "wsh_close_pane",
  title: "Close a pane",
  description: "End a pane and its program; the last one ends the session.",
  ...ends,
  parameters: v.object({ pane: described(v.string(), "@7 or name:window.pane") }),
  output: v.object({ success: v.boolean(), closed: v.string(), ended: EndedField, panes_left: v.number() }),
  run: async ({ pane }, ask) => {
    const { name } = await ask("session.get", {}, pane);
    const { closed, ended } = await ask("pane.close", {}, pane);
    return { ...done, closed, ended, panes_left: await panesLeft(ask, name) };
  },
});

/** None if the last one ended the session. */
async function panesLeft(ask: Ask, session: string): Promise<number> {
  try {
    return (await ask("pane.list", {}, session)).length;
  } catch (thrown) {
    if (WshError.from(thrown).code === "session_not_found") return 0;
    throw thrown;
  }
}

const windowActions = v.picklist(["create", "rename", "close", "move", "swap", "select"]);

export const manageWindow = tool({
  name: "wsh_manage_window",
  title: "Manage windows",
  description: "create (a shell), rename, close, move (index, to: session), swap (to), select.",
  ...ends,
  parameters: v.object({
    session: TargetField,
    action: windowActions,
    window: optional(v.string(), "index, name or @w5"),
    name: v.optional(v.string()),
    index: optional(v.pipe(v.number(), v.integer()), "number"),
    to: v.optional(v.string()),
  }),
  output: v.object({ session: v.optional(v.string()), windows: v.array(v.unknown()) }),
  run: async ({ session, action, window, name, index, to }, ask) => {
    const target = window === undefined ? session : window.startsWith("@") ? window : `${session}:${window}`;
    switch (action) {
      case "create":
        return shownArrangement(await ask("window.create", { name, index }, session));
      case "rename":
        return shownArrangement(await ask("window.update", { name: requireField(name, action, "name") }, target));
      case "move":
        if (to === undefined) requireField(index, action, "index");
        return shownArrangement(await ask("window.move", { to, index }, target));
      case "swap":
        return shownArrangement(await ask("window.swap", { with: requireField(to, action, "to") }, target));
      case "select":
        return shownArrangement(await ask("window.select", {}, target));
      case "close": {
        const { name: own } = await ask("session.get", {}, target);
        const { closed } = await ask("window.close", {}, target);
        return { ...done, closed, session: own, windows: shownWindows(await windowsLeft(ask, own)) };
      }
    }
  },
});

async function windowsLeft(ask: Ask, session: string): Promise<Arrangement["windows"]> {
  try {
    return await ask("window.list", {}, session);
  } catch (thrown) {
    if (WshError.from(thrown).code === "session_not_found") return [];
    throw thrown;
  }
}

function shownArrangement({ session, window, pane, windows }: Arrangement): object {
  return { ...done, session, window, pane, windows: shownWindows(windows) };
}

const set = inputSchema("layout.set").entries;

const layoutParameters = v.object({
  session: described(v.string(), "the pane or window"),
  action: v.picklist([
    ...(["get", "set", "preset", "resize", "zoom", "swap", "rotate", "move", "focus"] as const),
    ...(["equalise", "synchronize", "title", "float"] as const),
  ]),
  tree: set.tree,
  tmux: optional(v.string(), "set: tmux's form"),
  close_others: optional(v.boolean(), "set: close omitted"),
  preset: optional(v.picklist([...layoutPresetNames, "next"]), "preset"),
  to: optional(v.string(), "left, @7 …"),
  direction: v.optional(sides),
  by: optional(integerFrom(1), "cells"),
  size: optional(AmountSchema, "for move"),
  rows: v.optional(AmountSchema),
  cols: v.optional(AmountSchema),
  on: optional(v.boolean(), "zoom, float …"),
  title: optional(v.string(), '"": its program\'s'),
});
type LayoutParameters = v.InferOutput<typeof layoutParameters>;

export const layout = tool({
  name: "wsh_layout",
  title: "Arrange panes",
  description:
    "set: tree (moves panes, starts new ones); resize: rows, cols, or direction, by; swap, focus: to a side, next, last or a " +
    "pane (focus moves the person's); move: to, else to an own window; synchronize: keys go to all; float or tile.",
  ...ends,
  parameters: layoutParameters,
  unlisted: ["tmux"],
  schemaOverrides: {
    preset: { type: "string", description: "tiled, next, even-horizontal, main-vertical …" },
    tree: {
      type: "object",
      description: '{"row" or "column": […]} of {"pane": "@7"} or {"command", "cwd"}, with weight',
    },
    size: { ...amountJson, description: "for move" },
    rows: amountJson,
    cols: amountJson,
  },
  output: v.object({ session: v.string(), windows: v.array(v.unknown()) }),
  run: async (given, ask) => {
    if (given.action === "get") return wholeLayout(ask, given.session, null);
    const { window, pane } = await changeLayout(given, ask);
    return { pane, ...(await wholeLayout(ask, pane, window)) };
  },
});

async function changeLayout(given: LayoutParameters, ask: Ask): Promise<Arrangement> {
  const { session, action, tree, tmux, close_others, preset, to, direction, by, size, rows, cols, on, title } = given;
  switch (action) {
    case "set":
      return ask("layout.set", { tree, tmux, close_others }, session);
    case "preset":
      return ask("layout.preset", { preset: requireField(preset, action, "preset") }, session);
    case "resize": {
      const size = { ...amount(rows, "rows", "rows_percent"), ...amount(cols, "cols", "cols_percent") };
      return ask("pane.resize", { ...size, direction, by }, session);
    }
    case "zoom":
      return ask("pane.zoom", { on }, session);
    case "swap":
      return ask("pane.swap", { with: requireField(to, action, "to") }, session);
    case "rotate":
      return ask("layout.rotate", {}, session);
    case "move":
      return ask("pane.move", { to, direction, ...amount(size, "cells", "percent") }, session);
    case "focus": {
      const way = v.safeParse(inputSchema("pane.select").entries.to, to);
      return way.success ? ask("pane.select", { to: way.output }, session) : ask("pane.select", {}, to);
    }
    case "equalise":
      return ask("layout.equalise", {}, session);
    case "synchronize":
      return ask("window.update", { synchronized: on ?? true }, session);
    case "float":
      return ask("pane.float", { on, width: cols, height: rows }, session);
    case "title": {
      const text = requireField(title, action, "title");
      return ask("pane.update", { title: text === "" ? null : text }, session);
    }
    case "get":
      throw new WshError("internal_error", "'get' changes nothing");
  }
}

/**
 * Trees with the panes in them, so that a tree can be changed and set again. @param only only the window with this id;
 * null: all
 */
async function wholeLayout(ask: Ask, target: string, only: string | null): Promise<object> {
  const [{ session, windows: trees }, infos] = await Promise.all([
    ask("layout.get", {}, target),
    ask("window.list", {}, target),
  ]);
  const windows = shownWindows(infos).filter(({ id }) => only === null || id === only);
  const treeOf = new Map(trees.map(({ id, tree, tmux }) => [id, { tree, tmux }]));
  return { session, windows: windows.map((window) => ({ ...window, ...treeOf.get(window.id) })) };
}
