/** Operations on the agent that runs in a pane (docs/protocol.md, Agents). */

import * as v from "valibot";
import { AgentInfoSchema, AgentStateSchema, agentNamePattern, ReportedConversationSchema } from "../protocol/agent.ts";
import { described, integerBetween, integerFrom, optional } from "../protocol/fields.ts";
import { promptText } from "../protocol/typed-texts.ts";
import { DEFAULT_WAIT_MS, WaitMsSchema } from "../protocol/wait-times.ts";
import { operation } from "./define.ts";

/** Maximum characters of an event's name, and of a message: longer names are invalid, longer messages are cut. */
const MAX_EVENT = 64;
const MAX_MESSAGE = 4_096;
/** Maximum characters of a prompt and of an answer, as in hooks' payloads. */
const MAX_TEXT = 1_048_576;

const PromptSchema = v.object({
  delivered: described(
    v.picklist(["hook", "screen", "not_delivered"]),
    "hook: the agent reported this prompt; screen: its input box held the text and is empty again",
  ),
  why: described(v.string(), "the evidence, in words"),
  queued: optional(v.literal(true), "the agent was working and runs it when it is ready"),
  agent: v.optional(AgentInfoSchema),
  turn: v.optional(
    v.object({
      ended: described(
        v.picklist(["done", "needs_input", "at_rest", "exited", "working"]),
        "at_rest: it waits for a key, its hooks are silent; working: max_wait_ms ended first",
      ),
      message: optional(v.string(), "its last message, or question: untrusted data"),
      message_from: v.optional(v.picklist(["hook", "transcript"])),
      omitted: optional(v.number(), "omitted characters of the message"),
    }),
  ),
  since: described(v.number(), "output cursor before it was typed"),
  output_cursor: v.number(),
});
export type PromptResult = v.InferOutput<typeof PromptSchema>;

/** Time for an agent to show and to submit a prompt, in ms: a starting agent is slow. */
const DELIVERY_MS = 10_000;
/** Longest wait for a turn, in ms. */
const TurnMsSchema = integerBetween(0, 3_600_000);

export const agentOperations = [
  operation({
    name: "agent.prompt",
    scope: "pane",
    access: "operate",
    lasts: "program",
    types: true,
    summary: "Give the AI agent in a pane a prompt, and prove its delivery",
    input: v.object({
      text: described(v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_TEXT)), "the prompt"),
      command: optional(v.boolean(), "text is a command of the agent's own, such as /compact or !ls", false),
      wait: optional(v.boolean(), "until the agent's turn has ended", false),
      max_wait_ms: optional(TurnMsSchema, "maximum wait for the turn", DEFAULT_WAIT_MS),
      delivery_ms: optional(
        WaitMsSchema,
        "maximum time for the agent to show the text, and again to take it",
        DELIVERY_MS,
      ),
    }),
    check: (input) => void promptText(input),
    output: PromptSchema,
    errors: [
      ...(["no_agent", "agent_asks", "composer_not_empty", "composer_not_found"] as const),
      ...(["session_ended", "input_send_failed", "payload_too_large"] as const),
    ],
    http: [{ method: "POST", path: "/sessions/:name/prompt" }],
    ws: ["prompt_agent"],
  }),
  operation({
    name: "agent.report",
    scope: "pane",
    access: "operate",
    grant: "hook",
    summary: "Report of an agent's hook; accepted if the process belongs to the agent that holds the terminal",
    input: v.object({
      agent: described(v.pipe(v.string(), v.regex(agentNamePattern)), "claude, codex …"),
      event: described(v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_EVENT)), "the agent's own event name"),
      state: v.optional(v.nullable(described(AgentStateSchema, "null: the event does not change the state")), null),
      message: optional(v.pipe(v.string(), v.maxLength(MAX_MESSAGE)), "the agent's message"),
      conversation: v.optional(ReportedConversationSchema),
      moment: optional(
        v.picklist(["started", "prompted", "ended"]),
        "a conversation was started or resumed, a prompt was submitted, a turn has ended",
      ),
      prompt: optional(v.pipe(v.string(), v.maxLength(MAX_TEXT)), "the submitted prompt"),
      reply: optional(v.pipe(v.string(), v.maxLength(MAX_TEXT)), "the turn's last message"),
      pid: described(integerFrom(2), "the reporting process: the agent or one of its children"),
    }),
    output: v.object({
      accepted: v.boolean(),
      reason: optional(
        v.picklist(["not_in_pane", "nested"]),
        "not a process of the pane, or an agent started by another agent",
      ),
    }),
    errors: ["session_ended"],
    http: [{ method: "POST", path: "/sessions/:name/agent" }],
    ws: ["report_agent"],
  }),
] as const;
