/**
 * A wait on another machine that survives lost connections. It changes nothing, so it is repeated as soon as the
 * machine answers, within its deadline. It covers all output since its first request: the output cursor at that moment
 * is requested first, so that a repetition neither misses later output nor finds earlier output.
 */
import * as v from "valibot";
import { pause } from "../base/deadline.ts";
import { getOperation, type OperationName } from "../operations/table.ts";
import { WshError } from "../protocol/errors.ts";
import { DEFAULT_WAIT_MS, WaitMsSchema } from "../protocol/wait-times.ts";
import { ConnectionLost, passingErrors, RETRY_MS, whileReachable } from "./repeated-request.ts";

/** Time after a wait's end for the answer of a reachable machine, in ms: around the world and back. */
const ANSWER_MS = 2_000;

/** Conditions on output after a position, not on the present state. */
const edgeConditions: ReadonlySet<string> = new Set(["command_finished", "text", "regex", "bell"]);

export function isWait(name: OperationName): boolean {
  return getOperation(name).lasts === "wait";
}

interface RepeatedWait {
  readonly operation: OperationName;
  readonly input: unknown;
  readonly signal: AbortSignal | undefined;
  /** Unix time in ms by this machine's clock after which the caller no longer wants an answer. */
  readonly deadline?: number;
  readonly isReachable: () => Promise<boolean>;
}

const FieldsSchema = v.looseObject({
  any_of: v.optional(v.array(v.union([v.string(), v.looseObject({ type: v.string() })]))),
  command_id: v.optional(v.unknown()),
  since: v.optional(v.unknown()),
  max_wait_ms: v.optional(WaitMsSchema, DEFAULT_WAIT_MS),
});
const CursorsSchema = v.looseObject({
  session: v.optional(v.nullable(v.string())),
  output_cursor: v.optional(v.number()),
  output_cursors: v.optional(v.record(v.string(), v.number())),
});

/**
 * @param attempt asks with this input; throws ConnectionLost when the connection was lost meanwhile
 * @throws ConnectionLost and WshError machine_unreachable if the machine does not answer by the deadline; errors
 * of `attempt`
 */
export async function untilDecided(
  { operation, input, signal, deadline = Number.POSITIVE_INFINITY, isReachable }: RepeatedWait,
  attempt: (input: unknown) => Promise<unknown>,
): Promise<unknown> {
  const fields = v.safeParse(FieldsSchema, input);
  // Invalid input is refused there; a wait of 0 ms is asked once.
  if (!fields.success || fields.output.max_wait_ms === 0) return attempt(input);
  const endsAt = Math.min(deadline, Date.now() + fields.output.max_wait_ms);
  let cursors: object | null = countsFromNow(operation, fields.output) ? null : {};
  // Whether it has answered, or a request may have arrived: then the machine is, or was, reachable.
  let wasReachable = false;
  for (let isAgain = false; ; isAgain = true) {
    try {
      const asked = { isOwn: true, deadline: endsAt + ANSWER_MS, isReachable };
      cursors ??= await whileReachable(asked, cursorsNow(operation, fields.output, attempt));
      wasReachable ||= "since" in cursors;
      const left = isAgain ? { max_wait_ms: Math.max(0, endsAt - Date.now()) } : {};
      return await whileReachable(asked, attempt({ ...Object(input), ...cursors, ...left }));
    } catch (thrown) {
      const { code } = WshError.from(thrown);
      // A server that ends drops requests that it has passed on.
      const isLost = thrown instanceof ConnectionLost || code === "server_unavailable";
      if (!isLost && !(wasReachable && passingErrors.has(code))) throw thrown;
      wasReachable = true;
      if (signal?.aborted === true || Date.now() >= endsAt) throw thrown;
    }
    await pause(Math.min(RETRY_MS, Math.max(0, endsAt - Date.now())), signal);
  }
}

type Fields = v.InferOutput<typeof FieldsSchema>;

function countsFromNow(operation: OperationName, { any_of = [], since, command_id }: Fields): boolean {
  if ((operation !== "wait" && operation !== "wait.any") || since !== undefined) return false;
  const isEdge = (type: string): boolean =>
    edgeConditions.has(type) && !(type === "command_finished" && command_id !== undefined);
  return any_of.some((each) => isEdge(typeof each === "string" ? each : each.type));
}

/** `since` for output from now on. */
async function cursorsNow(
  operation: OperationName,
  fields: Fields,
  attempt: (input: unknown) => Promise<unknown>,
): Promise<object> {
  const { any_of: _, command_id: __, since: ___, ...target } = fields;
  const answer = v.safeParse(CursorsSchema, await attempt({ ...target, any_of: ["bell"], max_wait_ms: 0 }));
  if (!answer.success) return {};
  const { session, output_cursor, output_cursors } = answer.output;
  if (output_cursors !== undefined) return { since: output_cursors };
  if (output_cursor === undefined) return {};
  return { since: operation === "wait" || typeof session !== "string" ? output_cursor : { [session]: output_cursor } };
}
