/**
 * Another machine's answer to an operation, over any transport: checked by the operation's own schema, and its sessions
 * by the rules for session names. It describes only itself: names in it mean nothing here.
 */

import * as v from "valibot";
import { getOperation, type OperationName, type OperationOutput } from "../operations/table.ts";
import { defined } from "../protocol/defined.ts";
import { type ErrorCode, WshError } from "../protocol/errors.ts";
import { isId, isSessionName, isTag } from "../protocol/names.ts";
import { SessionInfoSchema } from "../protocol/session.ts";
import { addressedDetails, addressedOutput } from "./machine-prefix.ts";
import { outcomeUnknown, type RemoteRequest } from "./repeated-request.ts";

export const AnswerSchema = v.union([
  v.object({ result: v.unknown() }),
  v.object({ error: v.looseObject({ code: v.string(), message: v.string() }) }),
]);

const AnswerTextSchema = v.pipe(v.string(), v.parseJson(), AnswerSchema);

/** @throws WshError the operation's error there; outcome_unknown for an invalid answer: the operation was executed */
export function readAnswer<N extends OperationName>(
  asked: RemoteRequest & { readonly operation: N },
  text: string,
): OperationOutput<N> {
  const answer = v.safeParse(AnswerTextSchema, text);
  if (!answer.success) throw outcomeUnknown(asked, "its answer is invalid");
  if ("error" in answer.output) throw remoteError(asked.machine, answer.output.error);
  return requireAnswer(asked, answer.output.result);
}

/** @throws WshError outcome_unknown for an invalid answer */
export function requireAnswer<N extends OperationName>(
  asked: RemoteRequest & { readonly operation: N },
  result: unknown,
): OperationOutput<N> {
  const { operation } = asked;
  const isPossible = v.is(getOperation(operation).output, result) && hasPossibleNames(operation, result);
  if (isPossible) return result as OperationOutput<N>;
  throw outcomeUnknown(asked, "its answer is invalid");
}

/** An answer in the form for callers of this machine. */
export function addressedAnswer(machine: string, operation: OperationName, answer: unknown): unknown {
  return addressedOutput(machine, getOperation(operation).gives, answer);
}

/** Longest message and hint of another machine to show, in characters. */
const MAX_MESSAGE = 4_000;
/** Errors about the login there, which do not concern the caller here. */
const remoteRefusals: ReadonlySet<ErrorCode> = new Set(["auth_required", "auth_invalid"]);

/** The operation's error there, whose message names the machine. */
export function remoteError(machine: string, body: Readonly<Record<string, unknown>>): WshError {
  const { code, message, hint, ...details } = addressedDetails(machine, body);
  const shorten = (text: unknown): string => {
    const whole = typeof text === "string" ? text : "unknown error";
    return whole.length > MAX_MESSAGE ? `${whole.slice(0, MAX_MESSAGE)}…` : whole;
  };
  const text = shorten(message);
  const isNamed = text.startsWith(`${machine}: `) || text.includes(`'${machine}'`);
  const named = {
    code,
    message: isNamed ? text : `${machine}: ${text}`,
    ...details,
    machine,
    ...defined({ hint: typeof hint === "string" ? shorten(hint) : undefined }),
  };
  const error = WshError.fromBody(named);
  if (!remoteRefusals.has(error.code)) return error;
  return new WshError("access_denied", `machine '${machine}' refuses this one: ${error.message}`, {
    machine,
    hint: "The token was changed or has expired: `wsh doctor NAME` says what to do.",
  });
}

const NamesSchema = v.pick(SessionInfoSchema, ["id", "pane_id", "name", "tags"]);

function hasPossibleNames(operation: OperationName, result: unknown): boolean {
  return getOperation(operation).gives !== "sessions" || [result].flat().every(isPossibleSession);
}

/** Whether a session has a valid name: an invalid one would name another session, or none. */
export function isPossibleSession(session: unknown): boolean {
  const names = v.safeParse(NamesSchema, session);
  if (!names.success) return false;
  const { id, pane_id, name, tags } = names.output;
  return isId(id) && isId(pane_id) && isSessionName(name) && tags.every(isTag);
}
