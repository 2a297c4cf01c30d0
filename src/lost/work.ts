/** Lists, restores and forgets lost sessions: for the server, and for the command line, which needs none. */
import type { Instance } from "../instance/paths.ts";
import { listSessions, lookUp } from "../instance/registry/registry.ts";
import type { OperationOutput, ParsedInput } from "../operations/table.ts";
import { WshError } from "../protocol/errors.ts";
import { parseTarget, sessionId } from "../protocol/names.ts";
import type { SessionInfo } from "../protocol/session.ts";
import { sessionDir } from "../store/checkpoint/places.ts";
import { findLost, type LostSession, lostNumbers, readLost, removeSession } from "../store/checkpoint/sessions.ts";
import { allLost } from "./find.ts";
import { lostInfo } from "./info.ts";
import { makeRoom, type Restorer } from "./launch.ts";
import { restoreSession } from "./restore.ts";

/** @param living ids of the sessions that have a process @param hostname this machine's name */
export function listLost(instance: Instance, living: ReadonlySet<string>, hostname: string): SessionInfo[] {
  const numbers = new Set([...living].map((id) => Number(id.slice(2))));
  return allLost(instance, numbers).map((lost) => lostInfo(lost, hostname));
}

export function listAll(instance: Instance, hostname: string): OperationOutput<"checkpoint.list"> {
  const unreadable = lostNumbers(instance, new Set()).flatMap((number) => {
    const lost = readLost(instance, number);
    if (lost === null || !("trouble" in lost)) return [];
    const { code, message } = lost.trouble;
    return [{ session: sessionId(number), code, message }];
  });
  return { lost: listLost(instance, new Set(), hostname), unreadable };
}

/** @throws WshError of the one session that was asked for */
export async function restoreAsked(
  instance: Instance,
  { session, all, as }: ParsedInput<"checkpoint.restore">,
  restorer: Restorer,
): Promise<OperationOutput<"checkpoint.restore">> {
  if (all === (session !== undefined)) {
    throw new WshError("invalid_request", "either 'session' or 'all' says what to restore");
  }
  if (all && as !== undefined) throw new WshError("invalid_request", "'as' names one session, and 'all' restores many");
  if (session !== undefined) {
    const lost = findRestorable(instance, session);
    return { restored: [await restoreSession(instance, lost, as, restorer)], failed: [] };
  }
  const restored: SessionInfo[] = [];
  const failed: { session: string; code: string; message: string }[] = [];
  for (const lost of allLost(instance)) {
    try {
      restored.push(await restoreSession(instance, lost, undefined, restorer));
    } catch (thrown) {
      const { code, message } = WshError.from(thrown);
      failed.push({ session: lost.session.name, code, message });
    }
  }
  return { restored, failed };
}

/** @throws WshError checkpoint_not_found, session_running */
function findRestorable(instance: Instance, target: string): LostSession {
  const parsed = parseTarget(target);
  try {
    return findLost(instance, parsed);
  } catch (thrown) {
    const running = lookUp(listSessions(instance), parsed);
    if (WshError.from(thrown).code !== "checkpoint_not_found" || running === undefined) throw thrown;
    throw new WshError("session_running", `session '${running.name ?? target}' runs: there is nothing to restore`);
  }
}

/** @throws WshError checkpoint_not_found */
export async function forgetAsked(
  instance: Instance,
  { session, all }: ParsedInput<"checkpoint.forget">,
): Promise<OperationOutput<"checkpoint.forget">> {
  if (all === (session !== undefined)) {
    throw new WshError("invalid_request", "either 'session' or 'all' says what to forget");
  }
  const numbers = all ? lostNumbers(instance, new Set()) : [numberOf(instance, session ?? "")];
  const forgotten: OperationOutput<"checkpoint.forget">["forgotten"] = [];
  for (const number of numbers) {
    const lost = readLost(instance, number);
    const known = lost === null || "trouble" in lost ? null : lost;
    // What shows it to readers has it in memory.
    for (const { pane } of known?.panes ?? []) await makeRoom(instance, pane);
    const bytes = removeSession(sessionDir(instance, number));
    forgotten.push({ id: sessionId(number), name: known?.session.name ?? null, bytes });
  }
  return { forgotten };
}

/** One that cannot be read is named by its id. */
function numberOf(instance: Instance, target: string): number {
  const parsed = parseTarget(target);
  if (parsed.kind === "session_id" && lostNumbers(instance, new Set()).includes(parsed.id)) return parsed.id;
  return findLost(instance, parsed).number;
}
