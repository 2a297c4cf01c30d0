/** Lists, restores and forgets lost sessions: for the server, and for the command line, which needs none. */
import type { Instance } from "../instance/paths.ts";
import { processState } from "../instance/registry/liveness.ts";
import { listSessions, lookUp } from "../instance/registry/registry.ts";
import type { OperationOutput, ParsedInput } from "../operations/table.ts";
import { WshError } from "../protocol/errors.ts";
import { parseTarget, sessionId } from "../protocol/names.ts";
import type { SessionInfo } from "../protocol/session.ts";
import { sessionDir } from "../store/checkpoint/places.ts";
import {
  areHeld,
  findLost,
  type LostSession,
  lostNumbers,
  readLost,
  removeSession,
} from "../store/checkpoint/sessions.ts";
import { allLost } from "./find.ts";
import { leftOut, lostInfo } from "./info.ts";
import { makeRoom, type Restorer } from "./launch.ts";
import { restoreSession } from "./restore.ts";

/** Longest wait for killed processes to let go of their locks, in ms: the kernel takes some 20 to free one's memory. */
const RELEASE_MS = 250;
const RELEASE_POLL_MS = 20;

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
    const lost = await findRestorable(instance, session);
    const info = await restoreSession(instance, lost, as, restorer);
    return { restored: [info], left_out: leftOut(lost, info.name), failed: [] };
  }
  const restored: SessionInfo[] = [];
  const failed: { session: string; code: string; message: string }[] = [];
  const left_out: OperationOutput<"checkpoint.restore">["left_out"] = [];
  await untilReleased(instance);
  for (const lost of allLost(instance)) {
    try {
      restored.push(await restoreSession(instance, lost, undefined, restorer));
      left_out.push(...leftOut(lost, lost.session.name));
    } catch (thrown) {
      const { code, message } = WshError.from(thrown);
      failed.push({ session: lost.session.name, code, message });
    }
  }
  return { restored, left_out, failed };
}

/** @throws WshError checkpoint_not_found, session_running */
async function findRestorable(instance: Instance, target: string): Promise<LostSession> {
  const parsed = parseTarget(target);
  try {
    return findLost(instance, parsed);
  } catch (thrown) {
    if (WshError.from(thrown).code !== "checkpoint_not_found") throw thrown;
  }
  const running = lookUp(listSessions(instance), parsed);
  if (running !== undefined) await untilReleased(instance);
  try {
    return findLost(instance, parsed);
  } catch (thrown) {
    const { code } = WshError.from(thrown);
    // One that was killed before anything of it was kept does not run either.
    if (code !== "checkpoint_not_found" || running === undefined || processState(running.socket) === "dead")
      throw thrown;
    throw new WshError("session_running", `session '${running.name ?? target}' runs: there is nothing to restore`);
  }
}

/** Waits a moment for processes that were killed just now: until they are gone, they hold their locks. */
async function untilReleased(instance: Instance): Promise<void> {
  const until = performance.now() + RELEASE_MS;
  while (performance.now() < until && areHeld(instance)) await Bun.sleep(RELEASE_POLL_MS);
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
