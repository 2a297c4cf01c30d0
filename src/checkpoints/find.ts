/** Resolves a target without a process: a lost session, which becomes readable once a process shows it. */
import type { Instance } from "../instance/paths.ts";
import { WshError } from "../protocol/errors.ts";
import { parseTarget, sessionId } from "../protocol/names.ts";
import { findLost, type LostSession, lostNumbers, paneMeant, readLost } from "./files/sessions.ts";
import { type Restorer, startReader } from "./launch.ts";

/** All restorable sessions, oldest first. @param living sessions that have a process */
export function allLost(instance: Instance, living: ReadonlySet<number> = new Set()): LostSession[] {
  return lostNumbers(instance, living).flatMap((number) => {
    const lost = readLost(instance, number);
    return lost === null || "trouble" in lost ? [] : [lost];
  });
}

/**
 * Starts a process that shows the lost session or pane that a target means.
 * @param only id of the one session that the caller may touch
 * @returns whether there is one
 * @throws WshError of its checkpoint
 */
export async function showLost(
  instance: Instance,
  target: string,
  restorer: Restorer,
  only?: string,
): Promise<boolean> {
  const parsed = parseTarget(target);
  let lost: LostSession;
  try {
    lost = findLost(instance, parsed);
  } catch (thrown) {
    if (WshError.from(thrown).code === "checkpoint_not_found") return false;
    throw thrown;
  }
  if (only !== undefined && only !== sessionId(lost.number)) return false;
  const pane = paneMeant(lost, parsed);
  if (pane === null) return false;
  await startReader(instance, lost, restorer);
  return true;
}
