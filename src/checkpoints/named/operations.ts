/** Saves, lists, shows, compares, restores and deletes named checkpoints, for the server and the command line. */
import type { Instance } from "../../instance/paths.ts";
import type { OperationOutput, ParsedInput } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import { parseTarget } from "../../protocol/names.ts";
import type { SessionInfo } from "../../protocol/session.ts";
import { readIssuedNumbers, removeNamed } from "../files/named.ts";
import { removePart } from "../files/part-writer.ts";
import { panePart, sessionDir } from "../files/paths.ts";
import type { PaneNumbers } from "../files/record.ts";
import { type CrashedSession, findCrashed, listParts, readSession } from "../files/sessions.ts";
import type { Restorer } from "../launch.ts";
import { restoreSession } from "../restore.ts";
import { compare } from "./compare.ts";
import { withCopy } from "./copy.ts";
import { findNamed } from "./find.ts";
import { findRunning, isRunning } from "./running.ts";
import { saveNamed, withPresentState } from "./save.ts";
import { describeCheckpoint, viewCheckpoint } from "./view.ts";

/** @throws WshError like saveNamed */
export async function saveCheckpoint(
  instance: Instance,
  input: ParsedInput<"checkpoint.save">,
): Promise<OperationOutput<"checkpoint.save">> {
  return describeCheckpoint(instance, await saveNamed(instance, input));
}

/** @throws WshError checkpoint_not_found, and why it cannot be read */
export function showCheckpoint(
  instance: Instance,
  { session, label }: ParsedInput<"checkpoint.show">,
): OperationOutput<"checkpoint.show"> {
  return label === undefined
    ? viewCheckpoint(readNewest(instance, session), null)
    : viewCheckpoint(findNamed(instance, session, label).stored, label);
}

/** @throws WshError checkpoint_not_found, checkpoint_refused, and why one cannot be read */
export async function diffCheckpoints(
  instance: Instance,
  { session, label, to }: ParsedInput<"checkpoint.diff">,
): Promise<OperationOutput<"checkpoint.diff">> {
  const before = findNamed(instance, session, label);
  const from = [before.stored, label] as const;
  if (to !== undefined) return compare(from, [findNamed(instance, session, to).stored, to]);
  const running = findRunning(instance, session);
  const isSame = running?.number === before.folder.number;
  if (running !== null && isSame) return withPresentState(instance, running, (now) => compare(from, [now, null]));
  return compare(from, [readNewest(instance, session), null]);
}

/**
 * The continuously written checkpoint of a session. @throws WshError checkpoint_not_found, and why it cannot be read
 */
function readNewest(instance: Instance, target: string): CrashedSession {
  const running = findRunning(instance, target);
  if (running === null) return findCrashed(instance, parseTarget(target));
  const stored = readSession(running.number, sessionDir(instance, running.number));
  if (stored !== null) return stored;
  throw new WshError("checkpoint_not_found", `session '${target}' has no checkpoint yet`);
}

/** @throws WshError checkpoint_not_found */
export function deleteCheckpoint(
  instance: Instance,
  { session, label }: ParsedInput<"checkpoint.delete">,
): OperationOutput<"checkpoint.delete"> {
  const { folder } = findNamed(instance, session, label);
  return { session, label, bytes: removeNamed(instance, folder.number, label) };
}

/**
 * Runs the session again in that state; under another name it runs beside the original with new ids.
 * @throws WshError session_running, and like restoreSession
 */
export async function restoreNamed(
  instance: Instance,
  session: string,
  { label, as }: { readonly label: string; readonly as: string | undefined },
  restorer: Restorer,
): Promise<{ readonly info: SessionInfo; readonly stored: CrashedSession }> {
  const { stored, folder } = findNamed(instance, session, label);
  const { number } = folder;
  if (isRunning(instance, number)) {
    if (as === undefined) {
      throw new WshError("session_running", `session '${stored.session.name}' is running`, {
        hint: "Kill it first, or restore the checkpoint under another name ({as}).",
      });
    }
    return withCopy(instance, stored, async (copy) => ({
      info: await restoreSession(instance, copy, as, restorer),
      stored: copy,
    }));
  }
  const restorable = withIssuedNumbers(instance, stored);
  const info = await restoreSession(instance, restorable, as, restorer);
  removeOtherParts(instance, restorable);
  return { info, stored: restorable };
}

/** Includes numbers that its panes have issued since the save: callers may hold them. */
function withIssuedNumbers(instance: Instance, stored: CrashedSession): CrashedSession {
  const latest = readSession(stored.number, sessionDir(instance, stored.number));
  const panes = stored.panes.map((record) => {
    const issued = [
      record.numbers,
      readIssuedNumbers(stored.directory, record.pane),
      latest?.panes.find(({ pane }) => pane === record.pane)?.numbers,
    ].filter((numbers) => numbers != null);
    const highest = (select: (numbers: PaneNumbers) => number): number => Math.max(0, ...issued.map(select));
    if (issued.length === 0) return record;
    const numbers = {
      output_cursor: highest((each) => each.output_cursor),
      command_id: highest((each) => each.command_id),
    };
    return { ...record, numbers };
  });
  return { ...stored, panes };
}

/** Removes the session's other checkpoint files, except those of the running one. */
function removeOtherParts(instance: Instance, { number, panes, layout }: CrashedSession): void {
  const restoredParts = new Set<string>([
    ...panes.map(({ pane }) => panePart(pane)),
    ...(layout === null ? [] : ["layout"]),
  ]);
  const directory = sessionDir(instance, number);
  for (const part of listParts(directory)) if (!restoredParts.has(part)) removePart(directory, part);
}
