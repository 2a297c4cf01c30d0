/** Resolves a target without a process to a crashed session, which becomes readable once a process shows it. */
import type { Instance } from "../instance/paths.ts";
import { WshError } from "../protocol/errors.ts";
import { parseTarget, sessionId, type Target } from "../protocol/names.ts";
import { PaneOwnership } from "./files/claims.ts";
import {
  type CrashedSession,
  findCrashed,
  findTargetPane,
  hasWriter,
  listCrashedNumbers,
  readCrashed,
} from "./files/sessions.ts";
import { waitForDyingProcesses } from "./killed-processes.ts";
import { type Restorer, startReader } from "./launch.ts";

/** Like findCrashed, after the end of a process that was just killed. @throws WshError checkpoint_not_found */
export async function findCrashedAfterExit(instance: Instance, target: Target): Promise<CrashedSession> {
  try {
    return findCrashed(instance, target);
  } catch (thrown) {
    if (WshError.from(thrown).code !== "checkpoint_not_found") throw thrown;
  }
  await waitForDyingProcesses(instance);
  return findCrashed(instance, target);
}

/** All restorable sessions, oldest first. @param living sessions that have a process */
export function listRestorable(instance: Instance, living: ReadonlySet<number> = new Set()): CrashedSession[] {
  const ownership = new PaneOwnership(instance);
  return listCrashedNumbers(instance, living).flatMap((number) => {
    const crashed = readCrashed(instance, number, ownership);
    // A session that has just begun may have had no lock at the first look.
    return crashed === null || "error" in crashed || hasWriter(instance, number) ? [] : [crashed];
  });
}

/** A note after the start of a session whose name a crashed one has, too: that one stays. Null: no crashed one has it. */
export function describeCrashedNamesake(instance: Instance, name: string): string | null {
  const crashed = listRestorable(instance).findLast(({ session }) => session.name === name);
  if (crashed === undefined) return null;
  return `an earlier session '${name}' crashed: \`wsh restore @s${crashed.number} --as NAME\` brings it back`;
}

/**
 * Starts a process that shows the crashed session or pane that a target names.
 * @param onlySession id of the only session that the caller may use
 * @returns whether there is such a session
 * @throws WshError of its checkpoint
 */
export async function showCrashed(
  instance: Instance,
  target: string,
  restorer: Restorer,
  onlySession?: string,
): Promise<boolean> {
  const parsed = parseTarget(target);
  let crashed: CrashedSession;
  try {
    crashed = findCrashed(instance, parsed);
  } catch (thrown) {
    if (WshError.from(thrown).code === "checkpoint_not_found") return false;
    throw thrown;
  }
  if (onlySession !== undefined && onlySession !== sessionId(crashed.number)) return false;
  const pane = findTargetPane(crashed, parsed);
  if (pane === null) return false;
  await startReader(instance, crashed, restorer);
  return true;
}
