/** Lists, restores and forgets crashed sessions: for the server, and for the command line, which works without one. */
import os from "node:os";
import type { Instance } from "../instance/paths.ts";
import type { OperationOutput, ParsedInput } from "../operations/table.ts";
import { WshError } from "../protocol/errors.ts";
import { parseTarget, sessionId, sessionNumber } from "../protocol/names.ts";
import type { SessionInfo } from "../protocol/session.ts";
import { processState } from "../registry/liveness.ts";
import { listSessions, lookUp } from "../registry/registry.ts";
import { listNamedFolders, removeNamed } from "./files/named.ts";
import { sessionDir } from "./files/paths.ts";
import {
  type CrashedSession,
  findCrashed,
  isOfOtherMachine,
  listCrashedNumbers,
  matchesTarget,
  readCrashed,
  removeSession,
} from "./files/sessions.ts";
import { findCrashedAfterExit, listRestorable } from "./find-crashed.ts";
import { waitForDyingProcesses } from "./killed-processes.ts";
import type { Restorer } from "./launch.ts";
import { listNamed } from "./named/find.ts";
import { restoreNamed } from "./named/operations.ts";
import { isRunning } from "./named/running.ts";
import { searchCheckpoints } from "./named/search.ts";
import { describeCheckpoint } from "./named/view.ts";
import { endReaders, restoreSession } from "./restore.ts";
import { crashedSessionInfo, describeLeftOut } from "./session-info.ts";

/**
 * Maximum sessions that are restored at the same time. Each uses a processor while it reads its lines, and
 * otherwise waits for its process and its disk: one more session than processors keeps all processors busy.
 */
const MAX_PARALLEL = 5;

/** @param living ids of the sessions that have a process @param hostname this machine's name */
export function listCrashed(instance: Instance, living: ReadonlySet<string>, hostname: string): SessionInfo[] {
  const numbers = new Set([...living].map((id) => sessionNumber(id)));
  return listRestorable(instance, numbers).map((crashed) => crashedSessionInfo(crashed, hostname));
}

/**
 * @param session only this session's checkpoints @param search only checkpoints that contain the text @throws WshError
 * invalid_request
 */
export async function listCheckpoints(
  instance: Instance,
  hostname: string,
  { session, search }: ParsedInput<"checkpoint.list">,
): Promise<OperationOutput<"checkpoint.list">> {
  const { named, unreadable: unreadableNamed } = listNamed(instance, session);
  const target = session === undefined ? null : parseTarget(session);
  const crashedSessions = listRestorable(instance).filter(
    (crashed) => target === null || matchesTarget(crashed, target),
  );
  const unreadableCrashed = listCrashedNumbers(instance).flatMap((number) => {
    const crashed = readCrashed(instance, number);
    if (crashed === null || !("error" in crashed)) return [];
    const { code, message } = crashed.error;
    const isRequested = session === undefined || session === sessionId(number);
    return isRequested ? [{ session: sessionId(number), code, message }] : [];
  });
  const searched = [
    ...crashedSessions.map((stored) => ({ stored, label: null })),
    ...named.map(({ stored, folder }) => ({ stored, label: folder.label })),
  ];
  const matching = search === undefined ? null : await searchCheckpoints(searched, search);
  const matched = matching === null ? searched : searched.filter((each) => matching.found.has(each));
  const isMatched = (checkpointed: CrashedSession): boolean => matched.some(({ stored }) => stored === checkpointed);
  return {
    crashed: crashedSessions.filter(isMatched).map((crashed) => crashedSessionInfo(crashed, hostname)),
    named: named.filter(({ stored }) => isMatched(stored)).map((each) => describeCheckpoint(instance, each)),
    ...(matching === null ? {} : { matches: [...matching.found.values()].flat(), incomplete: matching.incomplete }),
    unreadable: [
      ...unreadableCrashed,
      ...unreadableNamed.map(({ number, label, error: { code, message } }) => ({
        session: sessionId(number),
        label,
        code,
        message,
      })),
    ],
  };
}

/** Restores a session, or all of them without one. @throws WshError of the session that the caller named */
export async function restoreCheckpoints(
  instance: Instance,
  { session, as, label }: Omit<ParsedInput<"checkpoint.restore">, "all">,
  restorer: Restorer,
): Promise<OperationOutput<"checkpoint.restore">> {
  if (label !== undefined && session !== undefined) {
    const { info, stored } = await restoreNamed(instance, session, { label, as }, restorer);
    return { restored: [info], left_out: describeLeftOut(stored, info.name), failed: [] };
  }
  if (session !== undefined) {
    const crashed = await findRestorable(instance, session);
    const info = await restoreSession(instance, crashed, as, restorer);
    return { restored: [info], left_out: describeLeftOut(crashed, info.name), failed: [] };
  }
  const restored: SessionInfo[] = [];
  const failed: { session: string; code: string; message: string }[] = [];
  const left_out: OperationOutput<"checkpoint.restore">["left_out"] = [];
  await waitForDyingProcesses(instance);
  const restorable = listRestorable(instance);
  const reports: ((() => void) | undefined)[] = [];
  const queue = restorable.entries();
  const restoreQueued = async (): Promise<void> => {
    for (const [index, crashed] of queue) {
      reports[index] = await restoreSession(instance, crashed, undefined, restorer).then(
        (info) => () => {
          restored.push(info);
          left_out.push(...describeLeftOut(crashed, crashed.session.name));
        },
        (thrown) => () => {
          const { code, message } = WshError.from(thrown);
          failed.push({ session: crashed.session.name, code, message });
        },
      );
    }
  };
  await Promise.all(Array.from({ length: Math.min(MAX_PARALLEL, os.availableParallelism() + 1) }, restoreQueued));
  // In the order of the crashes, not of the restores.
  for (const report of reports) report?.();
  return { restored, left_out, failed };
}

/** @throws WshError checkpoint_not_found, session_running */
async function findRestorable(instance: Instance, target: string): Promise<CrashedSession> {
  const parsed = parseTarget(target);
  const running = lookUp(listSessions(instance), parsed);
  try {
    return await findCrashedAfterExit(instance, parsed);
  } catch (thrown) {
    const { code } = WshError.from(thrown);
    // A session that was killed before its first checkpoint is not running either.
    if (code !== "checkpoint_not_found" || running === undefined || processState(running.socket) === "dead")
      throw thrown;
    throw new WshError("session_running", `session '${running.name ?? target}' is already running`);
  }
}

/** @throws WshError checkpoint_not_found */
export async function forgetSessions(
  instance: Instance,
  { session, all }: ParsedInput<"checkpoint.forget">,
): Promise<OperationOutput<"checkpoint.forget">> {
  const forgotten: OperationOutput<"checkpoint.forget">["forgotten"] = [];
  await waitForDyingProcesses(instance);
  for (const number of all ? listForgettable(instance) : [findForgettable(instance, session ?? "")]) {
    const named = listNamed(instance, sessionId(number)).named.filter(({ folder }) => folder.number === number);
    const crashed = readCrashed(instance, number);
    const readable = crashed === null || "error" in crashed ? null : crashed;
    // A process that shows it to readers has its contents in memory.
    if (readable !== null) await endReaders(instance, readable);
    let bytes = removeSession(sessionDir(instance, number));
    const folders = listNamedFolders(instance, number);
    for (const { label } of folders) bytes += removeNamed(instance, number, label);
    const name = (readable ?? named[0]?.stored)?.session.name ?? null;
    forgotten.push({ id: sessionId(number), name, bytes, labels: folders.map(({ label }) => label) });
  }
  return { forgotten };
}

/** Sessions of this machine that have checkpoints and do not run. */
function listForgettable(instance: Instance): number[] {
  const named = listNamedFolders(instance).filter(
    ({ number, directory }) => !isRunning(instance, number) && !isOfOtherMachine(directory),
  );
  const crashed = listCrashedNumbers(instance).filter((number) => !isOfOtherMachine(sessionDir(instance, number)));
  return [...new Set([...crashed, ...named.map(({ number }) => number)])].sort((a, b) => a - b);
}

/** A session that cannot be read is named by its id. */
function findForgettable(instance: Instance, target: string): number {
  const parsed = parseTarget(target);
  const forgettable = listForgettable(instance);
  if (parsed.kind === "session_id" && forgettable.includes(parsed.id)) return parsed.id;
  try {
    return findCrashed(instance, parsed).number;
  } catch (thrown) {
    // An ended session may have named checkpoints.
    const { named } = listNamed(instance, target);
    const newest = named.filter(({ folder }) => forgettable.includes(folder.number)).at(-1);
    if (newest === undefined) throw thrown;
    return newest.folder.number;
  }
}
