/**
 * The hooks with which agents report their state to wsh (`wsh setup HOST --hooks`): each host's files for them and the
 * form of an entry. Data and pure functions only. A host that loads plugins, extensions or files gets those; otherwise
 * our entries are merged into its file, and no other entry is changed. Codex loads plugins from marketplaces only; its
 * `notify` is ignored.
 *
 * The command's text is the same in every version of wsh: hosts trust hooks by their content.
 */
import { join } from "node:path";
import { defined } from "../../protocol/defined.ts";
import type { PathInputs } from "./ai-hosts.ts";

export interface HookHost {
  /** The host's id in `wsh setup`. */
  readonly host: string;
  /** The agent's name in lists. */
  readonly agent: string;
  /** Page that describes the format, and the day it was checked. */
  readonly source: string;
  readonly checked: string;
  /** First choice: files of ours alone, which the host finds without configuration. */
  readonly ownFiles?: OwnFiles;
  /** For a host that loads none, or whose installed version does not. */
  readonly merged?: MergedHooks;
  /** Advice after a change, in one sentence. */
  readonly advice: string;
  /** Advice for a host that runs hooks in a process outside of any pane. */
  readonly outsideAdvice?: string;
}

/** Files that no other program writes: their texts, by their paths below a directory. */
export interface OwnFiles {
  /** The host's name for it. */
  readonly kind: "plugin" | "extension" | "file";
  readonly directory: (places: PathInputs) => string;
  /** The directory is the host's: others store files there too. */
  readonly shared?: true;
  readonly files: Readonly<Record<string, string>>;
  /** Asks the installed host whether it loads such files: the arguments, and the output if it does. */
  readonly loadCheck?: { readonly program: string; readonly args: readonly string[]; readonly prints: RegExp };
}

/** Groups of handlers by event, in a file of the host's, each with its properties besides the command. */
export interface MergedHooks {
  readonly file: (places: PathInputs) => string;
  readonly entries: readonly HookEntry[];
  /** Keys beside the hooks that a new file needs. */
  readonly root?: Readonly<Record<string, unknown>>;
}

interface HookEntry {
  readonly event: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** Longest run of a hook; hosts count in seconds, Gemini CLI in milliseconds. */
const TIMEOUT_SECONDS = 1;

function hookCommand(agent: string, event: string): string {
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
      ...defined({ matcher }),
      hooks: [{ type: "command", command: hookCommand(agent, event), timeout }],
    },
  }));

/** The same entries as the file of a plugin. */
const hooksFile = (entries: readonly HookEntry[]): string =>
  json({ hooks: Object.fromEntries(entries.map(({ event, value }) => [event, [value]])) });

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;

/** Directory of our plugins and extensions: plain `wsh` may be someone's skill. */
const NAME = "wsh-hooks";
/** Version of our plugins: their hooks never change. */
const VERSION = "1.0.0";

const describe = (host: string, agent: string): string =>
  `Reports what ${host} does in a wsh session: \`wsh hook ${agent} EVENT\`. ` +
  "Written by `wsh setup`, which also removes it.";

const claudeHooks = grouped("claude", TIMEOUT_SECONDS, [
  ["SessionStart"],
  ["UserPromptSubmit"],
  ["PermissionRequest"],
  ["PreToolUse", "AskUserQuestion|ExitPlanMode"],
  ["PostToolUse", "AskUserQuestion|ExitPlanMode"],
  ["Notification"],
  ["Stop"],
]);
const claudeHome = ({ env, home }: PathInputs): string => env.CLAUDE_CONFIG_DIR || join(home, ".claude");

const NO_DAEMON = "`codex features disable daemon_auto_start`, or `codex --no-daemon`, keeps them in the pane.";

const copilotEvents = [
  "sessionStart",
  "userPromptSubmitted",
  "permissionRequest",
  "notification",
  "agentStop",
  "errorOccurred",
];

const opencodePlugin = `// Written by \`wsh setup opencode --hooks\`, which also removes it: tells wsh what OpenCode does.
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
  const titles = new Map();
  report("started");
  return {
    event: async ({ event: { type, properties = {} } }) => {
      const { info, sessionID } = properties;
      if (info?.parentID) inner.add(info.id);
      else if (type.startsWith("session.") && info?.id) titles.set(info.id, info.title);
      const its = { session_id: sessionID, conversation_title: titles.get(sessionID) };
      const asks = type === "permission.asked" || type === "permission.updated" || type === "question.asked";
      if (asks) return report("asks", { message: properties.title ?? properties.permission });
      if (type === "permission.replied" || type === "question.replied" || type === "question.rejected") return report("answered");
      if (inner.has(sessionID)) return;
      if (type === "session.status" && properties.status?.type === "busy") report("busy", its);
      else if (type === "session.idle") report("idle", its);
      else if (type === "session.error") report("error", its);
    },
  };
};
`;

const ampPlugin = `// Written by \`wsh setup amp --hooks\`, which also removes it: tells wsh what Amp does.
// @i-know-the-amp-plugin-api-is-wip-and-very-experimental-right-now
import { spawn } from "node:child_process";

const report = (event, payload) => {
  if (!process.env.WSH_PANE) return;
  const command = \`[ -n "$WSH_PANE" ] && wsh hook amp \${event} >/dev/null 2>&1; exit 0\`;
  const child = spawn("sh", ["-c", command], { stdio: ["pipe", "ignore", "ignore"], timeout: 1000 });
  child.on("error", () => {});
  child.stdin.on("error", () => {});
  child.stdin.end(JSON.stringify(payload));
};

export default (amp) => {
  const its = (event, ctx) => ({ session_id: ctx?.thread?.id ?? event?.thread?.id, prompt: event?.message });
  amp.on("session.start", (event, ctx) => report("started", its(event, ctx)));
  amp.on("agent.start", (event, ctx) => report("busy", its(event, ctx)));
  amp.on("agent.end", (event, ctx) => report("idle", its(event, ctx)));
};
`;

export const hookHosts: readonly HookHost[] = [
  {
    host: "claude-code",
    agent: "claude",
    source: "https://code.claude.com/docs/en/hooks",
    checked: "2026-11-22",
    ownFiles: {
      kind: "plugin",
      directory: (p) => join(claudeHome(p), "skills", NAME),
      files: {
        ".claude-plugin/plugin.json": json({
          name: NAME,
          version: VERSION,
          description: describe("Claude Code", "claude"),
          author: { name: "wsh" },
        }),
        "hooks/hooks.json": hooksFile(claudeHooks),
      },
      loadCheck: { program: "claude", args: ["plugin", "init", "--help"], prints: /skills/ },
    },
    merged: { file: (p) => join(claudeHome(p), "settings.json"), entries: claudeHooks },
    advice: "Start Claude Code again; /hooks shows them.",
  },
  {
    host: "codex",
    agent: "codex",
    source: "https://developers.openai.com/codex/hooks",
    checked: "2026-11-22",
    merged: {
      file: (p) => join(p.env.CODEX_HOME || join(p.home, ".codex"), "hooks.json"),
      entries: grouped("codex", TIMEOUT_SECONDS, [
        ["SessionStart"],
        ["UserPromptSubmit"],
        ["PermissionRequest"],
        ["Stop"],
      ]),
    },
    advice:
      "Start Codex again and trust the hooks with /hooks: it ignores them until then. A Codex with a background server " +
      `runs them outside the pane: ${NO_DAEMON}`,
    outsideAdvice: NO_DAEMON,
  },
  {
    host: "gemini",
    agent: "gemini",
    source: "https://geminicli.com/docs/hooks/reference",
    checked: "2026-11-22",
    ownFiles: {
      kind: "extension",
      directory: (p) => join(p.home, ".gemini", "extensions", NAME),
      files: {
        "gemini-extension.json": json({
          name: NAME,
          version: VERSION,
          description: describe("Gemini CLI", "gemini"),
        }),
        "hooks/hooks.json": hooksFile(
          grouped("gemini", TIMEOUT_SECONDS * 1_000, [
            ["SessionStart"],
            ["BeforeAgent"],
            ["AfterAgent"],
            ["Notification"],
          ]),
        ),
      },
    },
    advice: "Start Gemini CLI again; /hooks shows them.",
  },
  {
    host: "cursor",
    agent: "cursor-agent",
    source: "https://cursor.com/docs/agent/hooks",
    checked: "2026-11-22",
    merged: {
      file: (p) => join(p.home, ".cursor", "hooks.json"),
      root: { version: 1 },
      entries: ["sessionStart", "beforeSubmitPrompt", "stop"].map((event) => ({
        event,
        value: { command: hookCommand("cursor-agent", event), timeout: TIMEOUT_SECONDS },
      })),
    },
    advice: "Start cursor-agent again; it reports its turns, but not its permission requests.",
  },
  {
    host: "copilot",
    agent: "copilot",
    source: "https://docs.github.com/en/copilot/reference/hooks-reference",
    checked: "2026-11-22",
    ownFiles: {
      kind: "file",
      directory: (p) => join(p.env.COPILOT_HOME || join(p.home, ".copilot"), "hooks"),
      shared: true,
      files: {
        "wsh.json": json({
          version: 1,
          hooks: Object.fromEntries(
            copilotEvents.map((event) => [
              event,
              [{ type: "command", bash: hookCommand("copilot", event), timeoutSec: TIMEOUT_SECONDS }],
            ]),
          ),
        }),
      },
    },
    advice: "Start Copilot CLI again.",
  },
  {
    host: "opencode",
    agent: "opencode",
    source: "https://opencode.ai/docs/plugins/",
    checked: "2026-11-22",
    ownFiles: {
      kind: "plugin",
      directory: (p) => join(p.env.XDG_CONFIG_HOME || join(p.home, ".config"), "opencode", "plugins"),
      shared: true,
      files: { "wsh.js": opencodePlugin },
    },
    advice: "Start OpenCode again.",
  },
  {
    host: "amp",
    agent: "amp",
    source: "https://ampcode.com/manual/plugin-api",
    checked: "2026-11-26",
    ownFiles: {
      kind: "plugin",
      directory: (p) => join(p.env.XDG_CONFIG_HOME || join(p.home, ".config"), "amp", "plugins"),
      shared: true,
      files: { "wsh.ts": ampPlugin },
    },
    advice: "Start Amp with PLUGINS=all; its plugins are experimental.",
  },
];
