/**
 * The command line's requests to sessions of other machines, over the session's stream there
 * (cluster/repeated-request.ts).
 */
import { remoteError, requireAnswer } from "../../cluster/checked-answer.ts";
import type { Link, LinkRequest } from "../../cluster/link.ts";
import { ConnectionLost, type RepeatedRequest, startDeadline, untilAnswered } from "../../cluster/repeated-request.ts";
import { isWait, untilDecided } from "../../cluster/repeated-wait.ts";
import { getOperation, type OperationName } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import { type RequestMeta, requestKeyOf } from "../../protocol/requests.ts";

/** Id of the request to repeat, as an `outcome_unknown` error has named it. */
const REQUEST_VARIABLE = "WSH_REQUEST";
/** An id that holds its creation time: the first 48 bits are the Unix time in ms. */
const timed = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const LOOKED_ONLY = "The request changes nothing there: repeat it when the machine answers (`wsh doctor NAME`).";

let requestId = process.env[REQUEST_VARIABLE] ?? "";

/** Whether the next change repeats the person's earlier request. */
export function namesRequest(): boolean {
  return requestId !== "";
}

/** Makes the next change a repetition of the request with this id. */
export function resumeRequest(id: string): void {
  requestId = id;
}

/** The id of the next change: that of the request to repeat, else a new one. */
export function nextRequest(): LinkRequest {
  const id = requestId === "" ? Bun.randomUUIDv7() : requestId;
  const parts = requestId === "" ? null : timed.exec(requestId);
  // Only the first change of a command can be the repeated one.
  requestId = "";
  if (parts === null) return { id };
  return { id, firstAt: Number.parseInt(`${parts[1]}${parts[2]}`, 16) };
}

interface StreamAsk {
  readonly operation: OperationName;
  readonly target: string;
  readonly input: unknown;
  readonly signal: AbortSignal | undefined;
}

/** The connection to a session of another machine. */
interface RequestTransport {
  isLost(): boolean;
  /** Whether it was lost on the way, not ended by the session's process. */
  isCut(): boolean;
  /** Opens it again. @throws WshError */
  reopen(): Promise<void>;
}

/**
 * @param ask sends the request over the current connections
 * @throws WshError outcome_unknown, cancelled, and errors of the operation
 */
export async function askOverStream(
  link: Link,
  { operation, target, input, signal }: StreamAsk,
  ask: (asked: RequestMeta, input: unknown) => Promise<unknown>,
  transport: RequestTransport,
): Promise<unknown> {
  const { machine } = link;
  const checked = async (asked: RequestMeta, sent: unknown): Promise<unknown> => {
    const answer = await ask(asked, sent).catch((thrown) => {
      throw thrown instanceof WshError ? remoteError(machine, thrown.toBody()) : thrown;
    });
    return requireAnswer({ machine, operation, id: asked.once?.id ?? Bun.randomUUIDv7() }, answer);
  };
  if (isWait(operation)) return waitOverStream(link, { operation, target, input, signal }, checked, transport);
  // The remaining part of a read is not worth waiting for.
  const { access, isStable } = getOperation(operation);
  const isLook = access === "observe";
  if (isLook && isStable !== true) return checked({}, input).catch((thrown) => throwLost(machine, thrown, transport));
  const { id, firstAt } = isLook ? { id: Bun.randomUUIDv7(), firstAt: undefined } : nextRequest();
  const deadline = startDeadline(operation, input);
  const repeatedRequest: RepeatedRequest = { machine, operation, id, firstAt, deadline, signal };
  return untilAnswered(repeatedRequest, (before) =>
    overTransport(transport, () => {
      const first = before === undefined ? undefined : link.toRemoteTime(before);
      const once = requestKeyOf(id, "cli", { operation, target, input }, first);
      return checked({ once, deadline: link.toRemoteTime(deadline) }, input);
    }),
  );
}

/**
 * Sends a request over the connection, which is reopened if it was lost. @throws ConnectionLost when it is lost, and
 * errors of `ask`
 */
async function overTransport<T>(transport: RequestTransport, ask: () => Promise<T>): Promise<T> {
  if (transport.isLost()) await transport.reopen().catch((thrown) => throwGone(thrown, transport));
  try {
    return await ask();
  } catch (thrown) {
    if (isConnectionLost(thrown, transport)) throw new ConnectionLost("", { cause: thrown });
    throw thrown;
  }
}

function isConnectionLost(thrown: unknown, transport: Pick<RequestTransport, "isLost">): boolean {
  return WshError.from(thrown).code === "session_unavailable" && transport.isLost();
}

/**
 * For an operation that changes nothing, a lost answer does not matter. @throws WshError machine_unreachable, or
 * `thrown`
 */
export function throwLost(machine: string, thrown: unknown, transport: Pick<RequestTransport, "isLost">): never {
  if (!isConnectionLost(thrown, transport)) throw thrown;
  const details = { machine, hint: LOOKED_ONLY };
  throw new WshError("machine_unreachable", `the connection to machine '${machine}' was lost`, details, {
    cause: thrown,
  });
}

/**
 * A request to a session whose process has ended the connection has ended with it. After a lost connection, the session
 * may have carried it out before it ended.
 */
function throwGone(thrown: unknown, transport: Pick<RequestTransport, "isCut">): never {
  if (WshError.from(thrown).code !== "session_not_found" || transport.isCut()) throw thrown;
  throw new WshError("session_unavailable", WshError.from(thrown).message, {}, { cause: thrown });
}

async function waitOverStream(
  { machine }: Link,
  { operation, input, signal }: StreamAsk,
  ask: (asked: RequestMeta, input: unknown) => Promise<unknown>,
  transport: RequestTransport,
): Promise<unknown> {
  const isReachable = async (): Promise<boolean> => !transport.isLost();
  try {
    return await untilDecided({ operation, input, signal, isReachable }, (own) =>
      overTransport(transport, () => ask({}, own)),
    );
  } catch (thrown) {
    if (!(thrown instanceof ConnectionLost)) throw thrown;
    const details = { machine, hint: LOOKED_ONLY };
    throw new WshError("machine_unreachable", `machine '${machine}' does not answer`, details, { cause: thrown });
  }
}
