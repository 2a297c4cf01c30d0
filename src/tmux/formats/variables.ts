/** Variables of formats: tmux's values for sessions, windows and panes, where wsh has them. Pure. */
import { constants } from "node:os";
import type { PaneTerminal } from "../../protocol/pane-terminal.ts";
import { oldestPane, type Pane, type ResolvedTarget, type Session, type Window } from "../model.ts";
import { boxOf } from "../targets.ts";
import { terminalVariables } from "./terminal-variables.ts";

export interface FormatFacts {
  readonly version: string;
  readonly socketPath: string;
  readonly hostname: string;
  readonly account: { readonly uid: number; readonly name: string };
  readonly pid: number;
  readonly startedAt: number;
  readonly now: number;
  readonly marked: string | null;
  readonly pipes: ReadonlySet<string>;
  /** Terminals and screen rows of panes by target, fetched if a format needs them. */
  readonly terminals: ReadonlyMap<string, PaneTerminal>;
  readonly screens: ReadonlyMap<string, readonly string[]>;
  /** Layouts by window id, in tmux's notation. */
  readonly layouts: ReadonlyMap<string, string>;
  readonly historyLimit: number;
  /** Names of the clients that show a session, by its target, fetched if a format needs them. */
  readonly attached: ReadonlyMap<string, readonly string[]>;
  /** Sessions that clients in control mode show; one entry per client. */
  readonly controlled: readonly string[];
}

type Values<T> = Readonly<Record<string, (of: T, facts: FormatFacts) => string | number | boolean>>;

const seconds = (ms: number): number => Math.floor(ms / 1000);

const globalVariables: Values<null> = {
  host: (_, { hostname }) => hostname,
  host_short: (_, { hostname }) => hostname.split(".")[0] ?? "",
  pid: (_, { pid }) => pid,
  socket_path: (_, { socketPath }) => socketPath,
  start_time: (_, { startedAt }) => seconds(startedAt),
  uid: (_, { account }) => account.uid,
  user: (_, { account }) => account.name,
  version: (_, { version }) => version,
  config_files: () => "",
};

const sessionVariables: Values<Session> = {
  session_id: ({ id }) => id,
  session_name: ({ name }) => name,
  session_windows: ({ windows }) => windows.length,
  session_created: ({ info }) => seconds(info.created_at),
  session_activity: ({ info }, { now }) => seconds(now - info.last_activity_ms),
  session_last_attached(session, { terminals }) {
    const at = terminals.get(oldestPane(session).target)?.attached_at ?? null;
    return at === null ? "" : seconds(at);
  },
  session_attached: (session, facts) => attachedTo(session, facts),
  session_many_attached: (session, facts) => attachedTo(session, facts) > 1,
  session_attached_list: ({ target }, { attached }) => (attached.get(target) ?? []).join(","),
  session_path: (session, { terminals }) => terminals.get(oldestPane(session).target)?.start_path ?? "",
  session_alerts: () => "",
  session_group: () => "",
  session_grouped: () => false,
  session_format: () => false,
  session_marked: ({ windows }, { marked }) =>
    windows.some(({ panes }) => panes.some((each) => each.target === marked)),
  session_stack: ({ current, windows }) =>
    [
      current,
      ...windows
        .filter((each) => each !== current)
        .toSorted((a, b) => Number(b.info.last === true) - Number(a.info.last === true)),
    ]
      .map(({ index }) => index)
      .join(","),
  active_window_index: ({ current }) => current.index,
  last_window_index: ({ windows }) => windows.at(-1)?.index ?? 0,
};

function attachedTo({ info, target }: Session, { controlled }: FormatFacts): number {
  return info.attached + controlled.filter((each) => each === target).length;
}

const windowVariables: Values<ResolvedTarget> = {
  window_id: ({ window }) => window.id,
  window_name: ({ window }) => window.name,
  window_index: ({ window }) => window.index,
  window_active: ({ session, window }) => session.current === window,
  window_panes: ({ window }) => window.panes.length,
  window_width: ({ window }) => window.info.cols,
  window_height: ({ window }) => window.info.rows,
  window_zoomed_flag: ({ window }) => window.info.zoomed === true,
  window_last_flag: ({ window }) => window.info.last === true,
  window_start_flag: ({ session, window }) => session.windows[0] === window,
  window_end_flag: ({ session, window }) => session.windows.at(-1) === window,
  window_flags: (place, facts) => flagsOf(place, facts).replaceAll("#", "##"),
  window_raw_flags: (place, facts) => flagsOf(place, facts),
  window_marked_flag: ({ window }, { marked }) => window.panes.some(({ target }) => target === marked),
  window_activity: ({ session }, { now }) => seconds(now - session.info.last_activity_ms),
  window_activity_flag: () => false,
  window_bell_flag: () => false,
  window_silence_flag: () => false,
  window_bigger: () => false,
  window_linked: () => false,
  window_linked_sessions: () => 1,
  window_linked_sessions_list: ({ session }) => session.name,
  window_active_sessions: ({ session, window }) => (session.current === window ? 1 : 0),
  window_active_sessions_list: ({ session, window }) => (session.current === window ? session.name : ""),
  window_active_clients: ({ session, window }) => (session.current === window ? session.info.attached : 0),
  window_active_clients_list: () => "",
  window_stack_index: ({ session, window }) => (session.current === window ? 0 : window.info.last === true ? 1 : 2),
  window_layout: ({ window }, { layouts }) => layouts.get(window.target) ?? "",
  window_visible_layout: ({ window }, { layouts }) =>
    window.info.zoomed === true ? zoomedLayout(window) : (layouts.get(window.target) ?? ""),
  window_cell_height: () => 0,
  window_cell_width: () => 0,
  window_format: () => false,
};

const paneVariables: Values<ResolvedTarget> = {
  pane_id: ({ pane }) => pane.id,
  pane_index: ({ pane }) => pane.index,
  pane_active: ({ window, pane }) => window.active === pane,
  pane_last: ({ pane }) => pane.info.last === true,
  pane_title: ({ pane }, { hostname }) => pane.info.title || hostname,
  pane_pid: ({ pane }) => pane.info.pid ?? "",
  pane_width: ({ pane }) => pane.info.cols,
  pane_height: ({ pane }) => pane.info.rows,
  pane_top: ({ pane }) => boxOf(pane).top,
  pane_left: ({ pane }) => boxOf(pane).left,
  pane_bottom: ({ pane }) => boxOf(pane).bottom,
  pane_right: ({ pane }) => boxOf(pane).right,
  pane_at_top: ({ pane }) => boxOf(pane).top === 0,
  pane_at_left: ({ pane }) => boxOf(pane).left === 0,
  pane_at_bottom: ({ window, pane }) => boxOf(pane).bottom + 1 >= window.info.rows,
  pane_at_right: ({ window, pane }) => boxOf(pane).right + 1 >= window.info.cols,
  pane_current_command: ({ pane }) => pane.info.program ?? commandName(pane),
  pane_current_path: ({ pane }) => pane.info.cwd ?? "",
  pane_path: () => "",
  pane_dead: ({ pane }) => pane.info.state === "exited",
  pane_dead_status: ({ pane }) => (pane.info.state === "exited" ? (pane.info.exit_code ?? "") : ""),
  pane_dead_signal: ({ pane: { info } }) => signalNumber(info.state === "exited" ? info.signal : null) ?? "",
  pane_input_off: () => false,
  pane_marked: ({ pane }, { marked }) => pane.target === marked,
  pane_marked_set: (_, { marked }) => marked !== null,
  pane_pipe: ({ pane }, { pipes }) => pipes.has(pane.target),
  pane_synchronized: ({ window }) => window.info.synchronized === true,
  pane_search_string: () => "",
  pane_format: () => true,
  history_limit: (_, { historyLimit }) => historyLimit,
};

/** The place in which a format is expanded; any part of it may be missing. */
export type FormatContext = { readonly session?: Session; readonly window?: Window; readonly pane?: Pane };

export function variable(
  { session, window, pane }: FormatContext,
  name: string,
  facts: FormatFacts,
): string | undefined {
  const own = globalVariables[name];
  if (own !== undefined) return formatValue(own(null, facts));
  if (session === undefined) return isVariable(name) ? "" : undefined;
  const session_ = sessionVariables[name];
  if (session_ !== undefined) return formatValue(session_(session, facts));
  if (window === undefined) return isVariable(name) ? "" : undefined;
  const place = { session, window, pane: pane ?? window.active };
  const terminal = pane === undefined ? undefined : facts.terminals.get(pane.target);
  const ofTerminal = terminal === undefined ? undefined : terminalVariables[name];
  if (terminal !== undefined && ofTerminal !== undefined) return formatValue(ofTerminal(terminal));
  const value = windowVariables[name] ?? (pane === undefined ? undefined : paneVariables[name]);
  return value === undefined ? (isVariable(name) ? "" : undefined) : formatValue(value(place, facts));
}

/** Every variable, in tmux's order. */
export const variableNames: readonly string[] = [
  globalVariables,
  sessionVariables,
  windowVariables,
  paneVariables,
  terminalVariables,
]
  .flatMap(Object.keys)
  .toSorted();

function isVariable(name: string): boolean {
  return name in sessionVariables || name in windowVariables || name in paneVariables || name in terminalVariables;
}

function formatValue(value: string | number | boolean): string {
  return typeof value === "boolean" ? (value ? "1" : "0") : String(value);
}

/** The layout of a zoomed window in tmux's notation: a checksum, then one pane over the whole window. */
function zoomedLayout({ info, active }: Window): string {
  const text = `${info.cols}x${info.rows},0,0,${active.id.slice(1)}`;
  let sum = 0;
  for (const letter of text) sum = (((sum >> 1) | ((sum & 1) << 15)) + letter.charCodeAt(0)) & 0xffff;
  return `${sum.toString(16).padStart(4, "0")},${text}`;
}

/** `*` the current window, `-` the last one, `M` the window of the marked pane, `Z` zoomed. */
function flagsOf({ session, window }: ResolvedTarget, { marked }: FormatFacts): string {
  return [
    session.current === window ? "*" : window.info.last === true ? "-" : "",
    window.panes.some(({ target }) => target === marked) ? "M" : "",
    window.info.zoomed === true ? "Z" : "",
  ].join("");
}

export function signalNumber(signal: string | null | undefined): number | undefined {
  return Object.entries(constants.signals).find(([name]) => name === signal)?.[1];
}

function commandName({ info }: Pane): string {
  return info.command.split(/\s/)[0]?.split("/").at(-1) ?? "";
}
