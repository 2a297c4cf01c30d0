/**
 * Conditions that a caller can wait for, and the answer's report about the end of the wait (docs/protocol.md,
 * Conditions): one list for every transport.
 *
 * Level conditions (prompt, waiting_for_input, password, fullscreen, exited, idle, agent) are also met if they already
 * hold; edge conditions (command_finished, text, regex, bell) consider only output after `since`.
 */
import * as v from "valibot";
import { AgentInfoSchema, type AgentState, agentStates } from "./agent.ts";
import { AskResultSchema } from "./ask-result.ts";
import { CommandRecordSchema } from "./commands.ts";
import { WshError } from "./errors.ts";
import { described, integerBetween, integerFrom, optional } from "./fields.ts";
import { SessionStateSchema } from "./session.ts";
import { DEFAULT_IDLE_MS, DEFAULT_WAIT_MS, WaitMsSchema } from "./wait-times.ts";

/** Maximum conditions in one wait; more are a mistake. */
const MAX_CONDITIONS = 32;
/** Longest text or pattern, in characters: longer than any useful line. */
const MAX_PATTERN_LENGTH = 1_024;

/** A position in the session's output: opaque to callers, and only ever increasing. */
export const OutputCursorSchema = integerFrom(0);

const PatternSchema = v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_PATTERN_LENGTH));

export const simpleConditions = [
  "command_finished",
  "waiting_for_input",
  "password",
  "fullscreen",
  "prompt",
  "exited",
  "bell",
] as const;

const SimpleConditionSchema = v.picklist(simpleConditions);
type SimpleCondition = v.InferOutput<typeof SimpleConditionSchema>;

const options = [
  SimpleConditionSchema,
  v.literal("idle"),
  v.object({ type: SimpleConditionSchema }),
  v.object({ type: v.literal("idle"), ms: v.optional(WaitMsSchema, DEFAULT_IDLE_MS) }),
  v.object({ type: v.literal("text"), text: PatternSchema }),
  v.object({
    type: v.literal("regex"),
    pattern: described(PatternSchema, "RE2 syntax: no look-around and no backreferences"),
    flags: optional(v.pipe(v.string(), v.regex(/^[imsu]*$/)), "any of i, m, s, u"),
  }),
  v.object({ type: v.literal("agent"), state: v.picklist(agentStates) }),
  v.object({
    type: v.literal("port"),
    port: optional(integerBetween(1, 65_535), "TCP (default: the one that the session has on lease)"),
    any_owner: optional(v.boolean(), "accept any listener, such as docker's; otherwise only the command's own"),
  }),
] as const;
const faults = `a condition is one of ${simpleConditions.join(", ")}, idle, {"type":"idle","ms":500}, {"type":"text","text":"ready"}, {"type":"regex","pattern":"^ok"}, {"type":"agent","state":"needs_input"} or {"type":"port","port":3000}`;

export const ConditionSchema = v.union(options, faults);
/** A condition as a caller writes it: a name, or an object with a type. */
export type ConditionInput = v.InferOutput<typeof ConditionSchema>;

/** The answer to a question, which the session stores: not a condition on the program. */
const AnswerConditionSchema = v.object({
  type: v.literal("answer"),
  ask_id: described(v.string(), "id of a pending question"),
});
const WaitConditionSchema = v.union([...options, AnswerConditionSchema], faults);
/** Input of a wait that is not limited to a program's conditions. */
export type WaitConditionInput = v.InferOutput<typeof WaitConditionSchema>;

/** A condition as the domain uses it: always an object. */
export type Condition =
  | { readonly type: SimpleCondition }
  | { readonly type: "idle"; readonly ms: number }
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "regex"; readonly pattern: string; readonly flags: string }
  | { readonly type: "agent"; readonly state: AgentState }
  | { readonly type: "port"; readonly port: number; readonly anyOwner: boolean };

/** The conversion of conditions for a session. @param leased the port that it has on lease */
export function conditionsFor(leased: number | null): (input: ConditionInput) => Condition {
  return (input) => condition(input, leased);
}

/**
 * Converts both notations of a condition to one form. @throws WshError invalid_request: the session has no port on
 * lease
 */
function condition(input: ConditionInput, leased: number | null): Condition {
  if (input === "idle") return { type: input, ms: DEFAULT_IDLE_MS };
  if (typeof input === "string") return { type: input };
  if (input.type === "regex") return { type: "regex", pattern: input.pattern, flags: input.flags ?? "" };
  if (input.type === "port") {
    const { port = leased, any_owner: anyOwner = false } = input;
    if (port !== null) return { type: "port", port, anyOwner };
    throw new WshError("invalid_request", "the session has no port on lease: name a port", {
      hint: 'port: "free" creates a session with one.',
    });
  }
  return input;
}

type AnswerCondition = v.InferOutput<typeof AnswerConditionSchema>;

/** The conditions on the program, and the ids of the questions whose end is awaited. */
export function splitConditions<T extends string | { readonly type: string }>(
  anyOf: readonly (T | AnswerCondition)[],
): { readonly program: readonly Exclude<T, AnswerCondition>[]; readonly askIds: readonly string[] } {
  const isAnswer = (each: T | AnswerCondition): each is AnswerCondition =>
    typeof each === "object" && each.type === "answer";
  const program = anyOf.filter((each): each is Exclude<T, AnswerCondition> => !isAnswer(each));
  return { program, askIds: anyOf.filter(isAnswer).map(({ ask_id }) => ask_id) };
}

const DecidedBySchema = v.picklist([
  ...simpleConditions,
  "idle",
  "text",
  "regex",
  "agent",
  "port",
  "port_in_use",
  "unsupported",
  "answer",
  "timeout",
  "cancelled",
]);
export type DecidedBy = v.InferOutput<typeof DecidedBySchema>;

export const AnyOfSchema = described(
  v.pipe(v.array(ConditionSchema), v.minLength(1), v.maxLength(MAX_CONDITIONS)),
  "the wait ends as soon as one of them holds",
);

export const WaitSchema = v.object({
  any_of: described(
    v.pipe(v.array(WaitConditionSchema), v.minLength(1), v.maxLength(MAX_CONDITIONS)),
    "the wait ends as soon as one of them holds",
  ),
  command_id: optional(integerFrom(1), "the command to wait for"),
  since: optional(
    v.union([OutputCursorSchema, v.record(v.string(), OutputCursorSchema)]),
    "an output_cursor, or one for each session: only later output counts (default: now)",
  ),
  max_wait_ms: optional(WaitMsSchema, "longest wait in ms, at most 300000; 0 answers at once", DEFAULT_WAIT_MS),
});

/** The listener on a port. */
const ListenerSchema = v.object({
  port: v.number(),
  pid: described(v.nullable(v.number()), "id of the listening process; null if unknown"),
  name: described(v.nullable(v.string()), "name of the listening process; null if unknown"),
  addresses: described(v.array(v.string()), "addresses on which the port is open"),
});

/** The event that ended a wait, and its details. */
export const decisionFields = {
  decided_by: DecidedBySchema,
  /** The text that matched, for text and regex. */
  match: v.optional(v.string()),
  /** Groups of the pattern; null: the group did not match. */
  groups: v.optional(v.array(v.nullable(v.string()))),
  /** With agent: the agent with this state, and the evidence for it. */
  agent: v.optional(AgentInfoSchema),
  /** Logical line of the match. */
  line_id: v.optional(v.number()),
  /** With port and port_in_use: the listener. */
  port: v.optional(ListenerSchema),
  /** Why a condition can never hold or be determined (unsupported, port_in_use), and the remedy. */
  reason: v.optional(v.string()),
};

export const WaitResultSchema = v.object({
  session: v.nullable(v.string()),
  /** The pane, if the session has several. */
  pane: v.optional(v.string()),
  ...decisionFields,
  state: v.optional(SessionStateSchema),
  output_cursor: v.optional(OutputCursorSchema),
  /** Cursors of the sessions if none ended the wait: `since` of the next wait. */
  output_cursors: v.optional(v.record(v.string(), OutputCursorSchema)),
  /** The record, when a command ended the wait. */
  command: v.optional(CommandRecordSchema),
  /** The beginning and the end of the command's output, if the end of the command ended the wait. */
  output: v.optional(v.string()),
  /** Number of omitted lines of that output, which can be read by the command's id. */
  omitted_lines: v.optional(v.number()),
  ask: optional(AskResultSchema, "the closed question, if that ended the wait"),
  /** Parts of the output that the wait could not see. */
  warnings: v.optional(v.array(v.string())),
});
export type WaitResult = v.InferOutput<typeof WaitResultSchema>;
