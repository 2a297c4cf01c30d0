/**
 * The windows and panes of a session as a value: its windows, the panes of each with their layout, and which are
 * active, zoomed or hidden by a zoom. The session process holds one such value and replaces it at each change.
 *
 * Pure. Invariants: a pane is in one window once, tiled or floating; a window has a tiled pane, a unique index, and an
 * active pane that it contains and does not hide; the topmost popup of a window is its active pane; there is an active
 * window while there is a window. Every change returns a new value, or throws and changes nothing.
 */
import { WshError } from "../../protocol/errors.ts";
import type { Keep } from "../../protocol/layout.ts";
import { formatTarget, MAX_WINDOW_INDEX, type Target, windowId } from "../../protocol/names.ts";
import type { Size } from "../../protocol/size.ts";
import { meantWindow } from "../../protocol/window-target.ts";
import { extentsIn, type Placement, placePanes } from "../layout/cells.ts";
import { addFloats, type FloatEntry } from "../layout/floats.ts";
import { hasPane, type LayoutNode, leaf, panesOf, removePane } from "../layout/tree.ts";

const WINDOWS_HINT = { hint: "{windows} which exist." };

/** Properties of a pane besides its position. */
export interface PaneEntry {
  readonly id: string;
  /** Title set by a user; null: the program's title. */
  readonly title: string | null;
  /** Whether it stays after its program has ended; null: according to the setting. */
  readonly keep: Keep | null;
  /** The session or pane that a view shows; null: the pane has a program. */
  readonly view: string | null;
  /** Its variables besides the session's, without secrets; absent: none. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Number of times it moved to another session: of two checkpoints that contain the pane, the one with the larger
   * number is right. Absent: none.
   */
  readonly moves?: number;
}

export interface WindowEntry {
  readonly id: number;
  readonly index: number;
  /** Name set by a user; null: the name of its active pane's foreground program. */
  readonly name: string | null;
  readonly root: LayoutNode;
  /** Panes above the tiled ones, lowest first, popups last; absent: none. */
  readonly floats?: readonly FloatEntry[];
  readonly active: string;
  readonly zoomed: boolean;
  /** Whether typed input goes to every pane. */
  readonly synchronized: boolean;
  /** Panes, most recently active first. */
  readonly recent: readonly string[];
  /** The window whose place it takes once a swap with another session is complete; absent: there is none. */
  readonly replaces?: number;
}

export interface Windows {
  /** Windows by index. */
  readonly windows: readonly WindowEntry[];
  /** Ids of windows, most recently active first: the first one is active. */
  readonly recent: readonly number[];
  /** In the order in which they came to the session. */
  readonly panes: Readonly<Record<string, PaneEntry>>;
}

export function paneEntry(id: string, more: Partial<PaneEntry> = {}): PaneEntry {
  return { title: null, keep: null, view: null, ...more, id };
}

/** One window with one pane: a session before its first split. */
export function oneWindow(id: number, pane: PaneEntry, index = 0): Windows {
  return { windows: [makeWindow(id, index, pane.id, null)], recent: [id], panes: { [pane.id]: pane } };
}

function makeWindow(id: number, index: number, pane: string, name: string | null): WindowEntry {
  return { id, index, name, root: leaf(pane), active: pane, zoomed: false, synchronized: false, recent: [pane] };
}

export function activeWindow(state: Windows): WindowEntry {
  const active = state.windows.find(({ id }) => id === state.recent[0]) ?? state.windows[0];
  if (active === undefined) throw new WshError("session_ended", "the session has no windows left");
  return active;
}

/** Whether a pane (by default the recipient of keys in a window) belongs to another session and is only shown here. */
export function showsOthers({ panes }: Windows, window: WindowEntry, pane?: string): boolean {
  const targets = pane !== undefined ? [pane] : typedPanes(window);
  return targets.some((each) => panes[each]?.view != null);
}

/** @throws WshError pane_not_found */
export function windowWith(state: Windows, pane: string): WindowEntry {
  const holder = state.windows.find((window) => contains(window, pane));
  if (holder === undefined) throw new WshError("pane_not_found", `the session has no pane '${pane}'`);
  return holder;
}

export function contains({ root, floats }: WindowEntry, pane: string): boolean {
  return hasPane(root, pane) || floats?.some((each) => each.pane === pane) === true;
}

/** A pane's position above the tiled ones; null: it is tiled. */
export function floatOf({ floats }: WindowEntry, pane: string): FloatEntry | null {
  return floats?.find((each) => each.pane === pane) ?? null;
}

/** The popup that gets the keys of a window; null: none is open. */
export function openPopup({ floats }: WindowEntry): string | null {
  return floats?.findLast(({ popup }) => popup)?.pane ?? null;
}

/** The panes that receive input typed in a window. */
export function typedPanes(window: WindowEntry): string[] {
  if (!window.synchronized || openPopup(window) !== null) return [window.active];
  return panesIn(window).filter((pane) => floatOf(window, pane)?.hidden !== true);
}

/** The windows without temporary panes. */
export function withoutPopups(state: Windows): Windows {
  const popups = state.windows.flatMap(
    (window) => window.floats?.flatMap(({ popup, pane }) => (popup ? [pane] : [])) ?? [],
  );
  return popups.reduce((rest, pane) => takePane(rest, pane, { rows: 1000, cols: 1000 }) ?? rest, state);
}

export function windowById(state: Windows, id: number): WindowEntry {
  const match = state.windows.find((window) => window.id === id);
  if (match === undefined) throw noWindow(`'${windowId(id)}'`);
  return match;
}

/** @param name the missing window, as the caller named it */
export function noWindow(name: string): WshError {
  return new WshError("pane_not_found", `the session has no window ${name}`, WINDOWS_HINT);
}

/** The panes of a window in the order of their indexes: the tiled ones, then the floating ones from the lowest. */
export function panesIn({ root, floats = [] }: WindowEntry): string[] {
  return [...panesOf(root), ...floats.map(({ pane }) => pane)];
}

/** A changed value with the panes in the order in which they came to the session: moves within it do not count. */
export function inOrderOfArrival(before: Windows, after: Windows): Windows {
  const ids = [...new Set([...Object.keys(before.panes), ...Object.keys(after.panes)])];
  return {
    ...after,
    panes: Object.fromEntries(
      ids.flatMap((id) => {
        const entry = after.panes[id];
        return entry === undefined ? [] : [[id, entry]];
      }),
    ),
  };
}

/**
 * The target of a session's bare name: the living pane that has been in it longest. A view is chosen only if
 * there is no other pane: a command for this session must not run in the viewed one.
 */
export function defaultPane(state: Windows, isLiving: (pane: string) => boolean): string | undefined {
  const panes = Object.keys(state.panes);
  const own = panes.filter((pane) => state.panes[pane]?.view == null);
  const candidates = own.length > 0 ? own : panes;
  return candidates.find(isLiving) ?? candidates[0];
}

/** The pane that a window shows instead of all others; null: none. A popup opens above it. */
export function zoomedPane(window: WindowEntry): string | null {
  return window.zoomed ? lastingActive(window) : null;
}

/** The active pane of the window, ignoring popups. */
export function lastingActive(window: WindowEntry): string {
  const isPopup = (pane: string): boolean => floatOf(window, pane)?.popup === true;
  return [window.active, ...window.recent].find((pane) => !isPopup(pane)) ?? window.active;
}

/** The panes that a window shows at a size: all, or only the zoomed one, and popups. */
export function placementOf(window: WindowEntry, size: Size): Placement {
  const zoomed = zoomedPane(window);
  const tiled = placePanes(zoomed === null ? window.root : leaf(zoomed), size, window.recent);
  const { floats = [] } = window;
  const above = zoomed === null ? floats : floats.filter(({ popup }) => popup);
  return above.length === 0 ? tiled : addFloats(tiled, above);
}

/** The window and its pane that a target addresses. */
export interface Subject {
  readonly window: WindowEntry;
  readonly pane: string;
}

/**
 * Resolves a target within the session it names: an id of a pane or window; `name:window.pane` by index or name;
 * `name:` the focused pane; a bare name, or the session's id, like defaultPane, regardless of focus.
 * @param isLiving whether a pane's program runs
 * @param automatic the name that a window has from its program
 * @param firstPane index of a window's first pane
 * @throws WshError pane_not_found, invalid_request when several windows fit
 */
export function resolveTarget(
  state: Windows,
  target: Target,
  isLiving: (pane: string) => boolean,
  automatic: (window: WindowEntry) => string,
  firstPane: number,
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
    const match = wanted === "" ? { window: activeWindow(state) } : meantWindow(state.windows, target, about);
    if (match === undefined) throw targetError(target, `the session has no window '${wanted}'`, WINDOWS_HINT);
    const { window, pane: index } = match;
    if (index === undefined) return { window, pane: window.active };
    const pane = panesIn(window)[index - firstPane];
    if (pane === undefined) throw targetError(target, `window '${wanted}' has no pane ${index}`);
    return { window, pane };
  }
  const pane = defaultPane(state, isLiving);
  if (pane === undefined) throw targetError(target, "the session has no panes left");
  return { window: windowWith(state, pane), pane };
}

function targetError(target: Target, why: string, details = {}): WshError {
  return new WshError("pane_not_found", `no pane '${formatTarget(target)}': ${why}`, details);
}

export function putWindow(state: Windows, changed: WindowEntry): Windows {
  const windows = state.windows.map((window) => (window.id === changed.id ? changed : window));
  return { ...state, windows: windows.toSorted((a, b) => a.index - b.index) };
}

export function putPane(state: Windows, pane: PaneEntry): Windows {
  return { ...state, panes: { ...state.panes, [pane.id]: pane } };
}

export interface NewWindow {
  readonly index?: number;
  /** First index to try when searching for a free one. */
  readonly base?: number;
  readonly name?: string | null;
  readonly focus: boolean;
}

/**
 * Adds a window with one pane.
 * @param options.index its index; absent: the first free one from `base` on
 * @throws WshError invalid_layout
 */
export function addWindow(
  state: Windows,
  id: number,
  pane: PaneEntry,
  { index, base = 0, name = null, focus }: NewWindow,
): Windows {
  const ownIndex = index ?? freeIndex(state, base);
  requireFree(state, ownIndex);
  const added = putPane(
    {
      ...state,
      windows: [...state.windows, makeWindow(id, ownIndex, pane.id, name)].toSorted((a, b) => a.index - b.index),
      recent: [...state.recent, id],
    },
    pane,
  );
  return focus ? focusWindow(added, id) : added;
}

/** The windows in their order, without gaps. */
export function renumber(state: Windows, base: number): Windows {
  if (state.windows.every(({ index }, i) => index === base + i)) return state;
  return { ...state, windows: state.windows.map((window, i) => ({ ...window, index: base + i })) };
}

/** @throws WshError invalid_layout */
export function requireFree(state: Windows, index: number, but?: number): void {
  if (index > MAX_WINDOW_INDEX) {
    throw new WshError("invalid_layout", `${index} is not a number of a window: the largest is ${MAX_WINDOW_INDEX}`);
  }
  const occupant = state.windows.find((window) => window.index === index && window.id !== but);
  if (occupant === undefined) return;
  const above = freeIndex(state, index);
  throw new WshError("invalid_layout", `window ${index} already exists`, {
    hint: `Choose a free index, such as ${above > MAX_WINDOW_INDEX ? freeIndex(state, 0) : above}, or close or renumber that window first.`,
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

/**
 * Makes a pane its window's active one; a floating one is raised above the others. A zoom of another pane ends. While a
 * popup is open, the pane becomes active after the popup.
 */
export function focusPane(state: Windows, pane: string): Windows {
  const before = windowWith(state, pane);
  const isRaised = floatOf(before, pane) === null || before.floats?.at(-1)?.pane === pane;
  if (before.active === pane && isRaised) return state;
  const window = before.floats === undefined ? before : { ...before, floats: raise(before.floats, pane) };
  const popup = openPopup(window);
  const isPopup = floatOf(window, pane)?.popup === true;
  const front = [...new Set([...(popup === null ? [] : [popup]), pane])];
  const zoomed = window.zoomed && (isPopup || zoomedPane(before) === pane);
  const recent = [...front, ...window.recent.filter((each) => !front.includes(each))];
  return putWindow(state, { ...window, active: popup ?? pane, zoomed, recent });
}

/** The floating panes with one raised above the others; popups remain above all. */
function raise(floats: readonly FloatEntry[], pane: string): readonly FloatEntry[] {
  const own = floats.find((each) => each.pane === pane);
  if (own === undefined) return floats;
  const rest = floats.filter((each) => each !== own);
  return [...rest, { ...own, hidden: false }].sort((a, b) => Number(a.popup) - Number(b.popup));
}

/** A window whose active pane may be gone or hidden: a popup becomes active, else the last used pane. */
export function refocus(window: WindowEntry): WindowEntry {
  const popup = openPopup(window);
  const isShown = (pane: string): boolean => contains(window, pane) && floatOf(window, pane)?.hidden !== true;
  const active = popup ?? [window.active, ...window.recent].find(isShown) ?? panesOf(window.root)[0];
  if (active === undefined) return window;
  return { ...window, active, recent: [active, ...window.recent.filter((pane) => pane !== active)] };
}

/**
 * Removes a pane from its window; the one used before it becomes active. Without a tiled pane, the uppermost floating
 * one is tiled; an empty window is removed.
 * @param size cells of its window
 * @returns null: it was the last pane of the last window
 */
export function takePane(state: Windows, pane: string, size: Size): Windows | null {
  const window = windowWith(state, pane);
  const { [pane]: _, ...panes } = state.panes;
  const floats = (window.floats ?? []).filter((each) => each.pane !== pane);
  const isTiled = floatOf(window, pane) === null;
  const tiled = isTiled
    ? removePane(window.root, pane, extentsIn(placePanes(window.root, size, window.recent)))
    : window.root;
  const promoted = tiled === null ? (floats.findLast(({ popup }) => !popup) ?? floats.at(-1)) : undefined;
  const root = tiled ?? (promoted === undefined ? null : leaf(promoted.pane));
  if (root === null) {
    const windows = state.windows.filter(({ id }) => id !== window.id);
    if (windows.length === 0) return null;
    return { windows, recent: state.recent.filter((id) => id !== window.id), panes };
  }
  const { floats: __, ...rest } = window;
  const kept = floats.filter((each) => each !== promoted);
  const left = { ...rest, root, recent: window.recent.filter((each) => each !== pane), ...floatsField(kept) };
  const zoomed = window.zoomed && zoomedPane(window) !== pane && panesIn(left).length > 1;
  return putWindow({ ...state, panes }, refocus({ ...left, zoomed }));
}

/** A window's field for its floating panes, absent if there are none. */
export function floatsField(floats: readonly FloatEntry[]): { readonly floats?: readonly FloatEntry[] } {
  return floats.length === 0 ? {} : { floats };
}

/** Whether there is one window with one pane, without user settings; popups are ignored. */
export function isSimple(state: Windows): boolean {
  const { windows, panes } = withoutPopups(state);
  const [window, ...more] = windows;
  const [pane, ...others] = Object.values(panes);
  if (window === undefined || pane === undefined || more.length > 0 || others.length > 0) return false;
  const isChosen = window.name !== null || window.index !== 0 || window.synchronized;
  return !isChosen && pane.title === null && pane.keep === null && pane.view === null && pane.moves === undefined;
}
