/** The menus of the right mouse button: for a pane, a window of the status line, and the session. Pure. */
import { describeViewOperation, type ViewOperation } from "../../keys/view-operations.ts";
import type { StatusTarget } from "../../session/types.ts";

export interface Menu {
  readonly title: string;
  /** Items, each with its action as a line of the command palette. */
  readonly items: readonly { readonly description: string; readonly line: string }[];
}

const view = (line: ViewOperation) => ({ description: describeViewOperation(line), line });
const newWindow = { description: "new window", line: "window.create focus=true" };

const session: Menu = {
  title: "Session",
  items: [newWindow, view("view.windows"), view("view.agents"), view("view.keys"), view("view.detach")],
};

const window: Menu = {
  title: "Window",
  items: [
    { description: "rename the window", line: "window.update" },
    newWindow,
    { description: "move to the left", line: "window.swap with=previous" },
    { description: "move to the right", line: "window.swap with=next" },
    { description: "next layout", line: "layout.preset preset=next" },
    { description: "equal shares", line: "layout.equalise" },
    { description: "close the window", line: "window.close" },
  ],
};

export const paneMenu: Menu = {
  title: "Pane",
  items: [
    view("view.copy_mode"),
    view("view.paste"),
    { description: "split to the right", line: "pane.split direction=right focus=true" },
    { description: "split below", line: "pane.split direction=down focus=true" },
    { description: "zoom", line: "pane.zoom" },
    { description: "break pane into a window", line: "pane.move focus=true" },
    { description: "close the pane", line: "pane.close" },
  ],
};

/** The menu of a part of the status line. */
export function statusMenu(kind: StatusTarget["kind"]): Menu {
  return kind === "window" ? window : session;
}
