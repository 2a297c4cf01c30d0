/**
 * Mutual exclusion between processes by flock(2). The kernel frees a lock when its holder dies, and the descriptor is
 * closed on exec (Bun opens with O_CLOEXEC), so no child keeps it. Each instance has three: its directory of sockets
 * guards the registry for milliseconds at a time, its directory of names admits one starter of a server at a time,
 * and the counters file is its own lock. They are taken in the order start, registry, counters. Directories are
 * locked instead of files beside them: cleaners of /tmp delete files, and all users of the directory must find the
 * same lock, whatever their state directory is. Attempts never block: the event loop runs between them. When a locked
 * file is deleted, the file then at its path replaces it.
 */

import fs from "node:fs";
import { tryFlock } from "../platform/descriptors.ts";
import { flockHolder } from "../platform/own-process.ts";
import { WshError } from "../protocol/errors.ts";
import { refused } from "./system-refusal.ts";

/** Longest wait for a lock, in ms: far above a holder's time (~1 ms), far below a person's patience. */
const defaultTimeoutMs = 5_000;
/** First pause between attempts, in ms: short because holders are quick; it grows so that a crowd does not spin. */
const firstPauseMs = 1;
const longestPauseMs = 16;

interface LockOptions {
  /** Time until lock_busy, in ms; default 5000. */
  readonly timeoutMs?: number;
}

/** The two locks are directories, which must exist. */
export function withDirectoryLock<T>(path: string, fn: () => T | Promise<T>, options: LockOptions = {}): Promise<T> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = fs.constants;
  return locked(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, () => fn(), options);
}

/**
 * Runs `fn` with the open lock file while holding the lock at `path`, and returns its result. The directory must exist.
 * Throws WshError lock_busy when another process holds the lock for longer than the timeout.
 */
export async function withLock<T>(
  path: string,
  fn: (fd: number) => T | Promise<T>,
  options: LockOptions = {},
): Promise<T> {
  const { O_RDWR, O_CREAT, O_NOFOLLOW } = fs.constants;
  return locked(path, O_RDWR | O_CREAT | O_NOFOLLOW, fn, options);
}

async function locked<T>(
  path: string,
  flags: number,
  fn: (fd: number) => T | Promise<T>,
  options: LockOptions,
): Promise<T> {
  const fd = await acquire(path, flags, options.timeoutMs ?? defaultTimeoutMs);
  try {
    return await fn(fd);
  } finally {
    fs.closeSync(fd);
  }
}

async function acquire(path: string, flags: number, timeoutMs: number): Promise<number> {
  const deadline = performance.now() + timeoutMs;
  let pauseMs = firstPauseMs;
  while (true) {
    const fd = tryAcquire(path, flags);
    if (fd !== null) return fd;
    const leftMs = deadline - performance.now();
    if (leftMs <= 0) throw busy(path, timeoutMs);
    // Jitter, so that twenty starters do not try in step.
    await Bun.sleep(Math.min(leftMs, pauseMs * (0.5 + Math.random())));
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
}

function tryAcquire(path: string, flags: number): number | null {
  let fd: number;
  try {
    fd = fs.openSync(path, flags, 0o600);
  } catch (error) {
    throw refused(`${path} cannot be opened to be locked`, error);
  }
  let isKept = false;
  try {
    const lock = tryFlock(fd);
    if (lock.kind === "refused") throw refused(`flock of ${path}`, lock.error);
    isKept = lock.kind === "taken" && isFileAt(path, fd);
    return isKept ? fd : null;
  } finally {
    if (!isKept) fs.closeSync(fd);
  }
}

/** Whether an open file is still the file at the path, which others open. */
export function isFileAt(path: string, fd: number): boolean {
  const ours = fs.fstatSync(fd, { bigint: true });
  const current = fs.lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return current !== undefined && current.ino === ours.ino && current.dev === ours.dev;
}

function busy(path: string, timeoutMs: number): WshError {
  const pid = flockHolder(path);
  const who = pid === null ? "another process" : `process ${pid}`;
  return new WshError("lock_busy", `${path} was locked by ${who} for more than ${timeoutMs} ms`);
}
