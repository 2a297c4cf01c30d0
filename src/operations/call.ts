/** How a door calls an operation, whatever handles it and wherever. */

import * as v from "valibot";
import { type Access, accessCovers, type Caller } from "../protocol/caller.ts";
import { WshError } from "../protocol/errors.ts";
import type { Operation } from "./define.ts";
import { misplacedArray, unusable } from "./misplaced-array.ts";
import type { OperationInput, OperationName, OperationOutput, ParsedInput } from "./table.ts";

export type Progress = (update: { readonly state: string; readonly lastLine: string }) => void;

export interface CallContext {
  readonly signal: AbortSignal;
  readonly access: Access;
  readonly caller: Caller;
  /** The caller's own directory and environment, for what it starts. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** How the caller was let in, for the audit log: the token's name, and the peer's address over TCP. */
  readonly via?: { readonly token: string; readonly peer: string | null };
  /** Id of the one session that the caller may touch (a token made for it); absent: all. */
  readonly only?: string;
}

/** Session operations name their target in `session`. */
export type Call = <N extends OperationName>(
  name: N,
  input: OperationInput<N>,
  context: CallContext & { readonly session?: string },
) => Promise<OperationOutput<N>>;

/** @throws WshError access_denied */
export function requireAccess(operation: Operation, held: Access): void {
  if (accessCovers(held, operation.access)) return;
  throw new WshError(
    "access_denied",
    `'${operation.name}' takes the access '${operation.access}'; this caller has '${held}'`,
  );
}

/**
 * Validates once, before any effect.
 * @throws WshError invalid_request (invalid_format for a bad format) naming the field and what was sent
 */
export function parseInput<N extends OperationName>(operation: Operation<N>, input: unknown): ParsedInput<N> {
  requireUsable(input);
  const misplaced = misplacedArray(operation.input, input);
  if (misplaced !== null) throw mistake(misplaced, "Invalid type: Expected Object but received Array");
  const parsed = v.safeParse(operation.input, input ?? {}, { abortPipeEarly: true });
  if (parsed.success) return parsed.output as ParsedInput<N>;
  const [issue] = parsed.issues;
  throw mistake(v.getDotPath(issue) ?? "", issue.message);
}

/** For what is sent on unread, too. @throws WshError invalid_request naming the field */
export function requireUsable(input: unknown): void {
  const found = unusable(input);
  if (found !== null) throw mistake(found.path, found.why);
}

function mistake(field: string, message: string): WshError {
  const where = field === "" ? "the request" : `'${field}'`;
  const code = field === "format" ? "invalid_format" : "invalid_request";
  return new WshError(code, `${where}: ${message}`, { field, schema: true });
}
