/**
 * Moves of whole windows: to another number, in exchange for another window, out of a session and into one. A moved
 * window keeps its id, layout and name.
 *
 * Pure. Invariants: see state.ts.
 */
import { WshError } from "../../protocol/errors.ts";
import { windowId } from "../../protocol/names.ts";
import {
  focusWindow,
  freeIndex,
  openPopup,
  type PaneEntry,
  panesIn,
  putWindow,
  requireFree,
  type WindowEntry,
  type Windows,
  windowById,
} from "./state.ts";

/** A window with the data of its panes. */
export interface WholeWindow {
  readonly window: WindowEntry;
  readonly panes: readonly PaneEntry[];
}

export interface WindowPlace {
  /** Null: the first free number from `base` on. */
  readonly index: number | null;
  readonly base: number;
  /** Windows from that number on move up by one, up to the first gap. */
  readonly makeRoom: boolean;
  readonly focus: boolean;
}

/** Frees a number. @param but a window that is leaving its number */
export function makeRoom(state: Windows, index: number, but?: number): Windows {
  const free = freeIndex({ ...state, windows: state.windows.filter(({ id }) => id !== but) }, index);
  if (free > index) requireFree(state, free, but);
  const windows = state.windows.map((each) =>
    each.id !== but && each.index >= index && each.index < free ? { ...each, index: each.index + 1 } : each,
  );
  return free === index ? state : { ...state, windows: windows.toSorted((a, b) => a.index - b.index) };
}

/** Gives a window of the session another number. @throws WshError invalid_layout when another window has it */
export function moveWindow(state: Windows, id: number, place: WindowPlace): Windows {
  const window = windowById(state, id);
  const index = place.index ?? freeIndex(state, place.base);
  const roomy = place.makeRoom ? makeRoom(state, index, id) : state;
  requireFree(roomy, index, id);
  const moved = putWindow(roomy, { ...window, index });
  return place.focus ? focusWindow(moved, id) : moved;
}

/** Exchanges the numbers of two windows; the focus stays with its window. */
export function swapWindows(state: Windows, one: number, other: number): Windows {
  const [from, to] = [windowById(state, one), windowById(state, other)];
  return putWindow(putWindow(state, { ...from, index: to.index }), { ...to, index: from.index });
}

/** A window that may move to another session. @throws WshError invalid_layout while a popup is open in it */
export function wholeWindow(state: Windows, id: number): WholeWindow {
  const window = windowById(state, id);
  if (openPopup(window) !== null) {
    throw new WshError("invalid_layout", `a popup is open in window '${windowId(id)}'`, { hint: "Close it first." });
  }
  return { window, panes: panesIn(window).flatMap((pane) => state.panes[pane] ?? []) };
}

/** The windows without one of them; null: it is the only one. */
export function withoutWindow(state: Windows, id: number): Windows | null {
  const gone = new Set(panesIn(windowById(state, id)));
  const windows = state.windows.filter((each) => each.id !== id);
  if (windows.length === 0) return null;
  const panes = Object.fromEntries(Object.entries(state.panes).filter(([pane]) => !gone.has(pane)));
  return { windows, recent: state.recent.filter((each) => each !== id), panes };
}

/** Adds a window of another session. @throws WshError invalid_layout */
export function withWindow(state: Windows, { window, panes }: WholeWindow, place: WindowPlace): Windows {
  const index = place.index ?? freeIndex(state, place.base);
  const roomy = place.makeRoom ? makeRoom(state, index) : state;
  requireFree(roomy, index);
  const added = {
    windows: [...roomy.windows, { ...window, index }].toSorted((a, b) => a.index - b.index),
    recent: [...roomy.recent, window.id],
    panes: { ...roomy.panes, ...Object.fromEntries(panes.map((pane) => [pane.id, pane])) },
  };
  return place.focus ? focusWindow(added, window.id) : added;
}

/** Replaces a window by one of another session, which is displayed if the replaced one was. */
export function replaceWindow(state: Windows, id: number, { window, panes }: WholeWindow): Windows {
  const { index } = windowById(state, id);
  const rest = withoutWindow(state, id) ?? { windows: [], recent: [], panes: {} };
  const added = withWindow(rest, { window, panes }, { index, base: index, makeRoom: false, focus: false });
  return { ...added, recent: state.recent.map((each) => (each === id ? window.id : each)) };
}

/**
 * After a crash during a swap with another session: the incoming window takes the outgoing one's place if
 * that has left.
 */
export function settleSwap(state: Windows, isPresent: (pane: string) => boolean): Windows {
  const incoming = state.windows.find(({ replaces }) => replaces !== undefined);
  if (incoming === undefined) return state;
  const { replaces, ...window } = incoming;
  const outgoing = state.windows.find(({ id }) => id === replaces);
  const rest = withoutWindow(state, window.id);
  if (outgoing === undefined || rest === null || panesIn(outgoing).some(isPresent)) return putWindow(state, window);
  return replaceWindow(rest, outgoing.id, { ...wholeWindow(state, window.id), window });
}
