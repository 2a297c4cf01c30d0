/** Types of calls to operations, independent of transport and handling process. */

import type { Acting } from "../protocol/caller.ts";
import type { WaitsForPerson } from "../protocol/control.ts";
import { requireCombinable } from "../protocol/option-rules.ts";
import type { OwnerProcess } from "../protocol/owner.ts";
import { fieldError, parse } from "../protocol/parse.ts";
import type { RequestKey } from "../protocol/requests.ts";
import type { Operation } from "./define.ts";
import { misplacedArray, unusable } from "./misplaced-array.ts";
import type { OperationInput, OperationName, OperationOutput, ParsedInput } from "./table.ts";

/** The session and pane that a target resolved to. */
export interface ReachedSession {
  readonly id: string;
  readonly pane_id: string;
}

export interface CallContext extends Acting {
  readonly signal: AbortSignal;
  /** Aborts when the caller's token expires, together with its requests and streams; absent: it does not expire. */
  readonly ended?: AbortSignal;
  /** The caller's own directory and environment, for the programs it starts. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The caller's process on this machine; sessions bound to their owner end with it. */
  readonly process?: OwnerProcess;
  /** The machine whose server is called, if the target does not name it; absent: this one. */
  readonly machine?: string;
  /** The request's id: the request is executed once, however often it is repeated. */
  readonly once?: RequestKey;
  /** Latest start of the call, as Unix time in ms by this machine's clock. */
  readonly deadline?: number;
  /** Whether to get only a person's permission for the same call, which follows. */
  readonly ahead?: boolean;
  /** Set for a call from another machine's server, which may start sessions here only if `accept` permits it. */
  readonly fromMachine?: true;
  /**
   * Receives the result as JSON instead, if the operation already has it in that form (lists of thousands).
   * The call's return value is then empty.
   */
  readonly json?: (text: string) => void;
  /** Called when the call waits for a person's permission. */
  readonly waits?: (waiting: WaitsForPerson) => void;
  /** Receives the session of the call once it is known: at the end its name may belong to another session. */
  readonly reached?: (ids: ReachedSession) => void;
}

/** Session operations name their target in `session`. */
export type Call = <N extends OperationName>(
  name: N,
  input: OperationInput<N>,
  context: CallContext & { readonly session?: string },
) => Promise<OperationOutput<N>>;

/**
 * Validates the input before any effect.
 * @throws WshError invalid_request (invalid_format for a bad format) naming the field and its value
 */
export function parseInput<N extends OperationName>(operation: Operation<N>, input: unknown): ParsedInput<N> {
  requireUsable(input);
  const misplaced = misplacedArray(operation.input, input);
  if (misplaced !== null) throw fieldError(misplaced, ": Invalid type: Expected Object but received Array");
  const parsed = parse(operation.input, input ?? {}) as ParsedInput<N>;
  if (operation.rules !== undefined) requireCombinable(operation.rules, parsed);
  operation.check?.(parsed);
  return parsed;
}

/** Also applies to input that is forwarded unread. @throws WshError invalid_request naming the field */
export function requireUsable(input: unknown): void {
  const found = unusable(input);
  if (found !== null) throw fieldError(found.path, `: ${found.why}`);
}
