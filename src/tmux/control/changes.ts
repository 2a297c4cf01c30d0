/**
 * Compares two snapshots of the sessions, and lists control mode's notifications of the differences, in tmux's order.
 * Pure.
 */
import type { Model, Session } from "../model.ts";

/** A snapshot of the sessions, for a client that shows one of them. */
export interface ModelState {
  readonly model: Model;
  /** `@s3` */
  readonly shownSession: string | null;
  /** Layouts of the shown session's windows, by window id. */
  readonly layouts: ReadonlyMap<string, { readonly layout: string; readonly flags: string }>;
}

export function notificationsOf(before: ModelState, after: ModelState): string[] {
  const earlierSessions = new Map(before.model.sessions.map((each) => [each.id, each]));
  const now = new Map(after.model.sessions.map((each) => [each.id, each]));
  const isShown = ({ target }: Session): boolean => target === after.shownSession;
  const windowNotification = (session: Session, what: string): string =>
    `%${isShown(session) ? "" : "unlinked-"}window-${what}`;
  const lines: string[] = [];
  const added: string[] = [];
  for (const session of now.values()) {
    const earlier = earlierSessions.get(session.id);
    const earlierWindows = new Map(earlier?.windows.map((each) => [each.id, each]));
    if (earlier !== undefined && earlier.current.id !== session.current.id)
      lines.push(`%session-window-changed ${session.id} ${session.current.id}`);
    for (const window of session.windows) {
      const was = earlierWindows.get(window.id);
      if (was === undefined) added.push(`${windowNotification(session, "add")} ${window.id}`);
      else if (was.active.id !== window.active.id) lines.push(`%window-pane-changed ${window.id} ${window.active.id}`);
    }
    if (isShown(session)) lines.push(...layoutChanges(session, before, after));
    for (const { id, name } of session.windows) {
      const was = earlierWindows.get(id);
      if (was !== undefined && was.name !== name) lines.push(`${windowNotification(session, "renamed")} ${id} ${name}`);
    }
    if (earlier !== undefined && earlier.name !== session.name)
      lines.push(`%session-renamed ${session.id} ${session.name}`);
  }
  lines.push(...added);
  if (earlierSessions.size !== now.size || [...earlierSessions.keys()].some((id) => !now.has(id)))
    lines.push("%sessions-changed");
  const windows = new Set([...now.values()].flatMap((session) => session.windows.map(({ id }) => id)));
  for (const session of earlierSessions.values())
    for (const { id } of session.windows) if (!windows.has(id)) lines.push(`%unlinked-window-close ${id}`);
  if (before.shownSession !== after.shownSession) {
    const session = after.model.sessions.find(isShown);
    if (session !== undefined) lines.push(`%session-changed ${session.id} ${session.name}`);
  }
  return lines;
}

/** Windows whose panes have moved, while the same session is shown. */
function layoutChanges({ windows }: Session, before: ModelState, after: ModelState): string[] {
  return windows.flatMap((window) => {
    const [was, is] = [before.layouts.get(window.id), after.layouts.get(window.id)];
    if (was === undefined || is === undefined || was.layout === is.layout) return [];
    return [`%layout-change ${window.id} ${is.layout} ${is.flags}`];
  });
}
