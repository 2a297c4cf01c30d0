/** Limits the checkpoints of this machine's crashed sessions: by age, and by total bytes. Deletes the oldest first. */
import fs from "node:fs";
import { join } from "node:path";
import type { Instance } from "../../instance/paths.ts";
import { removeUnfinished } from "./named.ts";
import { checkpointsDir, sessionDir } from "./paths.ts";
import { hasWriter, isOfOtherMachine, listCrashedNumbers, removeSession } from "./sessions.ts";

/** Minimum interval between two checks by all processes of an instance, in ms: a check costs some calls per session. */
const CHECK_INTERVAL_MS = 10 * 60_000;
const DAY_MS = 24 * 3_600_000;
const MARK_FILE = "pruned";

interface StorageLimits {
  readonly checkpoint_days: number;
  readonly checkpoint_bytes: number;
}

/** Prunes, unless a process of the instance has just done so. */
export function pruneIfDue(instance: Instance, limits: StorageLimits): void {
  const mark = join(checkpointsDir(instance), MARK_FILE);
  try {
    const last = fs.statSync(mark, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (Date.now() - last < CHECK_INTERVAL_MS) return;
    fs.writeFileSync(mark, "", { mode: 0o600 });
    prune(instance, limits);
    removeUnfinished(instance);
  } catch {
    // A directory that cannot be read or written is reported when a checkpoint fails.
  }
}

/** @returns numbers of the sessions that no longer have a checkpoint */
export function prune(instance: Instance, { checkpoint_days, checkpoint_bytes }: StorageLimits): number[] {
  const ownNumbers = listCrashedNumbers(instance).filter((number) => !isOfOtherMachine(sessionDir(instance, number)));
  const crashed = ownNumbers.map((number) => ({ number, ...sizeOf(sessionDir(instance, number)) }));
  const oldestFirst = crashed.sort((a, b) => a.newest - b.newest);
  let total = oldestFirst.reduce((sum, { bytes }) => sum + bytes, 0);
  const removed: number[] = [];
  for (const { number, bytes, newest } of oldestFirst) {
    const isOld = Date.now() - newest > checkpoint_days * DAY_MS;
    // One that began after the first look has no file, and looks old.
    if ((!isOld && total <= checkpoint_bytes) || hasWriter(instance, number)) continue;
    removeSession(sessionDir(instance, number));
    total -= bytes;
    removed.push(number);
  }
  return removed;
}

function sizeOf(directory: string): { readonly bytes: number; readonly newest: number } {
  let bytes = 0;
  let newest = 0;
  for (const name of fs.readdirSync(directory)) {
    const stat = fs.lstatSync(join(directory, name), { throwIfNoEntry: false });
    bytes += stat?.size ?? 0;
    newest = Math.max(newest, stat?.mtimeMs ?? 0);
  }
  return { bytes, newest };
}
