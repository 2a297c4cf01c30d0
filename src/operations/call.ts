/** How a transport calls an operation, whichever process handles it. */

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
  /** Aborts when the token of the caller ends, together with its requests and streams; absent: it does not end. */
  readonly ended?: AbortSignal;
  /** The caller's own directory and environment, for the programs it starts. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The caller's process, on this machine: what is bound to its owner ends with it. */
  readonly process?: OwnerProcess;
  /** The machine whose server is asked, if the target does not name it; absent: this one. */
  readonly machine?: string;
  /** The request has an id: it is executed once, however often it is repeated. */
  readonly once?: RequestKey;
  /** Unix time in ms by this machine's clock after which it is not begun. */
  readonly deadline?: number;
  /** The call comes from another machine's server, which may start sessions here only if `accept` permits it. */
  readonly fromMachine?: true;
  /**
   * Takes the result as JSON instead, if the operation already has it in that form: lists of thousands. Its return
   * value is then empty.
   */
  readonly json?: (text: string) => void;
  /** Called when the call waits for a person's leave. */
  readonly waits?: (waiting: WaitsForPerson) => void;
  /** Receives the session of the call as soon as it is known: at the end its name may belong to another session. */
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
  return parsed;
}

/** Also for input that is forwarded unread. @throws WshError invalid_request naming the field */
export function requireUsable(input: unknown): void {
  const found = unusable(input);
  if (found !== null) throw fieldError(found.path, `: ${found.why}`);
}
