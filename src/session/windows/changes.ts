/**
 * Changes of windows and panes: split, select, resize, zoom, swap, move, arrange. Each is a function from one value to
 * the next, given the cells of the window it concerns.
 *
 * Pure. Invariants: see state.ts; a change moves the focus only on request, except that the focus of a closed pane goes
 * to the one used before it.
 */
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { layoutPresetNames } from "../../protocol/layout-presets.ts";
import { windowId } from "../../protocol/names.ts";
import type { Amount, Size } from "../../protocol/size.ts";
import { extentsIn, neighbour, placePanes } from "../layout/cells.ts";
import { arrange, type LayoutPreset } from "../layout/presets.ts";
import { growPane, resizePane } from "../layout/resize.ts";
import {
  axisOf,
  equalise,
  type LayoutNode,
  mapPanes,
  rotatePanes,
  type Side,
  splitPane,
  splitWindow,
} from "../layout/tree.ts";
import { addFloat, type FloatChange, type Resizing, reactivate, resizeFloat, tiledBeside } from "./floats.ts";
import {
  addWindow,
  floatOf,
  focusPane,
  focusWindow,
  type NewWindow,
  type PaneEntry,
  paneEntry,
  panesIn,
  putPane,
  putWindow,
  refocus,
  takePane,
  type WindowEntry,
  type Windows,
  windowById,
  windowWith,
  zoomedPane,
} from "./state.ts";

export interface SplitChange {
  /** The pane to split. */
  readonly pane: string;
  readonly side: Side;
  readonly size?: Amount;
  /** Whether to put it beside all panes of the window instead of one. */
  readonly whole: boolean;
  readonly focus: boolean;
  /** A floating pane above the tiled panes of the window instead. */
  readonly float?: FloatChange;
}

/** @param newPane the new pane @param area cells of the window @throws WshError pane_not_found, invalid_layout */
export function addSplit(state: Windows, newPane: PaneEntry, change: SplitChange, area: Size): Windows {
  if (change.float !== undefined) return addFloat(state, newPane, change.pane, change.float, change.focus);
  const beside = tiledBeside(state, change.pane);
  const window = windowWith(state, beside);
  const placement = placePanes(window.root, area, window.recent);
  const { axis } = axisOf(change.side);
  const box = change.whole ? { row: 0, col: 0, ...area } : placement.boxes.get(beside);
  const own = box === undefined ? 2 : axis === "row" ? box.cols : box.rows;
  const cells = cellsOf(change.size, own);
  const request = { pane: beside, newPane: newPane.id, side: change.side, ...defined({ cells }) };
  const root = (change.whole ? splitWindow : splitPane)(window.root, request, extentsIn(placement), own);
  const added: WindowEntry = { ...window, root, recent: [...window.recent, newPane.id] };
  const next = putPane(putWindow(state, added), newPane);
  // A pane added beside a zoomed one stays hidden: views change only on request.
  return change.focus ? focusWindow(focusPane(next, newPane.id), window.id) : next;
}

function cellsOf(amount: Amount | undefined, own: number): number | undefined {
  if (amount === undefined) return undefined;
  return "cells" in amount ? amount.cells : Math.max(1, Math.round((own * amount.percent) / 100));
}

/** The pane in a direction or order, or the last used one; without another, the pane itself. */
export function paneBeside(state: Windows, from: string, to: Side | "next" | "previous" | "last", area: Size): string {
  const window = windowWith(state, from);
  const isShown = (pane: string): boolean => floatOf(window, pane)?.hidden !== true;
  if (to === "last") return window.recent.find((pane) => pane !== from && isShown(pane)) ?? from;
  const panes = panesIn(window).filter((pane) => pane === from || isShown(pane));
  if (to === "next" || to === "previous") {
    const step = to === "next" ? 1 : -1;
    return panes[(panes.indexOf(from) + step + panes.length) % panes.length] ?? from;
  }
  // From a floating pane, a direction leads back to the tiled ones.
  if (floatOf(window, from) !== null) return tiledBeside(state, from);
  return neighbour(placePanes(window.root, area, window.recent), from, to, window.recent) ?? from;
}

export function windowBeside(state: Windows, from: number, to: "next" | "previous" | "last"): number {
  if (to === "last") return state.recent.find((id) => id !== from) ?? from;
  const step = to === "next" ? 1 : -1;
  const index = state.windows.findIndex(({ id }) => id === from);
  return state.windows[(index + step + state.windows.length) % state.windows.length]?.id ?? from;
}

export function applyResize(state: Windows, pane: string, change: Resizing, area: Size): Windows {
  const window = windowWith(state, pane);
  if (floatOf(window, pane) !== null) return resizeFloat(state, pane, change, area);
  let { root } = window;
  const placed = () => placePanes(root, area, window.recent);
  if (change.kind === "grow") root = growPane(root, placed(), pane, change.side, change.by);
  else {
    const { rows, cols } = change;
    if (cols !== undefined) root = resizePane(root, placed(), pane, "row", cellsOf(cols, area.cols) ?? 1);
    if (rows !== undefined) root = resizePane(root, placed(), pane, "column", cellsOf(rows, area.rows) ?? 1);
  }
  return putWindow(state, { ...window, root, zoomed: false });
}

/** @param on null: toggle @throws WshError pane_not_found */
export function zoomPane(state: Windows, pane: string, on: boolean | null): Windows {
  const window = windowWith(state, pane);
  const isZoomed = zoomedPane(window) === pane;
  if (floatOf(window, pane)?.popup === true) {
    throw new WshError("invalid_layout", `pane '${pane}' is a popup, which is not zoomed`, {
      hint: "Turn it into a tiled pane first.",
    });
  }
  const zoomed = (on ?? !isZoomed) && panesIn(window).length > 1;
  if (zoomed === isZoomed) return state;
  const active = zoomed ? windowWith(focusPane(state, pane), pane) : window;
  return putWindow(state, { ...active, zoomed });
}

/** Exchanges two panes, which may be in different windows. Each window's active position remains. */
export function swapPanes(state: Windows, one: string, other: string): Windows {
  const from = windowWith(state, one);
  const to = windowWith(state, other);
  const exchanged = (pane: string): string => (pane === one ? other : pane === other ? one : pane);
  const change = (window: WindowEntry): WindowEntry => ({ ...renamePanes(window, exchanged), zoomed: false });
  if (from.id === to.id) {
    const { active, recent } = from;
    return putWindow(state, refocus({ ...change(from), active, recent }));
  }
  return putWindow(putWindow(state, change(from)), change(to));
}

/** Puts another pane in the place of one of the session. */
export function replacePane(state: Windows, pane: string, by: PaneEntry): Windows {
  const { [pane]: _, ...panes } = state.panes;
  const window = renamePanes(windowWith(state, pane), (each) => (each === pane ? by.id : each));
  return putWindow({ ...state, panes: { ...panes, [by.id]: by } }, window);
}

/** The window with its panes renamed. */
export function renamePanes(window: WindowEntry, name: (pane: string) => string): WindowEntry {
  const { root, floats, active, recent } = window;
  return {
    ...window,
    root: mapPanes(root, name),
    ...(floats === undefined ? {} : { floats: floats.map((each) => ({ ...each, pane: name(each.pane) })) }),
    active: name(active),
    recent: recent.map(name),
  };
}

/** Moves every pane of a window to the next place; the focus stays with its pane. */
export function rotateWindow(state: Windows, id: number, by: 1 | -1): Windows {
  const window = windowById(state, id);
  return putWindow(state, { ...window, root: rotatePanes(window.root, by), zoomed: false });
}

/** @param around limits it to the panes beside this one */
export function evenShares(state: Windows, id: number, around?: string): Windows {
  const window = windowById(state, id);
  return putWindow(state, { ...window, root: equalise(window.root, around), zoomed: false });
}

export function applyPreset(state: Windows, id: number, name: LayoutPreset): Windows {
  const window = windowById(state, id);
  return putWindow(state, { ...window, root: arrange(window.root, name), zoomed: false });
}

/** The preset after the window's current one, or the first. */
export function nextPreset({ root }: WindowEntry): LayoutPreset {
  const shape = (node: LayoutNode): string => JSON.stringify(node, (key, value) => (key === "weight" ? 0 : value));
  const index = layoutPresetNames.findIndex((name) => shape(arrange(root, name)) === shape(root));
  const distinct = layoutPresetNames.slice(index + 1).find((name) => shape(arrange(root, name)) !== shape(root));
  return distinct ?? layoutPresetNames[0];
}

/** Makes a pane the only one of a new window. @throws WshError invalid_layout when it is already alone */
export function breakPane(state: Windows, pane: string, id: number, area: Size, options: NewWindow): Windows {
  const window = windowWith(state, pane);
  if (panesIn(window).length === 1) {
    throw new WshError("invalid_layout", `pane '${pane}' is already alone in window '${windowId(window.id)}'`);
  }
  const entry = state.panes[pane] ?? paneEntry(pane);
  const rest = takePane(state, pane, area);
  if (rest === null) throw lastPaneError(pane);
  return addWindow(rest, id, entry, options);
}

/** The error for giving away a session's last pane. */
export function lastPaneError(pane: string): WshError {
  return new WshError("invalid_layout", `pane '${pane}' is the only one of its session`, {
    hint: "Split the session first, or show the pane elsewhere as a view.",
  });
}

/** Puts a pane of the session beside another one. @throws WshError invalid_layout when both are the same */
export function joinPane(state: Windows, pane: string, change: SplitChange, area: Size): Windows {
  if (pane === change.pane) throw new WshError("invalid_layout", `pane '${pane}' cannot be moved beside itself`);
  const entry = state.panes[pane] ?? paneEntry(pane);
  const rest = takePane(state, pane, area);
  if (rest === null) throw lastPaneError(pane);
  return addSplit(rest, entry, change, area);
}

/** Turns a floating pane, or a popup, into a tiled one beside the last used one. */
export function tilePane(state: Windows, pane: string, area: Size): Windows {
  const window = windowWith(state, pane);
  const entry = state.panes[pane];
  const beside = tiledBeside(state, pane);
  const rest = beside === pane || entry === undefined ? null : takePane(state, pane, area);
  if (rest === null || entry === undefined) return state;
  const change = { pane: beside, side: "right", whole: false, focus: false } as const;
  return reactivate(addSplit(rest, entry, change, area), window, pane);
}

/** Shows a window, and one of its panes. */
export function showPane(state: Windows, pane: string): Windows {
  return focusWindow(focusPane(state, pane), windowWith(state, pane).id);
}
