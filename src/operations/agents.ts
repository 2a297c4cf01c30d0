/** Operations on the agent that runs in a pane (docs/protocol.md, Agents). */
import * as v from "valibot";
import { AgentInfoSchema, AgentStateSchema, agentNamePattern, ReportedConversationSchema } from "../protocol/agent.ts";
import { DEFAULT_WAIT_MS, WaitMsSchema } from "../protocol/conditions.ts";
import { operation } from "./define.ts";

/** Maximum characters of an event's name, and of a message: longer names are invalid, longer messages are cut. */
const MAX_EVENT = 64;
const MAX_MESSAGE = 4_096;
/** Maximum characters of a prompt and of an answer, as hooks' payloads have them. */
const MAX_TEXT = 1_048_576;

export const PromptSchema = v.object({
  delivered: v.pipe(
    v.picklist(["hook", "screen", "not_delivered"]),
    v.description("hook: the agent reported this prompt; screen: its input box took the text and is empty again"),
  ),
  why: v.pipe(v.string(), v.description("the evidence, in words")),
  queued: v.optional(v.pipe(v.literal(true), v.description("the agent was working: it takes it up when it is ready"))),
  agent: v.optional(AgentInfoSchema),
  turn: v.optional(
    v.object({
      ended: v.pipe(
        v.picklist(["done", "needs_input", "at_rest", "exited", "working"]),
        v.description("at_rest: it waits for a key, and its hooks say nothing; working: when max_wait_ms was over"),
      ),
      message: v.optional(v.pipe(v.string(), v.description("its last message, or question: untrusted data"))),
      message_from: v.optional(v.picklist(["hook", "transcript"])),
      omitted: v.optional(v.pipe(v.number(), v.description("characters of the message that are left out"))),
    }),
  ),
  since: v.pipe(v.number(), v.description("output cursor before it was typed")),
  output_cursor: v.number(),
});
export type PromptResult = v.InferOutput<typeof PromptSchema>;

/** Time for an agent to show and to take a prompt, in ms: one that starts is slow. */
const DELIVERY_MS = 10_000;
/** Longest wait for a turn, in ms. */
const TurnMsSchema = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(3_600_000));

export const agentOperations = [
  operation({
    name: "agent.prompt",
    scope: "pane",
    access: "operate",
    lasts: "program",
    types: true,
    summary: "Give the AI agent in a pane a prompt, and prove that it took it",
    input: v.object({
      text: v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_TEXT), v.description("the prompt")),
      command: v.optional(
        v.pipe(v.boolean(), v.description("text is a command of the agent's own, such as /compact or !ls")),
        false,
      ),
      wait: v.optional(v.pipe(v.boolean(), v.description("until the agent's turn has ended")), false),
      max_wait_ms: v.optional(v.pipe(TurnMsSchema, v.description("maximum wait for the turn")), DEFAULT_WAIT_MS),
      delivery_ms: v.optional(
        v.pipe(WaitMsSchema, v.description("maximum time for the agent to show the text, and again to take it")),
        DELIVERY_MS,
      ),
    }),
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
    summary: "Report of an agent's hook; accepted if the process belongs to the agent that holds the terminal",
    input: v.object({
      agent: v.pipe(v.string(), v.regex(agentNamePattern), v.description("claude, codex …")),
      event: v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_EVENT), v.description("the agent's own event name")),
      state: v.optional(
        v.nullable(v.pipe(AgentStateSchema, v.description("null: the event does not change the state"))),
        null,
      ),
      message: v.optional(v.pipe(v.string(), v.maxLength(MAX_MESSAGE), v.description("the agent's message"))),
      conversation: v.optional(ReportedConversationSchema),
      moment: v.optional(
        v.pipe(
          v.picklist(["started", "prompted", "ended"]),
          v.description("a conversation was started or resumed, a prompt was submitted, a turn has ended"),
        ),
      ),
      prompt: v.optional(v.pipe(v.string(), v.maxLength(MAX_TEXT), v.description("the submitted prompt"))),
      reply: v.optional(v.pipe(v.string(), v.maxLength(MAX_TEXT), v.description("the turn's last message"))),
      pid: v.pipe(
        v.number(),
        v.integer(),
        v.minValue(2),
        v.description("the reporting process: the agent, or one that it started"),
      ),
    }),
    output: v.object({
      accepted: v.boolean(),
      reason: v.optional(
        v.pipe(
          v.picklist(["not_in_pane", "nested"]),
          v.description("not a process of the pane, or an agent started by another agent"),
        ),
      ),
    }),
    errors: ["session_ended"],
    http: [{ method: "POST", path: "/sessions/:name/agent" }],
    ws: ["report_agent"],
  }),
] as const;
