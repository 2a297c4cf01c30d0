/** Menus of the mouse's right button: for a pane, a window of the status line, and the session. Pure. */
import { type ViewOperation, viewSays } from "../../keys/view-operations.ts";
import type { StatusTarget } from "../../session/types.ts";

export interface Menu {
  readonly title: string;
  /** The action of each, as a line of the command palette. */
  readonly items: readonly { readonly says: string; readonly line: string }[];
}

const view = (line: ViewOperation) => ({ says: viewSays(line), line });
const newWindow = { says: "new window", line: "window.create focus=true" };

const session: Menu = {
  title: "Session",
  items: [newWindow, view("view.windows"), view("view.agents"), view("view.keys"), view("view.detach")],
};

const window: Menu = {
  title: "Window",
  items: [
    { says: "rename the window", line: "window.update" },
    newWindow,
    { says: "move to the left", line: "window.swap with=previous" },
    { says: "move to the right", line: "window.swap with=next" },
    { says: "next layout", line: "layout.preset preset=next" },
    { says: "equal shares", line: "layout.equalise" },
    { says: "close the window", line: "window.close" },
  ],
};

export const paneMenu: Menu = {
  title: "Pane",
  items: [
    view("view.look_back"),
    view("view.paste"),
    { says: "split to the right", line: "pane.split direction=right focus=true" },
    { says: "split below", line: "pane.split direction=down focus=true" },
    { says: "zoom", line: "pane.zoom" },
    { says: "break pane into a window", line: "pane.move focus=true" },
    { says: "close the pane", line: "pane.close" },
  ],
};

/** The menu of a part of the status line. */
export function statusMenu(kind: StatusTarget["kind"]): Menu {
  return kind === "window" ? window : session;
}
