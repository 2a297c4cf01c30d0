/**
 * The content of the registry's two directories: sockets `7.sock`, and in `names` the links to them, `dev`, `dev~7` and
 * `@s3.w5` (registry.ts explains them). Reading takes no lock and changes nothing. fileNames costs two calls for any
 * number of sessions; snapshot one lstat per file, to match links to sockets.
 */

import fs from "node:fs";
import { basename, join } from "node:path";
import { errorCode } from "../../base/errno.ts";
import { platform } from "../../platform/platform.ts";
import { decodeName, encodeName, sessionId } from "../../protocol/names.ts";
import { hostSocket, type Instance } from "../paths.ts";
import { boundIn } from "./socket-probe.ts";

const socketPattern = /^(0|[1-9][0-9]{0,8})\.sock$/;
/**
 * No session process that has lost its socket has a larger id: in a file system of their own another user can bind any
 * path, and must not use up the numbers.
 */
const MAX_BOUND_ID = 99_999_999;
const endedPattern = /^(.+)~(\d+)$/;
const idsPattern = /^@s([1-9][0-9]{0,8})\.w([1-9][0-9]{0,8})$/;

/** The ids of a session with one window, held by one process. */
export interface SessionIds {
  /** Identifies the process and its socket. */
  readonly id: number;
  readonly session: number;
  readonly window: number;
}

/** One session process, as the file system shows it. */
export interface SessionEntry {
  /** The pane's id, `@7`; no id of the three kinds is given twice in the instance. */
  readonly id: number;
  /** `@s3` and `@w5`; null while the process starts, for another version's process, or after its links were removed. */
  readonly session: number | null;
  readonly window: number | null;
  readonly socket: string;
  /** null while the process starts, or after its links were removed. */
  readonly name: string | null;
  /** The session's program has ended; the session stays readable, and its name is free. */
  readonly ended: boolean;
}

/** A file of the names directory. */
export interface NameLink {
  readonly file: string;
  readonly name: string;
  /** The id in `dev~7`, null for a live session's name. */
  readonly endedId: number | null;
  readonly inode: string;
}

/** The file `@s3.w5` of the names directory. */
export interface IdsLink {
  readonly file: string;
  readonly session: number;
  readonly window: number;
  readonly inode: string;
}

export interface Snapshot {
  readonly entries: readonly SessionEntry[];
  readonly inodes: ReadonlyMap<number, string>;
  readonly links: readonly NameLink[];
  readonly ids: readonly IdsLink[];
}

/** Ids of session processes whose sockets are open, including those that must bind a deleted socket again. */
export function boundIds(instance: Instance): number[] {
  const bound = boundIn(instance.hostsDir).map((path) => Number(socketPattern.exec(basename(path))?.[1] ?? 0));
  return bound.filter((id) => id <= MAX_BOUND_ID);
}

/** The directories' file names alone: two calls for any number of sessions. */
export interface FileNames {
  /** Ids of all files named like a session process's socket. */
  readonly ids: readonly number[];
  /** Session ids of all links, including those of dead processes. */
  readonly sessions: readonly number[];
  readonly windows: readonly number[];
  /** Encoded names of live sessions, and of ended ones. */
  readonly live: ReadonlySet<string>;
  readonly ended: readonly string[];
}

/** Ids of all files named like a session process's socket, oldest first, in one call. */
export function hostIds(instance: Instance): readonly number[] {
  const ids = readDir(instance.hostsDir).flatMap((file) => socketPattern.exec(file)?.[1] ?? []);
  return ids.map(Number).sort((a, b) => a - b);
}

export function fileNames(instance: Instance): FileNames {
  const ids = readDir(instance.hostsDir).flatMap((file) => socketPattern.exec(file)?.[1] ?? []);
  const hosts = new Set(ids);
  const live = new Set<string>();
  const ended: string[] = [];
  const sessions: number[] = [];
  const windows: number[] = [];
  for (const file of readDir(instance.namesDir)) {
    const pair = idsOf(file);
    if (pair !== null) {
      sessions.push(pair.session);
      windows.push(pair.window);
      continue;
    }
    const [, name, id] = endedPattern.exec(file) ?? [];
    if (name === undefined || id === undefined) live.add(file);
    else if (hosts.has(id)) ended.push(name);
  }
  return { ids: ids.map(Number), sessions, windows, live, ended };
}

/** File name of a live session's name. */
export function nameFile(name: string): string {
  return encodeName(name, platform().foldsFileNames);
}

/** Returns every session process and name at this moment. */
export function snapshot(instance: Instance): Snapshot {
  const inodes = new Map<number, string>();
  for (const file of readDir(instance.hostsDir)) {
    const id = socketPattern.exec(file)?.[1];
    const inode = id === undefined ? null : socketInode(join(instance.hostsDir, file));
    if (id !== undefined && inode !== null) inodes.set(Number(id), inode);
  }
  const links: NameLink[] = [];
  const ids: IdsLink[] = [];
  for (const file of readDir(instance.namesDir)) {
    const pair = idsOf(file);
    const link = pair === null ? readLink(instance, file) : null;
    if (link !== null) links.push(link);
    const inode = pair === null ? null : socketInode(join(instance.namesDir, file));
    if (pair !== null && inode !== null) ids.push({ file, ...pair, inode });
  }
  const byInode = Map.groupBy(links, (link) => link.inode);
  const idsByInode = new Map(ids.map((link) => [link.inode, link]));
  const entries = [...inodes]
    .sort(([a], [b]) => a - b)
    .map(([id, inode]): SessionEntry => {
      const own = byInode.get(inode) ?? [];
      const live = own.find((link) => link.endedId === null);
      const name = (live ?? own[0])?.name ?? null;
      const { session = null, window = null } = idsByInode.get(inode) ?? {};
      const ended = live === undefined && own.length > 0;
      return { id, session, window, socket: hostSocket(instance, id), name, ended };
    });
  return { entries, inodes, links, ids };
}

function readLink(instance: Instance, file: string): NameLink | null {
  const ended = endedPattern.exec(file);
  const name = decodeName(ended?.[1] ?? file);
  const inode = name === null ? null : socketInode(join(instance.namesDir, file));
  if (name === null || inode === null) return null;
  return { file, name, endedId: ended?.[2] === undefined ? null : Number(ended[2]), inode };
}

export function idsFile({ session, window }: Pick<SessionIds, "session" | "window">): string {
  return `${sessionId(session)}.w${window}`;
}

/** The ids in a file name of the names directory, null when linkIds did not make it. */
function idsOf(file: string): { session: number; window: number } | null {
  const [, session, window] = idsPattern.exec(file) ?? [];
  return session === undefined || window === undefined ? null : { session: Number(session), window: Number(window) };
}

/** Identifies a socket across its links; null when the path is gone or not a socket. */
export function socketInode(path: string): string | null {
  // bigint: some file systems (overlayfs with xino) use numbers beyond 2^53.
  const stat = fs.lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stat?.isSocket() ? `${stat.dev}:${stat.ino}` : null;
}

function readDir(path: string): string[] {
  try {
    return fs.readdirSync(path);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  }
}
