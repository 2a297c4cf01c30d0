/** Makes a lost session run again, under the name, the ids and the layout that it had. */
import { hostSocket, type Instance } from "../instance/paths.ts";
import { cleanStale, listSessions, lookUp } from "../instance/registry/registry.ts";
import { WshError } from "../protocol/errors.ts";
import { checkSessionName } from "../protocol/names.ts";
import type { SessionInfo } from "../protocol/session.ts";
import type { LostSession } from "../store/checkpoint/sessions.ts";
import { lives, serversOf } from "./dying.ts";
import { makeRoom, type Restorer, startPane } from "./launch.ts";
import { restoreSplit } from "./split.ts";

/**
 * @param as another name than it had
 * @throws WshError session_running, session_name_conflict, max_sessions_reached, and those of new sessions
 */
export async function restoreSession(
  instance: Instance,
  lost: LostSession,
  as: string | undefined,
  restorer: Restorer,
): Promise<SessionInfo> {
  const name = as === undefined ? lost.session.name : checkSessionName(as);
  const named: LostSession = { ...lost, session: { ...lost.session, name } };
  await makeRoomFor(instance, lost);
  const holder = lookUp(listSessions(instance), { kind: "session", name });
  if (holder !== undefined && !holder.ended && (await lives(holder.socket))) {
    throw new WshError("session_name_conflict", `a session named '${name}' exists already`);
  }
  // What its processes left in the registry would have its name.
  await cleanStale(instance);
  if (lost.layout !== null) {
    return restoreSplit(instance, named, lost.layout, restorer);
  }
  const [pane] = lost.panes;
  if (pane === undefined) throw new WshError("checkpoint_not_found", `session '${name}' has no pane`);
  return startPane(instance, named, pane, restorer, { isMember: false });
}

/** Ends what shows the lost session to readers, and waits for what of it is dying. @throws WshError session_running, lock_busy */
export async function makeRoomFor(instance: Instance, { number, panes }: LostSession): Promise<void> {
  for (const { pane } of panes) await makeRoom(hostSocket(instance, pane));
  for (const socket of serversOf(instance, number)) await makeRoom(socket);
}
