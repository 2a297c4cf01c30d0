/**
 * The file system is the registry. A host is the socket NAME/ID.sock; its session's name is a hard link to that socket
 * in NAME/names, so a name belongs to a host because both are one inode. `dev` is the name of a live session; `dev~7`
 * is the name of the session with pane 7, whose program has ended: `dev` can be taken again. `@s3.w5`, a third
 * link, is the ids of the host's session and window, for as long as it has its socket. Everything that changes the
 * registry runs under flock on NAME.lock; reading takes no lock and tolerates what changes meanwhile (between link and
 * unlink of a rename a host has two names for a moment). A socket that does not answer may be removed by anyone who
 * holds the lock; what is not a socket is never removed. Reading costs one lstat per host and name.
 */

import fs from "node:fs";
import { join } from "node:path";
import { errorCode } from "../../base/errno.ts";
import { WshError } from "../../protocol/errors.ts";
import { checkSessionName, formatTarget, paneId, sessionId, type Target } from "../../protocol/names.ts";
import { withLock } from "../lock.ts";
import { checkRuntimeDir, hostSocket, type Instance } from "../paths.ts";
import { refused } from "../refused.ts";
import {
  idsFile,
  type NameLink,
  nameFile,
  type SessionEntry,
  type SessionIds,
  type Snapshot,
  snapshot,
  socketInode,
} from "./directories.ts";
import { probeSocket, type SocketState } from "./socket-probe.ts";

/** All session processes in order of creation, dead ones included: connecting shows which (see cleanStale). */
export function listSessions(instance: Instance): readonly SessionEntry[] {
  return checkRuntimeDir(instance) ? snapshot(instance).entries : [];
}

/**
 * The host that a target addresses. Of several sessions that had a name the live one is meant, else the newest ended.
 * Window and pane are the host's to find. WshError session_not_found when there is none.
 */
export function findSession(instance: Instance, target: Target): SessionEntry {
  const found = lookUp(listSessions(instance), target);
  if (found !== undefined) return found;
  throw new WshError("session_not_found", `no session '${formatTarget(target)}' in instance '${instance.name}'`);
}

/** As findSession, over a list that the caller has already; undefined when there is none. */
export function lookUp(entries: readonly SessionEntry[], target: Target): SessionEntry | undefined {
  switch (target.kind) {
    case "pane":
      return entries.find((entry) => entry.id === target.id);
    case "window_id":
      return entries.find((entry) => entry.window === target.id);
    case "session_id":
      return entries.find((entry) => entry.session === target.id);
  }
  const named = entries.filter((entry) => entry.name === target.name);
  return named.find((entry) => !entry.ended) ?? named.at(-1);
}

/** Whether the session process's socket is still where it was bound: false after the runtime directory was deleted. */
export function isRegistered(instance: Instance, id: number): boolean {
  return fs.existsSync(hostSocket(instance, id));
}

/**
 * Renames a session. Its current name is a success without effect; a live session's name is session_name_conflict, an
 * ended session's is free.
 */
export async function renameSession(instance: Instance, id: number, name: string): Promise<void> {
  checkSessionName(name);
  await withLock(instance.lockFile, () => {
    const { own, entry } = ownLinks(instance, id);
    if (entry.name === name) return;
    linkName(instance, entry, name, entry.ended);
    for (const link of own) unlinkName(instance, link.file);
  });
}

/** What a session process knows of its own links, so that the directories need not be read. */
export interface KnownLinks extends SessionIds {
  readonly name: string;
}

/**
 * Marks a session as ended: it keeps its name for readers, but a new session may take it.
 * @param session its pane's id, or all that its own process knows
 */
export async function markEnded(instance: Instance, session: number | KnownLinks): Promise<void> {
  await setEnded(instance, session, true);
}

/** Takes the name back for a session whose program was started again; session_name_conflict when it is taken. */
export async function markLive(instance: Instance, id: number): Promise<void> {
  await setEnded(instance, id, false);
}

/**
 * Removes a session's names, ids and socket: it is gone for everyone. Repeating it changes nothing.
 * @param session its pane's id, or all that its own process knows
 */
export async function releaseSession(instance: Instance, session: number | KnownLinks): Promise<void> {
  const id = typeof session === "number" ? session : session.id;
  if (!checkRuntimeDir(instance) || !isRegistered(instance, id)) return;
  await withLock(instance.lockFile, () => {
    if (typeof session === "number" || !removeKnown(instance, session)) {
      removeEntry(instance, id, snapshot(instance));
    }
  });
}

/**
 * Removes the sockets that do not answer, with their names, and names whose process is gone; `ids` limits it to those
 * processes. Returns what was removed. A stopped or overloaded process is not dead.
 */
export async function cleanStale(instance: Instance, ids?: readonly number[]): Promise<SessionEntry[]> {
  if (!checkRuntimeDir(instance)) return [];
  return withLock(instance.lockFile, () => cleanStaleLocked(instance, ids));
}

/** cleanStale for a caller that holds the lock. */
export function cleanStaleLocked(instance: Instance, ids?: readonly number[]): SessionEntry[] {
  const current = snapshot(instance);
  const { entries, inodes } = current;
  const candidates = ids === undefined ? entries : entries.filter((entry) => ids.includes(entry.id));
  const dead = candidates.filter((entry) => probeSocket(entry.socket) === "dead");
  for (const entry of dead) removeEntry(instance, entry.id, current);

  const hosts = new Set(inodes.values());
  const links = ids === undefined ? [...current.links, ...current.ids] : [];
  const orphans = links.filter((link) => !hosts.has(link.inode));
  for (const link of orphans) if (probeName(instance, link.file) === "dead") unlinkName(instance, link.file);
  return dead;
}

/**
 * Links a name to a host's socket; the caller holds the lock. A dead host that still has the name is cleaned away.
 * WshError session_name_conflict when a live session has it.
 */
export function linkName(
  instance: Instance,
  host: Pick<SessionEntry, "id" | "socket">,
  name: string,
  ended: boolean,
): void {
  const file = nameFile(name);
  const live = join(instance.namesDir, file);
  if (probeName(instance, file) === "dead") removeNamed(instance, name);
  if (ended && fs.existsSync(live)) throw conflict(name);
  try {
    fs.linkSync(host.socket, ended ? `${live}~${host.id}` : live);
  } catch (error) {
    if (errorCode(error) === "EEXIST") throw conflict(name);
    throw refused(`the name '${name}' cannot be registered`, error);
  }
}

/**
 * Links the ids of session and window to the socket; the caller holds the lock. A link that is there already is that of
 * a session that has the same ids: WshError session_create_failed.
 */
export function linkIds(instance: Instance, ids: SessionIds): void {
  const file = idsFile(ids);
  try {
    fs.linkSync(hostSocket(instance, ids.id), join(instance.namesDir, file));
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw refused(`the id '${sessionId(ids.session)}' cannot be registered`, error);
    const path = join(instance.namesDir, file);
    throw new WshError("session_create_failed", `the id '${sessionId(ids.session)}' is in use: ${path} exists`, {
      hint: "Delete the file if no session of the instance has the id.",
    });
  }
}

/** Removes the links of linkIds for a claim that failed. The caller holds the lock. */
export function unlinkIds(instance: Instance, ids: SessionIds): void {
  const file = idsFile(ids);
  const inode = socketInode(hostSocket(instance, ids.id));
  if (inode !== null && socketInode(join(instance.namesDir, file)) === inode) unlinkName(instance, file);
}

/**
 * Removes what is left of a host that registers again: its socket, its ids, and the name if no host has it any more.
 * The caller holds the lock and knows that no other live session has the name.
 */
export function removeOwn(instance: Instance, ids: SessionIds, name: string): void {
  removeEntry(instance, ids.id, snapshot(instance));
  unlinkName(instance, idsFile(ids));
  removeNamed(instance, name);
}

/** Removes a socket if there is one; any other file at the path stays. */
export function unlinkSocket(path: string): void {
  if (fs.lstatSync(path, { throwIfNoEntry: false })?.isSocket()) fs.rmSync(path, { force: true });
}

async function setEnded(instance: Instance, session: number | KnownLinks, ended: boolean): Promise<void> {
  const id = typeof session === "number" ? session : session.id;
  await withLock(instance.lockFile, () => {
    if (ended && typeof session !== "number" && endKnown(instance, session)) return;
    const { own, entry } = ownLinks(instance, id);
    if (entry.name === null || entry.ended === ended) return;
    const live = own.find((link) => link.endedId === null);
    // A rename, which needs no room: on a full disk, too, an ended session's name is free.
    if (live !== undefined)
      fs.renameSync(join(instance.namesDir, live.file), join(instance.namesDir, `${nameFile(entry.name)}~${id}`));
    else linkName(instance, entry, entry.name, false);
    for (const link of own) if (link !== live) unlinkName(instance, link.file);
  });
}

function ownLinks(instance: Instance, id: number): { entry: SessionEntry; own: readonly NameLink[] } {
  const { entries, inodes, links } = snapshot(instance);
  const entry = entries.find((candidate) => candidate.id === id);
  if (entry === undefined) throw new WshError("session_not_found", `no session '${paneId(id)}' in '${instance.name}'`);
  return { entry, own: links.filter((link) => link.inode === inodes.get(id)) };
}

/** The host's socket and how many names it has: each is a link to it, as are its ids. Null when it is gone. */
function ownSocket(instance: Instance, known: KnownLinks): { inode: string; names: number } | null {
  const path = hostSocket(instance, known.id);
  const inode = socketInode(path);
  const links = fs.lstatSync(path, { throwIfNoEntry: false })?.nlink;
  if (inode === null || links === undefined) return null;
  const hasIds = socketInode(join(instance.namesDir, idsFile(known))) === inode;
  return { inode, names: links - (hasIds ? 2 : 1) };
}

/** As setEnded, for a host whose only name is this one. @returns false when that is not so */
function endKnown(instance: Instance, known: KnownLinks): boolean {
  const { id, name } = known;
  const own = ownSocket(instance, known);
  const file = nameFile(name);
  const live = join(instance.namesDir, file);
  if (own?.names !== 1 || socketInode(live) !== own.inode) return false;
  fs.linkSync(hostSocket(instance, id), `${live}~${id}`);
  unlinkName(instance, file);
  return true;
}

/** As removeEntry, for a host whose only name is this one. @returns false when that is not so */
function removeKnown(instance: Instance, known: KnownLinks): boolean {
  const { id, name } = known;
  const own = ownSocket(instance, known);
  if (own === null) return true;
  const file = nameFile(name);
  const named = [file, `${file}~${id}`].filter((each) => socketInode(join(instance.namesDir, each)) === own.inode);
  if (own.names !== named.length) return false;
  for (const each of named) unlinkName(instance, each);
  unlinkIds(instance, known);
  unlinkSocket(hostSocket(instance, id));
  return true;
}

/** Removes one host's names and ids, then its socket: a name never outlives what it names. */
function removeEntry(instance: Instance, id: number, { inodes, links, ids }: Snapshot): void {
  const inode = inodes.get(id);
  if (inode === undefined) return;
  for (const link of [...links, ...ids]) if (link.inode === inode) unlinkName(instance, link.file);
  unlinkSocket(hostSocket(instance, id));
}

/** Removes the dead host that has the live name, or the name alone when its host's socket is gone. */
function removeNamed(instance: Instance, name: string): void {
  const current = snapshot(instance);
  const { inodes, links } = current;
  const link = links.find((candidate) => candidate.name === name && candidate.endedId === null);
  if (link === undefined) return;
  for (const [id, inode] of inodes) if (inode === link.inode) removeEntry(instance, id, current);
  unlinkName(instance, link.file);
}

/**
 * Who answers at a name. A name may be longer than a socket path can be, so it is asked through a short link of its
 * own; the caller holds the lock.
 */
function probeName(instance: Instance, file: string): SocketState {
  const path = join(instance.namesDir, file);
  if (socketInode(path) === null) return "absent";
  const short = join(instance.hostsDir, "probe");
  unlinkSocket(short);
  fs.linkSync(path, short);
  try {
    return probeSocket(short);
  } finally {
    unlinkSocket(short);
  }
}

function unlinkName(instance: Instance, file: string): void {
  unlinkSocket(join(instance.namesDir, file));
}

function conflict(name: string): WshError {
  return new WshError("session_name_conflict", `a session named '${name}' exists already`);
}
