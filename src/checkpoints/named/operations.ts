/** Saves, lists, shows, compares, restores and deletes named checkpoints, for the server and the command line. */
import type { Instance } from "../../instance/paths.ts";
import type { OperationOutput, ParsedInput } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import { parseTarget } from "../../protocol/names.ts";
import type { SessionInfo } from "../../protocol/session.ts";
import { notedNumbers, removeNamed } from "../files/named.ts";
import { removePart } from "../files/part-writer.ts";
import { panePart, sessionDir } from "../files/paths.ts";
import type { PaneNumbers } from "../files/record.ts";
import { type CrashedSession, findCrashed, partsIn, readSession } from "../files/sessions.ts";
import type { Restorer } from "../launch.ts";
import { restoreSession } from "../restore.ts";
import { compare } from "./compare.ts";
import { withCopy } from "./copy.ts";
import { findNamed } from "./find.ts";
import { isRunning, runningSession } from "./running.ts";
import { atPresent, saveNamed } from "./save.ts";
import { checkpointView, listed } from "./view.ts";

/** @throws WshError like saveNamed */
export async function saveAsked(
  instance: Instance,
  input: ParsedInput<"checkpoint.save">,
): Promise<OperationOutput<"checkpoint.save">> {
  return listed(instance, await saveNamed(instance, input));
}

/** @throws WshError checkpoint_not_found, and why it cannot be read */
export function showAsked(
  instance: Instance,
  { session, label }: ParsedInput<"checkpoint.show">,
): OperationOutput<"checkpoint.show"> {
  return label === undefined
    ? checkpointView(newest(instance, session), null)
    : checkpointView(findNamed(instance, session, label).stored, label);
}

/** @throws WshError checkpoint_not_found, checkpoint_refused, and why one cannot be read */
export async function diffAsked(
  instance: Instance,
  { session, label, to }: ParsedInput<"checkpoint.diff">,
): Promise<OperationOutput<"checkpoint.diff">> {
  const before = findNamed(instance, session, label);
  const from = [before.stored, label] as const;
  if (to !== undefined) return compare(from, [findNamed(instance, session, to).stored, to]);
  const running = runningSession(instance, session);
  const isSame = running?.number === before.folder.number;
  if (running !== null && isSame) return atPresent(instance, running, (now) => compare(from, [now, null]));
  return compare(from, [newest(instance, session), null]);
}

/**
 * The continuously written checkpoint of a session. @throws WshError checkpoint_not_found, and why it cannot be read
 */
function newest(instance: Instance, target: string): CrashedSession {
  const running = runningSession(instance, target);
  if (running === null) return findCrashed(instance, parseTarget(target));
  const kept = readSession(running.number, sessionDir(instance, running.number));
  if (kept !== null) return kept;
  throw new WshError("checkpoint_not_found", `session '${target}' has no checkpoint yet`);
}

/** @throws WshError checkpoint_not_found */
export function deleteAsked(
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
  const past = pastAll(instance, stored);
  const info = await restoreSession(instance, past, as, restorer);
  removeOthers(instance, past);
  return { info, stored: past };
}

/** Includes numbers that its panes have issued since the save: callers may hold them. */
function pastAll(instance: Instance, stored: CrashedSession): CrashedSession {
  const since = readSession(stored.number, sessionDir(instance, stored.number));
  const panes = stored.panes.map((record) => {
    const known = [
      record.numbers,
      notedNumbers(stored.directory, record.pane),
      since?.panes.find(({ pane }) => pane === record.pane)?.numbers,
    ].filter((numbers) => numbers != null);
    const most = (of: (numbers: PaneNumbers) => number): number => Math.max(0, ...known.map(of));
    if (known.length === 0) return record;
    const numbers = { output_cursor: most((each) => each.output_cursor), command_id: most((each) => each.command_id) };
    return { ...record, numbers };
  });
  return { ...stored, panes };
}

/** Removes the session's other checkpoint files, except those of the running one. */
function removeOthers(instance: Instance, { number, panes, layout }: CrashedSession): void {
  const own = new Set<string>([...panes.map(({ pane }) => panePart(pane)), ...(layout === null ? [] : ["layout"])]);
  const directory = sessionDir(instance, number);
  for (const part of partsIn(directory)) if (!own.has(part)) removePart(directory, part);
}
