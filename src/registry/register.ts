/**
 * How a session process registers: ids that were never given before (counters.ts), a bound socket and a name, all under
 * the registry's lock, or nothing. The session limit counts live sessions. The same number of ended sessions may be
 * kept for reading; beyond that the oldest are removed, so that quick commands never prevent a new session.
 */

import fs from "node:fs";
import { join } from "node:path";
import { withDirectoryLock } from "../instance/lock.ts";
import { checkSocketPath, type Instance, prepareRuntimeDir, sessionSocket } from "../instance/paths.ts";
import { WshError } from "../protocol/errors.ts";
import { checkSessionName, defaultSessionName, nextNumericName, sessionId } from "../protocol/names.ts";
import { type Counters, withCounters } from "./counters.ts";
import {
  type FileNames,
  fileNames,
  nameFile,
  processOfLink,
  type SessionEntry,
  type SessionIds,
  snapshot,
} from "./directories.ts";
import { type LifeLock, lockBeside, lockState, takeLifeLock } from "./life-lock.ts";
import { listenerPid } from "./liveness.ts";
import { cleanStaleLocked, isOrphan, link, linkIds, linkName, removeOwn, unlinkIds, unlinkSocket } from "./registry.ts";

/**
 * How a session is named: as requested; by the next number; `default` while it is free, else the next number (plain
 * `wsh`); or a prefix with the number of the session's id (`exec-7`).
 */
export type NameRule =
  | { readonly kind: "exact"; readonly name: string }
  | { readonly kind: "number" }
  | { readonly kind: "default" }
  | { readonly kind: "prefix"; readonly prefix: string };

interface ClaimRequest {
  readonly name: NameRule;
  readonly maxSessions: number;
  /** Binds a listener at the path. If the claim fails afterwards, the caller closes the listener. */
  readonly bind: (socketPath: string) => void | Promise<void>;
}

export interface Claim extends SessionIds {
  readonly name: string;
  readonly socket: string;
  /** Held while the process is alive. */
  readonly life: LifeLock;
}

/** A claim, and the ended sessions beyond the limit, the earliest ended first. */
export interface ClaimResult extends Claim {
  readonly tooOld: readonly SessionEntry[];
}

/**
 * Time from a refusal to the second and last try, in ms: a starter learns of a program's end some milliseconds before
 * the registry does.
 */
const END_NOTED_MS = 100;

/**
 * Registers a session. Checks the name and applies the limit before `bind` runs.
 * Throws WshError invalid_session_name, session_name_conflict, max_sessions_reached, lock_busy.
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
  return withDirectoryLock(instance.sessionsDir, async () => {
    const files = withinLimit(instance, request.maxSessions);
    const { ids, name } = await withCounters(instance, files, (next) => {
      const { session, window } = next;
      const name = chooseName(instance, request.name, files, next);
      const id = unoccupied(instance, next.pane);
      const after = { pane: id + 1, session: session + 1, window: window + 1, name: name.next };
      return { result: { ids: { id, session, window }, name: name.text }, after };
    });
    const claim = await bindAndLink(instance, ids, name, request.bind);
    return { ...claim, tooOld: files.ended.length > request.maxSessions ? tooOld(instance, request.maxSessions) : [] };
  });
}

/**
 * Registers a running session again after its runtime directory was deleted: same ids, and same name unless
 * another session took it meanwhile, in which case it gets a number. `bind` binds a new listener. WshError
 * session_create_failed when another process has the id, which is possible only when the system does not report
 * bound sockets (boundIn): taking it from each other in turn would lose both.
 * @param ownLock the lock that the process has held so far, which the new one replaces
 */
export async function restoreSession(
  instance: Instance,
  session: SessionIds & { readonly name: string; readonly ended: boolean },
  ownLock: LifeLock,
  bind: ClaimRequest["bind"],
): Promise<Claim> {
  prepareRuntimeDir(instance);
  return withDirectoryLock(instance.sessionsDir, async () => {
    const files = fileNames(instance);
    if (!ownLock.isLinked) requireUnheld(instance, session);
    const isOwn = processOfLink(instance, nameFile(session.name)) === session.id;
    const isTaken = !session.ended && !isOwn && isLiveName(instance, files, session.name);
    const name = await withCounters(instance, files, (next) => {
      const chosen = isTaken
        ? chooseName(instance, { kind: "number" }, files, next)
        : { text: session.name, next: next.name };
      const after = {
        pane: Math.max(next.pane, session.id + 1),
        session: Math.max(next.session, session.session + 1),
        window: Math.max(next.window, session.window + 1),
        name: chosen.next,
      };
      return { result: chosen.text, after };
    }).catch((error: unknown) => {
      // A session that keeps its ids and its name replaces its old lock, even if no new session could be made.
      if (isTaken) throw error;
      return session.name;
    });
    ownLock.discard();
    removeOwn(instance, session, name);
    return bindAndLink(instance, session, name, bind, session.ended);
  });
}

/**
 * Registers a process under the former ids of a crashed session.
 * @param crashed `ended`: it has the name of an ended session, which can be read and reserves nothing
 * @throws WshError session_running when a process has the ids, session_name_conflict, max_sessions_reached
 */
export async function claimCrashed(
  instance: Instance,
  crashed: SessionIds & { readonly name: string; readonly ended: boolean },
  maxSessions: number,
  bind: ClaimRequest["bind"],
): Promise<Claim> {
  checkSessionName(crashed.name);
  prepareRuntimeDir(instance);
  const { id, session, window, name, ended } = crashed;
  return withDirectoryLock(instance.sessionsDir, async () => {
    cleanStaleLocked(instance, [id]);
    if (isOccupied(sessionSocket(instance, id))) {
      throw new WshError("session_running", `session '${name}' is running: its pane has a process`);
    }
    const files = ended ? fileNames(instance) : withinLimit(instance, maxSessions);
    if (!ended) refuseConflict(instance, files, name);
    // Ids from another state directory are not issued again.
    await withCounters(instance, files, (next) => ({
      result: null,
      after: {
        pane: Math.max(next.pane, id + 1),
        session: Math.max(next.session, session + 1),
        window: Math.max(next.window, window + 1),
        name: next.name,
      },
    }));
    const links = (): void => {
      try {
        linkIds(instance, { id, session, window });
        if (ended) link(instance, id, `${nameFile(name)}~${id}`);
        else linkName(instance, { id }, name, false);
      } catch (error) {
        unlinkIds(instance, { id, session, window });
        throw error;
      }
    };
    return { id, session, window, name, ...(await bindAnd(instance, id, bind, links)) };
  });
}

/** Gives out ids for a session that begins as a copy of another. @throws WshError session_create_failed */
export function takeIds(
  instance: Instance,
  { panes, windows }: { readonly panes: number; readonly windows: number },
): Promise<{ readonly session: number; readonly panes: number[]; readonly windows: number[] }> {
  prepareRuntimeDir(instance);
  return withDirectoryLock(instance.sessionsDir, () =>
    withCounters(instance, fileNames(instance), (next) => ({
      result: {
        session: next.session,
        panes: Array.from({ length: panes }, (_, index) => next.pane + index),
        windows: Array.from({ length: windows }, (_, index) => next.window + index),
      },
      after: {
        ...next,
        session: next.session + 1,
        pane: next.pane + panes,
        window: next.window + windows,
      },
    })),
  );
}

/** @throws WshError session_create_failed when another process has the id */
function requireUnheld(instance: Instance, { id, session }: SessionIds): void {
  const socket = sessionSocket(instance, id);
  const state = lockState(lockBeside(socket));
  const holder = state === "none" ? listenerPid(socket) : null;
  if (state !== "held" && (holder === null || holder === process.pid)) return;
  throw new WshError("session_create_failed", `another process holds the socket of session ${sessionId(session)}`);
}

/**
 * The registry's file names, if one more session is allowed. They give an upper bound of sessions; only when that bound
 * is too high are the processes counted one by one and dead ones removed.
 */
function withinLimit(instance: Instance, maxSessions: number): FileNames {
  const files = fileNames(instance);
  if (files.ids.length - files.ended.length < maxSessions) return files;
  if (hasRoom(snapshot(instance).entries, maxSessions)) return files;
  cleanStaleLocked(instance);
  if (hasRoom(snapshot(instance).entries, maxSessions)) return fileNames(instance);
  throw new WshError("max_sessions_reached", `the instance '${instance.name}' already has ${maxSessions} sessions`);
}

function hasRoom(entries: readonly SessionEntry[], maxSessions: number): boolean {
  return entries.filter((entry) => !entry.ended && !entry.isMember).length < maxSessions;
}

/** The ended sessions beyond the limit, earliest ended first: their names were changed at the end. */
function tooOld(instance: Instance, maxSessions: number): readonly SessionEntry[] {
  const { entries, links } = snapshot(instance);
  const ended = entries.filter((entry) => entry.ended);
  const linkedAt = new Map(
    links.map(({ owner, file }) => {
      const stat = fs.lstatSync(join(instance.namesDir, file), { throwIfNoEntry: false });
      return [owner, stat?.ctimeMs ?? 0];
    }),
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
      refuseConflict(instance, files, checkSessionName(rule.name));
      return { text: checkSessionName(rule.name), next: counters.name };
    case "prefix": {
      const text = `${rule.prefix}${counters.session}`;
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
  throw new WshError("session_name_conflict", `a session named '${name}' already exists`);
}

/** Whether a live session has the name; removes one whose process is dead. */
function isLiveName(instance: Instance, files: FileNames, name: string): boolean {
  if (!files.live.has(nameFile(name))) return false;
  const holder = snapshot(instance).entries.find((entry) => entry.name === name && !entry.ended);
  if (holder === undefined) return !isOrphan(instance, nameFile(name));
  const removed = cleanStaleLocked(instance, [holder.id]);
  return removed.length === 0;
}

async function bindAndLink(
  instance: Instance,
  { id, session, window }: SessionIds,
  name: string,
  bind: ClaimRequest["bind"],
  ended = false,
): Promise<Claim> {
  const ids = { id, session, window };
  return {
    ...ids,
    name,
    ...(await bindAnd(instance, id, bind, () => {
      try {
        linkIds(instance, ids);
        linkName(instance, { id }, name, ended);
      } catch (error) {
        unlinkIds(instance, ids);
        throw error;
      }
    })),
  };
}

/** Binds the socket of an id and links it; a failure leaves nothing behind. The caller holds the lock. */
async function bindAnd(
  instance: Instance,
  id: number,
  bind: ClaimRequest["bind"],
  links: () => void,
): Promise<{ readonly socket: string; readonly life: LifeLock }> {
  const socket = sessionSocket(instance, id);
  checkSocketPath(socket);
  // Before the socket, which is thus never visible without a lock.
  const life = takeLifeLock(instance, socket);
  try {
    await bind(socket);
    fs.chmodSync(socket, 0o600);
    links();
    return { socket, life };
  } catch (error) {
    unlinkSocket(socket); // ours by its id
    life.discard();
    throw asWshError(error);
  }
}

/** Other files may have a socket's name: they are kept, and that id is not issued. */
export function unoccupied(instance: Instance, first: number): number {
  let id = first;
  while (isOccupied(sessionSocket(instance, id))) id += 1;
  return id;
}

/** A living process may have lost its socket temporarily. */
function isOccupied(socket: string): boolean {
  return fs.lstatSync(socket, { throwIfNoEntry: false }) !== undefined || lockState(lockBeside(socket)) === "held";
}

/** A refusal by the system (no space, no descriptors, no permission) is the session's failure, not a defect. */
function asWshError(error: unknown): WshError {
  if (error instanceof WshError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new WshError("session_create_failed", `the session cannot be registered: ${reason}`, {}, { cause: error });
}
