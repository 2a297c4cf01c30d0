/** Operations on the layout of a window as a whole. */
import type { Handlers } from "../../../endpoint/operations/context.ts";
import type { OperationNameOf, ParsedInput } from "../../../operations/table.ts";
import { defined, present } from "../../../protocol/defined.ts";
import { WshError } from "../../../protocol/errors.ts";
import { countPanes, type LayoutTree, type PaneProgram } from "../../../protocol/layout.ts";
import { paneNumber, windowId } from "../../../protocol/names.ts";
import type { Size } from "../../../protocol/size.ts";
import { placePanes } from "../../../session/layout/cells.ts";
import { defaultBounds, type FloatEntry, outerBox } from "../../../session/layout/floats.ts";
import { readTmuxLayout, writeTmuxLayout } from "../../../session/layout/tmux-layout.ts";
import { isLeaf, type LayoutNode, normalise, panesOf } from "../../../session/layout/tree.ts";
import { applyPreset, evenShares, nextPreset, rotateWindow, showPane } from "../../../session/windows/changes.ts";
import {
  floatsField,
  type PaneEntry,
  paneEntry,
  panesIn,
  putWindow,
  refocus,
  takePane,
  type WindowEntry,
  type Windows,
  windowById,
  windowWith,
} from "../../../session/windows/state.ts";
import { boundsOf, boundsText } from "./bounds.ts";
import { answer, change, type LayoutCall, startPane } from "./subject.ts";

type LayoutOperation = Extract<OperationNameOf<"layout">, `layout.${string}`>;

export const layoutHandlers: Pick<Handlers<"layout", LayoutCall>, LayoutOperation> = {
  "layout.get": ({ parts: { arrangement, session, content } }) => ({
    session: session.name,
    windows: arrangement.state.windows.map((window) => ({
      id: windowId(window.id),
      index: window.index,
      name: content.nameOf(window),
      ...(window.name === null ? {} : { named: true as const }),
      tree: treeOf(window.root, arrangement.state.panes),
      ...floatsIn(window, arrangement.state.panes),
      tmux: writeTmuxLayout(placePanes(window.root, arrangement.sizeOf(window), window.recent), (id) => paneNumber(id)),
    })),
  }),
  "layout.set": (call, layout) => setLayout(call, layout),
  "layout.preset": (call, { preset: name }) =>
    change(call, (state) => {
      const window = windowById(state, call.subject.window.id);
      return applyPreset(state, window.id, name === "next" ? nextPreset(window) : name);
    }),
  "layout.equalise": (call, { around }) =>
    change(call, (state) => evenShares(state, call.subject.window.id, around ? call.subject.pane : undefined)),
  "layout.rotate": (call, { backwards }) =>
    change(call, (state) => rotateWindow(state, call.subject.window.id, backwards ? -1 : 1)),
};

/** A tree in the form of `layout.set`. */
function treeOf(node: LayoutNode, panes: Windows["panes"]): unknown {
  if (isLeaf(node)) return { pane: node.pane, weight: node.weight, ...userSettings(panes[node.pane]) };
  const children = node.children.map((child) => treeOf(child, panes));
  return node.axis === "row" ? { row: children, weight: node.weight } : { column: children, weight: node.weight };
}

function userSettings({ title, keep, env }: Partial<PaneEntry> = {}): object {
  return { ...present({ title, keep_after_exit: keep }), ...defined({ env }) };
}

/** The floating panes of a window in the form of `layout.set`; without popups. */
function floatsIn({ floats = [] }: WindowEntry, panes: Windows["panes"]): { floats?: unknown[] } {
  const lasting = floats.filter(({ popup }) => !popup);
  if (lasting.length === 0) return {};
  return {
    floats: lasting.map((float) => ({
      pane: float.pane,
      ...boundsText(float),
      ...(float.hidden ? { hidden: true } : {}),
      ...(float.bare ? { border: false } : {}),
      ...userSettings(panes[float.pane]),
    })),
  };
}

/** `floats` absent: the existing ones, unless the tree contains them. */
type RequestedLayout = ParsedInput<"layout.set">;

/**
 * Checks the whole layout, starts its new panes, then arranges the window; on failure, ends the started ones.
 * @throws WshError pane_not_found, invalid_layout, session_ended for new panes, and those of their programs
 */
async function setLayout(call: LayoutCall, layout: RequestedLayout) {
  const { arrangement, session } = call.parts;
  return arrangement.change(async () => {
    const window = windowById(arrangement.state, call.subject.window.id);
    const tree = requestedTree(layout, panesOf(window.root));
    const inTree = panesOfTree(tree);
    const remainingFloats = (window.floats ?? []).filter(
      ({ pane, popup }) => popup || (layout.floats === undefined && !inTree.includes(pane)),
    );
    const requestedFloats = layout.floats ?? [];
    const listed = [
      ...inTree,
      ...requestedFloats.flatMap(({ pane }) => pane ?? []),
      ...remainingFloats.map(({ pane }) => pane),
    ];
    for (const pane of listed) windowWith(arrangement.state, pane);
    if (new Set(listed).size < listed.length) throw new WshError("invalid_layout", "a pane is named more than once");
    const unlisted = panesIn(window).filter((pane) => !listed.includes(pane));
    if (unlisted.length > 0 && !layout.close_others) {
      throw new WshError("invalid_layout", `the tree omits ${unlisted.map((pane) => `'${pane}'`).join(", ")}`, {
        hint: "Name every pane of the window, or set close_others to close the rest.",
      });
    }
    const area = arrangement.sizeOf(window);
    const started: { readonly entry: PaneEntry; undo(): void }[] = [];
    try {
      const start = async (program: PaneProgram, size: Size): Promise<string> => {
        session.requireRunning();
        const pane = await startPane(call, program, window.id, size);
        started.push(pane);
        return pane.entry.id;
      };
      const root = await startMissingPanes(tree, (program) => start(program, area));
      const floats: FloatEntry[] = [];
      for (const { pane, x, y, width, height, hidden = false, border = true, ...program } of requestedFloats) {
        const bounds = { ...defaultBounds, ...boundsOf({ x, y, width, height }) };
        const floatSettings = { ...bounds, hidden, bare: !border, popup: false };
        floats.push({ ...floatSettings, pane: pane ?? (await start(program, outerBox(bounds, area))) });
      }
      arrangement.commit(
        withLayout(
          arrangement.state,
          window.id,
          { root, floats: [...floats, ...remainingFloats].sort((a, b) => Number(a.popup) - Number(b.popup)) },
          started.map(({ entry }) => entry),
          unlisted,
        ),
      );
    } catch (error) {
      for (const { undo } of started) undo();
      throw error;
    }
    for (const pane of unlisted) {
      void arrangement.placedPanes.get(pane)?.endProgram();
      arrangement.forget(pane);
      arrangement.events.emit("paneEnded", { pane, exit: { code: null, signal: null }, isKept: false });
    }
    const [shownPane = call.subject.pane] = [...started.map(({ entry }) => entry.id), ...listed];
    if (layout.focus) arrangement.commit(showPane(arrangement.state, shownPane));
    return answer(call.parts, shownPane);
  });
}

/** @throws WshError invalid_layout */
function requestedTree({ tree, tmux }: RequestedLayout, panes: readonly string[]): LayoutTree {
  if ((tree === undefined) === (tmux === undefined)) {
    throw new WshError("invalid_layout", "exactly one of 'tree' and 'tmux' is needed", {
      hint: "Send a tree of rows and columns, or a complete tmux layout.",
    });
  }
  if (tree !== undefined) {
    if (countPanes(tree) === null) throw new WshError("invalid_layout", "the tree is too deep or has too many panes");
    return tree;
  }
  const read = readTmuxLayout(tmux ?? "");
  if (read.panes !== panes.length) {
    throw new WshError("invalid_layout", `the layout has ${read.panes} panes, the window ${panes.length}`);
  }
  return fromTmuxTree(read.tree, panes);
}

function fromTmuxTree(node: LayoutNode, panes: readonly string[]): LayoutTree {
  const { weight } = node;
  if (isLeaf(node)) return { pane: panes[Number(node.pane)] ?? "@0", weight };
  const children = node.children.map((child) => fromTmuxTree(child, panes));
  return node.axis === "row" ? { row: children, weight } : { column: children, weight };
}

function panesOfTree(tree: LayoutTree): string[] {
  if ("row" in tree) return tree.row.flatMap(panesOfTree);
  if ("column" in tree) return tree.column.flatMap(panesOfTree);
  return tree.pane === undefined ? [] : [tree.pane];
}

async function startMissingPanes(
  tree: LayoutTree,
  start: (program: PaneProgram) => Promise<string>,
): Promise<LayoutNode> {
  const { weight } = tree;
  const children = "row" in tree ? tree.row : "column" in tree ? tree.column : null;
  if (children === null) {
    const { pane, weight: _, ...program } = tree as PaneProgram & { pane?: string; weight: number };
    return { pane: pane ?? (await start(program)), weight };
  }
  const nodes: LayoutNode[] = [];
  for (const child of children) nodes.push(await startMissingPanes(child, start));
  const axis = "row" in tree ? "row" : "column";
  const sum = nodes.reduce((all, each) => all + each.weight, 0);
  return normalise({ axis, weight, children: nodes }, () => Math.max(2, Math.round(sum)));
}

/** The value in which a window has this tree; panes of other windows that it names are moved from there. */
function withLayout(
  state: Windows,
  id: number,
  { root, floats }: { readonly root: LayoutNode; readonly floats: readonly FloatEntry[] },
  started: readonly PaneEntry[],
  removed: readonly string[],
): Windows {
  const panes = { ...state.panes };
  for (const entry of started) panes[entry.id] = entry;
  let next: Windows = { ...state, panes };
  const ownWindow = windowById(state, id);
  const order = [...panesOf(root), ...floats.map(({ pane }) => pane)];
  for (const pane of order) {
    const from = next.windows.find((window) => window.id !== id && panesIn(window).includes(pane));
    if (from === undefined) continue;
    const entry = next.panes[pane] ?? paneEntry(pane);
    const rest = takePane(next, pane, { rows: 1000, cols: 1000 });
    if (rest === null) continue;
    next = { ...rest, panes: { ...rest.panes, [pane]: entry } };
  }
  const { panes: keptFloats } = next;
  const remaining = Object.fromEntries(Object.entries(keptFloats).filter(([pane]) => !removed.includes(pane)));
  const recent = [
    ...ownWindow.recent.filter((pane) => order.includes(pane)),
    ...order.filter((pane) => !ownWindow.recent.includes(pane)),
  ];
  const { floats: _, ...rest } = ownWindow;
  const window = { ...rest, root, ...floatsField(floats), recent, zoomed: false };
  return putWindow({ ...next, panes: remaining }, refocus(window));
}
