/**
 * A process's eye on its own socket: somebody may delete the runtime directory under it (a cleaner of /tmp, the end of a
 * login session), and then nobody finds the session or server any more. The socket file itself is watched, not its
 * directory, so that other sessions' coming and going wakes nobody; only its own renames do.
 */

import fs from "node:fs";
import { listenerPid } from "./socket-probe.ts";

/** Changes closer together than this, in ms, are one: a rename changes the number of links twice. */
const debounceMs = 5;
/** How long after a loss, in ms, it is looked whether a socket is back; if not, the loss is reported again. Doubled every time. */
const retryMs = 1_000;
/** At most so long, in ms: a host whose directory nobody wants back hardly wakes, and one that is made again is soon found. */
const longestRetryMs = 10_000;
/** How often it is looked at, in ms, where a socket cannot be watched (macOS, or the system's watches are used up). */
const blindPollMs = 10_000;

/**
 * Calls `lost` when the socket at its path is gone or another process's, and again, ever less often, until one of this
 * process is there; then watches that one. Runs until disposed; keeps no process alive.
 */
export function watchOwnSocket(path: string, lost: () => void): Disposable {
  let watcher: fs.FSWatcher | null = null;
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
      watcher = fs.watch(path, { persistent: false }, () => lookIn(debounceMs));
      watcher.on("error", () => lookIn(debounceMs));
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
