/**
 * A process of ours is alive while it holds a lock: an exclusive flock on its own file, which the kernel frees only
 * at its death; it may be stopped or busy. The file is in the state directory, since cleaners delete regular files of
 * /tmp. Beside the process's socket is a link to it (`7.lock`), so the lock is found with the socket from any state
 * directory. One descriptor holds it, closed on exec, so that no shell inherits it. A file's name is never reused:
 * `INSTANCE.ID.BOOT.PID.RANDOM.lock`. If the file is lost, its process makes a new one (own-files-watch.ts); until
 * then BOOT and PID of the link decide, and in doubt it counts as alive.
 */

import fs from "node:fs";
import { basename, join } from "node:path";
import { errorCode } from "../base/errno.ts";
import { randomToken } from "../base/random-token.ts";
import { pointTo } from "../instance/owned-files.ts";
import { type Instance, inKeptDir, keptDirs } from "../instance/paths.ts";
import { refused } from "../instance/system-refusal.ts";
import { bootId } from "../platform/boot.ts";
import { tryFlock } from "../platform/descriptors.ts";
import { onFirstUse } from "../platform/libc.ts";
import { platform } from "../platform/platform.ts";
import { namesIn, readLink } from "../platform/readable.ts";

/** `none`: no process has ever linked a lock at the path. */
type LockState = "held" | "free" | "none";

export interface LifeLock extends Disposable {
  /** The lock file. */
  readonly path: string;
  /** Whether the link beside the socket leads to the file: another process that took over the socket redirects it. */
  readonly isLinked: boolean;
  /** Whether others can still find it: it is linked, and the file at the path is the locked one. */
  readonly isFound: boolean;
  /** Removes file and link, if they are still this lock's. The process counts as gone from then on. */
  discard(): void;
}

const KEPT_DIR = "locks";
/** Characters of the boot's digest in a file name: enough to distinguish the few boots and machines of one account. */
const BOOT_LENGTH = 10;
const RANDOM_LENGTH = 10;
const filePattern = /^([^.]+)\.[a-z0-9]+\.([a-z0-9]+)\.([1-9][0-9]*)\.[A-Za-z0-9]+\.lock$/;
/**
 * Age of a file without a holder, in ms, at which it is a leftover: it is locked some microseconds after its creation.
 */
const UNLOCKED_MS = 60_000;
/** Like UNLOCKED_MS, for files of another boot or machine: a month. */
const FOREIGN_MS = 30 * 24 * 3_600_000;

/** The link to the lock of the process that has this socket: `7.lock` beside `7.sock`. */
export function lockBeside(socket: string): string {
  return socket.replace(/\.sock$/, ".lock");
}

/**
 * Makes this process's lock and links it beside the socket, replacing any link there. The caller holds the
 * registry's lock and knows that no other process has the socket.
 * @throws WshError runtime_dir_unusable
 */
export function takeLifeLock(instance: Instance, socket: string): LifeLock {
  const label = basename(socket).split(".").at(-2) ?? "";
  const name = [instance.fileName, label, boot(), process.pid, randomToken(RANDOM_LENGTH), "lock"].join(".");
  const link = lockBeside(socket);
  try {
    return inKeptDir(instance, KEPT_DIR, (directory) => makeLock(join(directory, name), link));
  } catch (thrown) {
    throw refused(`the life lock of this process in ${keptDirs(instance, KEPT_DIR)[0]}`, thrown);
  }
}

function makeLock(path: string, link: string): LifeLock {
  const { O_RDWR, O_CREAT, O_EXCL } = fs.constants;
  const fd = fs.openSync(path, O_RDWR | O_CREAT | O_EXCL, 0o600);
  try {
    const lock = tryFlock(fd);
    if (lock.kind !== "taken") throw lock.kind === "refused" ? lock.error : new Error("another process has locked it");
    pointTo(link, path);
    return lifeLock(path, link, fd);
  } catch (thrown) {
    fs.closeSync(fd);
    fs.rmSync(path, { force: true });
    throw thrown;
  }
}

function lifeLock(path: string, link: string, open: number): LifeLock {
  let fd: number | null = open;
  const close = (): void => {
    if (fd !== null) fs.closeSync(fd);
    fd = null;
  };
  return {
    path,
    get isLinked() {
      return readLink(link) === path;
    },
    get isFound() {
      return fd !== null && readLink(link) === path && isAt(path, fd);
    },
    discard() {
      if (readLink(link) === path) fs.rmSync(link, { force: true });
      if (fd !== null && isAt(path, fd)) fs.rmSync(path, { force: true });
      close();
    },
    [Symbol.dispose]: close,
  };
}

/** Whether the process that made this link is alive. Changes nothing, and does not disturb concurrent checks. */
export function lockState(link: string): LockState {
  const path = readLink(link);
  return path === null ? "none" : stateOfFile(path);
}

/**
 * The pid of the process that made the link, if meaningful: only while the lock is held, in the same boot, and outside
 * of pid namespaces.
 */
export function lockOwner(link: string): number | null {
  const parts = partsOf(readLink(link) ?? "");
  return parts === null || parts.boot !== boot() ? null : parts.pid;
}

/** Removes a dead process's link and lock file. The caller holds the registry's lock. */
export function removeLock(link: string): void {
  const path = readLink(link);
  if (path === null || partsOf(path) === null) return;
  fs.rmSync(link, { force: true });
  removeEmpty(path);
}

/**
 * Removes the lock files of dead processes that were left when the runtime directory was deleted, as by a reboot. Costs
 * some calls for each lock file of the instance.
 */
export function removeLeftLocks(instance: Instance): void {
  const directories = keptDirs(instance, KEPT_DIR);
  for (const path of directories.flatMap((directory) => namesIn(directory).map((name) => join(directory, name)))) {
    const parts = partsOf(path);
    if (parts === null || parts.instance !== instance.fileName) continue;
    // Machines that share the directory need not see each other's locks.
    const oldMs = parts.boot === boot() ? UNLOCKED_MS : FOREIGN_MS;
    if (ageMs(path) > oldMs && stateOfFile(path) === "free") removeEmpty(path);
  }
}

function stateOfFile(path: string): "held" | "free" {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  let fd: number;
  try {
    fd = fs.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    // A file that cannot be read does not count as dead.
    const isLost = errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR";
    return isLost && isOver(path) ? "free" : "held";
  }
  try {
    return tryFlock(fd, "shared").kind === "taken" ? "free" : "held";
  } finally {
    fs.closeSync(fd);
  }
}

/** Whether the process that made a lost file is certainly gone. */
function isOver(path: string): boolean {
  const parts = partsOf(path);
  if (parts === null) return false;
  return parts.boot !== boot() || !platform().processes.isAlive(parts.pid);
}

function partsOf(path: string): { instance: string; boot: string; pid: number } | null {
  const [, instance, madeIn, pid] = filePattern.exec(basename(path)) ?? [];
  if (instance === undefined || madeIn === undefined || pid === undefined) return null;
  return { instance, boot: madeIn, pid: Number(pid) };
}

const boot = onFirstUse(() => Bun.hash(bootId()).toString(36).slice(0, BOOT_LENGTH));

function isAt(path: string, fd: number): boolean {
  const there = fs.lstatSync(path, { bigint: true, throwIfNoEntry: false });
  const own = fs.fstatSync(fd, { bigint: true });
  return there !== undefined && there.ino === own.ino && there.dev === own.dev;
}

/** Lock files are empty: a non-empty one is not ours. */
function removeEmpty(path: string): void {
  const stat = fs.lstatSync(path, { throwIfNoEntry: false });
  if (stat?.isFile() && stat.size === 0) fs.rmSync(path, { force: true });
}

function ageMs(path: string): number {
  const stat = fs.lstatSync(path, { throwIfNoEntry: false });
  return stat === undefined ? 0 : Date.now() - stat.mtimeMs;
}
