/**
 * Events of a session's windows and panes, in every transport (docs/protocol.md, Windows and panes). The events are the
 * difference of two states, so a process that takes over a session, or a server that missed changes, reports all
 * changes since.
 */
import * as v from "valibot";
import { described } from "./fields.ts";
import type { PaneInfo, WindowInfo } from "./session.ts";

const window = described(v.string(), "id of the window: @w5");
const pane = described(v.string(), "id of the pane: @7");
const windowName = described(v.string(), "name of the window: its own, or its foreground program's");

/** Fields of each event. */
export const layoutEvents = {
  window_created: { window, window_name: windowName },
  window_closed: { window },
  window_renamed: { window, window_name: windowName },
  pane_created: { window, pane },
  pane_closed: { window, pane },
  pane_moved: { window, pane },
  pane_exited: {
    pane,
    exit_code: v.nullable(v.number()),
    signal: v.nullable(v.string()),
    kept: described(v.boolean(), "the pane stays in its place"),
  },
  layout_changed: { window },
  focus_changed: { window, pane },
} as const;

type LayoutEventName = keyof typeof layoutEvents;

export const layoutEventNames = Object.keys(layoutEvents) as readonly LayoutEventName[];

export type LayoutEvent = {
  [N in LayoutEventName]: { readonly event: N } & {
    readonly [F in keyof (typeof layoutEvents)[N]]: (typeof layoutEvents)[N][F] extends v.GenericSchema<
      unknown,
      infer T
    >
      ? T
      : never;
  };
}[LayoutEventName];

/** The events between two states. Pure. */
export function layoutChanges(before: readonly WindowInfo[], after: readonly WindowInfo[]): LayoutEvent[] {
  const events: LayoutEvent[] = [];
  const old = new Map(before.map((each) => [each.id, each]));
  const now = new Map(after.map((each) => [each.id, each]));
  for (const { id, name } of after) {
    const earlier = old.get(id);
    if (earlier === undefined) events.push({ event: "window_created", window: id, window_name: name });
    else if (earlier.name !== name) events.push({ event: "window_renamed", window: id, window_name: name });
  }
  const [wasIn, isIn] = [windowsOfPanes(before), windowsOfPanes(after)];
  for (const [id, at] of isIn) {
    const earlier = wasIn.get(id);
    if (earlier === undefined) events.push({ event: "pane_created", pane: id, window: at });
    else if (earlier !== at) events.push({ event: "pane_moved", pane: id, window: at });
  }
  for (const [id, at] of wasIn) if (!isIn.has(id)) events.push({ event: "pane_closed", pane: id, window: at });
  for (const { id } of before) if (!now.has(id)) events.push({ event: "window_closed", window: id });
  for (const each of after) {
    const earlier = old.get(each.id);
    if (earlier !== undefined && placesOf(earlier) !== placesOf(each)) {
      events.push({ event: "layout_changed", window: each.id });
    }
  }
  const [from, to] = [focusOf(before), focusOf(after)];
  if (to !== null && (from?.window !== to.window || from.pane !== to.pane))
    events.push({ event: "focus_changed", ...to });
  return events;
}

function windowsOfPanes(windows: readonly WindowInfo[]): Map<string, string> {
  return new Map(windows.flatMap(({ id, panes }) => panes.map((each): [string, string] => [each.id, id])));
}

/** The number of a window, and the positions of its panes; the only pane of a session has no position. */
function placesOf({ index, rows, cols, zoomed = false, synchronized = false, panes }: WindowInfo): string {
  return JSON.stringify([index, rows, cols, zoomed, synchronized, panes.map(placeOf)]);
}

function placeOf({ id, row = 0, col = 0, rows, cols, z = 0, hidden = false }: PaneInfo): unknown {
  return hidden ? [id] : [id, row, col, rows, cols, z];
}

function focusOf(windows: readonly WindowInfo[]): { readonly window: string; readonly pane: string } | null {
  const shown = windows.find(({ active }) => active);
  const focused = shown?.panes.find(({ active }) => active);
  return shown === undefined || focused === undefined ? null : { window: shown.id, pane: focused.id };
}
