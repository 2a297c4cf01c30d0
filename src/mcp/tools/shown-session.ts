/**
 * Sessions in the form for a model: windows and panes only if there are several panes, since the facts about a single
 * pane are the session's. Pure.
 */
import { defined } from "../../protocol/defined.ts";
import type { PaneInfo, SessionInfo, WindowInfo } from "../../protocol/session.ts";
import { withoutNull } from "./results.ts";

/** Characters of a command in a list: a script in an argument does not help to find a session. */
const COMMAND_LENGTH = 120;

/** A session in a list: fields to find and judge it by. `wsh_list_sessions` of one session returns everything else. */
export function listedSession(info: SessionInfo): object {
  const { id, name, state, cwd, tags, idle_ms, running } = info;
  const command = info.command.length > COMMAND_LENGTH ? `${info.command.slice(0, COMMAND_LENGTH)}…` : info.command;
  const { pid, rows, cols, clients, attached, title, agent, exit_code, signal } = info;
  const windows = severalWindows(info);
  if (!running) return { name, id, state, command, tags, exit_code, signal };
  const listed = { name, id, state, command, cwd, tags, idle_ms, pid, rows, cols, clients, attached };
  return { ...listed, ...withoutNull({ title: title || null, agent, windows }) };
}

export function shownSession(info: SessionInfo): object {
  const { windows: _windows, ...session } = info;
  const windows = severalWindows(info);
  return windows === null ? session : { ...session, windows };
}

/** Null when the session has only this pane. */
function severalWindows({ windows }: SessionInfo): ShownWindow[] | null {
  return windows.length < 2 && (windows[0]?.panes.length ?? 0) < 2 ? null : shownWindows(windows);
}

interface ShownWindow {
  readonly id: string;
}

/** Windows with the fields that an agent needs for targets and decisions: ids, places, programs and states. */
export function shownWindows(windows: readonly WindowInfo[]): ShownWindow[] {
  return windows.map(({ id, index, name, active, rows, cols, zoomed, synchronized, panes }) => ({
    id,
    index,
    name,
    active,
    rows,
    cols,
    ...(zoomed === true ? { zoomed } : {}),
    ...(synchronized === true ? { synchronized } : {}),
    panes: panes.map(shownPane),
  }));
}

function shownPane({ id, index, active, command, state, title, rows, cols, cwd, ...rest }: PaneInfo): object {
  const { row, col, hidden, view, exit_code, signal, agent } = rest;
  return {
    id,
    index,
    ...(active ? { active } : {}),
    state,
    command,
    ...withoutNull({ title: title || null, cwd }),
    ...(hidden === true ? { hidden } : { row, col }),
    rows,
    cols,
    ...defined({ view }),
    ...(state === "exited" ? { exit_code, signal } : {}),
    ...defined({ agent }),
  };
}
