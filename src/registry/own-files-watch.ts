/**
 * Watches the two files by which others find this process and recognise that it is alive: its socket, and its
 * lock. Either may be deleted under it (a cleaner of /tmp, the end of a login session, an emptied state
 * directory). The files themselves are watched, not their directories, so that only the process's own renames
 * cause wake-ups, not other sessions. Links are checked with them: a deletion that still runs while the
 * process registers again may remove the new ones.
 */

import fs from "node:fs";
import { platform } from "../platform/platform.ts";
import type { LifeLock } from "./life-lock.ts";

/** Changes closer together than this, in ms, are one: a directory's files are deleted one by one. */
const debounceMs = 5;
/** Delay from the beginning of a watch to the one check that follows it, in ms. */
const settleMs = 1_000;
/** Interval from a loss to the next check of the files, in ms; a loss is then reported again. Doubled every time. */
const retryMs = 1_000;
/** Longest such interval, in ms: few wake-ups for a directory that stays deleted, and a recreated one is found soon. */
const longestRetryMs = 10_000;
/** Interval between checks of a file that cannot be watched (sockets on macOS; the system's watches used up), in ms. */
const blindPollMs = 10_000;

interface OwnFiles {
  readonly socket: string;
  /** The lock that the process holds now; after a loss, another one. */
  readonly life: LifeLock;
  /** Whether the other links by which the process is found lead to it, if it has any besides these two files. */
  isLinked?(): boolean;
}

/**
 * Calls `lost` when the socket is gone, or the lock is gone or another process's, or links are missing, and again at
 * growing intervals until all exist; then watches the new ones. Runs until disposed; keeps no process alive.
 */
export function watchOwnFiles(ownFiles: OwnFiles, lost: () => void): Disposable {
  let watchers: { close(): void }[] = [];
  let timer: Timer | null = null;
  let watched: string | null = null;
  let patience = retryMs;

  function lookIn(ms: number): void {
    clearTimeout(timer ?? undefined);
    timer = setTimeout(look, ms);
    timer.unref();
  }

  function look(): void {
    timer = null;
    const { socket, life } = ownFiles;
    const inode = fs.lstatSync(socket, { bigint: true, throwIfNoEntry: false })?.ino ?? null;
    const isFound = inode !== null && life.isFound && ownFiles.isLinked?.() !== false;
    const found = isFound ? `${inode} ${life.path}` : null;
    if (found !== null && found === watched) return;
    stop();
    if (found === null) {
      lookIn(patience);
      patience = Math.min(longestRetryMs, patience * 2);
      lost();
      return;
    }
    patience = retryMs;
    const lookSoon = (): void => lookIn(debounceMs);
    const files = [socket, life.path];
    watchers = files.flatMap((path) => watch(path, lookSoon) ?? []);
    const isWatching = watchers.length === files.length;
    if (isWatching) watched = found;
    // A deletion while the watch was being set up raises no event.
    lookIn(isWatching ? settleMs : blindPollMs);
  }

  function stop(): void {
    for (const watcher of watchers) watcher.close();
    watchers = [];
    watched = null;
  }

  look();
  return {
    [Symbol.dispose]() {
      stop();
      clearTimeout(timer ?? undefined);
    },
  };
}

/** @returns null when the file cannot be watched: sockets on macOS, or the system's watches are used up */
function watch(path: string, changed: () => void): { close(): void } | null {
  try {
    return platform().sockets.watch(path, changed, changed);
  } catch {
    return null;
  }
}
