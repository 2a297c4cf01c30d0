/**
 * The agent states that hook events report. Pure. The payload is the standard input of the agent's hook: data, of which
 * only the fields named here are read.
 *
 * An unlisted event reports nothing: hosts add events, and a hook of an older wsh still works.
 */
import * as v from "valibot";
import type { AgentState } from "../../protocol/agent.ts";
import { defined } from "../../protocol/defined.ts";

const PayloadSchema = v.object({
  notification_type: v.optional(v.fallback(v.optional(v.string()), undefined)),
  message: v.optional(v.fallback(v.optional(v.string()), undefined)),
  title: v.optional(v.fallback(v.optional(v.string()), undefined)),
  tool_name: v.optional(v.fallback(v.optional(v.string()), undefined)),
  toolName: v.optional(v.fallback(v.optional(v.string()), undefined)),
  source: v.optional(v.fallback(v.optional(v.string()), undefined)),
});
type Payload = v.InferOutput<typeof PayloadSchema>;

export interface HookReading {
  readonly state: AgentState | null;
  readonly message?: string;
}

type Rule = AgentState | ((payload: Payload) => HookReading);

/** Reports the question, as far as the host includes it. */
const asks = (payload: Payload): HookReading => {
  const { message, title } = payload;
  const tool = payload.tool_name ?? payload.toolName;
  const words = message ?? title ?? (tool === undefined ? undefined : `asks to use ${tool}`);
  return { state: "needs_input", ...defined({ message: words }) };
};

/** Notifications of a host that has several kinds: only some mean that it waits for an answer. */
const notified =
  (asking: ReadonlySet<string>, finished: ReadonlySet<string> = new Set()) =>
  (payload: Payload): HookReading => {
    const { notification_type: type } = payload;
    if (type === undefined || asking.has(type)) return asks(payload);
    return { state: finished.has(type) ? "done" : null };
  };

/** A session that continues after its history was compacted is still working. */
const started = ({ source }: Payload): HookReading => ({ state: source === "compact" ? null : "idle" });

const claude: Readonly<Record<string, Rule>> = {
  SessionStart: started,
  UserPromptSubmit: "working",
  PermissionRequest: asks,
  // Only the tools that ask a person are hooked here.
  PreToolUse: asks,
  PostToolUse: "working",
  Notification: notified(
    new Set(["permission_prompt", "elicitation_dialog", "agent_needs_input", "worker_permission_prompt"]),
    new Set(["idle_prompt"]),
  ),
  Stop: "done",
  StopFailure: (payload) => ({ ...asks(payload), message: payload.message ?? "its turn failed" }),
};

const rules: Readonly<Record<string, Readonly<Record<string, Rule>>>> = {
  claude,
  codex: {
    SessionStart: started,
    UserPromptSubmit: "working",
    PermissionRequest: asks,
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
    asks,
    answered: "working",
    error: (payload) => ({ ...asks(payload), message: payload.message ?? "its turn failed" }),
  },
  "cursor-agent": {
    sessionStart: "idle",
    beforeSubmitPrompt: "working",
    stop: "done",
  },
  copilot: {
    sessionStart: "idle",
    userPromptSubmitted: "working",
    permissionRequest: asks,
    notification: notified(new Set(["permission_prompt", "elicitation_dialog"]), new Set(["agent_idle"])),
    agentStop: "done",
    errorOccurred: (payload) => ({ ...asks(payload), message: payload.message ?? "an error occurred" }),
  },
};

/** @param payload as parsed from standard input; anything else than an object says nothing more than the event */
export function readHook(agent: string, event: string, payload: unknown): HookReading {
  const own = rules[agent];
  const found = own !== undefined && Object.hasOwn(own, event) ? own[event] : undefined;
  if (found === undefined) return { state: null };
  if (typeof found === "string") return { state: found };
  const parsed = v.safeParse(PayloadSchema, payload);
  return found(parsed.success ? parsed.output : {});
}
