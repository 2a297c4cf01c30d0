/** Starts a layout file's programs: all of them, or none remains. */
import type { Instance } from "../../instance/paths.ts";
import { present } from "../../protocol/defined.ts";
import type { FloatLeaf, LayoutTree } from "../../protocol/layout.ts";
import type { SessionInfo, WindowInfo } from "../../protocol/session.ts";
import { UsageError } from "../arguments.ts";
import { complain } from "../print.ts";
import { SessionClient } from "../session/client.ts";
import { type PlannedNode, type PlannedPane, type PlannedWindow, plannedPanes } from "./layout-file.ts";

/** The program of a session's first pane. @throws UsageError if every pane of the first window is a view */
export function firstProgram(windows: readonly PlannedWindow[]): PlannedPane {
  const first = windows[0] === undefined ? [] : plannedPanes(windows[0].tree);
  const program = first.find(({ view }) => view == null);
  if (program === undefined) throw new UsageError("the first window of the layout needs a pane with a program");
  return program;
}

/** A tree in the form of a request; existing panes are inserted in their places. */
export function treeWith(node: PlannedNode, existing: ReadonlyMap<PlannedPane, string>): LayoutTree {
  const { weight } = node;
  if ("row" in node) return { row: node.row.map((child) => treeWith(child, existing)), weight };
  if ("column" in node) return { column: node.column.map((child) => treeWith(child, existing)), weight };
  const pane = existing.get(node);
  if (pane !== undefined) return { pane, weight };
  const { focus: _, ...program } = node;
  return program;
}

/** Floating panes in the form of a request. */
export function floatsWith(floats: PlannedWindow["floats"]): { floats?: FloatLeaf[] } {
  return floats === undefined ? {} : { floats: floats.map(({ focus: _, ...float }) => float) };
}

/**
 * Arranges a session that was started with the layout's first program. A failure ends the session.
 * @throws WshError of the operations
 */
export async function fillSession(
  instance: Instance,
  { pane_id }: SessionInfo,
  windows: readonly PlannedWindow[],
): Promise<SessionInfo> {
  using session = await SessionClient.open(instance, pane_id);
  try {
    let focused: string | null = null;
    for (const [index, window] of windows.entries()) {
      const first = index === 0 ? firstProgram(windows) : plannedPanes(window.tree)[0];
      if (first === undefined) continue;
      const firstPaneId: string = index === 0 ? pane_id : await newWindow(session, window, first);
      focused = (await fillWindow(instance, firstPaneId, first, window, index === 0)) ?? focused;
    }
    if (focused !== null) await focus(instance, focused);
    const info = await session.call("session.get", {});
    warnOfHidden(info.windows);
    return info;
  } catch (error) {
    await session.call("session.kill", {}).catch(() => {});
    throw error;
  }
}

async function newWindow(
  session: SessionClient,
  { name }: PlannedWindow,
  { focus: _, weight: _w, ...program }: PlannedPane,
): Promise<string> {
  const made = await session.call("window.create", { ...program, ...present({ name }) });
  return made.pane;
}

/** @returns the pane to focus, if the layout names one */
async function fillWindow(
  instance: Instance,
  firstPaneId: string,
  firstPlanned: PlannedPane,
  { name, tree, floats }: PlannedWindow,
  isFirst: boolean,
): Promise<string | null> {
  using session = await SessionClient.open(instance, firstPaneId);
  if (isFirst && name !== null) await session.call("window.update", { name });
  const { title, keep_after_exit } = firstPlanned;
  if (isFirst && (title != null || keep_after_exit != null)) {
    await session.call("pane.update", { title, keep_after_exit });
  }
  const planned = plannedPanes(tree);
  if (planned.length > 1 || floats !== undefined) {
    const requested = treeWith(tree, new Map([[firstPlanned, firstPaneId]]));
    await session.call("layout.set", { tree: requested, ...floatsWith(floats) });
  }
  const focusAt = [...planned, ...(floats ?? [])].findIndex(({ focus: wanted }) => wanted === true);
  if (focusAt === -1) return null;
  const windows = await session.call("window.list", {});
  return windows.find(({ panes }) => panes.some(({ id }) => id === firstPaneId))?.panes[focusAt]?.id ?? null;
}

async function focus(instance: Instance, pane: string): Promise<void> {
  using session = await SessionClient.open(instance, pane);
  await session.call("pane.select", {});
}

/** Warns of panes without room. */
export function warnOfHidden(windows: readonly WindowInfo[]): void {
  for (const { name, rows, cols, panes } of windows) {
    const hidden = panes.filter((pane) => pane.hidden === true);
    if (hidden.length === 0) continue;
    complain(
      `${hidden.length} of ${panes.length} panes of window '${name}' do not fit at ${cols}x${rows}: ` +
        `${hidden.map(({ id }) => id).join(", ")} are hidden until there is`,
    );
  }
}
