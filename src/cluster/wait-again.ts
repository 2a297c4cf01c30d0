/**
 * A wait on another machine, over which the way may be lost. It changes nothing, so it is asked again as soon as the
 * machine answers, within its own time. It means what happens from the moment at which it was asked: that place in the
 * output is asked for first, so that a second question neither misses what was printed meanwhile nor finds what was
 * printed before.
 */
import * as v from "valibot";
import { pause } from "../base/deadline.ts";
import type { OperationName } from "../operations/table.ts";
import { DEFAULT_WAIT_MS, WaitMsSchema } from "../protocol/conditions.ts";
import { WshError } from "../protocol/errors.ts";
import { passing, RETRY_MS, WayLost, whileThere } from "./ask-again.ts";

/** Time after a wait's end in which its answer comes from a machine that is there, in ms: around the world and back. */
const ANSWER_MS = 2_000;

const waits = ["wait", "wait.any", "idle.await", "idle.any"] as const satisfies readonly OperationName[];
/** Conditions that hold by what is printed after a place, and not by what is. */
const edges: ReadonlySet<string> = new Set(["command_finished", "text", "regex", "bell"]);

export function isWait(name: OperationName): boolean {
  return (waits as readonly string[]).includes(name);
}

export interface WaitAsked {
  readonly operation: OperationName;
  readonly input: unknown;
  readonly signal: AbortSignal | undefined;
  /** Unix time in ms by this machine's clock after which the caller wants no answer. */
  readonly deadline?: number;
  /** Whether the machine answers at this moment. */
  readonly isThere: () => Promise<boolean>;
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
 * @param attempt asks with this input; throws WayLost when the way was lost over it
 * @throws WayLost and WshError machine_unreachable when its time is over and the machine does not answer; what `attempt`
 * throws
 */
export async function untilDecided(
  { operation, input, signal, deadline = Number.POSITIVE_INFINITY, isThere }: WaitAsked,
  attempt: (input: unknown) => Promise<unknown>,
): Promise<unknown> {
  const fields = v.safeParse(FieldsSchema, input);
  // What is none of its inputs is refused there; what does not wait is asked once.
  if (!fields.success || fields.output.max_wait_ms === 0) return attempt(input);
  const endsAt = Math.min(deadline, Date.now() + fields.output.max_wait_ms);
  let from: object | null = startsNow(operation, fields.output) ? null : {};
  // It has answered, or what was sent may have arrived: it is known to be there, or to have been.
  let wasThere = false;
  for (let isAgain = false; ; isAgain = true) {
    try {
      const asked = { isOwn: true, deadline: endsAt + ANSWER_MS, isThere };
      from ??= await whileThere(asked, cursorsNow(operation, fields.output, attempt));
      wasThere ||= "since" in from;
      const left = isAgain ? { max_wait_ms: Math.max(0, endsAt - Date.now()) } : {};
      return await whileThere(asked, attempt({ ...Object(input), ...from, ...left }));
    } catch (thrown) {
      const { code } = WshError.from(thrown);
      // A server that ends leaves what it has passed on.
      const isLost = thrown instanceof WayLost || code === "server_unavailable";
      if (!isLost && !(wasThere && passing.has(code))) throw thrown;
      wasThere = true;
      if (signal?.aborted === true || Date.now() >= endsAt) throw thrown;
    }
    await pause(Math.min(RETRY_MS, Math.max(0, endsAt - Date.now())), signal);
  }
}

type Fields = v.InferOutput<typeof FieldsSchema>;

function startsNow(operation: OperationName, { any_of = [], since, command_id }: Fields): boolean {
  if ((operation !== "wait" && operation !== "wait.any") || since !== undefined) return false;
  const isEdge = (type: string): boolean =>
    edges.has(type) && !(type === "command_finished" && command_id !== undefined);
  return any_of.some((each) => isEdge(typeof each === "string" ? each : each.type));
}

/** `since` for what is printed from now on. */
async function cursorsNow(
  operation: OperationName,
  fields: Fields,
  attempt: (input: unknown) => Promise<unknown>,
): Promise<object> {
  const { any_of: _, command_id: __, since: ___, ...where } = fields;
  const answer = v.safeParse(CursorsSchema, await attempt({ ...where, any_of: ["bell"], max_wait_ms: 0 }));
  if (!answer.success) return {};
  const { session, output_cursor, output_cursors } = answer.output;
  if (output_cursors !== undefined) return { since: output_cursors };
  if (output_cursor === undefined) return {};
  return { since: operation === "wait" || typeof session !== "string" ? output_cursor : { [session]: output_cursor } };
}
