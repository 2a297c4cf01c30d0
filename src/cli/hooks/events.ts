/**
 * Translates hook events into reports: the agent's state, its conversation, a submitted prompt, the end of a turn.
 * Pure. The payload is the standard input of the agent's hook; only the fields named here are read.
 *
 * An unlisted event reports nothing: hosts add events, and a hook of an older wsh still works.
 */
import * as v from "valibot";
import {
  type AgentState,
  agentMessage,
  type ReportedConversation,
  ReportedConversationSchema,
} from "../../protocol/agent.ts";
import { defined } from "../../protocol/defined.ts";

const text = v.optional(v.fallback(v.optional(v.string()), undefined));

/** Names of the same field in different hosts: Claude Code, Codex and Gemini CLI; Copilot; Cursor. */
const PayloadSchema = v.object({
  notification_type: text,
  message: text,
  title: text,
  tool_name: text,
  toolName: text,
  source: text,
  session_id: text,
  sessionId: text,
  conversation_id: text,
  transcript_path: text,
  transcriptPath: text,
  prompt: text,
  last_assistant_message: text,
  prompt_response: text,
  /** A subagent's own event. */
  agent_id: text,
  conversation_title: text,
});
type Payload = v.InferOutput<typeof PayloadSchema>;

interface StateReading {
  readonly state: AgentState | null;
  readonly message?: string;
}

export interface HookReading extends StateReading {
  readonly conversation?: ReportedConversation;
  readonly moment?: "started" | "prompted" | "ended";
  readonly prompt?: string;
  readonly reply?: string;
}

type Rule = AgentState | ((payload: Payload) => StateReading);

/** Reports the question, if the host includes it. */
const waitingReading = (payload: Payload): StateReading => {
  const { message, title } = payload;
  const tool = payload.tool_name ?? payload.toolName;
  const words = message ?? title ?? (tool === undefined ? undefined : `asks to use ${tool}`);
  return { state: "needs_input", ...defined({ message: words }) };
};

/** For hosts with several kinds of notifications: only some mean that the agent waits for an answer. */
const notified =
  (asking: ReadonlySet<string>, finished: ReadonlySet<string> = new Set()) =>
  (payload: Payload): StateReading => {
    const { notification_type: type } = payload;
    if (type === undefined || asking.has(type)) return waitingReading(payload);
    return { state: finished.has(type) ? "done" : null };
  };

/** A session that continues after its history was compacted is still working. */
const started = ({ source }: Payload): StateReading => ({ state: source === "compact" ? null : "idle" });

const claude: Readonly<Record<string, Rule>> = {
  SessionStart: started,
  UserPromptSubmit: "working",
  PermissionRequest: waitingReading,
  // Only the tools that ask a person are hooked here.
  PreToolUse: waitingReading,
  PostToolUse: "working",
  Notification: notified(
    new Set(["permission_prompt", "elicitation_dialog", "agent_needs_input", "worker_permission_prompt"]),
    new Set(["idle_prompt"]),
  ),
  Stop: "done",
  StopFailure: (payload) => ({ ...waitingReading(payload), message: payload.message ?? "its turn failed" }),
};

const rules: Readonly<Record<string, Readonly<Record<string, Rule>>>> = {
  claude,
  codex: {
    SessionStart: started,
    UserPromptSubmit: "working",
    PermissionRequest: waitingReading,
    Stop: "done",
    Interrupt: "idle",
  },
  gemini: {
    SessionStart: started,
    BeforeAgent: "working",
    AfterAgent: "done",
    Notification: notified(new Set(["ToolPermission"])),
  },
  opencode: {
    started: "idle",
    busy: "working",
    idle: "done",
    asks: waitingReading,
    answered: "working",
    error: (payload) => ({ ...waitingReading(payload), message: payload.message ?? "its turn failed" }),
  },
  "cursor-agent": {
    sessionStart: "idle",
    beforeSubmitPrompt: "working",
    stop: "done",
  },
  copilot: {
    sessionStart: "idle",
    userPromptSubmitted: "working",
    permissionRequest: waitingReading,
    notification: notified(new Set(["permission_prompt", "elicitation_dialog"]), new Set(["agent_idle"])),
    agentStop: "done",
    errorOccurred: (payload) => ({ ...waitingReading(payload), message: payload.message ?? "an error occurred" }),
  },
  amp: { started: "idle", busy: "working", idle: "done" },
};

const moments: Readonly<Record<string, HookReading["moment"]>> = {
  SessionStart: "started",
  sessionStart: "started",
  started: "started",
  UserPromptSubmit: "prompted",
  BeforeAgent: "prompted",
  beforeSubmitPrompt: "prompted",
  userPromptSubmitted: "prompted",
  busy: "prompted",
  Stop: "ended",
  AfterAgent: "ended",
  stop: "ended",
  agentStop: "ended",
  idle: "ended",
};

/** @param payload the parsed standard input; anything but an object adds nothing to the event */
export function readHook(agent: string, event: string, payload: unknown): HookReading {
  const agentRules = rules[agent];
  const reading = agentRules !== undefined && Object.hasOwn(agentRules, event) ? agentRules[event] : undefined;
  if (reading === undefined) return { state: null };
  const parsed = v.safeParse(PayloadSchema, payload);
  const read = parsed.success ? parsed.output : {};
  const state = typeof reading === "string" ? { state: reading } : reading(read);
  // A subagent's prompts and turns are parts of its agent's turn.
  if (read.agent_id !== undefined) return state;
  const { prompt, last_assistant_message, prompt_response } = read;
  const moment = moments[event];
  const reply = last_assistant_message ?? prompt_response;
  return {
    ...state,
    ...defined({ moment, conversation: conversationOf(read) }),
    ...(moment === "prompted" ? defined({ prompt }) : {}),
    ...(moment === "ended" ? defined({ reply }) : {}),
  };
}

/** Ignores an id that no command line accepts, and a path that names no file. */
function conversationOf(payload: Payload): ReportedConversation | undefined {
  const { session_id, sessionId, conversation_id, transcript_path, transcriptPath, conversation_title } = payload;
  const id = session_id ?? sessionId ?? conversation_id;
  const title = conversation_title === undefined ? {} : { title: agentMessage(conversation_title) };
  const whole = v.safeParse(ReportedConversationSchema, {
    id,
    ...title,
    ...defined({ transcript: transcript_path ?? transcriptPath }),
  });
  if (whole.success) return whole.output;
  const parsed = v.safeParse(ReportedConversationSchema, { id, ...title });
  return parsed.success ? parsed.output : undefined;
}
