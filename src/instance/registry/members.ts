/**
 * Sessions with several panes in the registry: the layout process has the session's name and ids; each pane's process
 * has its socket and a link `@s3~7`, which says to which session it belongs. Listings and the session limit skip
 * members. Everything here runs under the registry's lock.
 */
import { WshError } from "../../protocol/errors.ts";
import { sessionId } from "../../protocol/names.ts";
import { withDirectoryLock } from "../lock.ts";
import { hostSocket, type Instance, prepareRuntimeDir } from "../paths.ts";
import { withCounters } from "./counters.ts";
import { fileNames, hostOfLink, idsFile, memberFile, nameFile, snapshot } from "./directories.ts";
import type { LifeLock } from "./life-lock.ts";
import { processState } from "./liveness.ts";
import { bindAnd, type ClaimRequest, unoccupied } from "./register.ts";
import { cleanStaleLocked, type KnownLinks, link, relink, removeHost, unlinkName } from "./registry.ts";

interface Bound {
  readonly id: number;
  readonly socket: string;
  readonly life: LifeLock;
}

/** Binds a socket under an id of its own, and registers nothing else: for a layout process, before it takes over. */
export async function claimSocket(instance: Instance, bind: ClaimRequest["bind"]): Promise<Bound> {
  prepareRuntimeDir(instance);
  return withDirectoryLock(instance.hostsDir, async () => {
    const id = await nextPane(instance);
    return { id, ...(await bindAnd(instance, id, bind, () => {})) };
  });
}

/**
 * Registers a pane of a session.
 * @throws WshError resource_limit_reached when the session, or all sessions together, have as many as they may
 */
export async function claimMember(
  instance: Instance,
  request: {
    readonly session: number;
    readonly maxPanes: number;
    readonly maxAll: number;
    readonly bind: ClaimRequest["bind"];
  },
): Promise<Bound> {
  const { session, maxPanes, maxAll, bind } = request;
  prepareRuntimeDir(instance);
  return withDirectoryLock(instance.hostsDir, async () => {
    if (fileNames(instance).ids.length >= Math.min(maxPanes, maxAll)) requireRoom(instance, session, maxPanes, maxAll);
    const id = await nextPane(instance);
    return { id, ...(await bindAnd(instance, id, bind, () => link(instance, id, memberFile(session, id)))) };
  });
}

function requireRoom(instance: Instance, session: number, maxPanes: number, maxAll: number): void {
  cleanStaleLocked(instance);
  const { members } = snapshot(instance);
  const own = members.filter((member) => member.session === session).length;
  if (own < maxPanes && members.length < maxAll) return;
  const what = own >= maxPanes ? `session '${sessionId(session)}' has ${own}` : `the instance has ${members.length}`;
  throw new WshError("resource_limit_reached", `${what} panes already`);
}

function nextPane(instance: Instance): Promise<number> {
  return withCounters(instance, fileNames(instance), (next) => {
    const id = unoccupied(instance, next.pane);
    return { result: id, after: { ...next, pane: id + 1 } };
  });
}

/** Gives out the id of a new window. */
export function takeWindowId(instance: Instance): Promise<number> {
  return withDirectoryLock(instance.hostsDir, () =>
    withCounters(instance, fileNames(instance), (next) => ({
      result: next.window,
      after: { ...next, window: next.window + 1 },
    })),
  );
}

/** A window of a session that its layout process has made can be found by its id; or no more. */
export async function linkWindow(
  instance: Instance,
  window: { readonly id: number; readonly session: number; readonly window: number },
  isThere: boolean,
): Promise<void> {
  await withDirectoryLock(instance.hostsDir, () => {
    const file = idsFile(window);
    if (isThere) relink(instance, window.id, file);
    else if (hostOfLink(instance, file) === window.id) unlinkName(instance, file);
  });
}

/**
 * Moves a session's name and ids from one process to another; the first one becomes a member. At every moment the name
 * leads to one of the two.
 * @throws WshError session_not_found when the process no longer has the name
 */
export async function handOverSession(instance: Instance, from: KnownLinks, to: number): Promise<void> {
  await withDirectoryLock(instance.hostsDir, () => {
    const file = nameFile(from.name);
    if (hostOfLink(instance, file) !== from.id) {
      throw new WshError("session_not_found", `session '${from.name}' has another process meanwhile`);
    }
    link(instance, from.id, memberFile(from.session, from.id));
    relink(instance, to, idsFile(from));
    relink(instance, to, file);
  });
}

/**
 * A session whose layout process was lost gets another one. The caller has bound its socket.
 * @throws WshError session_name_conflict when another process has taken the session over, or another session its name
 */
export async function takeOverSession(
  instance: Instance,
  lost: { readonly id: number; readonly session: number; readonly name: string; readonly windows: readonly number[] },
  to: number,
): Promise<void> {
  await withDirectoryLock(instance.hostsDir, () => {
    const file = nameFile(lost.name);
    const holder = hostOfLink(instance, file);
    if (processState(hostSocket(instance, lost.id)) === "alive") {
      throw new WshError("session_name_conflict", `session '${lost.name}' has a layout process already`);
    }
    if (holder !== undefined && holder !== lost.id && holder !== to) {
      throw new WshError("session_name_conflict", `a session named '${lost.name}' exists already`);
    }
    for (const window of lost.windows) relink(instance, to, idsFile({ session: lost.session, window }));
    relink(instance, to, file);
    for (const each of snapshot(instance).ids.filter(({ host }) => host === lost.id)) unlinkName(instance, each.file);
    removeHost(instance, lost.id);
  });
}

/** Ids of the processes that belong to a session, oldest first. */
export function membersOf(instance: Instance, session: number): number[] {
  const own = snapshot(instance).members.filter((member) => member.session === session);
  return own.flatMap(({ host }) => host ?? []).sort((a, b) => a - b);
}

/**
 * Sockets of living processes that belong to a session, or to any; those of panes that have left the layout, too.
 * @param session null: any
 */
export function memberSockets(instance: Instance, session: number | null): string[] {
  const own = snapshot(instance).members.filter((member) => session === null || member.session === session);
  const sockets = own.flatMap(({ host }) => host ?? []).map((host) => hostSocket(instance, host));
  return sockets.filter((socket) => processState(socket) === "alive");
}

/** Puts a pane's process into another session. */
export async function moveMember(instance: Instance, id: number, from: number, to: number): Promise<void> {
  await withDirectoryLock(instance.hostsDir, () => {
    link(instance, id, memberFile(to, id));
    unlinkName(instance, memberFile(from, id));
  });
}

/** Removes a pane's process from the registry. */
export async function releaseMember(instance: Instance, session: number, id: number): Promise<void> {
  await withDirectoryLock(instance.hostsDir, () => {
    const file = memberFile(session, id);
    if (hostOfLink(instance, file) === id) unlinkName(instance, file);
    removeHost(instance, id);
  });
}
