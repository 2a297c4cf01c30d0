/** Rights of an AI agent on stored sessions: it may restore, replace and delete those of its own sessions. */
import type { Instance } from "../instance/paths.ts";
import type { OperationOutput } from "../operations/table.ts";
import type { Caller } from "../protocol/caller.ts";
import type { Concealment } from "../protocol/concealed.ts";
import { WshError } from "../protocol/errors.ts";
import { parseTarget, sessionId } from "../protocol/names.ts";
import { agentOfCaller, isSameOwner, ownerOf, requireNoAgent } from "../protocol/owner.ts";
import type { Settings } from "../settings/table.ts";
import { Connection, type RequestContext } from "../wire/connection.ts";
import { findCrashed } from "./files/sessions.ts";
import { findNamed } from "./named/find.ts";
import { findRunning } from "./named/running.ts";

interface StoredTarget {
  readonly session?: string | undefined;
  readonly label?: string | undefined;
  readonly replace?: boolean | undefined;
}

/** @throws WshError access_denied; the operation itself reports a session that does not exist */
export function requireOwnCheckpoint(
  instance: Instance,
  settings: Pick<Settings, "agents_may">,
  caller: Caller,
  operation: string,
  { session, label, replace }: StoredTarget,
): void {
  if (agentOfCaller(caller) === null || settings.agents_may === "everything") return;
  const isNew = operation === "checkpoint.save" && replace !== true;
  const owner = session === undefined ? null : findOwner(instance, session, isNew ? undefined : label);
  if (owner !== undefined && (owner === null || !isSameOwner(owner, ownerOf(caller))))
    requireNoAgent(settings, caller, operation);
}

/** A labelled checkpoint remains on the disk until a person deletes it. @throws WshError access_denied */
export async function requireMaySave(
  instance: Instance,
  input: { readonly session: string },
  { caller, waits }: Pick<RequestContext, "caller" | "waits">,
): Promise<void> {
  const running = agentOfCaller(caller) === null ? null : findRunning(instance, input.session);
  if (running === null) return;
  const { connection } = await Connection.open(running.socket, "cli");
  try {
    await connection.request("peer.leave", { op: "checkpoint.save", input }, { caller, access: "admin", waits });
  } finally {
    connection.close();
  }
}

/** The owner of a stored session; undefined: nothing of it is stored. */
function findOwner(instance: Instance, session: string, label: string | undefined) {
  try {
    const stored =
      label === undefined ? findCrashed(instance, parseTarget(session)) : findNamed(instance, session, label).stored;
    return stored.session.owner ?? null;
  } catch (thrown) {
    if (!(thrown instanceof WshError)) throw thrown;
    return undefined;
  }
}

/** The checkpoints and fields that an AI agent may see. @param concealment null: another caller */
export function filterVisible(
  all: OperationOutput<"checkpoint.list">,
  concealment: Concealment | null,
): OperationOutput<"checkpoint.list"> {
  if (concealment === null) return all;
  const isVisible = ({ id }: { readonly id: string }): boolean => !concealment.hidden.has(id);
  const { crashed, named, matches, unreadable } = all;
  return {
    ...all,
    crashed: crashed.filter(isVisible),
    named: named.filter(isVisible),
    ...(matches === undefined ? {} : { matches: matches.filter(isVisible) }),
    unreadable: unreadable.filter(({ session }) => !concealment.hidden.has(session)),
  };
}

/**
 * A session's privacy also covers checkpoints from before it became private. A name may have passed from one session to
 * another, so each checkpoint is found as the operation finds it.
 * @param labels the checkpoints that are shown; undefined: the automatic one
 * @throws WshError access_denied, checkpoint_not_found, and why one cannot be read
 */
export function requireVisible(
  instance: Instance,
  session: string,
  labels: readonly (string | undefined)[],
  concealment: Concealment | null,
): void {
  if (concealment === null) return;
  const numbers = labels.map((label) =>
    label === undefined
      ? (findRunning(instance, session)?.number ?? findCrashed(instance, parseTarget(session)).number)
      : findNamed(instance, session, label).folder.number,
  );
  if (!numbers.some((number) => concealment.hidden.has(sessionId(number)))) return;
  throw new WshError("access_denied", `session '${session}' is private: agents may not see its checkpoints`, {
    hint: "Ask the person about its contents.",
  });
}
