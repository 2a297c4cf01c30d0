/**
 * Makes a call over a link with any transport: adds deadline, id and caller, and survives a lost connection. A
 * read gets no id: it changes nothing, whether executed or not. A change is repeated by its id
 * (repeated-request.ts).
 */
import { getOperation, type OperationInput, type OperationName, type OperationOutput } from "../operations/table.ts";
import type { Access } from "../protocol/caller.ts";
import { defined } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";
import { DEADLINE_HEADER, REQUEST_HEADER, sentBefore } from "../protocol/requests.ts";
import { readAnswer } from "./checked-answer.ts";
import { type LinkCallOptions, sentCaller } from "./link.ts";
import { ConnectionLost, startDeadline, untilAnswered, whileReachable } from "./repeated-request.ts";
import { isWait, untilDecided } from "./repeated-wait.ts";

/** One call with all its attempts. */
export interface CarriedCall {
  readonly operation: OperationName;
  readonly access: Access;
  readonly signal: AbortSignal | undefined;
  /** Incarnations of the machine to which it was sent. */
  readonly sentTo: Set<string>;
  /** Unix time in ms by this machine's clock after which the call is not begun there. */
  readonly deadline: number;
  /** The headers for an attempt that is sent now. */
  headers(): Readonly<Record<string, string>>;
}

/** Carries calls to one machine. */
export interface CallTransport {
  readonly machine: string;
  /** Sends the call once and returns its answer. @throws ConnectionLost; WshError when nothing was sent or executed */
  send(body: string, call: CarriedCall): Promise<string>;
  isReachable(): Promise<boolean>;
  toRemoteTime(time: number): number;
  /** The caller no longer wants an answer. */
  cancel(id: string): void;
  unreachable(cause: unknown): WshError;
}

export async function callOverTransport<N extends OperationName>(
  link: CallTransport,
  name: N,
  input: OperationInput<N>,
  {
    session,
    caller,
    access: callerAccess,
    signal,
    request = { id: Bun.randomUUIDv7() },
    deadline: callerDeadline,
  }: LinkCallOptions,
): Promise<OperationOutput<N>> {
  const { access } = getOperation(name);
  const deadline = startDeadline(name, input, callerDeadline);
  const { id, displayId = id, firstAt } = request;
  const isReachable = (): Promise<boolean> => link.isReachable();
  const isOwn = callerDeadline !== undefined;
  const repeatedRequest = {
    machine: link.machine,
    operation: name,
    id: displayId,
    firstAt,
    deadline,
    isOwn,
    signal,
    isReachable,
  };
  const sessionField = defined({ session });
  const sentTo = new Set<string>();
  const send = (sent: unknown, before: number | undefined): Promise<string> => {
    const headers = (): Readonly<Record<string, string>> => ({
      [DEADLINE_HEADER]: `${Math.max(0, Math.floor(link.toRemoteTime(deadline)))}`,
      ...(access === "observe" ? {} : { [REQUEST_HEADER]: id }),
      ...sentBefore(before, (time) => link.toRemoteTime(time)),
    });
    const body = JSON.stringify({ op: name, input: sent, caller: sentCaller(caller, callerAccess), ...sessionField });
    return link.send(body, { operation: name, access, signal, sentTo, deadline, headers });
  };
  try {
    if (access !== "observe")
      return readAnswer(repeatedRequest, await untilAnswered(repeatedRequest, (before) => send(input, before)));
    const observe = async (sent: unknown): Promise<OperationOutput<N>> => {
      const answer = send(sent, firstAt);
      return readAnswer(repeatedRequest, await (isWait(name) ? answer : whileReachable(repeatedRequest, answer)));
    };
    if (!isWait(name)) return await observe(input);
    const waited = { operation: name, input, signal, isReachable, ...(isOwn ? { deadline } : {}) };
    return (await untilDecided(waited, observe)) as OperationOutput<N>;
  } catch (thrown) {
    if (access === "observe" && signal?.aborted === true)
      throw new WshError("cancelled", "the caller ended the request");
    if (access !== "observe" && WshError.from(thrown).code === "cancelled") link.cancel(id);
    throw thrown instanceof ConnectionLost ? link.unreachable(thrown.cause) : thrown;
  }
}
