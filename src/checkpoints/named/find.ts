/** Finds the named checkpoint for a session and a label, and lists all named checkpoints. */
import type { Instance } from "../../instance/paths.ts";
import { WshError } from "../../protocol/errors.ts";
import { isLabel, parseTarget, sessionId } from "../../protocol/names.ts";
import { ownerText } from "../../protocol/owner.ts";
import { type NamedFolder, namedFolders } from "../files/named.ts";
import { type CrashedSession, isMeant, isOthers, readSession, type UnreadableSession } from "../files/sessions.ts";
import { runningSession } from "./running.ts";

export interface NamedCheckpoint {
  readonly folder: NamedFolder;
  readonly stored: CrashedSession;
}

/** Most characters of a refused label that a message repeats. */
const QUOTED = 80;

/** @throws WshError invalid_label */
export function checkLabel(text: string): string {
  if (isLabel(text)) return text;
  throw new WshError("invalid_label", `${JSON.stringify(text.slice(0, QUOTED))} is not a label of a checkpoint`);
}

/** All named checkpoints of this machine, and unreadable ones. @param target only those of this session */
export function allNamed(
  instance: Instance,
  target?: string,
): { readonly named: NamedCheckpoint[]; readonly unreadable: (UnreadableSession & { readonly label: string })[] } {
  const named: NamedCheckpoint[] = [];
  const unreadable: (UnreadableSession & { readonly label: string })[] = [];
  const parsed = target === undefined ? null : parseTarget(target);
  const running = target === undefined ? null : runningSession(instance, target);
  for (const folder of namedFolders(instance)) {
    const { number, directory, label } = folder;
    try {
      const kept = readSession(number, directory);
      if (kept === null) continue;
      if (parsed === null || number === running?.number || isMeant(kept, parsed)) {
        named.push({ folder, stored: { ...kept, why: `checkpoint '${label}'` } });
      }
    } catch (thrown) {
      const isAsked = parsed === null || number === running?.number || target === sessionId(number);
      if (isAsked && !isOthers(directory))
        unreadable.push({ number, directory, label, trouble: WshError.from(thrown) });
    }
  }
  return { named, unreadable };
}

/**
 * A name may have passed from one owner's session to another's: neither's checkpoint is taken for the other's.
 * @throws WshError invalid_request naming both
 */
function requireOneOwner(fitting: readonly NamedCheckpoint[], target: string, label: string): void {
  const ownerIn = ({ stored }: NamedCheckpoint): string =>
    ownerText(stored.session.owner ?? { kind: "person", name: "" });
  const [first, ...rest] = fitting;
  const other = rest.find((each) => first !== undefined && ownerIn(each) !== ownerIn(first));
  if (first === undefined || other === undefined) return;
  const [one, two] = [first, other].map((each) => `${sessionId(each.folder.number)} of ${ownerIn(each)}`);
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
  const { named, unreadable } = allNamed(instance, target);
  const number = runningSession(instance, target)?.number;
  const fitting = named.filter(({ folder }) => folder.label === label);
  requireOneOwner(fitting, target, label);
  const own = fitting.filter(({ folder }) => folder.number === number);
  const candidates = (own.length > 0 ? own : fitting).sort((a, b) => a.stored.saved_at - b.stored.saved_at).at(-1);
  if (candidates !== undefined) return candidates;
  const broken = unreadable.find((each) => each.label === label);
  if (broken !== undefined) throw broken.trouble;
  throw new WshError("checkpoint_not_found", `session '${target}' has no checkpoint '${label}'`);
}
