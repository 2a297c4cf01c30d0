/**
 * The file system is the registry. A session process is the socket NAME/ID.sock, with the lock of its process beside it
 * (life-lock.ts); its session's name is a symbolic link to that socket in NAME/names. `dev` is the name of a live
 * session; `dev~7` is the name of the session with pane 7, whose program has ended: `dev` can be taken again. `@s3.w5`,
 * another link, has the ids of the process's session and window; `@s3.p9` is a pane that it has besides its first,
 * whose id is the session process's (panes.ts). Everything that changes the registry runs under flock on the directory
 * NAME; reading takes no lock and tolerates what changes meanwhile (between the two steps of a rename a session process
 * has two names for a moment). The socket of a dead process, and a link that leads to no socket of a living one, may be
 * removed by anyone who holds the lock; what is neither socket nor link is never removed.
 */

import fs from "node:fs";
import { dirname, join } from "node:path";
import { errorCode } from "../base/errno.ts";
import { EventJournal } from "../events/journal.ts";
import { eventsDir, KEPT_SEGMENTS, lastEventOf } from "../events/segments.ts";
import { withDirectoryLock } from "../instance/lock.ts";
import { checkRuntimeDir, type Instance, sessionSocket, tmuxPlaces } from "../instance/paths.ts";
import { refused } from "../instance/system-refusal.ts";
import { endStatusCommands } from "../platform/marked-processes.ts";
import { WshError } from "../protocol/errors.ts";
import {
  checkNewName,
  checkSessionName,
  notFound,
  paneId,
  parseTarget,
  sessionId,
  type Target,
} from "../protocol/names.ts";
import type { RecordedEvent } from "../protocol/recorded-events.ts";
import {
  idsFile,
  linkTarget,
  lockIds,
  type NameLink,
  nameFile,
  processOfLink,
  type SessionEntry,
  type SessionIds,
  type Snapshot,
  snapshot,
} from "./directories.ts";
import { lockBeside, lockState, removeLeftLocks, removeLock } from "./life-lock.ts";
import { processState } from "./liveness.ts";

/** All session processes in order of creation, dead ones included (see cleanStale), without panes of other sessions. */
export function listSessions(instance: Instance): readonly SessionEntry[] {
  return listProcesses(instance).filter(({ isMember }) => !isMember);
}

/** Like listSessions, including the processes of panes that belong to another session. */
export function listProcesses(instance: Instance): readonly SessionEntry[] {
  return checkRuntimeDir(instance) ? snapshot(instance).entries : [];
}

/**
 * The session process that a target addresses. If several sessions had a name, the live one is returned, else the
 * newest ended one. The session process finds window and pane. WshError session_not_found when there is none.
 */
export function findSession(instance: Instance, target: Target): SessionEntry {
  const found = lookUp(listProcesses(instance), target);
  if (found !== undefined) return found;
  throw notFound(target, instance.name);
}

/** The id of the session that a target names now, as `@s3`. @throws WshError session_not_found, version_mismatch */
export function sessionIdOf(instance: Instance, target: string): string {
  const { id, session } = findSession(instance, parseTarget(target));
  if (session !== null) return sessionId(session);
  throw new WshError("version_mismatch", `the session with pane ${paneId(id)} has no id`);
}

/** Like findSession, over a list that the caller already has; undefined: no session matches. */
export function lookUp(entries: readonly SessionEntry[], target: Target): SessionEntry | undefined {
  switch (target.kind) {
    case "pane":
      return (
        entries.find(({ panes }) => panes?.includes(target.id) === true) ??
        entries.find((entry) => entry.id === target.id)
      );
    case "window_id":
      return entries.find(({ window, windows }) => windows?.includes(target.id) ?? window === target.id);
    case "session_id":
      return entries.find((entry) => entry.session === target.id && !entry.isMember);
  }
  const named = entries.filter((entry) => entry.name === target.name);
  return named.find((entry) => !entry.ended) ?? named.at(-1);
}

/** Whether a session process is found by its ids and a name, if the directory is usable. Reads every link. */
export function isLinked(instance: Instance, id: number): boolean {
  const entry = snapshot(instance).entries.find((each) => each.id === id);
  return entry !== undefined && entry.session !== null && (entry.name !== null || entry.isMember);
}

/** Whether the session process's socket is still where it was bound: false after the runtime directory was deleted. */
export function isRegistered(instance: Instance, id: number): boolean {
  return fs.existsSync(sessionSocket(instance, id));
}

/**
 * Renames a session. Its current name succeeds without effect; a live session's name is session_name_conflict; an ended
 * session's name is free.
 */
export async function renameSession(instance: Instance, id: number, given: string): Promise<string> {
  const name = checkSessionName(given);
  await withDirectoryLock(instance.sessionsDir, () => {
    const { nameLinks, entry } = ownLinks(instance, id);
    if (entry.name === name) return;
    checkNewName(name);
    linkName(instance, entry, name, entry.ended);
    for (const link of nameLinks) unlinkName(instance, link.file);
  });
  return name;
}

/** A session process's knowledge of its own links, so that the directories need not be read. */
export interface KnownLinks extends SessionIds {
  readonly name: string;
  /** Whether it has had several windows or panes. */
  readonly hasMore?: boolean;
}

/**
 * Marks a session as ended: it keeps its name for readers, but a new session may take it.
 * @param session its pane's id, or its own process's knowledge
 */
export async function markEnded(instance: Instance, session: number | KnownLinks): Promise<void> {
  await setEnded(instance, session, true);
}

/** Restores the name of a session whose program was started again; session_name_conflict when the name is taken. */
export async function markLive(instance: Instance, id: number): Promise<void> {
  await setEnded(instance, id, false);
}

/**
 * Removes a session's names, ids and socket: it is gone for everyone. Repeating it changes nothing.
 * @param session its pane's id, or its own process's knowledge
 */
export async function releaseSession(instance: Instance, session: number | KnownLinks): Promise<void> {
  const id = typeof session === "number" ? session : session.id;
  if (!checkRuntimeDir(instance) || !isRegistered(instance, id)) return;
  await withDirectoryLock(instance.sessionsDir, () => {
    if (typeof session === "number" || !removeKnown(instance, session)) {
      removeEntry(instance, id, snapshot(instance));
    }
  });
}

/**
 * Cleans up after dead processes: removes their files and the names that lead to no process, and ends the commands that
 * their status lines left running. A stopped or overloaded process is not dead, nor is one whose socket is temporarily
 * missing.
 * @param ids only these processes
 * @returns the removed entries
 */
export async function cleanStale(instance: Instance, ids?: readonly number[]): Promise<SessionEntry[]> {
  if (!checkRuntimeDir(instance) || !fs.existsSync(instance.sessionsDir)) return [];
  return withDirectoryLock(instance.sessionsDir, () => cleanStaleLocked(instance, ids));
}

/** cleanStale for a caller that holds the lock. */
export function cleanStaleLocked(instance: Instance, ids?: readonly number[]): SessionEntry[] {
  const current = snapshot(instance);
  const { entries } = current;
  const candidates = ids === undefined ? entries : entries.filter((entry) => ids.includes(entry.id));
  const dead = candidates.filter(({ socket }) => processState(socket) === "dead");
  for (const entry of dead) {
    try {
      // A process that finds no entry learns why it is gone.
      recordCrash(instance, entry);
    } finally {
      removeEntry(instance, entry.id, current);
    }
  }
  if (dead.length > 0) endStatusCommands(dead.map(({ socket }) => socket));
  if (ids === undefined) {
    const present = new Set<number | null>(entries.map(({ id }) => id));
    for (const { file, owner } of [...current.links, ...current.ids, ...current.panes]) {
      if (!present.has(owner) && isOrphan(instance, file, owner)) unlinkName(instance, file);
    }
    for (const id of lockIds(instance)) {
      if (present.has(id)) continue;
      const socket = sessionSocket(instance, id);
      if (processState(socket) === "absent" && lockState(lockBeside(socket)) === "free") removeLock(lockBeside(socket));
    }
    removeLeftLocks(instance);
  }
  return dead;
}

/**
 * Records a crash. No other code can tell that a session's process has died, so it is recorded once, before
 * its entry is removed.
 */
function recordCrash(instance: Instance, { session, name, isMember }: SessionEntry): void {
  if (session === null || isMember) return;
  const journal = new EventJournal(eventsDir(instance), () => {});
  // A process that died at its very end has recorded its end itself.
  const last = lastEventOf(eventsDir(instance), sessionId(session), KEPT_SEGMENTS);
  if (last?.event === "session_destroyed") return;
  const ids = { session: name ?? sessionId(session), session_id: sessionId(session) };
  const fields = { ...ids, tags: last?.tags ?? [], ...(last?.private === true ? { private: true } : {}) };
  const end = { reason: "session_crashed", exit_code: null, signal: null };
  journal.append({ event: "session_destroyed", at: Date.now(), ...fields, ...end } satisfies RecordedEvent);
  journal.close();
}

/**
 * Links a name to a session process's socket; the caller holds the lock. A dead session process that still
 * has the name is removed. WshError session_name_conflict when a live session has it.
 */
export function linkName(instance: Instance, owner: Pick<SessionEntry, "id">, name: string, ended: boolean): void {
  const file = nameFile(name);
  removeNamed(instance, name);
  if (ended && isThere(instance, file)) throw conflict(name);
  try {
    link(instance, owner.id, ended ? `${file}~${owner.id}` : file);
  } catch (error) {
    if (errorCode(error) === "EEXIST") throw conflict(name);
    throw refused(`the name '${name}' cannot be registered`, error);
  }
}

/**
 * Links the ids of session and window to the socket; the caller holds the lock. An existing link belongs to a session
 * with the same ids: WshError session_create_failed.
 */
export function linkIds(instance: Instance, ids: SessionIds): void {
  const file = idsFile(ids);
  if (isOrphan(instance, file)) unlinkName(instance, file);
  try {
    link(instance, ids.id, file);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw refused(`the id '${sessionId(ids.session)}' cannot be registered`, error);
    const path = join(instance.namesDir, file);
    throw new WshError("session_create_failed", `the id '${sessionId(ids.session)}' is in use: ${path} exists`, {
      hint: "Delete the file if the id is unused.",
    });
  }
}

/** Removes the links of linkIds for a claim that failed. The caller holds the lock. */
export function unlinkIds(instance: Instance, ids: SessionIds): void {
  const file = idsFile(ids);
  if (processOfLink(instance, file) === ids.id) unlinkName(instance, file);
}

/**
 * Removes what is left of a session process that registers again: its socket, its ids, and the name if no other session
 * process has it. The caller holds the lock and knows that no other live session has the name.
 */
export function removeOwn(instance: Instance, ids: SessionIds, name: string): void {
  removeEntry(instance, ids.id, snapshot(instance));
  unlinkIds(instance, ids);
  removeNamed(instance, name);
}

/** Sockets of other servers beside ours are kept. */
function removeTmux(instance: Instance, id: number): void {
  const { directory, socket } = tmuxPlaces(instance, id);
  unlinkSocket(socket);
  for (const each of [dirname(socket), directory])
    try {
      fs.rmdirSync(each);
    } catch {
      // It was never created, or is not empty.
      return;
    }
}

/** Removes a socket, if there is one; any other file at the path is kept. */
export function unlinkSocket(path: string): void {
  if (fs.lstatSync(path, { throwIfNoEntry: false })?.isSocket()) fs.rmSync(path, { force: true });
}

async function setEnded(instance: Instance, session: number | KnownLinks, ended: boolean): Promise<void> {
  const id = typeof session === "number" ? session : session.id;
  await withDirectoryLock(instance.sessionsDir, () => {
    if (ended && typeof session !== "number" && endKnown(instance, session)) return;
    const { nameLinks, entry } = ownLinks(instance, id);
    if (entry.name === null || entry.ended === ended) return;
    const live = nameLinks.find((link) => link.endedId === null);
    if (live !== undefined) endName(instance, id, live.file);
    else linkName(instance, entry, entry.name, false);
    for (const link of nameLinks) if (link !== live) unlinkName(instance, link.file);
  });
}

function ownLinks(instance: Instance, id: number): { entry: SessionEntry; nameLinks: readonly NameLink[] } {
  const { entries, links } = snapshot(instance);
  const entry = entries.find((candidate) => candidate.id === id);
  if (entry === undefined) throw new WshError("session_not_found", `no session '${paneId(id)}' in '${instance.name}'`);
  return { entry, nameLinks: links.filter(({ owner }) => owner === id) };
}

/** Ends a name by a rename, which needs no room: an ended session's name becomes free on a full disk too. */
function endName(instance: Instance, id: number, file: string): void {
  const live = join(instance.namesDir, file);
  fs.renameSync(live, `${live}~${id}`);
}

/** Like setEnded, for a session process that has this name. @returns false if it does not have it */
function endKnown(instance: Instance, { id, name }: KnownLinks): boolean {
  const file = nameFile(name);
  if (processOfLink(instance, file) !== id) return false;
  endName(instance, id, file);
  return true;
}

/**
 * Like removeEntry, for a session process that has one window and pane, and this name. @returns false if it does not
 * have that name
 */
function removeKnown(instance: Instance, known: KnownLinks): boolean {
  const { id, name } = known;
  if (known.hasMore === true) return false;
  const file = nameFile(name);
  const named = [file, `${file}~${id}`].filter((each) => processOfLink(instance, each) === id);
  if (named.length === 0) return false;
  for (const each of named) unlinkName(instance, each);
  unlinkIds(instance, known);
  removeProcess(instance, id);
  return true;
}

/** Removes one session process's names and ids, then its socket: a name never outlives its session. */
function removeEntry(instance: Instance, id: number, { links, ids, panes }: Snapshot): void {
  for (const { file, owner } of [...links, ...ids, ...panes]) if (owner === id) unlinkName(instance, file);
  removeProcess(instance, id);
}

/** Removes the socket, then the lock: a socket without a lock is never visible. */
function removeProcess(instance: Instance, id: number): void {
  const socket = sessionSocket(instance, id);
  unlinkSocket(socket);
  removeTmux(instance, id);
  removeLock(lockBeside(socket));
}

/** Removes the dead session process that has the live name, or the name alone when its process's socket is gone. */
function removeNamed(instance: Instance, name: string): void {
  const file = nameFile(name);
  const owner = processOfLink(instance, file);
  if (owner === undefined) return;
  if (processState(sessionSocket(instance, owner)) === "dead") removeEntry(instance, owner, snapshot(instance));
  if (isOrphan(instance, file, owner)) unlinkName(instance, file);
}

/** Whether a link leads neither to a socket nor to a process that has temporarily lost its socket. */
export function isOrphan(instance: Instance, file: string, owner = processOfLink(instance, file)): boolean {
  if (owner === undefined) return false;
  const socket = sessionSocket(instance, owner);
  return processState(socket) === "absent" && lockState(lockBeside(socket)) !== "held";
}

export function link(instance: Instance, id: number, file: string): void {
  fs.symlinkSync(linkTarget(id), join(instance.namesDir, file));
}

/** Points a link to another process, in one step, so that no reader finds it missing. The caller holds the lock. */
export function relink(instance: Instance, id: number, file: string): void {
  const beside = join(instance.sessionsDir, `link.${id}`);
  fs.rmSync(beside, { force: true });
  fs.symlinkSync(linkTarget(id), beside);
  fs.renameSync(beside, join(instance.namesDir, file));
}

function isThere(instance: Instance, file: string): boolean {
  return fs.lstatSync(join(instance.namesDir, file), { throwIfNoEntry: false }) !== undefined;
}

/** Removes a name or ids; a file that is not a link to a process is kept. */
export function unlinkName(instance: Instance, file: string): void {
  if (processOfLink(instance, file) !== undefined) fs.rmSync(join(instance.namesDir, file), { force: true });
}

function conflict(name: string): WshError {
  return new WshError("session_name_conflict", `a session named '${name}' already exists`);
}
