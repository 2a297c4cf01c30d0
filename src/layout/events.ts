/** What has happened between two values of a session's windows, as events for those who watch it. Pure. */
import { windowId } from "../protocol/names.ts";
import { activeWindow, panesIn, type Windows } from "../session/windows/state.ts";

export interface LayoutEvent {
  readonly event:
    | "window_created"
    | "window_closed"
    | "window_renamed"
    | "pane_created"
    | "pane_closed"
    | "pane_moved"
    | "layout_changed"
    | "focus_changed";
  readonly window?: string;
  readonly pane?: string;
  readonly name?: string | null;
}

export function changesBetween(before: Windows, after: Windows): LayoutEvent[] {
  const events: LayoutEvent[] = [];
  const old = new Map(before.windows.map((window) => [window.id, window]));
  const now = new Map(after.windows.map((window) => [window.id, window]));
  const wasIn = windowsOfPanes(before);
  const isIn = windowsOfPanes(after);
  for (const [id, { name }] of now) {
    const earlier = old.get(id);
    if (earlier === undefined) events.push({ event: "window_created", window: windowId(id), name });
    else if (earlier.name !== name) events.push({ event: "window_renamed", window: windowId(id), name });
  }
  for (const [pane, id] of isIn) {
    const earlier = wasIn.get(pane);
    const window = windowId(id);
    if (earlier === undefined) events.push({ event: "pane_created", pane, window });
    else if (earlier !== id) events.push({ event: "pane_moved", pane, window });
  }
  for (const [pane, id] of wasIn)
    if (!isIn.has(pane)) events.push({ event: "pane_closed", pane, window: windowId(id) });
  for (const id of old.keys()) if (!now.has(id)) events.push({ event: "window_closed", window: windowId(id) });
  for (const [id, window] of now) {
    const earlier = old.get(id);
    if (earlier !== undefined && (earlier.root !== window.root || earlier.zoomed !== window.zoomed)) {
      events.push({ event: "layout_changed", window: windowId(id) });
    }
  }
  const [from, to] = [activeWindow(before), activeWindow(after)];
  if (from.id !== to.id || from.active !== to.active) {
    events.push({ event: "focus_changed", window: windowId(to.id), pane: to.active });
  }
  return events;
}

function windowsOfPanes({ windows }: Windows): Map<string, number> {
  return new Map(windows.flatMap((window) => panesIn(window).map((pane): [string, number] => [pane, window.id])));
}
