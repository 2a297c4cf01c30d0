/**
 * The sessions with checkpoints, and which of them have crashed: no process writes their checkpoints or serves them. A
 * session of another machine that shares the directory is neither restored nor removed here.
 */
import fs from "node:fs";
import { join } from "node:path";
import { checkOwnDir } from "../../instance/owned-files.ts";
import { type Instance, sessionSocket } from "../../instance/paths.ts";
import { thisMachine } from "../../instance/place-digest.ts";
import { bootId } from "../../platform/boot.ts";
import { tryFlock } from "../../platform/descriptors.ts";
import { namesIn, openToRead } from "../../platform/readable.ts";
import { WshError } from "../../protocol/errors.ts";
import { formatTarget, type Target } from "../../protocol/names.ts";
import { processState } from "../../registry/liveness.ts";
import { listStoredSessions, PaneOwnership } from "./claims.ts";
import { readLayout, readMachine, readPane, type StoredPane } from "./part-reader.ts";
import { checkpointsDir, lockFile, type PartName, parsePartFile, sessionDir } from "./paths.ts";
import type { LayoutRecord, PaneRecord, SessionPart } from "./record.ts";
import { layoutWithout } from "./tree.ts";

/** A pane, and the folder with its state, usually that of its session. */
export type LocatedPane = PaneRecord & { readonly directory: string };

export interface CrashedSession {
  /** Number of the session: 3 for `@s3`. */
  readonly number: number;
  readonly directory: string;
  readonly session: SessionPart;
  /** Unix time in ms of the newest checkpoint. */
  readonly saved_at: number;
  /** Known reason why its processes ended. */
  readonly why: string;
  /** Set for a session with several panes. */
  readonly layout: LayoutRecord | null;
  /** Oldest first; at least one. */
  readonly panes: readonly LocatedPane[];
  /** Its panes that cannot be restored. */
  readonly left_out: readonly { readonly pane: number; readonly why: string }[];
  /** Whether a part of it cannot be read. */
  readonly damaged: boolean;
}

/** A checkpoint that cannot be restored: of a later version, or completely damaged. */
export interface UnreadableSession {
  readonly number: number;
  readonly directory: string;
  readonly error: WshError;
}

/**
 * Numbers of the sessions with checkpoints that no process serves or writes, oldest first; includes other machines'
 * (isOfOtherMachine). Costs a few calls for each.
 * @param living sessions known to be alive
 */
export function listCrashedNumbers(instance: Instance, living: ReadonlySet<number> = new Set()): number[] {
  return listStoredSessions(instance)
    .filter((number) => !living.has(number) && !hasWriter(instance, number))
    .sort((a, b) => a - b);
}

/** The sessions that a process writes or serves. A process that was just killed counts while it holds its lock. */
export function listWrittenNumbers(instance: Instance): number[] {
  return listStoredSessions(instance).filter((number) => hasWriter(instance, number));
}

/** Whether a process writes the session's checkpoints; processes that only show a crashed session do not. */
export function hasWriter(instance: Instance, number: number): boolean {
  return listLockedParts(instance, number).length > 0;
}

/** The parts of a session that a process writes. */
export function listLockedParts(instance: Instance, number: number): PartName[] {
  const directory = sessionDir(instance, number);
  return listParts(directory).filter((part) => {
    const state = readLockState(join(directory, lockFile(part)));
    return state === "held" || (state === "refused" && isServed(instance, part));
  });
}

/** The panes, and the layout if any, of which a session's folder contains files. */
export function listParts(directory: string): PartName[] {
  const parts = namesIn(directory).flatMap((name) => {
    const lock = /^(p[1-9]\d{0,8}|layout)\.lock$/.exec(name)?.[1];
    return (lock as PartName | undefined) ?? parsePartFile(name)?.part ?? [];
  });
  return [...new Set(parts)];
}

function isServed(instance: Instance, part: PartName): boolean {
  return part !== "layout" && processState(sessionSocket(instance, Number(part.slice(1)))) === "alive";
}

function readLockState(path: string): "taken" | "held" | "refused" {
  const fd = openToRead(path);
  if (fd === null) return "taken";
  try {
    return tryFlock(fd, "shared").kind;
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Reads a crashed session.
 * @param ownership shared by a reader of several sessions
 * @returns null if there is nothing to restore: an empty folder, or another machine's
 */
export function readCrashed(
  instance: Instance,
  number: number,
  ownership = new PaneOwnership(instance),
): CrashedSession | UnreadableSession | null {
  const directory = sessionDir(instance, number);
  try {
    if (!checkOwnDir(checkpointsDir(instance)) || !checkOwnDir(directory)) return null;
    return readSession(number, directory, ownership);
  } catch (thrown) {
    const error = WshError.from(thrown);
    return error.code === "checkpoint_not_found" || isOfOtherMachine(directory) ? null : { number, directory, error };
  }
}

/** Whether a folder contains a session of another machine: it is neither shown nor removed here. */
export function isOfOtherMachine(directory: string): boolean {
  const machine = nullOnFailure(() => readMachine(directory));
  return machine !== null && machine !== thisMachine();
}

/**
 * The same for any folder with a session's files.
 * @param ownership omits panes that have moved to another session
 * @throws WshError of the reader
 */
export function readSession(
  number: number,
  directory: string,
  ownership: PaneOwnership | null = null,
): CrashedSession | null {
  const parts = listParts(directory);
  const storedLayout = parts.includes("layout") ? readLayoutIfReadable(directory) : null;
  const paneNumbers =
    storedLayout?.panes ?? parts.filter((part) => part !== "layout").map((part) => Number(part.slice(1)));
  const movedPanes = new Set(
    ownership === null ? [] : paneNumbers.filter((pane) => ownership.hasMovedAway(number, pane)),
  );
  const layout = storedLayout && layoutWithout(storedLayout, movedPanes);
  const remainingPanes = paneNumbers.filter((pane) => !movedPanes.has(pane));
  let failure: unknown = null;
  const leftOut: { pane: number; why: string }[] = [];
  const panes = remainingPanes
    .sort((a, b) => a - b)
    .flatMap((pane): (StoredPane & { readonly folder: string })[] => {
      try {
        const folder = ownership === null || layout === null ? directory : ownership.findStateFolder(number, pane);
        return [{ ...readPane(folder, pane), folder }];
      } catch (thrown) {
        const { code, message } = WshError.from(thrown);
        if (code !== "checkpoint_not_found") failure ??= thrown;
        leftOut.push({ pane, why: message });
        return [];
      }
    });
  const [first, ...rest] = panes;
  if (first === undefined) {
    if (failure !== null) throw failure;
    return null;
  }
  const newest = Math.max(layout?.saved_at ?? 0, ...panes.map(({ record }) => record.saved_at));
  if (first.record.machine !== thisMachine()) return null;
  return {
    number,
    directory,
    session: layout?.session ?? first.record.session,
    saved_at: newest,
    why: describeCrash(layout ?? first.record),
    layout,
    panes: (layout === null ? [first] : panes).map(({ record, folder }) => ({ ...record, directory: folder })),
    left_out: layout === null ? [...leftOut, ...rest.map(omittedWithoutLayout)].sort(byPane) : leftOut,
    damaged: failure !== null || panes.some(({ damaged }) => damaged),
  };
}

function omittedWithoutLayout({ record: { pane } }: StoredPane): { pane: number; why: string } {
  return { pane, why: "the session's layout is missing or unreadable" };
}

function byPane(a: { readonly pane: number }, b: { readonly pane: number }): number {
  return a.pane - b.pane;
}

function readLayoutIfReadable(directory: string): LayoutRecord | null {
  try {
    return readLayout(directory).record;
  } catch (thrown) {
    const { code } = WshError.from(thrown);
    // Without a layout, only the oldest pane is known.
    if (code === "checkpoint_damaged" || code === "checkpoint_not_found") return null;
    throw thrown;
  }
}

export function describeCrash({ boot, ended_by }: Pick<PaneRecord, "boot" | "ended_by">): string {
  if (ended_by !== null) return `ended by ${ended_by}`;
  return boot === bootId() ? "its process was killed or failed" : "the machine was restarted";
}

/**
 * The crashed session that a target names; if several had the name, the newest.
 * @throws WshError checkpoint_not_found, or why it cannot be read
 */
export function findCrashed(instance: Instance, target: Target): CrashedSession {
  const ownership = new PaneOwnership(instance);
  const sessions = listCrashedNumbers(instance).flatMap((number) => readCrashed(instance, number, ownership) ?? []);
  const unreadable = sessions.find((one) => "error" in one && isSessionId(target, one.number));
  if (unreadable !== undefined && "error" in unreadable) throw unreadable.error;
  const matches = sessions.filter((one): one is CrashedSession => !("error" in one) && matchesTarget(one, target));
  const newest = matches.sort((a, b) => a.saved_at - b.saved_at).at(-1);
  if (newest !== undefined) return newest;
  throw new WshError(
    "checkpoint_not_found",
    `no crashed session '${formatTarget(target)}' in instance '${instance.name}'`,
  );
}

function isSessionId(target: Target, number: number): boolean {
  return target.kind === "session_id" && target.id === number;
}

/** Whether a target names the session under its last name and numbers. */
export function matchesTarget({ session, panes, layout, number }: CrashedSession, target: Target): boolean {
  switch (target.kind) {
    case "session_id":
      return target.id === number;
    case "pane":
      return panes.some(({ pane }) => pane === target.id);
    case "window_id":
      return (layout?.windows ?? [session.window]).includes(target.id);
    default:
      return session.name === target.name;
  }
}

/** The pane's part, if a target names a pane of the session. */
export function findTargetPane({ panes }: CrashedSession, target: Target): LocatedPane | null {
  const targetPane = target.kind === "pane" ? panes.find(({ pane }) => pane === target.id) : panes[0];
  return targetPane ?? null;
}

/** Deletes all checkpoints of a session. @returns their bytes */
export function removeSession(directory: string): number {
  let bytes = 0;
  for (const name of namesIn(directory)) {
    const path = join(directory, name);
    bytes += nullOnFailure(() => fs.lstatSync(path).size) ?? 0;
    if (
      parsePartFile(name.replace(/\.new$/, "")) !== null ||
      /^((p\d+|layout)\.lock|p\d+\.numbers|declined|facts\.json)$/.test(name)
    )
      fs.rmSync(path, { force: true });
  }
  nullOnFailure(() => fs.rmdirSync(directory));
  return bytes;
}

function nullOnFailure<T>(act: () => T): T | null {
  try {
    return act();
  } catch {
    return null; // removed meanwhile, or no permission
  }
}
