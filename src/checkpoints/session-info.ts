/** A crashed session in the form of every list, in its last saved state. */
import type { OperationOutput } from "../operations/table.ts";
import { paneId, sessionId, windowId } from "../protocol/names.ts";
import type { PaneInfo, SessionInfo } from "../protocol/session.ts";
import type { PaneRecord } from "./files/record.ts";
import type { CrashedSession } from "./files/sessions.ts";
import { readWindows } from "./files/tree.ts";

/** The panes that are not restored with a session. @param name the session's name after the restore */
export function describeLeftOut(
  { left_out }: CrashedSession,
  name: string,
): OperationOutput<"checkpoint.restore">["left_out"] {
  return left_out.map(({ pane, why }) => ({ session: name, pane_id: paneId(pane), message: why }));
}

/** @param server the machine's name, from the setting */
export function crashedSessionInfo(crashed: CrashedSession, server: string): SessionInfo {
  const { session, panes, saved_at, why, number } = crashed;
  const [first] = panes;
  const idle = Math.max(0, Date.now() - saved_at);
  const paneInfos = panes.map((pane, index) => paneInfo(pane, index));
  return {
    id: sessionId(number),
    pane_id: paneId(first?.pane ?? 0),
    name: session.name,
    server,
    pid: null,
    command: first?.foreground?.line ?? first?.program.display ?? "",
    rows: session.rows,
    cols: session.cols,
    clients: 0,
    attached: 0,
    tags: [...session.tags],
    last_activity_ms: idle,
    idle_ms: idle,
    running: false,
    state: "crashed",
    cwd: first?.cwd ?? null,
    title: first?.title ?? "",
    exit_code: null,
    signal: null,
    created_at: session.created_at,
    windows: windowsOf(crashed, paneInfos),
    crashed: { saved_at, why },
  };
}

function windowsOf({ session, layout }: CrashedSession, panes: readonly PaneInfo[]): SessionInfo["windows"] {
  const { rows, cols, window } = session;
  const commonFields = { index: 0, name: "", active: true, rows, cols };
  if (layout === null) return [{ ...commonFields, id: windowId(window), panes: [...panes] }];
  const savedWindows = readWindows(layout);
  // If its tree cannot be read, all panes are listed in one window.
  if (savedWindows.length === 0) return [{ ...commonFields, id: windowId(window), panes: [...panes] }];
  return savedWindows.map(({ id, index, name, active, activePane, panes: paneNumbers }) => ({
    ...commonFields,
    id: windowId(id),
    index,
    name: name ?? "",
    active,
    panes: paneNumbers.flatMap((number, i) => {
      const pane = panes.find((each) => each.id === paneId(number));
      return pane === undefined ? [] : [{ ...pane, index: i, active: number === activePane }];
    }),
  }));
}

function paneInfo({ pane, rows, cols, cwd, title, program, foreground }: PaneRecord, index: number): PaneInfo {
  return {
    id: paneId(pane),
    index,
    active: index === 0,
    pid: null,
    command: foreground?.line ?? program.display,
    rows,
    cols,
    cwd,
    title,
    state: "crashed",
  };
}
