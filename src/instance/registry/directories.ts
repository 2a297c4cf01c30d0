/**
 * What the registry's two directories hold: sockets `7.sock`, and beside them in `names` the links to those, `dev`, `dev~7`
 * and `@s3.w5` (registry.ts says what they mean). Reading takes no lock and changes nothing. fileNames costs two calls
 * however many sessions there are; snapshot one lstat for each file, to tell which link is whose.
 */

import fs from "node:fs";
import { basename, join } from "node:path";
import { errorCode } from "../../base/errno.ts";
import { decodeName, encodeName, sessionId } from "../../protocol/names.ts";
import { hostSocket, type Instance } from "../paths.ts";
import { boundIn } from "./socket-probe.ts";

/** macOS ignores case in file names by default. */
const foldsCase = process.platform === "darwin";
const socketPattern = /^(0|[1-9][0-9]{0,8})\.sock$/;
/**
 * A larger id is no host's that has lost its socket: in a file system of his own somebody else can have bound any path,
 * and must not use up the numbers.
 */
const MAX_BOUND_ID = 99_999_999;
const endedPattern = /^(.+)~(\d+)$/;
const idsPattern = /^@s([1-9][0-9]{0,8})\.w([1-9][0-9]{0,8})$/;

/** The ids of one session with one window, which one process holds. */
export interface SessionIds {
  /** Names the process and its socket. */
  readonly id: number;
  readonly session: number;
  readonly window: number;
}

/** One host, as the file system shows it. */
export interface SessionEntry {
  /** Of the pane, `@7`; of all three kinds of ids none is ever given twice in the instance. */
  readonly id: number;
  /** `@s3` and `@w5`; null while the host is being set up, of one of another version, or when its links were removed. */
  readonly session: number | null;
  readonly window: number | null;
  readonly socket: string;
  /** null while the host is being set up, or when somebody removed its links. */
  readonly name: string | null;
  /** The session's program has ended; it stays readable, and its name is free. */
  readonly ended: boolean;
}

/** A file of the names directory. */
export interface NameLink {
  readonly file: string;
  readonly name: string;
  /** The id in `dev~7`, null for a live name. */
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

/** Ids of hosts whose sockets are open, those too whose socket was deleted and which are about to bind it again. */
export function boundIds(instance: Instance): number[] {
  const bound = boundIn(instance.hostsDir).map((path) => Number(socketPattern.exec(basename(path))?.[1] ?? 0));
  return bound.filter((id) => id <= MAX_BOUND_ID);
}

/** What the directories hold by their file names alone: two calls, however many sessions there are. */
export interface FileNames {
  /** Of everything called like a host's socket. */
  readonly ids: readonly number[];
  /** Of all links of ids, the dead ones' too. */
  readonly sessions: readonly number[];
  readonly windows: readonly number[];
  /** Encoded names of live sessions, and of ended ones. */
  readonly live: ReadonlySet<string>;
  readonly ended: readonly string[];
}

/** Ids of everything that is named like a host's socket, the oldest first: one call, however many there are. */
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

/** The file of a live session's name. */
export function nameFile(name: string): string {
  return encodeName(name, foldsCase);
}

/** Every host and name at this moment. */
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

/** The ids that a file of the names directory stands for, null when it is none of linkIds. */
function idsOf(file: string): { session: number; window: number } | null {
  const [, session, window] = idsPattern.exec(file) ?? [];
  return session === undefined || window === undefined ? null : { session: Number(session), window: Number(window) };
}

/** Identifies a socket across its links; null when the path is gone or is no socket. */
export function socketInode(path: string): string | null {
  // bigint: some file systems (overlayfs with xino) number beyond 2^53.
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
