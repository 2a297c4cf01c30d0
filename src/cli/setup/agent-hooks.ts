/**
 * The hooks with which agents report to wsh what they do (`wsh setup HOST --hooks`): where each host keeps them and how
 * an entry looks. Data and pure functions only. A host that reads files of others' own gets a file of ours; else our
 * entries are merged into the file that it has, and no other entry is touched. Codex's `notify` is never looked at.
 *
 * The command's text is the same in every version of wsh: hosts trust hooks by their content.
 */
import { join } from "node:path";
import type { Places } from "./ai-hosts.ts";

export interface HookHost {
  /** The host's id in `wsh setup`. */
  readonly host: string;
  /** The agent's name in lists. */
  readonly agent: string;
  /** Page that describes the format, and the day it was checked. */
  readonly source: string;
  readonly checked: string;
  readonly file: (places: Places) => string;
  /** Ours alone: the whole text of a file that no other program writes. */
  readonly own?: string;
  /** Merged: groups of handlers by event, each with what the host needs besides the command. */
  readonly merged?: readonly HookEntry[];
  /** Keys beside the hooks that a new file needs. */
  readonly root?: Readonly<Record<string, unknown>>;
  /** What to do after a change, in one sentence. */
  readonly after: string;
}

export interface HookEntry {
  readonly event: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** Longest run of a hook; hosts count in seconds, Gemini CLI in milliseconds. */
const TIMEOUT_SECONDS = 1;

export function hookCommand(agent: string, event: string): string {
  return `[ -n "$WSH_PANE" ] && wsh hook ${agent} ${event} >/dev/null 2>&1; exit 0`;
}

/** Whether a value of a host's file is a hook of ours, in any version. */
export function isOurs(value: unknown): boolean {
  return JSON.stringify(value)?.includes("&& wsh hook ") === true;
}

const grouped = (agent: string, timeout: number, events: readonly (readonly [string, string?])[]): HookEntry[] =>
  events.map(([event, matcher]) => ({
    event,
    value: {
      ...(matcher === undefined ? {} : { matcher }),
      hooks: [{ type: "command", command: hookCommand(agent, event), timeout }],
    },
  }));

const copilotEvents = [
  "sessionStart",
  "userPromptSubmitted",
  "permissionRequest",
  "notification",
  "agentStop",
  "errorOccurred",
];

export const hookHosts: readonly HookHost[] = [
  {
    host: "claude-code",
    agent: "claude",
    source: "https://code.claude.com/docs/en/hooks",
    checked: "2026-11-22",
    file: (p) => join(p.env.CLAUDE_CONFIG_DIR || join(p.home, ".claude"), "settings.json"),
    merged: grouped("claude", TIMEOUT_SECONDS, [
      ["SessionStart"],
      ["UserPromptSubmit"],
      ["PermissionRequest"],
      ["PreToolUse", "AskUserQuestion|ExitPlanMode"],
      ["PostToolUse", "AskUserQuestion|ExitPlanMode"],
      ["Notification"],
      ["Stop"],
    ]),
    after: "Start Claude Code again; /hooks shows them.",
  },
  {
    host: "codex",
    agent: "codex",
    source: "https://developers.openai.com/codex/hooks",
    checked: "2026-11-22",
    file: (p) => join(p.env.CODEX_HOME || join(p.home, ".codex"), "hooks.json"),
    merged: grouped("codex", TIMEOUT_SECONDS, [
      ["SessionStart"],
      ["UserPromptSubmit"],
      ["PermissionRequest"],
      ["Stop"],
    ]),
    after: "Start Codex again and trust it with /hooks: until then it runs none of them.",
  },
  {
    host: "gemini",
    agent: "gemini",
    source: "https://geminicli.com/docs/hooks/reference",
    checked: "2026-11-22",
    file: (p) => join(p.home, ".gemini", "settings.json"),
    merged: grouped("gemini", TIMEOUT_SECONDS * 1_000, [
      ["SessionStart"],
      ["BeforeAgent"],
      ["AfterAgent"],
      ["Notification"],
    ]),
    after: "Start Gemini CLI again; /hooks shows them.",
  },
  {
    host: "cursor",
    agent: "cursor-agent",
    source: "https://cursor.com/docs/agent/hooks",
    checked: "2026-11-22",
    file: (p) => join(p.home, ".cursor", "hooks.json"),
    root: { version: 1 },
    merged: ["sessionStart", "beforeSubmitPrompt", "stop"].map((event) => ({
      event,
      value: { command: hookCommand("cursor-agent", event), timeout: TIMEOUT_SECONDS },
    })),
    after: "Start cursor-agent again; it reports its turns, and no permission that it asks for.",
  },
  {
    host: "copilot",
    agent: "copilot",
    source: "https://docs.github.com/en/copilot/reference/hooks-reference",
    checked: "2026-11-22",
    file: (p) => join(p.env.COPILOT_HOME || join(p.home, ".copilot"), "hooks", "wsh.json"),
    own: `${JSON.stringify(
      {
        version: 1,
        hooks: Object.fromEntries(
          copilotEvents.map((event) => [
            event,
            [{ type: "command", bash: hookCommand("copilot", event), timeoutSec: TIMEOUT_SECONDS }],
          ]),
        ),
      },
      null,
      2,
    )}\n`,
    after: "Start Copilot CLI again.",
  },
  {
    host: "opencode",
    agent: "opencode",
    source: "https://opencode.ai/docs/plugins/",
    checked: "2026-11-22",
    file: (p) => join(p.env.XDG_CONFIG_HOME || join(p.home, ".config"), "opencode", "plugins", "wsh.js"),
    own: `// Written by \`wsh setup opencode --hooks\`, which also removes it: tells wsh what OpenCode does.
import { spawn } from "node:child_process";

const report = (event, payload) => {
  if (!process.env.WSH_PANE) return;
  const command = \`[ -n "$WSH_PANE" ] && wsh hook opencode \${event} >/dev/null 2>&1; exit 0\`;
  const child = spawn("sh", ["-c", command], { stdio: ["pipe", "ignore", "ignore"], timeout: 1000 });
  child.on("error", () => {});
  child.stdin.on("error", () => {});
  child.stdin.end(JSON.stringify(payload ?? {}));
};

export const Wsh = async () => {
  // Sessions of subagents: the person's own session says what counts.
  const inner = new Set();
  report("started");
  return {
    event: async ({ event: { type, properties = {} } }) => {
      if (properties.info?.parentID) inner.add(properties.info.id);
      const asks = type === "permission.asked" || type === "permission.updated" || type === "question.asked";
      if (asks) return report("asks", { message: properties.title ?? properties.permission });
      if (type === "permission.replied" || type === "question.replied" || type === "question.rejected") return report("answered");
      if (inner.has(properties.sessionID)) return;
      if (type === "session.status" && properties.status?.type === "busy") report("busy");
      else if (type === "session.idle") report("idle");
      else if (type === "session.error") report("error");
    },
  };
};
`,
    after: "Start OpenCode again.",
  },
];
