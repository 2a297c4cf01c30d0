/** Restores a crashed session with its former name, ids and layout. */
import { type Instance, sessionSocket } from "../instance/paths.ts";
import { WshError } from "../protocol/errors.ts";
import { checkNewName } from "../protocol/names.ts";
import type { SessionInfo } from "../protocol/session.ts";
import { cleanStale, listSessions, lookUp } from "../registry/registry.ts";
import type { CrashedSession } from "./files/sessions.ts";
import { findServerSockets, staysAlive } from "./killed-processes.ts";
import { endReader, processIdOf, type Restorer, startRestored } from "./launch.ts";

/**
 * @param as the new name
 * @throws WshError session_running, session_name_conflict, max_sessions_reached, and those of new sessions
 */
export async function restoreSession(
  instance: Instance,
  crashed: CrashedSession,
  as: string | undefined,
  restorer: Restorer,
): Promise<SessionInfo> {
  const name = as === undefined ? crashed.session.name : checkNewName(as);
  const renamed: CrashedSession = { ...crashed, session: { ...crashed.session, name } };
  await endReaders(instance, crashed);
  const holder = lookUp(listSessions(instance), { kind: "session", name });
  if (holder !== undefined && !holder.ended && (await staysAlive(holder.socket))) {
    throw new WshError("session_name_conflict", `a session named '${name}' already exists`);
  }
  // Stale registry entries of its processes would block its name.
  await cleanStale(instance);
  return startRestored(instance, renamed, restorer);
}

/**
 * Ends processes that show the crashed session to readers, and waits for dying ones to end. @throws WshError
 * session_running, lock_busy
 */
export async function endReaders(instance: Instance, crashed: CrashedSession): Promise<void> {
  for (const socket of new Set([
    sessionSocket(instance, processIdOf(crashed)),
    ...findServerSockets(instance, crashed.number),
  ]))
    await endReader(socket);
}
