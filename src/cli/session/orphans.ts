/**
 * Orphans: sessions made by an agent or a program, with no terminal or page that shows them, no running command, not
 * even in the background, and no activity for a while.
 */
import { findRunningPrograms } from "../../endpoint/operations/running.ts";
import type { SessionInfo } from "../../protocol/session.ts";

/** Time without output or input after which a session may be an orphan, in ms. */
export const ORPHAN_IDLE_MS = 3_600_000;

export function isOrphan(info: SessionInfo, idleMs = ORPHAN_IDLE_MS): boolean {
  const { owner, running, attached, viewers = [], idle_ms, windows, state } = info;
  if (!running || state === "crashed" || owner === undefined || owner.kind === "person") return false;
  if (attached > 0 || viewers.length > 0 || idle_ms < idleMs) return false;
  return findRunningPrograms(windows.flatMap(({ panes }) => panes)).length === 0;
}
