/** Operations on the agent that runs in a pane (docs/protocol.md, Agents). */
import * as v from "valibot";
import { AgentStateSchema, agentNamePattern, ReportedConversationSchema } from "../protocol/agent.ts";
import { operation } from "./define.ts";

/** Maximum characters of an event's name, and of a message: longer names are invalid, longer messages are cut. */
const MAX_EVENT = 64;
const MAX_MESSAGE = 4_096;
/** Maximum characters of a prompt and of an answer, as hooks' payloads have them. */
const MAX_TEXT = 1_048_576;

export const agentOperations = [
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
