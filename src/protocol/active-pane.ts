/** The pane of a session that a person sees first: lists for people show its facts. A bare name means another one. */
import type { PaneInfo, SessionInfo } from "./session.ts";

/** The active pane of the active window; undefined: the windows are unknown. */
export function activePane({ windows }: Pick<SessionInfo, "windows">): PaneInfo | undefined {
  const panes = (windows.find(({ active }) => active) ?? windows[0])?.panes ?? [];
  return panes.find(({ active }) => active) ?? panes[0];
}
