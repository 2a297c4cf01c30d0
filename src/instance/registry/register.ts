/**
 * How a host gets its place in the registry: an id that was never given before, a bound socket and a name, all under the
 * registry's lock, or nothing. Ids and automatic names come from counters kept in NAME/counters; where that file is lost
 * or unreadable they go on above the highest number in use, by a host with a deleted socket too. The session limit counts
 * live sessions. As many ended ones again may be kept for reading; beyond that the oldest have to give way, so that quick
 * commands never keep anyone from a session.
 */

import fs from "node:fs";
import { WshError } from "../../protocol/errors.ts";
import {
  checkSessionName,
  decodeName,
  defaultSessionName,
  nextNumericName,
  numericName,
} from "../../protocol/names.ts";
import { withLock } from "../lock.ts";
import { checkSocketPath, hostSocket, type Instance, prepareRuntimeDir } from "../paths.ts";
import {
  boundIds,
  cleanStaleLocked,
  type FileNames,
  fileNames,
  linkName,
  nameFile,
  removeOwn,
  type SessionEntry,
  snapshot,
  unlinkSocket,
} from "./registry.ts";
import { listenerPid } from "./socket-probe.ts";

/**
 * How a session is named: as asked; by the next number; `default` while it is free, else the next number (plain
 * `wsh`); or a prefix with the session's id (`exec-7`).
 */
export type NameRule =
  | { readonly kind: "exact"; readonly name: string }
  | { readonly kind: "number" }
  | { readonly kind: "default" }
  | { readonly kind: "prefix"; readonly prefix: string };

export interface ClaimRequest {
  readonly name: NameRule;
  readonly maxSessions: number;
  /** Binds a listener at the path. When the claim fails after it, the caller closes the listener. */
  readonly bind: (socketPath: string, id: number) => void | Promise<void>;
}

export interface Claim {
  readonly id: number;
  readonly name: string;
  readonly socket: string;
}

/** A claim, and the ended sessions that are too many now, the one that ended first in front. */
export interface ClaimResult extends Claim {
  readonly tooOld: readonly SessionEntry[];
}

interface Counters {
  /** The next session's id. */
  readonly id: number;
  /** The smallest number that the next session without a name may get. */
  readonly name: number;
}

/**
 * Time from a refusal to the second and last try, in ms: a program's end is known to its starter some milliseconds before
 * the registry says so.
 */
const END_NOTED_MS = 100;

/**
 * Registers a session. The name is checked and the limit applied before `bind` runs.
 * WshError invalid_session_name, session_name_conflict, max_sessions_reached, lock_busy.
 */
export async function claimSession(instance: Instance, request: ClaimRequest): Promise<ClaimResult> {
  try {
    return await claimOnce(instance, request);
  } catch (thrown) {
    if (WshError.from(thrown).code !== "max_sessions_reached") throw thrown;
    await Bun.sleep(END_NOTED_MS);
    return claimOnce(instance, request);
  }
}

function claimOnce(instance: Instance, request: ClaimRequest): Promise<ClaimResult> {
  if (request.name.kind === "exact") checkSessionName(request.name.name);
  prepareRuntimeDir(instance);
  return withLock(instance.lockFile, async () => {
    const files = withinLimit(instance, request.maxSessions);
    const counters = skipOccupied(instance, readCounters(instance, files));
    const { id } = counters;
    const name = chooseName(instance, request.name, files, counters);
    writeCounters(instance, { id: id + 1, name: name.next });
    const claim = await bindAndLink(instance, id, name.text, request.bind);
    return { ...claim, tooOld: files.ended.length > request.maxSessions ? tooOld(instance, request.maxSessions) : [] };
  });
}

/**
 * Registers a running session again after its runtime directory was deleted: same id, and same name unless another
 * session took it meanwhile, in which case it gets a number. `bind` binds a new listener. WshError
 * session_create_failed when another host answers at the id's socket, which can be only where the system does not tell
 * what is bound (boundIn): taking it from each other in turn would lose both.
 */
export async function restoreSession(
  instance: Instance,
  session: { readonly id: number; readonly name: string; readonly ended: boolean },
  bind: ClaimRequest["bind"],
): Promise<Claim> {
  prepareRuntimeDir(instance);
  return withLock(instance.lockFile, () => {
    const files = fileNames(instance);
    const holder = listenerPid(hostSocket(instance, session.id));
    if (holder !== null && holder !== process.pid) {
      throw new WshError("session_create_failed", `process ${holder} has the socket of session @${session.id}`);
    }
    const counters = readCounters(instance, files);
    const isTaken = !session.ended && isLiveName(instance, files, session.name);
    const name = isTaken
      ? chooseName(instance, { kind: "number" }, files, counters)
      : { text: session.name, next: counters.name };
    writeCounters(instance, { id: Math.max(counters.id, session.id + 1), name: name.next });
    removeOwn(instance, session.id, name.text);
    return bindAndLink(instance, session.id, name.text, bind, session.ended);
  });
}

/** An id for a further pane: unique among all sessions and panes of the instance. */
export async function allocateId(instance: Instance): Promise<number> {
  prepareRuntimeDir(instance);
  return withLock(instance.lockFile, () => {
    const counters = readCounters(instance, fileNames(instance));
    writeCounters(instance, { ...counters, id: counters.id + 1 });
    return counters.id;
  });
}

/**
 * What is there, when one more session is allowed. File names say how many there are at most; hosts are counted one by one,
 * and dead ones looked for, only when those would be too many.
 */
function withinLimit(instance: Instance, maxSessions: number): FileNames {
  const files = fileNames(instance);
  if (files.ids.length - files.ended.length < maxSessions) return files;
  if (hasRoom(snapshot(instance).entries, maxSessions)) return files;
  cleanStaleLocked(instance);
  if (hasRoom(snapshot(instance).entries, maxSessions)) return fileNames(instance);
  throw new WshError("max_sessions_reached", `the instance '${instance.name}' has ${maxSessions} sessions already`);
}

function hasRoom(entries: readonly SessionEntry[], maxSessions: number): boolean {
  return entries.filter((entry) => !entry.ended).length < maxSessions;
}

/** The ended sessions past the limit, the one that ended first in front: its last link was made then. */
function tooOld(instance: Instance, maxSessions: number): readonly SessionEntry[] {
  const ended = snapshot(instance).entries.filter((entry) => entry.ended);
  const linkedAt = new Map(
    ended.map(({ id, socket }) => [id, fs.lstatSync(socket, { throwIfNoEntry: false })?.ctimeMs ?? 0]),
  );
  ended.sort((a, b) => (linkedAt.get(a.id) ?? 0) - (linkedAt.get(b.id) ?? 0));
  return ended.slice(0, Math.max(0, ended.length - maxSessions));
}

function chooseName(
  instance: Instance,
  rule: NameRule,
  files: FileNames,
  counters: Counters,
): { text: string; next: number } {
  switch (rule.kind) {
    case "exact":
      refuseConflict(instance, files, rule.name);
      return { text: rule.name, next: counters.name };
    case "prefix": {
      const text = `${rule.prefix}${counters.id}`;
      if (isLiveName(instance, files, text)) return chooseName(instance, { kind: "number" }, files, counters);
      return { text: checkSessionName(text), next: counters.name };
    }
    case "default":
      if (!isLiveName(instance, files, defaultSessionName)) {
        return { text: defaultSessionName, next: counters.name };
      }
      return chooseName(instance, { kind: "number" }, files, counters);
    case "number": {
      const used = new Set([...files.live, ...files.ended]);
      const number = nextNumericName(counters.name, (name) => used.has(nameFile(name)));
      return { text: String(number), next: number + 1 };
    }
  }
}

function refuseConflict(instance: Instance, files: FileNames, name: string): void {
  if (!isLiveName(instance, files, name)) return;
  throw new WshError("session_name_conflict", `a session named '${name}' exists already`);
}

/** Whether a session has the name and is not ended; one whose host is dead is removed on the way. */
function isLiveName(instance: Instance, files: FileNames, name: string): boolean {
  if (!files.live.has(nameFile(name))) return false;
  const holder = snapshot(instance).entries.find((entry) => entry.name === name && !entry.ended);
  if (holder === undefined) return false;
  const removed = cleanStaleLocked(instance, [holder.id]);
  return removed.length === 0;
}

async function bindAndLink(
  instance: Instance,
  id: number,
  name: string,
  bind: ClaimRequest["bind"],
  ended = false,
): Promise<Claim> {
  const socket = hostSocket(instance, id);
  checkSocketPath(socket);
  try {
    await bind(socket, id);
    fs.chmodSync(socket, 0o600);
    linkName(instance, { id, socket }, name, ended);
    return { id, name, socket };
  } catch (error) {
    unlinkSocket(socket); // ours by its id
    throw asWshError(error);
  }
}

function readCounters(instance: Instance, files: FileNames): Counters {
  let text = "";
  try {
    text = fs.readFileSync(instance.countersFile, "utf8");
  } catch {
    // Absent at first; where it cannot be read, what is in use says enough.
  }
  const stored = /^(\d{1,9}) (\d{1,9})$/m.exec(text);
  if (stored !== null) {
    const next = Number(stored[1]);
    return { id: Math.max(next, highest(instance, files, next) + 1), name: Number(stored[2]) };
  }
  const numbers = [...files.live, ...files.ended].map((file) => numericName(decodeName(file) ?? "") ?? -1);
  const id = Math.max(highest(instance, files, 0), ...boundIds(instance)) + 1;
  return { id, name: Math.max(-1, ...numbers) + 1 };
}

/** The highest id of a host, if it is at least `from`; what only has such a name is none. */
function highest(instance: Instance, { ids }: FileNames, from: number): number {
  const hosts = ids.filter((id) => id >= from && isSocket(hostSocket(instance, id)));
  return Math.max(0, ...hosts);
}

function isSocket(path: string): boolean {
  return fs.lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true;
}

/** What is no socket may lie where a host's would be: it stays, and that id is not given. */
function skipOccupied(instance: Instance, counters: Counters): Counters {
  let { id } = counters;
  while (fs.lstatSync(hostSocket(instance, id), { throwIfNoEntry: false }) !== undefined) id += 1;
  return { ...counters, id };
}

function writeCounters(instance: Instance, counters: Counters): void {
  // Renamed into place: a full disk must not leave an empty file, which would give numbers again.
  const temporary = `${instance.countersFile}.new`;
  try {
    fs.writeFileSync(temporary, `${counters.id} ${counters.name}\n`, { mode: 0o600 });
    fs.renameSync(temporary, instance.countersFile);
  } catch (error) {
    throw asWshError(error);
  }
}

/** What the system refuses (no space, no descriptors, no permission) is the session's failure, not a defect. */
function asWshError(error: unknown): WshError {
  if (error instanceof WshError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new WshError("session_create_failed", `the session cannot be registered: ${reason}`, {}, { cause: error });
}
