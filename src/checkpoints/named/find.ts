/** Finds the named checkpoint for a session and a label, and lists all named checkpoints. */
import type { Instance } from "../../instance/paths.ts";
import { WshError } from "../../protocol/errors.ts";
import { isLabel, parseTarget, sessionId } from "../../protocol/names.ts";
import { ownerText } from "../../protocol/owner.ts";
import { listNamedFolders, type NamedFolder } from "../files/named.ts";
import {
  type CrashedSession,
  isOfOtherMachine,
  matchesTarget,
  readSession,
  type UnreadableSession,
} from "../files/sessions.ts";
import { findRunning } from "./running.ts";

export interface NamedCheckpoint {
  readonly folder: NamedFolder;
  readonly stored: CrashedSession;
}

/** Most characters of a refused label that a message repeats. */
const MAX_QUOTED = 80;

/** @throws WshError invalid_label */
export function checkLabel(text: string): string {
  if (isLabel(text)) return text;
  throw new WshError("invalid_label", `${JSON.stringify(text.slice(0, MAX_QUOTED))} is not a label of a checkpoint`);
}

/** All named checkpoints of this machine, and unreadable ones. @param target only those of this session */
export function listNamed(
  instance: Instance,
  target?: string,
): { readonly named: NamedCheckpoint[]; readonly unreadable: (UnreadableSession & { readonly label: string })[] } {
  const named: NamedCheckpoint[] = [];
  const unreadable: (UnreadableSession & { readonly label: string })[] = [];
  const parsed = target === undefined ? null : parseTarget(target);
  const running = target === undefined ? null : findRunning(instance, target);
  for (const folder of listNamedFolders(instance)) {
    const { number, directory, label } = folder;
    try {
      const stored = readSession(number, directory);
      if (stored === null) continue;
      if (parsed === null || number === running?.number || matchesTarget(stored, parsed)) {
        named.push({ folder, stored: { ...stored, why: `checkpoint '${label}'` } });
      }
    } catch (thrown) {
      const isRequested = parsed === null || number === running?.number || target === sessionId(number);
      if (isRequested && !isOfOtherMachine(directory))
        unreadable.push({ number, directory, label, error: WshError.from(thrown) });
    }
  }
  return { named, unreadable };
}

/**
 * A name may have passed from one owner's session to another's: neither one's checkpoint is taken for the
 * other's.
 * @throws WshError invalid_request naming both
 */
function requireOneOwner(matches: readonly NamedCheckpoint[], target: string, label: string): void {
  const describeOwner = ({ stored }: NamedCheckpoint): string =>
    ownerText(stored.session.owner ?? { kind: "person", name: "" });
  const [first, ...rest] = matches;
  const other = rest.find((each) => first !== undefined && describeOwner(each) !== describeOwner(first));
  if (first === undefined || other === undefined) return;
  const [one, two] = [first, other].map((each) => `${sessionId(each.folder.number)} of ${describeOwner(each)}`);
  throw new WshError(
    "invalid_request",
    `checkpoint '${label}' of '${target}' may be that of session ${one} or ${two}`,
    {
      hint: "Name the session by its id.",
    },
  );
}

/**
 * The named checkpoint of the running session, else the last one saved under the session's name.
 * @throws WshError invalid_label, checkpoint_not_found, and why it cannot be read
 */
export function findNamed(instance: Instance, target: string, label: string): NamedCheckpoint {
  checkLabel(label);
  const { named, unreadable } = listNamed(instance, target);
  const number = findRunning(instance, target)?.number;
  const matches = named.filter(({ folder }) => folder.label === label);
  requireOneOwner(matches, target, label);
  const ofRunning = matches.filter(({ folder }) => folder.number === number);
  const newest = (ofRunning.length > 0 ? ofRunning : matches)
    .sort((a, b) => a.stored.saved_at - b.stored.saved_at)
    .at(-1);
  if (newest !== undefined) return newest;
  const unreadableMatch = unreadable.find((each) => each.label === label);
  if (unreadableMatch !== undefined) throw unreadableMatch.error;
  throw new WshError("checkpoint_not_found", `session '${target}' has no checkpoint '${label}'`);
}
