/**
 * The windows and panes of a session as a value: its windows, the panes of each and their layout, which is active,
 * zoomed or hidden behind a zoom. The session process holds one and replaces it with each change.
 *
 * Pure. Invariants: a pane is in one window once; a window has a pane, a unique index, and an active pane that it
 * contains; there is an active window as long as there is a window. Every change returns a new value, or throws and
 * changes nothing.
 */
import { WshError } from "../../protocol/errors.ts";
import type { Keep } from "../../protocol/layout.ts";
import { formatTarget, type Target, windowId } from "../../protocol/names.ts";
import type { Size } from "../../protocol/size.ts";
import { meantWindow } from "../../protocol/window-target.ts";
import { extentsIn, type Placement, placePanes } from "../layout/cells.ts";
import { hasPane, type LayoutNode, leaf, panesOf, removePane } from "../layout/tree.ts";

/** Properties of a pane besides its place. */
export interface PaneEntry {
  readonly id: string;
  /** Title set by a user; null: the program's title. */
  readonly title: string | null;
  /** Whether it stays when its program has ended; null: as the setting says. */
  readonly keep: Keep | null;
  /** The session or pane that a view shows; null for a pane with a program. */
  readonly view: string | null;
  /** Its variables besides those of the session, without secrets; absent: none. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface WindowEntry {
  readonly id: number;
  readonly index: number;
  /** Name set by a user; null: after the foreground program of its active pane. */
  readonly name: string | null;
  readonly root: LayoutNode;
  readonly active: string;
  readonly zoomed: boolean;
  /** Typed input goes to every pane. */
  readonly synchronized: boolean;
  /** Panes, the most recently active first. */
  readonly recent: readonly string[];
}

export interface Windows {
  /** By index. */
  readonly windows: readonly WindowEntry[];
  /** Windows, the most recently active first: the first one is the active one. */
  readonly recent: readonly number[];
  readonly panes: Readonly<Record<string, PaneEntry>>;
}

export function paneEntry(id: string, more: Partial<PaneEntry> = {}): PaneEntry {
  return { title: null, keep: null, view: null, ...more, id };
}

/** One window with one pane: a session before its first split. */
export function oneWindow(id: number, pane: PaneEntry): Windows {
  return { windows: [windowOf(id, 0, pane.id, null)], recent: [id], panes: { [pane.id]: pane } };
}

function windowOf(id: number, index: number, pane: string, name: string | null): WindowEntry {
  return { id, index, name, root: leaf(pane), active: pane, zoomed: false, synchronized: false, recent: [pane] };
}

export function activeWindow(state: Windows): WindowEntry {
  const active = state.windows.find(({ id }) => id === state.recent[0]) ?? state.windows[0];
  if (active === undefined) throw new WshError("session_ended", "the session has no windows left");
  return active;
}

/** Whether a pane, or else what gets keys in a window, is another's and only shown there. */
export function showsOthers({ panes }: Windows, window: WindowEntry, pane?: string): boolean {
  const meant = pane !== undefined ? [pane] : window.synchronized ? panesIn(window) : [window.active];
  return meant.some((each) => panes[each]?.view != null);
}

/** @throws WshError pane_not_found */
export function windowWith(state: Windows, pane: string): WindowEntry {
  const found = state.windows.find(({ root }) => hasPane(root, pane));
  if (found === undefined) throw new WshError("pane_not_found", `the session has no pane '${pane}'`);
  return found;
}

export function windowById(state: Windows, id: number): WindowEntry {
  const found = state.windows.find((window) => window.id === id);
  if (found === undefined) throw new WshError("pane_not_found", `the session has no window '${windowId(id)}'`);
  return found;
}

/** The panes of a window in the order of their indexes. */
export function panesIn(window: WindowEntry): string[] {
  return panesOf(window.root);
}

/** All panes, the oldest first: ids are given in order. */
export function oldestFirst(state: Windows): string[] {
  return Object.keys(state.panes).sort((a, b) => Number(a.slice(1)) - Number(b.slice(1)));
}

/**
 * The target of a session's bare name: the oldest of its own panes that lives. A view only without any other: a command
 * for this session must not run in the viewed one.
 */
export function defaultPane(state: Windows, isLiving: (pane: string) => boolean): string | undefined {
  const panes = oldestFirst(state);
  const own = panes.filter((pane) => state.panes[pane]?.view == null);
  const meant = own.length > 0 ? own : panes;
  return meant.find(isLiving) ?? meant[0];
}

/** The panes that a window shows on so many cells: all, or only the active one while it is zoomed. */
export function placementOf(window: WindowEntry, size: Size): Placement {
  return window.zoomed ? placePanes(leaf(window.active), size) : placePanes(window.root, size, window.recent);
}

/** A window and one of its panes that a target addresses. */
export interface Subject {
  readonly window: WindowEntry;
  readonly pane: string;
}

/**
 * Resolves a target within the session it names: an id of a pane or window; `name:window.pane` by index or name;
 * `name:` the focused pane; a bare name, or the session's id, as in defaultPane, independent of focus.
 * @param isLiving whether a pane's program runs
 * @param automatic the name that a window has from its program
 * @throws WshError pane_not_found, invalid_request when several windows fit
 */
export function findPlace(
  state: Windows,
  target: Target,
  isLiving: (pane: string) => boolean,
  automatic: (window: WindowEntry) => string,
): Subject {
  if (target.kind === "pane") {
    const pane = formatTarget(target);
    return { window: windowWith(state, pane), pane };
  }
  if (target.kind === "window_id") {
    const window = windowById(state, target.id);
    return { window, pane: window.active };
  }
  if (target.kind === "session" && target.window !== undefined) {
    const wanted = target.window;
    const about = { automatic, id: ({ id }: WindowEntry) => windowId(id) };
    const meant = wanted === "" ? { window: activeWindow(state) } : meantWindow(state.windows, target, about);
    if (meant === undefined) throw missing(target, `the session has no window '${wanted}'`);
    const { window, pane: index } = meant;
    if (index === undefined) return { window, pane: window.active };
    const pane = panesIn(window)[index];
    if (pane === undefined) throw missing(target, `window '${wanted}' has no pane ${index}`);
    return { window, pane };
  }
  const pane = defaultPane(state, isLiving);
  if (pane === undefined) throw missing(target, "the session has no panes left");
  return { window: windowWith(state, pane), pane };
}

function missing(target: Target, why: string): WshError {
  return new WshError("pane_not_found", `no pane '${formatTarget(target)}': ${why}`);
}

export function putWindow(state: Windows, changed: WindowEntry): Windows {
  const windows = state.windows.map((window) => (window.id === changed.id ? changed : window));
  return { ...state, windows: windows.toSorted((a, b) => a.index - b.index) };
}

export function putPane(state: Windows, pane: PaneEntry): Windows {
  return { ...state, panes: { ...state.panes, [pane.id]: pane } };
}

/** Adds a window with one pane. @param index the place; the first free one when absent @throws WshError invalid_layout */
export function addWindow(
  state: Windows,
  id: number,
  pane: PaneEntry,
  { index, name = null, focus }: { readonly index?: number; readonly name?: string | null; readonly focus: boolean },
): Windows {
  const at = index ?? freeIndex(state, 0);
  requireFree(state, at);
  const added = putPane(
    {
      ...state,
      windows: [...state.windows, windowOf(id, at, pane.id, name)].toSorted((a, b) => a.index - b.index),
      recent: [...state.recent, id],
    },
    pane,
  );
  return focus ? focusWindow(added, id) : added;
}

/** @throws WshError invalid_layout */
export function requireFree(state: Windows, index: number, but?: number): void {
  const taken = state.windows.find((window) => window.index === index && window.id !== but);
  if (taken === undefined) return;
  throw new WshError("invalid_layout", `window ${index} already exists`, {
    hint: `Choose a free index, such as ${freeIndex(state, index)}, or close or renumber that window first.`,
  });
}

export function freeIndex(state: Windows, from: number): number {
  const used = new Set(state.windows.map(({ index }) => index));
  let index = from;
  while (used.has(index)) index++;
  return index;
}

export function focusWindow(state: Windows, id: number): Windows {
  windowById(state, id);
  if (state.recent[0] === id) return state;
  return { ...state, recent: [id, ...state.recent.filter((each) => each !== id)] };
}

/** Makes a pane its window's active one. A zoom of another pane ends. */
export function focusPane(state: Windows, pane: string): Windows {
  const window = windowWith(state, pane);
  if (window.active === pane) return state;
  return putWindow(state, { ...window, active: pane, zoomed: false, recent: recentWith(window, pane) });
}

function recentWith({ recent }: WindowEntry, pane: string): string[] {
  return [pane, ...recent.filter((each) => each !== pane)];
}

/**
 * Removes a pane from its window; the one used before it becomes active. An empty window is removed too.
 * @param size cells of its window @returns null when it was the last pane of the last window
 */
export function takePane(state: Windows, pane: string, size: Size): Windows | null {
  const window = windowWith(state, pane);
  const { [pane]: _, ...panes } = state.panes;
  const root = removePane(window.root, pane, extentsIn(placePanes(window.root, size, window.recent)));
  if (root === null) {
    const windows = state.windows.filter(({ id }) => id !== window.id);
    if (windows.length === 0) return null;
    return { windows, recent: state.recent.filter((id) => id !== window.id), panes };
  }
  const recent = window.recent.filter((each) => each !== pane);
  const active = window.active === pane ? (recent[0] ?? panesOf(root)[0] ?? pane) : window.active;
  const zoomed = window.zoomed && window.active !== pane && panesOf(root).length > 1;
  return putWindow({ ...state, panes }, { ...window, root, active, zoomed, recent });
}
