/**
 * Sessions as a model reads them: windows and panes only where there is more than one pane, since what is said of a
 * single one is said of its session already. Pure.
 */
import type { PaneInfo, SessionInfo, WindowInfo } from "../../protocol/session.ts";

export function shownSession(info: SessionInfo): object {
  const { windows, ...session } = info;
  return windows.length < 2 && (windows[0]?.panes.length ?? 0) < 2
    ? session
    : { ...session, windows: shownWindows(windows) };
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
