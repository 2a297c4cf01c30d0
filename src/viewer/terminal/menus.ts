/** The menus of the right mouse button: for a pane, a window of the status line, and the session. Pure. */
import { describeViewOperation, type ViewOperation } from "../../keys/view-operations.ts";
import type { StatusTarget } from "../../session/types.ts";

export interface Menu {
  readonly title: string;
  /** Items, each with its action as a line of the command palette. */
  readonly items: readonly { readonly description: string; readonly line: string }[];
}

const viewItem = (line: ViewOperation) => ({ description: describeViewOperation(line), line });
const newWindowItem = { description: "new window", line: "window.create focus=true" };

const sessionMenu: Menu = {
  title: "Session",
  items: [
    newWindowItem,
    viewItem("view.windows"),
    viewItem("view.agents"),
    viewItem("view.keys"),
    viewItem("view.detach"),
  ],
};

const windowMenu: Menu = {
  title: "Window",
  items: [
    { description: "rename the window", line: "window.update" },
    newWindowItem,
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
    viewItem("view.copy_mode"),
    viewItem("view.paste"),
    { description: "split to the right", line: "pane.split direction=right focus=true" },
    { description: "split below", line: "pane.split direction=down focus=true" },
    { description: "zoom", line: "pane.zoom" },
    { description: "break pane into a window", line: "pane.move focus=true" },
    { description: "close the pane", line: "pane.close" },
  ],
};

/** The menu of a part of the status line. */
export function statusMenu(kind: StatusTarget["kind"]): Menu {
  return kind === "window" ? windowMenu : sessionMenu;
}
