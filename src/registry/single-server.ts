/**
 * One server per instance: binding happens under the registry's lock, after checking that no server holds the
 * lock beside the sockets (life-lock.ts). Files of a dead server are removed there; a path that is not a
 * socket prevents the start. The files are unlinked at the end under the same lock, except a successor's.
 */

import fs from "node:fs";
import { withDirectoryLock } from "../instance/lock.ts";
import { type Instance, maxSocketPathBytes, prepareRuntimeDir } from "../instance/paths.ts";
import { platform } from "../platform/platform.ts";
import { WshError } from "../protocol/errors.ts";
import { type LifeLock, lockBeside, lockOwner, lockState, removeLock, takeLifeLock } from "./life-lock.ts";
import { listenerPid, type ProcessState, processState } from "./liveness.ts";
import { unlinkSocket } from "./registry.ts";

/** Longest life of a socket whose process is gone, in ms: a thousand times the start of a program. */
const ORPHAN_MS = 1_000;
const LOOK_MS = 5;

/**
 * Runs `bind`, which listens on httpSocket and mcpSocket (and TCP), as the instance's only server.
 * @param ownLock the lock of the calling server, if it already serves and has lost files: its own sockets are
 * replaced
 * @returns the result of `bind`, and the lock that the process now holds as long as it serves
 * @throws WshError server_already_running when another one lives
 */
export async function claimServer<T>(
  instance: Instance,
  bind: () => T | Promise<T>,
  ownLock?: LifeLock,
): Promise<{ bound: T; life: LifeLock }> {
  prepareRuntimeDir(instance);
  return withDirectoryLock(instance.sessionsDir, async () => {
    const isOwn = ownLock !== undefined && isOurs(instance, ownLock);
    for (const each of allSockets(instance)) {
      if (isOwn || (ownLock !== undefined && listenerPid(each) === process.pid)) unlinkSocket(each);
      else await clearSocket(instance, each);
    }
    removeFreeLock(instance);
    const life = takeLifeLock(instance, instance.httpSocket);
    try {
      return { bound: await bind(), life };
    } catch (error) {
      life.discard();
      throw error;
    }
  });
}

/** Removes the files of a killed server, if none lives. Waits for the registry's lock. */
export async function clearDeadServer(instance: Instance): Promise<void> {
  if (!fs.existsSync(instance.sessionsDir)) return;
  await withDirectoryLock(instance.sessionsDir, () => {
    for (const each of allSockets(instance)) {
      if (serverState(instance, each) === "dead") fs.rmSync(each, { force: true });
    }
    removeFreeLock(instance);
  });
}

/**
 * The same, for a caller that otherwise starts a server. A killed server holds its lock until its last thread
 * has ended and each of its children has executed its own program: this waits for that.
 */
export async function isServerRunning(instance: Instance): Promise<boolean> {
  if (!isServerAlive(instance)) return false;
  await orphanGone(instance.httpSocket, lockBeside(instance.httpSocket));
  return isServerAlive(instance);
}

/** Whether a server of the instance lives. */
export function isServerAlive(instance: Instance): boolean {
  return serverState(instance, instance.httpSocket) === "alive";
}

/** The state of the process behind one of the server's sockets. */
export function serverState(instance: Instance, socket: string): ProcessState {
  return processState(socket, lockBeside(instance.httpSocket));
}

/**
 * Whether no other server has taken over: the link to the lock is ours, or was deleted while our socket is still there.
 */
function isOurs({ httpSocket }: Instance, own: LifeLock): boolean {
  return own.isLinked || (lockState(lockBeside(httpSocket)) === "none" && listenerPid(httpSocket) === process.pid);
}

/**
 * Binds a listener beside the path, which must be free, and moves its socket there, readable by its owner alone. When a
 * listener stops, Bun unlinks the path that it bound: a successor's socket may be there by then.
 */
export function bindAside<T extends { stop(): unknown }>(path: string, bind: (aside: string) => T): T {
  const aside = besides(path);
  const bound = bind(aside);
  try {
    fs.chmodSync(aside, 0o600);
    fs.renameSync(aside, path);
  } catch (error) {
    void bound.stop();
    throw error;
  }
  return bound;
}

function besides(path: string): string {
  return `${path}~`;
}

/** Runs `close`, which stops listening, and removes the server's files unless they are a successor's. */
export async function releaseServer(
  instance: Instance,
  life: LifeLock,
  close: () => void | Promise<void>,
): Promise<void> {
  try {
    if (!fs.existsSync(instance.sessionsDir)) return await close(); // the directory was deleted: nothing is left to guard
    await withDirectoryLock(instance.sessionsDir, async () => {
      const isOwn = isOurs(instance, life);
      await close();
      if (isOwn) for (const path of serverSockets(instance)) unlinkSocket(path);
    });
  } finally {
    life.discard();
  }
}

/** Waits until the lock of a server whose process has ended is free. */
async function orphanGone(path: string, link: string): Promise<void> {
  const deadline = performance.now() + ORPHAN_MS;
  while (performance.now() < deadline && isOrphan(path, link)) await Bun.sleep(LOOK_MS);
}

/** Whether the process that took the lock has ended although the lock is still held. */
function isOrphan(path: string, link: string): boolean {
  const owner = lockOwner(link);
  if ((owner !== null && isRunning(owner)) || processState(path, link) !== "alive") return false;
  if (Buffer.byteLength(path) > maxSocketPathBytes) return false;
  const outcome = platform().sockets.connect(path);
  if (outcome.kind === "refused") return owner !== null;
  // A process of another pid namespace has another number there, which the kernel does not report.
  return outcome.kind === "connected" && (outcome.pid ?? 0) > 0 && !isRunning(outcome.pid ?? 0);
}

/**
 * Whether a process runs: it is neither a zombie nor ending. An ending process loses its arguments with its memory; its
 * files close after that.
 */
function isRunning(pid: number): boolean {
  const { processes } = platform();
  return processes.isAlive(pid) && processes.stat(pid)?.state !== "ended" && processes.args(pid).length > 0;
}

/** The server's sockets, and remains of an interrupted start (bindAside). */
function allSockets(instance: Instance): readonly string[] {
  return serverSockets(instance).flatMap((path) => [path, besides(path)]);
}

/** Removes a dead server's lock. */
function removeFreeLock({ httpSocket }: Instance): void {
  const link = lockBeside(httpSocket);
  if (lockState(link) === "free") removeLock(link);
}

function serverSockets(instance: Instance): readonly string[] {
  return [instance.httpSocket, instance.mcpSocket];
}

async function clearSocket(instance: Instance, path: string): Promise<void> {
  await orphanGone(path, lockBeside(instance.httpSocket));
  const state = serverState(instance, path);
  if (state === "dead") fs.rmSync(path, { force: true });
  if (state === "alive") {
    throw new WshError("server_already_running", `a server of instance '${instance.name}' already listens on ${path}`);
  }
  if (state === "not_a_socket") {
    throw new WshError("runtime_dir_unusable", `${path} is not a socket`, {
      hint: "Move the file away; wsh removes only sockets.",
    });
  }
}
