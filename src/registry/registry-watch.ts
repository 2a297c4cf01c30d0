/**
 * Reports that the registry may have changed, to a gateway or to a session process that checks its registration. It
 * reports no details: the reader lists again. Two directories are watched, sockets and names; bursts are merged. When
 * the runtime directory is deleted, the watcher reports that once and checks for its return once a second; at rest it
 * causes no wake-ups. Where sockets raise no events (macOS), the links that come and go with them do, and a slow check
 * of the directories' times finds what those have missed.
 */

import fs from "node:fs";
import type { Instance } from "../instance/paths.ts";
import { platform } from "../platform/platform.ts";

/** Events closer together than this, in ms, are one: a claim makes three (bind, link, counters). */
const debounceMs = 5;
/** Interval between checks of the directories' times where sockets raise no events, in ms. */
const blindPollMs = 2_000;
/** Interval between checks for a missing directory, in ms. */
const returnPollMs = 1_000;

/**
 * Calls back after every change of the registry until disposed. The directories should exist (prepareRuntimeDir); if
 * not, watching begins when they do. The timers keep no process alive.
 */
export function watchRegistry(instance: Instance, changed: () => void): Disposable {
  let watchers: { close(): void }[] = [];
  let watched = "";
  let pending: Timer | null = null;
  let returning: Timer | null = null;
  let polling: Timer | null = null;
  let isDisposed = false;

  function stopWatching(): void {
    for (const watcher of watchers) watcher.close();
    watchers = [];
  }

  function startWatching(): boolean {
    try {
      watched = identity(instance);
      for (const path of [instance.sessionsDir, instance.namesDir]) {
        watchers.push(platform().sockets.watch(path, notice, notice));
      }
      return true;
    } catch {
      stopWatching(); // missing, or no watches left: checked again later
      return false;
    }
  }

  function awaitReturn(): void {
    if (returning !== null || isDisposed) return;
    returning = setInterval(() => {
      const isWatching = startWatching();
      // The directory exists but cannot be watched (the system's watches are exhausted): it is checked once a second
      // instead.
      if (isWatching || fs.existsSync(instance.namesDir)) notice();
      if (!isWatching) return;
      clearInterval(returning ?? undefined);
      returning = null;
    }, returnPollMs);
    returning.unref();
  }

  function notice(): void {
    if (pending !== null || isDisposed) return;
    pending = setTimeout(report, debounceMs);
    pending.unref();
  }

  function report(): void {
    pending = null;
    if (watchers.length > 0 && identity(instance) !== watched) {
      stopWatching();
      if (!startWatching()) awaitReturn();
    }
    changed();
  }

  if (!startWatching()) awaitReturn();
  if (!platform().sockets.reportsSockets) {
    let seen = times(instance);
    polling = setInterval(() => {
      const now = times(instance);
      if (now !== seen) notice();
      seen = now;
    }, blindPollMs);
    polling.unref();
  }
  return {
    [Symbol.dispose]() {
      isDisposed = true;
      stopWatching();
      clearTimeout(pending ?? undefined);
      clearInterval(returning ?? undefined);
      clearInterval(polling ?? undefined);
    },
  };
}

/** Changes whenever a file of the directories comes or goes. */
function times(instance: Instance): string {
  const stats = [instance.sessionsDir, instance.namesDir].map((path) =>
    fs.lstatSync(path, { bigint: true, throwIfNoEntry: false }),
  );
  return stats.map((stat) => (stat === undefined ? "absent" : `${stat.ino}:${stat.mtimeNs}`)).join(" ");
}

/** Identifies the directories that are now at the paths: a recreated one differs and is not watched. */
function identity(instance: Instance): string {
  return [instance.sessionsDir, instance.namesDir]
    .map((path) => {
      const stat = fs.lstatSync(path, { bigint: true, throwIfNoEntry: false });
      // An inode's number is soon reused; the birth time distinguishes the two.
      return stat === undefined ? "absent" : `${stat.ino}:${stat.birthtimeNs}`;
    })
    .join(" ");
}
