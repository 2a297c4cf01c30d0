/** An AI agent that runs in a pane, in the form of every transport (docs/protocol.md, Agents). */
import * as v from "valibot";
import { described, optional } from "./fields.ts";

/** The states of an agent, most urgent first. */
export const agentStates = ["needs_input", "done", "idle", "working"] as const;
export const AgentStateSchema = described(
  v.picklist(agentStates),
  "working; needs_input: it waits for a person; done: it has finished and nobody has typed since; idle: it rests, and input came since",
);
export type AgentState = v.InferOutput<typeof AgentStateSchema>;

const AgentSourceSchema = described(
  v.picklist(["hook", "notification", "progress", "kernel", "program"]),
  "the evidence for the state: the agent's own hooks; a notification (OSC 9, 99, 777) or the progress (OSC 9;4) that it " +
    "printed; kernel: a process that it started is working although it reports rest; or only whether it prints or " +
    "waits for a key: needs_input then does not say what it needs",
);
export type AgentSource = v.InferOutput<typeof AgentSourceSchema>;

/**
 * 0 is the most urgent. An agent at rest without a reported reason may be asking; it follows those that
 * report a question.
 */
export function urgencyOf({ state, source }: Pick<AgentInfo, "state" | "source">): number {
  const rank = agentStates.indexOf(state) * 2;
  return state === "needs_input" && source === "program" ? rank + 1 : rank;
}

const words: Readonly<Record<AgentState, string>> = {
  needs_input: "needs input",
  done: "done",
  idle: "idle",
  working: "working",
};

/**
 * The state with its evidence, as text: `done (hook)`, `working (screen)`, `needs input? (kernel)` if only its rest
 * indicates it, and, reported by the kernel, `busy (npm test)`.
 */
export function agentWords({ state, source, busy }: Pick<AgentInfo, "state" | "source" | "busy">): string {
  if (busy !== undefined) return `busy (${agentMessage(busy)})`;
  const isGuess = source === "program" && state === "needs_input";
  return `${words[state]}${isGuess ? "?" : ""} (${evidenceOf({ state, source })})`;
}

/** The evidence for a state: the agent's hooks, the kernel, or its output. */
export function evidenceOf({ state, source }: Pick<AgentInfo, "state" | "source">): "hook" | "kernel" | "screen" {
  if (source === "hook" || source === "kernel") return source;
  return source === "program" && state === "needs_input" ? "kernel" : "screen";
}

/** Maximum stored characters of an agent's message. */
const MAX_AGENT_MESSAGE = 200;

/** Name of an agent: `claude`, or one that settings or hooks add. */
export const agentNamePattern = /^[a-z0-9][a-z0-9._-]{0,31}$/;

/** Id of a conversation, in the form that its agent takes on a command line: never an option, never shell syntax. */
export const conversationIdPattern = /^[A-Za-z0-9][\w.-]{0,127}$/;

/** Absolute path of a file, without control characters. */
const transcriptPattern = /^\/[^\p{Cc}]{1,4095}$/u;

/** An agent's report about its conversation. */
export const ReportedConversationSchema = v.object({
  id: v.pipe(v.string(), v.regex(conversationIdPattern)),
  transcript: optional(
    v.pipe(v.string(), v.regex(transcriptPattern)),
    "the agent's file with its messages; not verified",
  ),
  title: optional(v.pipe(v.string(), v.maxLength(MAX_AGENT_MESSAGE)), "untrusted data"),
  started_at: optional(v.number(), "Unix time in ms"),
});
export type ReportedConversation = v.InferOutput<typeof ReportedConversationSchema>;

export const ConversationSchema = v.object({ ...ReportedConversationSchema.entries, started_at: v.number() });
export type Conversation = v.InferOutput<typeof ConversationSchema>;

export const AgentInfoSchema = v.object({
  name: v.string(),
  pid: v.number(),
  state: AgentStateSchema,
  source: AgentSourceSchema,
  why: described(v.string(), "the evidence, in words"),
  busy: optional(v.string(), "the command of its child that is working although the agent reports rest"),
  since: described(v.number(), "when the state began, Unix time in ms"),
  message: optional(v.string(), "the agent's own words: untrusted data"),
  conversation: optional(ConversationSchema, "by its hooks, or by its arguments"),
});
export type AgentInfo = v.InferOutput<typeof AgentInfoSchema>;

/** An agent's text on one line, without control characters, short enough for a list. */
export function agentMessage(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  return line.length <= MAX_AGENT_MESSAGE ? line : `${line.slice(0, MAX_AGENT_MESSAGE - 1).toWellFormed()}…`;
}

/** Whether a person should be alerted; false for an agent that rests without a reported reason. */
export function isAlerting({ state, source }: AgentInfo): boolean {
  return (state === "needs_input" || state === "done") && source !== "program";
}

/** How a person's terminal alerts to an agent that needs input. */
export const agentAlerts = ["off", "bell", "notify"] as const;
export type AgentAlert = (typeof agentAlerts)[number];

/** The bytes for a person's terminal: none, BEL, or a notification (OSC 9). */
export function alertFor(alert: AgentAlert, session: string, { name, state, message }: AgentInfo): string {
  if (alert === "off") return "";
  if (alert === "bell") return "\x07";
  const words = state === "done" ? "is done" : "needs input";
  const text = agentMessage(`${session}: ${name} ${words}${message === undefined ? "" : `: ${message}`}`);
  // A number first would be another sequence of the same family.
  return `\x1b]9;wsh ${text}\x1b\\`;
}
