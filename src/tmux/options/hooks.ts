/**
 * Hooks of tmux 3.3a that commands of tmux's callers set off: those behind a command, and those of what the command does.
 * What happens without a command of tmux sets off none, and hooks of that alone are unknown here.
 */
import type { OptionKind } from "./kind.ts";

const behind = [
  ...["capture-pane", "display-message", "kill-pane", "list-buffers", "list-clients", "list-panes", "list-sessions"],
  ...["list-windows", "load-buffer", "new-session", "new-window", "paste-buffer", "pipe-pane", "refresh-client"],
  ...["rename-session", "rename-window", "resize-pane", "resize-window", "save-buffer", "select-layout", "select-pane"],
  ...["select-window", "send-keys", "set-buffer", "set-environment", "set-hook", "set-option", "show-environment"],
  ...["show-options", "split-window"],
];

/** What commands do besides. */
const caused: Readonly<Record<string, readonly string[]>> = {
  "new-session": ["session-created", "window-linked"],
  "attach-session": ["client-attached", "client-session-changed"],
  "switch-client": ["client-session-changed"],
  "detach-client": ["client-detached"],
  "kill-session": ["session-closed"],
  "rename-session": ["session-renamed"],
  "new-window": ["window-linked"],
  "break-pane": ["window-linked", "window-layout-changed"],
  "kill-window": ["window-unlinked"],
  "rename-window": ["window-renamed"],
  "select-window": ["session-window-changed"],
  "next-window": ["session-window-changed"],
  "previous-window": ["session-window-changed"],
  "last-window": ["session-window-changed"],
  "select-pane": ["window-pane-changed"],
  "resize-window": ["window-resized"],
  ...Object.fromEntries(
    ["split-window", "kill-pane", "resize-pane", "select-layout", "swap-pane", "join-pane", "rotate-window"].map(
      (command) => [command, ["window-layout-changed"]],
    ),
  ),
};

/** The hooks that a command sets off. */
export function hooksOf(command: string): readonly string[] {
  return [...(behind.includes(command) ? [`after-${command}`] : []), ...(caused[command] ?? [])];
}

const windowHooks = new Set([...["window-layout-changed", "window-pane-changed", "window-renamed", "window-resized"]]);

/** As options, by name: values are commands. */
export const hookTable: Readonly<Record<string, OptionKind>> = Object.fromEntries(
  [...new Set([...behind.map((command) => `after-${command}`), ...Object.values(caused).flat()])]
    .toSorted()
    .map((name): [string, OptionKind] => [
      name,
      { scope: windowHooks.has(name) ? "window" : "session", type: "command", list: true, value: "" },
    ]),
);
