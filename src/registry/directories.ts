/**
 * The content of the registry's two directories: sockets `7.sock`, and in `names` the links to them, `dev`,
 * `dev~7`, `@s3.w5` and `@s3.p9` (registry.ts explains them). Reading takes no lock and changes nothing.
 * fileNames costs two calls for any number of sessions; snapshot costs one readlink per link.
 */

import fs from "node:fs";
import { basename, join } from "node:path";
import { errorCode } from "../base/errno.ts";
import { type Instance, sessionSocket } from "../instance/paths.ts";
import { platform } from "../platform/platform.ts";
import { readLink } from "../platform/readable.ts";
import { decodeName, encodeName, sessionId } from "../protocol/names.ts";
import { boundIn } from "./liveness.ts";

const socketPattern = /^(0|[1-9][0-9]{0,8})\.sock$/;
const lockPattern = /^(0|[1-9][0-9]{0,8})\.lock$/;
/**
 * Largest id that is accepted from a bound socket path. Another user can bind any path in a file system of
 * their own, and must not use up the numbers.
 */
const MAX_BOUND_ID = 99_999_999;
/** How often a reading is repeated when the registry changes meanwhile: a change takes less time than a reading. */
const SNAPSHOT_TRIES = 5;
const endedPattern = /^(.+)~(\d+)$/;
const panePattern = /^@s([1-9][0-9]{0,8})\.p([1-9][0-9]{0,8})$/;
/** `@s3~7`: process 7 has no session any more, only panes of session 3. */
const memberPattern = /^@s([1-9][0-9]{0,8})~([1-9][0-9]{0,8})$/;
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
  /** The id of its first pane, `@7`; no id of the three kinds is given twice in the instance. */
  readonly id: number;
  /** `@s3` and `@w5`; null while the process starts, for another version's process, or after its links were removed. */
  readonly session: number | null;
  readonly window: number | null;
  /** All of its windows, where it has several. */
  readonly windows?: readonly number[];
  /** Panes that it has besides its first. */
  readonly panes?: readonly number[];
  readonly socket: string;
  /** null while the process starts, or after its links were removed. */
  readonly name: string | null;
  /** The session's program has ended; the session stays readable, and its name is free. */
  readonly ended: boolean;
  /** The process has only panes of another session, and no name. */
  readonly isMember: boolean;
}

/** A link of the names directory. */
interface RegistryLink {
  readonly file: string;
  /** Id of the process that it leads to, which may be gone. */
  readonly owner: number;
}

/** A name. */
export interface NameLink extends RegistryLink {
  readonly name: string;
  /** The id in `dev~7`, null for a live session's name. */
  readonly endedId: number | null;
}

/** The link `@s3.w5`. */
interface IdsLink extends RegistryLink {
  readonly session: number;
  readonly window: number;
}

/** The link `@s3.p9`: pane 9 of session 3. */
interface PaneLink extends RegistryLink {
  readonly session: number;
  readonly pane: number;
}

export interface Snapshot {
  readonly entries: readonly SessionEntry[];
  readonly links: readonly NameLink[];
  readonly ids: readonly IdsLink[];
  readonly panes: readonly PaneLink[];
}

/** Ids of session processes whose sockets are open, including those that must bind a deleted socket again. */
export function boundIds(instance: Instance): number[] {
  const bound = boundIn(instance.sessionsDir).map((path) => Number(socketPattern.exec(basename(path))?.[1] ?? 0));
  return bound.filter((id) => id <= MAX_BOUND_ID);
}

/** The directories' file names alone: two calls for any number of sessions. */
export interface FileNames {
  /** Ids of all files named like a session process's socket. */
  readonly ids: readonly number[];
  /** Session ids of all links, including those of dead processes. */
  readonly sessions: readonly number[];
  readonly windows: readonly number[];
  /** Panes besides the first of a process. */
  readonly panes: readonly number[];
  /** Encoded names of live sessions, and of ended ones. */
  readonly live: ReadonlySet<string>;
  readonly ended: readonly string[];
}

/** Ids of all files named like a session process's socket, oldest first, in one call. */
export function processIds(instance: Instance): readonly number[] {
  const ids = readDir(instance.sessionsDir).flatMap((file) => socketPattern.exec(file)?.[1] ?? []);
  return ids.map(Number).sort((a, b) => a - b);
}

/** Ids of all links to locks, including those of processes without a socket. */
export function lockIds(instance: Instance): readonly number[] {
  return readDir(instance.sessionsDir)
    .flatMap((file) => lockPattern.exec(file)?.[1] ?? [])
    .map(Number);
}

export function fileNames(instance: Instance): FileNames {
  const ids = readDir(instance.sessionsDir).flatMap((file) => socketPattern.exec(file)?.[1] ?? []);
  const processes = new Set(ids);
  const live = new Set<string>();
  const ended: string[] = [];
  const sessions: number[] = [];
  const windows: number[] = [];
  const panes: number[] = [];
  for (const file of readDir(instance.namesDir)) {
    const pair = idsOf(file);
    if (pair !== null) {
      sessions.push(pair.session);
      windows.push(pair.window);
      continue;
    }
    const pane = paneOf(file);
    if (pane !== null) {
      if (!pane.isProcess) panes.push(pane.pane);
      continue;
    }
    const [, name, id] = endedPattern.exec(file) ?? [];
    if (name === undefined || id === undefined) live.add(file);
    else if (processes.has(id)) ended.push(name);
  }
  return { ids: ids.map(Number), sessions, windows, panes, live, ended };
}

/** File name of a live session's name. */
export function nameFile(name: string): string {
  return encodeName(name, platform().foldsFileNames);
}

/**
 * Returns every session process and name at this moment. The two directories are read one after the other,
 * and a link after its name: if something has changed in between (a rename), both are read again.
 */
export function snapshot(instance: Instance): Snapshot {
  for (let left = SNAPSHOT_TRIES; ; left--) {
    const ids = processIds(instance);
    const { isGone, ...seen } = snapshotOf(instance, ids);
    const processes = new Set(seen.entries.map(({ id }) => id));
    const leadsAway = ({ owner }: RegistryLink): boolean => !processes.has(owner);
    const isTorn = isGone || [...seen.links, ...seen.ids, ...seen.panes].some(leadsAway);
    // Links of dead processes do not resolve either.
    if (!isTorn || left === 0 || (!isGone && String(processIds(instance)) === String(ids))) return seen;
  }
}

/** @returns isGone: a link was removed before it was read */
function snapshotOf(instance: Instance, bound: readonly number[]): Snapshot & { readonly isGone: boolean } {
  const processes = bound.filter((id) => isSocket(sessionSocket(instance, id)));
  const links: NameLink[] = [];
  const ids: IdsLink[] = [];
  const panes: PaneLink[] = [];
  const members = new Map<number, number>();
  let isGone = false;
  for (const file of readDir(instance.namesDir)) {
    const owner = processOfLink(instance, file);
    if (owner === undefined) {
      isGone ||= fs.lstatSync(join(instance.namesDir, file), { throwIfNoEntry: false }) === undefined;
      continue;
    }
    const pair = idsOf(file);
    const pane = paneOf(file);
    if (pane !== null) panes.push({ file, owner, session: pane.session, pane: pane.pane });
    if (pane?.isProcess === true) members.set(owner, pane.session);
    const link = pair === null && pane === null ? nameOf(file) : null;
    if (link !== null) links.push({ file, owner, ...link });
    if (pair !== null) ids.push({ file, owner, ...pair });
  }
  const byProcess = Map.groupBy(links, ({ owner }) => owner);
  const idsByProcess = Map.groupBy(ids, ({ owner }) => owner);
  const panesByProcess = Map.groupBy(panes, ({ owner }) => owner);
  const entries = processes.map((id): SessionEntry => {
    const processLinks = byProcess.get(id) ?? [];
    const live = processLinks.find((link) => link.endedId === null);
    const name = (live ?? processLinks[0])?.name ?? null;
    const pairs = idsByProcess.get(id) ?? [];
    const { session = members.get(id) ?? null, window = null } = pairs[0] ?? {};
    const windows = pairs.length > 1 ? { windows: pairs.map((pair) => pair.window) } : {};
    const further = (panesByProcess.get(id) ?? []).flatMap(({ pane }) => (pane === id ? [] : [pane]));
    const more = { ...windows, ...(further.length > 0 ? { panes: further } : {}) };
    const ended = live === undefined && processLinks.length > 0;
    return {
      id,
      session,
      window,
      ...more,
      socket: sessionSocket(instance, id),
      name,
      ended,
      isMember: members.has(id),
    };
  });
  return { entries, links, ids, panes, isGone };
}

/** Target of a link in the names directory to the socket with this id. */
export function linkTarget(id: number): string {
  return `../${id}.sock`;
}

/** The id of the process that a file of the names directory leads to; undefined if it is not a link to a process. */
export function processOfLink(instance: Instance, file: string): number | undefined {
  const target = readLink(join(instance.namesDir, file));
  const id = target?.startsWith("../") === true ? socketPattern.exec(target.slice(3))?.[1] : undefined;
  return id === undefined ? undefined : Number(id);
}

function nameOf(file: string): Pick<NameLink, "name" | "endedId"> | null {
  const ended = endedPattern.exec(file);
  const name = decodeName(ended?.[1] ?? file);
  if (name === null) return null;
  return { name, endedId: ended?.[2] === undefined ? null : Number(ended[2]) };
}

export function idsFile({ session, window }: Pick<SessionIds, "session" | "window">): string {
  return `${sessionId(session)}.w${window}`;
}

/** The ids in a file name of the names directory, null when linkIds did not make it. */
function idsOf(file: string): { session: number; window: number } | null {
  const [, session, window] = idsPattern.exec(file) ?? [];
  return session === undefined || window === undefined ? null : { session: Number(session), window: Number(window) };
}

export function paneFile(session: number, pane: number): string {
  return `${sessionId(session)}.p${pane}`;
}

export function carrierFile(session: number, id: number): string {
  return `${sessionId(session)}~${id}`;
}

/** The session and pane in a file name of the names directory, null when it is not a pane's. */
function paneOf(file: string): { session: number; pane: number; isProcess: boolean } | null {
  const [, session, pane] = panePattern.exec(file) ?? memberPattern.exec(file) ?? [];
  if (session === undefined || pane === undefined) return null;
  return { session: Number(session), pane: Number(pane), isProcess: memberPattern.test(file) };
}

export function isSocket(path: string): boolean {
  return fs.lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true;
}

function readDir(path: string): string[] {
  try {
    return fs.readdirSync(path);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  }
}
