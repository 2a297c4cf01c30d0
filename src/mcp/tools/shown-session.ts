/**
 * Sessions as a model reads them: windows and panes only where there is more than one pane, since what is said of a
 * single one is said of its session already. Pure.
 */
import type { PaneInfo, SessionInfo, WindowInfo } from "../../protocol/session.ts";

/** Characters of a command in a list: a script as an argument is not what a session is found by. */
const COMMAND_LENGTH = 120;

/** One of a list: what it is found and judged by. `wsh_list_sessions` of one session says everything else. */
export function listedSession(info: SessionInfo): object {
  const { id, name, state, cwd, tags, idle_ms, running } = info;
  const command = info.command.length > COMMAND_LENGTH ? `${info.command.slice(0, COMMAND_LENGTH)}…` : info.command;
  const { pid, rows, cols, clients, attached, title, agent, exit_code, signal } = info;
  const windows = severalWindows(info);
  if (!running) return { name, id, state, command, tags, exit_code, signal };
  return {
    ...{ name, id, state, command, cwd, tags, idle_ms, pid, rows, cols, clients, attached },
    ...(title === "" ? {} : { title }),
    ...(agent === undefined ? {} : { agent }),
    ...(windows === null ? {} : { windows }),
  };
}

export function shownSession(info: SessionInfo): object {
  const { windows: _windows, ...session } = info;
  const windows = severalWindows(info);
  return windows === null ? session : { ...session, windows };
}

/** Null where the session is its only pane. */
function severalWindows({ windows }: SessionInfo): ShownWindow[] | null {
  return windows.length < 2 && (windows[0]?.panes.length ?? 0) < 2 ? null : shownWindows(windows);
}

export interface ShownWindow {
  readonly id: string;
}

/** Windows with what an agent addresses and decides by: ids, places, what runs and how it is. */
export function shownWindows(windows: readonly WindowInfo[]): ShownWindow[] {
  return windows.map(({ id, index, name, active, rows, cols, zoomed, synchronized, panes }) => ({
    ...{ id, index, name, active, rows, cols },
    ...(zoomed === true ? { zoomed } : {}),
    ...(synchronized === true ? { synchronized } : {}),
    panes: panes.map(shownPane),
  }));
}

function shownPane({ id, index, active, command, state, title, rows, cols, cwd, ...rest }: PaneInfo): object {
  const { row, col, hidden, view, exit_code, signal, agent } = rest;
  return {
    ...{ id, index },
    ...(active ? { active } : {}),
    ...{ state, command },
    ...(title === "" ? {} : { title }),
    ...(cwd === null ? {} : { cwd }),
    ...(hidden === true ? { hidden } : { row, col }),
    ...{ rows, cols },
    ...(view === undefined ? {} : { view }),
    ...(state !== "exited" ? {} : { exit_code, signal }),
    ...(agent === undefined ? {} : { agent }),
  };
}
