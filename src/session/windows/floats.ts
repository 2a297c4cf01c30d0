/**
 * Changes of floating panes: open, move, resize, hide and show them, tile and float panes. Each is a function from one
 * value to the next.
 *
 * Pure. Invariants: see state.ts; a window keeps a tiled pane, so the only one cannot float.
 */
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { type Amount, MIN_PANE_COLS, MIN_PANE_ROWS, type Size } from "../../protocol/size.ts";
import type { PaneBox } from "../layout/cells.ts";
import { defaultBounds, type FloatBounds, type FloatEntry, FRAME, outerBox } from "../layout/floats.ts";
import { panesOf, type Side } from "../layout/tree.ts";
import {
  floatOf,
  floatsField,
  focusPane,
  focusWindow,
  type PaneEntry,
  putPane,
  putWindow,
  refocus,
  takePane,
  type WindowEntry,
  type Windows,
  windowById,
  windowWith,
} from "./state.ts";

/** Position and form of a floating pane; an absent field keeps its value, or has the default. */
export type FloatChange = Partial<Omit<FloatEntry, "pane">>;

/** A change of a pane's size. */
export type Resizing =
  | { readonly kind: "grow"; readonly side: Side; readonly by: number }
  | { readonly kind: "set"; readonly rows?: Amount; readonly cols?: Amount };

/** Adds a pane above the tiled ones of another pane's window. A popup is active at once. */
export function addFloat(
  state: Windows,
  newPane: PaneEntry,
  beside: string,
  change: FloatChange,
  focus: boolean,
): Windows {
  const window = windowWith(state, beside);
  const entry: FloatEntry = { ...defaultBounds, hidden: false, bare: false, popup: false, ...change, pane: newPane.id };
  const next = putPane(putWindow(state, placeAbove(window, entry)), newPane);
  if (entry.popup) return focusPane(next, newPane.id);
  return focus ? focusWindow(focusPane(next, newPane.id), window.id) : next;
}

function placeAbove(window: WindowEntry, entry: FloatEntry): WindowEntry {
  const floats = [...(window.floats ?? []), entry].sort((a, b) => Number(a.popup) - Number(b.popup));
  const recent = window.recent.includes(entry.pane) ? window.recent : [...window.recent, entry.pane];
  return { ...window, floats, recent };
}

/** The pane itself, or for a floating one the last used tiled pane of its window. */
export function tiledBeside(state: Windows, pane: string): string {
  const window = windowWith(state, pane);
  if (floatOf(window, pane) === null) return pane;
  return window.recent.find((each) => floatOf(window, each) === null) ?? panesOf(window.root)[0] ?? pane;
}

/**
 * Takes a tiled pane out of the layout and shows it above the others.
 * @throws WshError invalid_layout for the only one
 */
export function float(state: Windows, pane: string, change: FloatChange, area: Size): Windows {
  const window = windowWith(state, pane);
  if (floatOf(window, pane) !== null) return changeFloat(state, pane, change);
  const entry = state.panes[pane];
  const isAlone = panesOf(window.root).length === 1;
  const rest = isAlone ? null : takePane(state, pane, area);
  if (rest === null || entry === undefined) {
    throw new WshError("invalid_layout", `pane '${pane}' is the only tiled one of its window`, {
      hint: "Split the window first: a floating pane is shown above tiled ones.",
    });
  }
  const beside = panesOf(windowById(rest, window.id).root)[0] ?? pane;
  return reactivate(addFloat(rest, entry, beside, change, false), window, pane);
}

/** Makes the pane that was its window's active one active again. */
export function reactivate(next: Windows, { active }: WindowEntry, pane: string): Windows {
  return active === pane ? focusPane(next, pane) : next;
}

/** Moves or resizes a floating pane, hides or shows it. */
function changeFloat(state: Windows, pane: string, change: FloatChange): Windows {
  const window = windowWith(state, pane);
  const own = floatOf(window, pane);
  if (own === null) return state;
  const changed = { ...own, ...change, hidden: own.popup ? false : (change.hidden ?? own.hidden) };
  return putFloats(state, window, (each) => (each === own ? changed : each));
}

function putFloats(state: Windows, window: WindowEntry, change: (each: FloatEntry) => FloatEntry): Windows {
  const floats = (window.floats ?? []).map(change);
  return putWindow(state, refocus({ ...window, ...floatsField(floats) }));
}

/** Hides or shows all floating panes of a window except popups. @param shown null: toggle */
export function showFloats(state: Windows, id: number, shown: boolean | null, focus: boolean): Windows {
  const window = windowById(state, id);
  const own = (window.floats ?? []).filter(({ popup }) => !popup);
  const show = shown ?? own.every(({ hidden }) => hidden);
  const next = putFloats(state, window, (each) => (each.popup ? each : { ...each, hidden: !show }));
  const top = own.at(-1);
  return show && focus && top !== undefined ? focusPane(next, top.pane) : next;
}

/** Moves a floating pane by cells; a centred position, or a share, becomes a position in cells. */
export function moveFloat(state: Windows, pane: string, side: Side, by: number, area: Size): Windows {
  const own = floatOf(windowWith(state, pane), pane);
  if (own === null) return state;
  const box = outerBox(own, area);
  const { isAcross, step } = stepOf(side, by);
  return dragFloat(state, pane, isAcross ? { ...box, col: box.col + step } : { ...box, row: box.row + step }, area);
}

function stepOf(side: Side, by: number): { readonly isAcross: boolean; readonly step: number } {
  return { isAcross: side === "left" || side === "right", step: side === "left" || side === "up" ? -by : by };
}

/** Gives a floating pane the cells to which its frame was dragged. */
export function dragFloat(state: Windows, pane: string, box: PaneBox, area: Size): Windows {
  const own = floatOf(windowWith(state, pane), pane);
  return own === null ? state : changeFloat(state, pane, boundsOf(within(box, area), own, area));
}

function within(box: PaneBox, area: Size): PaneBox {
  const rows = Math.min(area.rows, Math.max(MIN_PANE_ROWS + FRAME, box.rows));
  const cols = Math.min(area.cols, Math.max(MIN_PANE_COLS + FRAME, box.cols));
  const row = Math.min(Math.max(0, box.row), area.rows - rows);
  return { row, col: Math.min(Math.max(0, box.col), area.cols - cols), rows, cols };
}

/** Cells as bounds; unchanged ones keep their share, or stay centred. */
function boundsOf(box: PaneBox, before: FloatBounds, area: Size): FloatBounds {
  const now = outerBox(before, area);
  const same = <T>(is: number, was: number, kept: T): T | Amount => (is === was ? kept : { cells: is });
  return {
    width: same(box.cols, now.cols, before.width),
    height: same(box.rows, now.rows, before.height),
    // A frame that grew on one side keeps its corner.
    x: box.cols === now.cols ? same(box.col, now.col, before.x) : { cells: box.col },
    y: box.rows === now.rows ? same(box.row, now.row, before.y) : { cells: box.row },
  };
}

/** @param change cells of the pane itself, inside its frame */
export function resizeFloat(state: Windows, pane: string, change: Resizing, area: Size): Windows {
  const ownFloat = floatOf(windowWith(state, pane), pane);
  if (ownFloat === null) return state;
  if (change.kind === "set") {
    const frame = ownFloat.bare ? 0 : FRAME;
    const outer = (amount: Amount | undefined): Amount | undefined =>
      amount === undefined || "percent" in amount ? amount : { cells: amount.cells + frame };
    return changeFloat(state, pane, defined({ width: outer(change.cols), height: outer(change.rows) }));
  }
  const box = outerBox(ownFloat, area);
  const { isAcross, step } = stepOf(change.side, change.by);
  const grown = isAcross
    ? { ...box, cols: Math.min(area.cols - box.col, box.cols + step) }
    : { ...box, rows: Math.min(area.rows - box.row, box.rows + step) };
  return dragFloat(state, pane, grown, area);
}
