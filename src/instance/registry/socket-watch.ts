/**
 * Watches a process's own socket: when the runtime directory is deleted (a cleaner of /tmp, the end of a login
 * session), nothing finds the session or server any more. The socket file itself is watched, not its directory, so that
 * other sessions cause no wake-ups; only its own renames do.
 */

import fs from "node:fs";
import { platform } from "../../platform/platform.ts";
import { listenerPid } from "./socket-probe.ts";

/** Changes closer together than this, in ms, are one: a rename changes the number of links twice. */
const debounceMs = 5;
/** Interval from a loss to the next check for the socket, in ms; a loss is then reported again. Doubled every time. */
const retryMs = 1_000;
/** Longest such interval, in ms: few wake-ups for a directory that stays deleted, and one made again is soon found. */
const longestRetryMs = 10_000;
/** Interval between checks where a socket cannot be watched (macOS, or the system's watches are used up), in ms. */
const blindPollMs = 10_000;

/**
 * Calls `lost` when the socket at its path is gone or another process's, and again, ever less often, until one of this
 * process is there; then watches that one. Runs until disposed; keeps no process alive.
 */
export function watchOwnSocket(path: string, lost: () => void): Disposable {
  let watcher: { close(): void } | null = null;
  let timer: Timer | null = null;
  let watched: bigint | null = null;
  let patience = retryMs;

  function lookIn(ms: number): void {
    clearTimeout(timer ?? undefined);
    timer = setTimeout(look, ms);
    timer.unref();
  }

  function look(): void {
    timer = null;
    const inode = fs.lstatSync(path, { bigint: true, throwIfNoEntry: false })?.ino ?? null;
    if (inode !== null && inode === watched && watcher !== null) return;
    stop();
    const owner = inode === null ? null : listenerPid(path);
    if (inode === null || (owner !== null && owner !== process.pid)) {
      lookIn(patience);
      patience = Math.min(longestRetryMs, patience * 2);
      lost();
      return;
    }
    patience = retryMs;
    try {
      const lookSoon = (): void => lookIn(debounceMs);
      watcher = platform().sockets.watch(path, lookSoon, lookSoon);
      watched = inode;
    } catch {
      lookIn(blindPollMs);
    }
  }

  function stop(): void {
    watcher?.close();
    watcher = null;
  }

  look();
  return {
    [Symbol.dispose]() {
      stop();
      clearTimeout(timer ?? undefined);
    },
  };
}
