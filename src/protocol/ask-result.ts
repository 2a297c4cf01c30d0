/** The state or result of a question to a person (docs/protocol.md, Questions). */
import * as v from "valibot";
import { optional } from "./fields.ts";
import { SessionStateSchema } from "./session.ts";

export const AnswerSchema = v.union([v.string(), v.array(v.string()), v.boolean()]);
export type Answer = v.InferOutput<typeof AnswerSchema>;

/** How a question ended. */
const AskEndSchema = v.picklist([
  "answered",
  "dismissed",
  "timeout",
  "cancelled",
  "nobody_attached",
  "secret_not_taken",
  "session_ended",
]);
export type AskEnd = v.InferOutput<typeof AskEndSchema>;

export const AskResultSchema = v.object({
  session: v.nullable(v.string()),
  ask_id: optional(v.string(), "id of the question"),
  state: v.picklist(["answered", "pending", "closed"]),
  decided_by: v.optional(AskEndSchema),
  answer: optional(AnswerSchema, "the text, the choice or choices, or yes or no; never a secret"),
  answered_by: optional(
    v.picklist(["terminal", "notice", "mcp_client", "call"]),
    "mcp_client may answer without a person; call: a program answered (answered_as)",
  ),
  answered_as: optional(v.string(), "with call: who called"),
  program_state: optional(SessionStateSchema, "with hand_over: state of the program when the person has finished"),
  /** The reason, unless it is a plain answer. */
  reason: v.optional(v.string()),
});
export type AskResult = v.InferOutput<typeof AskResultSchema>;
