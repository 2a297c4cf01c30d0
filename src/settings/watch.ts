/**
 * Watches config.toml: its directory and, for a link, that of the target, since editors replace files. If the
 * directory does not exist, the one above it is watched. Nothing else wakes the process, except at the
 * kernel's limits of watches (Linux: 128 processes of an account), where the file is checked from time to
 * time until a watch is free. For a file whose changes no system reports, `wsh config reload` reads it again.
 */
import fs from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { errorCode } from "../base/errno.ts";
import { intervals } from "../platform/intervals.ts";
import { watchFile } from "../platform/watch.ts";

/** Silence after which a change is complete, in ms: editors empty a file before they write it. */
const SETTLE_MS = 100;
/** Errors of a watch at a limit: of instances, or of watches. */
const limitErrors: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "ENOSPC"]);

/** Calls `changed` when the file's content may have changed. Keeps no process alive. */
export function watchConfig(path: string, changed: () => void): Disposable {
  let watchers: { readonly place: string; close(): void }[] = [];
  let timer: Timer | null = null;
  /** Runs only while a watch is missing at a limit. */
  let poll: Timer | null = null;
  let seen = fingerprint(path);

  function soon(): void {
    clearTimeout(timer ?? undefined);
    timer = setTimeout(look, SETTLE_MS);
    timer.unref();
  }

  function look(): void {
    timer = null;
    follow();
    const now = fingerprint(path);
    if (now === seen) return;
    seen = now;
    changed();
  }

  /** Watches the existing directories, each entry by itself: a link may lead to another file beside. */
  function follow(): void {
    const wanted = placesOf(path);
    const places = new Set(wanted.map(({ place }) => place));
    for (const watcher of watchers) if (!places.has(watcher.place)) watcher.close();
    watchers = watchers.filter(({ place }) => places.has(place));
    let isLimited = false;
    for (const { place, directory, name } of wanted) {
      if (watchers.some((known) => known.place === place)) continue;
      try {
        const watcher = watchFile(directory, (file) => (file === null || file === name ? soon() : undefined), soon);
        watchers.push({ place, close: () => watcher.close() });
      } catch (error) {
        // Any other error: the directory may not be read.
        if (limitErrors.has(errorCode(error))) isLimited = true;
      }
    }
    if (!isLimited) {
      clearInterval(poll ?? undefined);
      poll = null;
    } else poll ??= setInterval(look, intervals.configPoll).unref();
  }

  follow();
  return {
    [Symbol.dispose]() {
      clearTimeout(timer ?? undefined);
      clearInterval(poll ?? undefined);
      for (const watcher of watchers) watcher.close();
    },
  };
}

/** The entries to watch, and their directories; `place` changes when the directory is recreated. */
function placesOf(path: string): { readonly place: string; readonly directory: string; readonly name: string }[] {
  const paths = new Set([path]);
  try {
    paths.add(fs.realpathSync(path));
    // A link may lead to another link.
    for (let at = path; fs.lstatSync(at).isSymbolicLink(); paths.add(at))
      at = resolve(dirname(at), fs.readlinkSync(at));
  } catch {
    // The file does not exist.
  }
  return [...paths].flatMap((each) => {
    const own = dirname(each);
    return [[own, basename(each)] as const, [dirname(own), basename(own)] as const]
      .flatMap(([directory, name]) => {
        const inode = inodeOf(directory);
        return inode === undefined ? [] : [{ place: `${join(directory, name)} ${inode}`, directory, name }];
      })
      .slice(0, 1);
  });
}

/** Undefined if the directory does not exist, or belongs to another user and may not be read. */
function inodeOf(directory: string): number | undefined {
  try {
    return fs.statSync(directory).ino;
  } catch {
    return undefined;
  }
}

/** Changes with a file's content. */
function fingerprint(path: string): string {
  try {
    const { ino, size, mtimeNs } = fs.statSync(path, { bigint: true });
    return `${ino} ${size} ${mtimeNs}`;
  } catch {
    return "";
  }
}
