/** Everything that the palette offers: sessions, windows, actions of the page, and every operation of the server. */

import { defined } from "../../protocol/defined.ts";
import type { OpenDialog } from "./open.ts";
import { describeState } from "./session-state.ts";
import { sessions } from "./sessions.ts";
import { change, changeFontSize, settings } from "./settings.ts";
import type { Workspace } from "./workspace.ts";

export interface PageAction {
  readonly name: string;
  readonly detail: string;
  /** Its key outside the palette; after the prefix key unless it is a full combination. */
  readonly key?: string;
  /** Whether it opens the form of one of the server's operations. */
  readonly isOperation?: boolean;
  /** Whether it ends or discards something: listed last, unless its own first word is typed. */
  readonly isDestructive?: boolean;
  /** It changes something: a read-only page does not offer it. */
  readonly isChange?: boolean;
  run(): void;
}

export function actionsOf(workspace: Workspace): PageAction[] {
  const all = [...sessionActions(workspace), ...paneActions(workspace), ...pageActions(workspace)];
  return workspace.isReadOnly.value ? all.filter(({ isChange }) => isChange !== true) : all;
}

function sessionActions(workspace: Workspace): PageAction[] {
  const all = sessions.value.toSorted((a, b) => a.last_activity_ms - b.last_activity_ms);
  return all.flatMap((session) => {
    const { id, name, windows } = session;
    const { words } = describeState(session);
    const own: PageAction = {
      name,
      detail: `session · ${session.agent === undefined ? "" : "agent "}${words}`,
      run: () => workspace.show(id),
    };
    const others = windows.length < 2 ? [] : windows;
    return [
      own,
      ...others.map((window) => ({
        name: `${name}: ${window.index} ${window.name}`,
        detail: "window",
        isChange: true,
        run: () => {
          workspace.show(id);
          void workspace.act("select_window", {}, window.id);
        },
      })),
    ];
  });
}

function paneActions(workspace: Workspace): PageAction[] {
  const tile = workspace.active.value;
  if (tile === null) return [];
  const info = workspace.infoOf(tile);
  const sessionAction = (name: string, method: string, params: object, key?: string): PageAction => ({
    name,
    detail: "pane",
    isChange: true,
    run: () => void workspace.act(method, params),
    ...defined({ key }),
  });
  const confirmedAction = (name: string, method: string, consequence: string, key?: string): PageAction => {
    const { run } = sessionAction(name, method, {});
    const dialog: OpenDialog = { kind: "confirm", question: `${name}?`, detail: consequence, action: name, run };
    return {
      name,
      detail: "pane",
      isChange: true,
      isDestructive: true,
      run: () => (workspace.openDialog.value = { ...dialog }),
      ...defined({ key }),
    };
  };
  const lines = tile.terminal.activePane?.place.history ?? 0;
  const open = (name: string, what: OpenDialog): PageAction => ({
    name,
    detail: "session",
    isChange: true,
    run: () => (workspace.openDialog.value = { ...what }),
  });
  return [
    sessionAction("Split to the right", "split_pane", { direction: "right", focus: true }, "%"),
    sessionAction("Split below", "split_pane", { direction: "down", focus: true }, '"'),
    sessionAction("New window", "create_window", { focus: true }, "c"),
    confirmedAction(
      "Close the pane",
      "close_pane",
      "Its program is killed; closing the last pane ends the session.",
      "x",
    ),
    sessionAction("Zoom the pane (toggle)", "zoom_pane", {}, "z"),
    sessionAction("Pane to the left", "select_pane", { to: "left" }, "Left"),
    sessionAction("Pane to the right", "select_pane", { to: "right" }, "Right"),
    sessionAction("Pane above", "select_pane", { to: "up" }, "Up"),
    sessionAction("Pane below", "select_pane", { to: "down" }, "Down"),
    sessionAction("Next window", "select_window", { to: "next" }, "n"),
    sessionAction("Previous window", "select_window", { to: "previous" }, "p"),
    sessionAction("Break pane into a window", "move_pane", { focus: true }, "!"),
    sessionAction("Swap with the next pane", "swap_pane", { with: "next" }, "}"),
    sessionAction("Swap with the previous pane", "swap_pane", { with: "previous" }, "{"),
    sessionAction("Equal pane sizes", "equalise_layout", {}, "E"),
    sessionAction("Next layout", "preset_layout", { preset: "next" }, "Space"),
    sessionAction("Rotate the panes", "rotate_layout", {}, "Ctrl+O"),
    { ...sessionAction("Interrupt (SIGINT)", "signal", { signal: "SIGINT" }), isDestructive: true },
    confirmedAction(
      "Clear screen and history",
      "clear",
      `The screen and ${lines} lines above it can no longer be read.`,
    ),
    confirmedAction("Restart the program", "restart", "The running program is killed first."),
    { name: "Find", detail: "pane", key: "Ctrl+Shift+F", run: () => (tile.isFindOpen.value = true) },
    { name: "Previous command", detail: "pane", key: "Ctrl+Shift+Up", run: () => void workspace.jump(tile, -1) },
    { name: "Next command", detail: "pane", key: "Ctrl+Shift+Down", run: () => void workspace.jump(tile, 1) },
    { name: "Newest output", detail: "pane", run: () => tile.terminal.activePane?.scrollToEnd() },
    { name: "Remove the session from the page", detail: "session", key: "d", run: () => workspace.hide(tile) },
    ...(info === undefined
      ? []
      : [
          open("Rename the session", { kind: "rename", session: info }),
          open("Tags of the session", { kind: "tags", session: info }),
          {
            name: "End the session",
            detail: "session",
            isChange: true,
            isDestructive: true,
            run: () => workspace.kill(info),
          },
        ]),
  ];
}

function pageActions(workspace: Workspace): PageAction[] {
  const pageAction = (name: string, run: () => void): PageAction => ({ name, detail: "page", run });
  const { theme, size } = settings.value;
  return [
    ...(workspace.mayCreate ? [pageAction("New session", () => (workspace.openDialog.value = { kind: "new" }))] : []),
    pageAction("Settings", () => (workspace.openDialog.value = { kind: "settings" })),
    pageAction("Keys", () => (workspace.openDialog.value = { kind: "keys" })),
    pageAction(theme === "dark" ? "Light theme" : "Dark theme", () =>
      change({ theme: theme === "dark" ? "light" : "dark" }),
    ),
    pageAction("Larger font", () => changeFontSize(1)),
    pageAction("Smaller font", () => changeFontSize(-1)),
    pageAction(size === "fit" ? "Follow the session's size" : "Fit the session to this page", () =>
      change({ size: size === "fit" ? "follow" : "fit" }),
    ),
    pageAction("Show or hide the list of sessions", () => change({ sidebar: !settings.value.sidebar })),
  ];
}
