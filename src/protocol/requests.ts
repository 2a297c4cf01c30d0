/**
 * Requests that are executed once, however often they are repeated, and not after their deadline (docs/protocol.md,
 * Requests with an id). An id belongs to its caller; wsh processes exchange a key derived from it. Pure.
 */
import * as v from "valibot";
import { defined } from "./defined.ts";
import { WshError } from "./errors.ts";

/** The caller's id of a request. */
export const REQUEST_HEADER = "Wsh-Request";
/** Time since the request was first sent, in ms; absent: it is sent now. */
export const REQUEST_AGE_HEADER = "Wsh-Request-Age";
/** Unix time in ms, by the clock of the receiving machine, at which it was first sent; absent: now. */
export const REQUEST_FIRST_HEADER = "Wsh-Request-First";
/** Unix time in ms, by the clock of the receiving machine, after which the request is not begun. */
export const DEADLINE_HEADER = "Wsh-Deadline";
/** An id of the sending machine, with which it confirms that it still waits. */
export const ASKING_HEADER = "Wsh-Asking";
/**
 * The caller for whom a process of this account asks, as JSON: accepted only on the Unix socket, and only reduces
 * access.
 */
export const ACTING_HEADER = "Wsh-Acting";
/** The AI agent on whose behalf the request is made, as the command line reports: only reduces rights. */
export const AGENT_HEADER = "Wsh-Agent";
export const REQUEST_HEADERS: readonly string[] = [
  REQUEST_HEADER,
  REQUEST_AGE_HEADER,
  REQUEST_FIRST_HEADER,
  DEADLINE_HEADER,
];

/** Time for which an answer is stored, in ms: longer than most interruptions of a network or a laptop. */
export const REMEMBERED_MS = 10 * 60_000;
/** How long a request continues after its caller disconnected, in ms: until the connection is restored. */
export const ORPHAN_MS = 20_000;

const idPattern = /^[A-Za-z0-9._:-]{1,128}$/;
/** Upper limit of ages, in ms: far beyond any wait. */
const MAX_AGE_MS = 30 * 24 * 3_600_000;

/** A request with an id, between wsh processes. */
export const RequestKeySchema = v.object({
  /** A digest of the id and its owner. */
  key: v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/)),
  /** Digest of operation, target and input: another request with the same id is refused. */
  digest: v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/)),
  /**
   * Unix time in ms by this machine's clock at which it was first sent; absent: now. A time rather than an age, so that
   * delays in forwarding it do not make it younger.
   */
  first_at: v.optional(v.number()),
  /** The id as the caller wrote it. */
  id: v.optional(v.pipe(v.string(), v.maxLength(128))),
});
export type RequestKey = v.InferOutput<typeof RequestKeySchema>;

/** Metadata of a caller's request. */
export interface RequestMeta {
  readonly once?: RequestKey;
  /** Unix time in ms by this machine's clock. */
  readonly deadline?: number;
}

/**
 * Parses the headers of a request.
 * @param header returns a header's value
 * @param owner owner of the id: another caller's same id is another request
 * @param asks the request, for the digest
 * @throws WshError invalid_request
 */
export function askedBy(
  header: (name: string) => string | undefined,
  owner: string,
  asks: { readonly operation: string; readonly target?: string | undefined; readonly input: unknown },
): RequestMeta {
  const id = header(REQUEST_HEADER);
  const deadline = numberIn(header, DEADLINE_HEADER, Number.MAX_SAFE_INTEGER);
  const until = defined({ deadline });
  if (id === undefined) return until;
  if (!idPattern.test(id)) {
    throw new WshError("invalid_request", `'${REQUEST_HEADER}: ${id.slice(0, 140)}' is not a request id`, {
      hint: "An id is 1 to 128 of the characters A-Z a-z 0-9 . _ : -",
    });
  }
  const age = numberIn(header, REQUEST_AGE_HEADER, MAX_AGE_MS);
  const first = numberIn(header, REQUEST_FIRST_HEADER, Number.MAX_SAFE_INTEGER);
  // The earlier of the two: the request may have travelled long, and clocks differ.
  const times = [...(age === undefined ? [] : [Date.now() - age]), ...(first === undefined ? [] : [first])];
  return { ...until, once: requestKeyOf(id, owner, asks, times.length === 0 ? undefined : Math.min(...times)) };
}

/**
 * The headers of a repeated request.
 * @param firstAt Unix time in ms by this machine's clock; absent: it is sent for the first time
 * @param timeThere the same time by the clock of the receiving machine
 */
export function sentBefore(
  firstAt: number | undefined,
  timeThere: (time: number) => number,
): Readonly<Record<string, string>> {
  if (firstAt === undefined) return {};
  const age = Math.min(MAX_AGE_MS, Math.max(0, Math.ceil(Date.now() - firstAt)));
  return { [REQUEST_AGE_HEADER]: `${age}`, [REQUEST_FIRST_HEADER]: `${Math.max(0, Math.floor(timeThere(firstAt)))}` };
}

/** @param firstAt Unix time in ms by the clock of the executing machine; absent: it is sent for the first time */
export function requestKeyOf(
  id: string,
  owner: string,
  { operation, target = "", input }: { operation: string; target?: string | undefined; input: unknown },
  firstAt?: number,
): RequestKey {
  const first = defined({ first_at: firstAt });
  return { key: hash([owner, id]), digest: hash([operation, target, JSON.stringify(input) ?? ""]), id, ...first };
}

/** The key for one of several parts of a request, each of which is executed once. */
export function partOf(once: RequestKey, part: string): RequestKey {
  return { ...once, key: hash([once.key, part]) };
}

/** The same request of another owner: callers cannot use each other's keys. */
export function ownedBy(once: RequestKey, owner: string): RequestKey {
  return { ...once, key: hash([owner, once.key]) };
}

/** @throws WshError deadline_passed: nothing was done */
export function requireInTime(deadline: number | undefined): void {
  const now = Date.now();
  if (deadline === undefined || now <= deadline) return;
  throw new WshError("deadline_passed", `the request arrived ${Math.ceil(now - deadline)} ms after its deadline`);
}

/** @throws WshError invalid_request */
function numberIn(header: (name: string) => string | undefined, name: string, most: number): number | undefined {
  const text = header(name);
  if (text === undefined) return undefined;
  const value = /^\d{1,16}(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (value <= most) return value;
  throw new WshError("invalid_request", `'${name}: ${text.slice(0, 60)}' is not a time in ms`);
}

/** 128 bits: collisions cannot be found. */
function hash(parts: readonly string[]): string {
  return new Bun.CryptoHasher("sha256")
    .update(parts.map((part) => `${part.length}:${part}`).join(""))
    .digest("hex")
    .slice(0, 32);
}
