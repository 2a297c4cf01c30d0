/**
 * Asks the ended sessions above the limit to end now, oldest first. A session whose result is being read stays.
 * A process that does not answer is killed: it holds only text. Loaded only if there are such sessions.
 */

import type { Instance } from "../instance/paths.ts";
import { WshError } from "../protocol/errors.ts";
import type { SessionEntry } from "../registry/directories.ts";
import { listenerPid } from "../registry/liveness.ts";
import { cleanStale } from "../registry/registry.ts";
import { Connection } from "../wire/connection.ts";

/** Never rejects: the next new session tries again. */
export async function evictEnded(instance: Instance, entries: readonly SessionEntry[]): Promise<void> {
  const deadIds: number[] = [];
  for (const { id, socket } of entries) if (!(await requestEviction(socket))) deadIds.push(id);
  if (deadIds.length > 0) await cleanStale(instance, deadIds).catch(() => []);
}

/** @returns whether its process existed and answered */
async function requestEviction(socket: string): Promise<boolean> {
  try {
    const { connection } = await Connection.open(socket, "cli");
    const caller = { kind: "cli", id: `session:${process.pid}`, connected: true } as const;
    await connection.request("peer.give_way", {}, { caller, access: "admin" });
    connection.close();
    return true;
  } catch (thrown) {
    const { code } = WshError.from(thrown);
    const pid = code === "session_unavailable" ? listenerPid(socket) : null;
    if (pid !== null && pid !== process.pid) process.kill(pid, "SIGKILL");
    return code !== "session_unavailable" && code !== "session_not_found";
  }
}
