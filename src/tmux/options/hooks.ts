/**
 * Hooks of tmux 3.3a: those after a command, and those of events in sessions, whatever causes them. Hooks of events
 * that wsh does not record are unknown options, so that no accepted hook stays without effect.
 */
import type { RecordedEventName } from "../../protocol/recorded-events.ts";
import type { OptionKind } from "./kind.ts";

const commandsWithHook = [
  ...["bind-key", "capture-pane", "copy-mode", "display-message", "display-panes", "kill-pane", "list-buffers"],
  ...["list-clients", "list-keys", "list-panes", "list-sessions", "lock-server", "show-messages", "unbind-key"],
  ...["list-windows", "load-buffer", "new-session", "new-window", "paste-buffer", "pipe-pane", "refresh-client"],
  ...["rename-session", "rename-window", "resize-pane", "resize-window", "save-buffer", "select-layout", "select-pane"],
  ...["select-window", "send-keys", "set-buffer", "set-environment", "set-hook", "set-option", "show-environment"],
  ...["show-options", "split-window"],
];

/** An event, with the details that decide which hooks it triggers. */
interface Occurrence {
  readonly event: string;
  /** pane_exited: whether the pane stays. */
  readonly isKept: boolean;
  /** focus_changed: whether the focus moved to another window. */
  readonly isOtherWindow: boolean;
}

const eventHooks: Readonly<Partial<Record<RecordedEventName, (of: Occurrence) => readonly string[]>>> = {
  session_created: () => ["session-created", "window-linked"],
  session_renamed: () => ["session-renamed"],
  session_destroyed: () => ["session-closed"],
  window_created: () => ["window-linked"],
  window_closed: () => ["window-unlinked"],
  window_renamed: () => ["window-renamed"],
  layout_changed: () => ["window-layout-changed"],
  focus_changed: ({ isOtherWindow }) => [isOtherWindow ? "session-window-changed" : "window-pane-changed"],
  pane_exited: ({ isKept }) => [isKept ? "pane-died" : "pane-exited"],
  title_changed: () => ["pane-title-changed"],
  bell: () => ["alert-bell"],
  attached: () => ["client-attached", "client-session-changed"],
  detached: () => ["client-detached"],
  client_resized: () => ["client-resized"],
  session_resized: () => ["window-resized"],
};

const events = Object.keys(eventHooks) as readonly RecordedEventName[];

/** The hook after a command; null: it has none. */
export function hookBehind(command: string): string | null {
  return commandsWithHook.includes(command) ? `after-${command}` : null;
}

/** The hooks that an event of wsh triggers. */
export function hooksOfEvent(of: Occurrence): readonly string[] {
  return eventHooks[of.event as RecordedEventName]?.(of) ?? [];
}

/** Every combination of details that an event may have. */
function allHooksOf(event: RecordedEventName): readonly string[] {
  const ways = [true, false].flatMap((is) => hooksOfEvent({ event, isKept: is, isOtherWindow: is }));
  return [...new Set(ways)];
}

/** The events of wsh that trigger some of these hooks. */
export function eventsOfHooks(isSet: (hook: string) => boolean): readonly RecordedEventName[] {
  return events.filter((event) => allHooksOf(event).some(isSet));
}

const isOfWindow = (hook: string): boolean => /^(pane-|window-(layout|pane|renamed|resized))/.test(hook);

/** The hooks as options by name; their values are commands. */
export const hookTable: Readonly<Record<string, OptionKind>> = Object.fromEntries(
  [...commandsWithHook.map((command) => `after-${command}`), ...new Set(events.flatMap(allHooksOf))]
    .toSorted()
    .map((name): [string, OptionKind] => [
      name,
      {
        scope: isOfWindow(name) ? "window" : "session",
        type: "command",
        list: true,
        value: "",
        ...(name.startsWith("pane-") ? { pane: true } : {}),
      },
    ]),
);
