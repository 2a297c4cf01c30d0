/** Ends a session by asking its process. A process that does not answer is killed, which hangs up its programs. */

import { sessionDir } from "../../checkpoints/files/paths.ts";
import { removeSession } from "../../checkpoints/files/sessions.ts";
import type { Instance } from "../../instance/paths.ts";
import type { OperationInput } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import { paneId, parsePlace, parseTarget } from "../../protocol/names.ts";
import type { RunningProgram } from "../../protocol/session.ts";
import { listenerPid, processState } from "../../registry/liveness.ts";
import { cleanStale, findSession } from "../../registry/registry.ts";
import { warn } from "../instance.ts";
import { cliCaller, SessionClient } from "./client.ts";

/** Longest time from SIGKILL until the process is gone, and the interval between checks, in ms. */
const GONE_PATIENCE_MS = 2_000;
const GONE_POLL_MS = 5;

interface EndedSession {
  readonly name: string;
  /** Programs that ran in it; empty if its process was killed. */
  readonly ended: readonly RunningProgram[];
}

/**
 * @throws WshError session_not_found, version_mismatch, the session process's refusal; session_unavailable when it does
 * not answer and its process id is unknown
 */
export async function endSession(
  instance: Instance,
  target: string,
  reason: OperationInput<"session.kill">["reason"] = "killed",
): Promise<EndedSession> {
  if (parsePlace(target).machine !== null) {
    using there = await SessionClient.open(instance, target);
    const { ended } = await there.call("session.kill", { reason });
    return { name: there.name, ended };
  }
  const { id, name, session: number, socket } = findSession(instance, parseTarget(target));
  const label = name ?? paneId(id);
  try {
    using session = await SessionClient.open(instance, target);
    const { ended } = await session.call("session.kill", { reason });
    return { name: label, ended };
  } catch (thrown) {
    const pid = WshError.from(thrown).code === "session_unavailable" ? listenerPid(socket) : null;
    if (pid === null || cliCaller.agent !== undefined) throw thrown;
    process.kill(pid, "SIGKILL");
    warn(`session '${label}' did not answer: its process was killed`);
    await untilDead(socket);
    await cleanStale(instance, [id]);
    // Removes all its files, as for any ended session.
    if (number !== null) removeSession(sessionDir(instance, number));
  }
  return { name: label, ended: [] };
}

export async function untilDead(socket: string): Promise<void> {
  const deadline = performance.now() + GONE_PATIENCE_MS;
  while (processState(socket) === "alive" && performance.now() < deadline) await Bun.sleep(GONE_POLL_MS);
}
