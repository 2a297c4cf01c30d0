/**
 * The next ids of panes, sessions and windows, and the next automatic name, in NAME.counters of the state directory:
 * no id is given twice, even after a reboot that empties the runtime directory. The file is its own lock, since two
 * runtime directories of one user may share the state directory. One line of fixed width is overwritten in place,
 * which needs no room on a full disk and is never left half written. Ids in the registry and in checkpoints count
 * too, so an old copy of the file gives no id in use. If the file is damaged or lost, or nothing is registered (the
 * machine may have lost power before the newest numbers were written), numbers continue above every older one known,
 * including those of deleted sockets that are still open, and of sessions that tokens are limited to. If the file
 * cannot be written, no id is given. Without a state directory of our own (sudo without -H), nothing that could name
 * an id survives a reboot, so the file is beside the sockets.
 */

import fs from "node:fs";
import { join } from "node:path";
import { errorCode } from "../base/errno.ts";
import { withLock } from "../instance/lock.ts";
import { hasStateDir, type Instance, sessionSocket } from "../instance/paths.ts";
import { WshError } from "../protocol/errors.ts";
import { decodeName, numericName, parseTarget } from "../protocol/names.ts";
import { keptIds } from "./checkpoint-ids.ts";
import { boundIds, type FileNames, isSocket } from "./directories.ts";

export interface Counters {
  /** The next ids; each kind counts from 1. */
  readonly pane: number;
  readonly session: number;
  readonly window: number;
  /** The smallest number that the next unnamed session may get. */
  readonly name: number;
}

/** Digits of a number in the file, and of an id in a socket's path. */
const DIGITS = 9;
const LAST_ID = 10 ** DIGITS - 1;
const line = /^pane (\d{9}) session (\d{9}) window (\d{9}) name (\d{9})\n$/;
/** More than the line's length, in bytes: anything longer is not a counters file. */
const READ_BYTES = 128;

/**
 * Gives out numbers: `take` receives the next ones and returns its result with the numbers that follow. The caller
 * holds the registry's lock. If `take` throws, no number is given out.
 * @throws WshError session_create_failed when the file cannot be read or written, or the ids are used up; lock_busy
 */
export async function withCounters<T>(
  instance: Instance,
  files: FileNames,
  take: (next: Counters) => { readonly result: T; readonly after: Counters },
): Promise<T> {
  let file = instance.countersFile;
  try {
    const beside = join(instance.sessionsDir, "counters");
    if (!hasStateDir(instance)) file = beside;
    return await withLock(file, async (fd) => {
      const stored = read(fd);
      // The counters from a time without a state directory.
      const other = file === beside ? null : readAt(beside);
      const next = highest(await aboveKnown(instance, files, stored), other);
      requireLeft(instance, file, next);
      const { result, after } = take(next);
      write(fd, after);
      if (other !== null) fs.rmSync(beside, { force: true });
      return result;
    });
  } catch (thrown) {
    if (thrown instanceof WshError && thrown.code !== "runtime_dir_unusable") throw thrown;
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    const message = `the id counters cannot be saved in ${file}: ${reason}`;
    const hint =
      "Without them an id could be assigned twice. Free disk space, make the file writable, or set XDG_STATE_HOME.";
    throw new WshError("session_create_failed", message, { hint }, { cause: thrown });
  }
}

/**
 * @returns null when the file contains no counters. @throws the system's error, or an error if the path is not a file
 */
function read(fd: number): Counters | null {
  if (!fs.fstatSync(fd).isFile()) throw new Error("not a file");
  const bytes = Buffer.alloc(READ_BYTES);
  const text = bytes.toString("latin1", 0, fs.readSync(fd, bytes, 0, READ_BYTES, 0));
  const [, ...numbers] = line.exec(text) ?? [];
  const [pane, session, window, name] = numbers.map(Number);
  if (pane !== undefined && session !== undefined && window !== undefined && name !== undefined) {
    return { pane, session, window, name };
  }
  return null;
}

/** @returns null when there is no such file, or it holds no counters */
function readAt(path: string): Counters | null {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  let fd: number;
  try {
    fd = fs.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
  try {
    return read(fd);
  } finally {
    fs.closeSync(fd);
  }
}

function highest(some: Counters, other: Counters | null): Counters {
  if (other === null) return some;
  const pane = Math.max(some.pane, other.pane);
  const session = Math.max(some.session, other.session);
  const window = Math.max(some.window, other.window);
  return { pane, session, window, name: Math.max(some.name, other.name) };
}

function write(fd: number, { pane, session, window, name }: Counters): void {
  if (Math.max(pane, session, window) > LAST_ID) throw new Error("all ids are used");
  const [p, s, w] = [pane, session, window].map(digits);
  // A name in use is skipped, so this number may repeat, unlike an id.
  const text = `pane ${p} session ${s} window ${w} name ${digits(Math.min(name, LAST_ID))}\n`;
  const bytes = Buffer.from(text);
  if (fs.writeSync(fd, bytes, 0, bytes.length, 0) !== bytes.length) throw new Error("ENOSPC: no space left on device");
  fs.ftruncateSync(fd, bytes.length);
}

function digits(value: number): string {
  return String(value).padStart(DIGITS, "0");
}

/** @throws WshError session_create_failed */
function requireLeft(instance: Instance, file: string, next: Counters): void {
  const used = (["pane", "session", "window"] as const).find((kind) => next[kind] >= LAST_ID);
  if (used === undefined) return;
  throw new WshError("session_create_failed", `the instance '${instance.name}' has used up its ${used} ids`, {
    hint: `The next one, ${next[used]}, comes from ${file} or from the files in ${instance.sessionsDir}.`,
  });
}

/**
 * Numbers above the stored ones and everything known. If the stored ones are lost or were set back, all three
 * kinds continue at one number: a session has a window and a window has a pane, so a known id of one kind is
 * a bound for the others.
 */
async function aboveKnown(instance: Instance, files: FileNames, stored: Counters | null): Promise<Counters> {
  const onDisk = keptIds(instance, new Set(files.sessions));
  const highest = {
    pane: Math.max(0, highestSocket(instance, files, stored?.pane ?? 0), ...files.panes, ...onDisk.panes),
    session: Math.max(0, ...files.sessions, ...onDisk.sessions),
    window: Math.max(0, ...files.windows),
  };
  if (stored === null || files.ids.length === 0) {
    highest.pane = Math.max(highest.pane, ...boundIds(instance));
    highest.session = Math.max(highest.session, ...(await limitedSessions(instance)));
  }
  const { pane = 1, session = 1, window = 1, name = 0 } = stored ?? {};
  if (stored !== null && highest.pane < pane && highest.session < session && highest.window < window) {
    return { pane: Math.max(pane, 1), session: Math.max(session, 1), window: Math.max(window, 1), name };
  }
  const next = Math.max(highest.pane, highest.session, highest.window) + 1;
  if (stored !== null) {
    return { pane: Math.max(pane, next), session: Math.max(session, next), window: Math.max(window, next), name };
  }
  const numbers = [...files.live, ...files.ended].map((file) => numericName(decodeName(file) ?? "") ?? -1);
  return { pane: next, session: next, window: next, name: Math.max(-1, ...numbers) + 1 };
}

/** The highest id of a session process, if it is at least `from`; a file that only has such a name does not count. */
function highestSocket(instance: Instance, { ids }: FileNames, from: number): number {
  const processes = ids.filter((id) => id >= from && isSocket(sessionSocket(instance, id)));
  return Math.max(0, ...processes);
}

/** Sessions to which tokens are limited: a new session with the same id would be open to the token. */
async function limitedSessions(instance: Instance): Promise<number[]> {
  const { readTokens } = await import("../secrets/named-tokens.ts");
  try {
    return readTokens(instance).flatMap(({ session }) => {
      const target = session === undefined ? null : parseTarget(session);
      return target?.kind === "session_id" && target.id < LAST_ID ? [target.id] : [];
    });
  } catch {
    return []; // no token is good that is in such a file
  }
}
