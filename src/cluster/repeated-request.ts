/**
 * A request to another machine that survives lost connections. It has an id there, so it is repeated as soon as the
 * machine answers: it gets the same answer, or waits for the running request, and nothing is done twice. The caller
 * gives up at its own deadline, unless the machine is reachable and working; without a deadline, `peerAgain` after the
 * connection was lost, or `peerBegin` after it was sent, whichever is later. From then on nothing is begun there either,
 * and the outcome is unknown.
 */
import { pause } from "../base/deadline.ts";
import { intervals } from "../platform/intervals.ts";
import { WshError } from "../protocol/errors.ts";

/** Interval between two attempts, in ms. */
export const RETRY_MS = 500;

/** The connection was lost, possibly after the request was sent. */
export class ConnectionLost extends Error {}

export interface RemoteRequest {
  readonly machine: string;
  readonly operation: string;
  /** The request's id, with which the caller can ask again. */
  readonly id: string;
}

export interface RepeatedRequest extends RemoteRequest {
  /** Unix time in ms at which the caller first sent it, if it was sent before. */
  readonly firstAt?: number | undefined;
  /** Unix time in ms by this machine's clock. */
  readonly deadline: number;
  /** The deadline is the caller's own: an answer after it is useless. */
  readonly isOwn?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Whether the machine answers now: asked once, at the caller's own deadline. */
  readonly isReachable?: () => Promise<boolean>;
}

/** Errors of machines that do not answer now. */
export const passingErrors: ReadonlySet<string> = new Set(["machine_unreachable", "lock_busy"]);

/**
 * @param attempt sends the request; throws ConnectionLost if it may have been sent. From the second attempt on, its
 * argument is the time of the first, as Unix time in ms
 * @throws WshError outcome_unknown, cancelled, and errors of `attempt`
 */
export async function untilAnswered<T>(
  repeatedRequest: RepeatedRequest,
  attempt: (firstAt?: number) => Promise<T>,
): Promise<T> {
  const { signal, deadline } = repeatedRequest;
  const firstAt = repeatedRequest.firstAt ?? Date.now();
  // A request that was sent earlier may have been executed, even if nothing can be sent now.
  let lostAt = repeatedRequest.firstAt === undefined ? null : Date.now();
  let lastSentAt = repeatedRequest.firstAt;
  for (;;) {
    try {
      return await whileReachable(repeatedRequest, attempt(lastSentAt));
    } catch (thrown) {
      if (signal?.aborted === true) throw new WshError("cancelled", "the caller ended the request");
      const { code } = WshError.from(thrown);
      // A server that ends drops requests that it has passed on.
      if (thrown instanceof ConnectionLost || code === "server_unavailable") lostAt ??= Date.now();
      else if (lostAt === null) throw thrown;
      else if (code === "session_not_found") throw outcomeUnknown(repeatedRequest, "its session is gone");
      else if (!passingErrors.has(code)) throw thrown;
      const patientUntil = repeatedRequest.isOwn === true ? deadline : Math.max(deadline, lostAt + intervals.peerAgain);
      if (Date.now() > patientUntil) throw outcomeUnknown(repeatedRequest, "it does not answer");
    }
    lastSentAt = firstAt;
    await pause(RETRY_MS, signal);
  }
}

/**
 * Awaits an answer, which may take longer than the caller's own deadline if the machine is reachable: only its start
 * must precede the deadline. The attempt itself is not aborted: it may be repeated by its id.
 * @throws ConnectionLost when the machine is silent at the deadline, and errors of the answer's promise
 */
export async function whileReachable<T>(
  { isOwn = false, deadline, isReachable }: Pick<RepeatedRequest, "isOwn" | "deadline" | "isReachable">,
  answer: Promise<T>,
): Promise<T> {
  if (!isOwn || isReachable === undefined) return answer;
  const silent = Promise.withResolvers<never>();
  const checkMachine = async (): Promise<void> => {
    if (!(await isReachable().catch(() => false)))
      silent.reject(new ConnectionLost("the deadline passed without an answer"));
  };
  const timer = setTimeout(() => void checkMachine(), Math.max(0, deadline - Date.now()));
  try {
    return await Promise.race([answer, silent.promise]);
  } finally {
    clearTimeout(timer);
    silent.promise.catch(() => {}); // the answer came first
  }
}

export function outcomeUnknown({ machine, operation, id }: RemoteRequest, why: string): WshError {
  const message = `'${operation}' was sent to machine '${machine}', but ${why} (request ${id})`;
  return new WshError("outcome_unknown", message, { machine, request: id });
}

/**
 * The time by which a request must begin. A dialog may type only after its awaited condition.
 * @param ownDeadline the caller's own deadline
 */
export function startDeadline(operation: string, input: unknown, ownDeadline = Number.POSITIVE_INFINITY): number {
  const isDialog = operation === "run" && typeof input === "object" && input !== null && "steps" in input;
  const waits = isDialog && "max_wait_ms" in input ? Number(input.max_wait_ms) : 0;
  return Math.min(ownDeadline, Date.now() + intervals.peerBegin + (Number.isFinite(waits) ? waits : 0));
}
