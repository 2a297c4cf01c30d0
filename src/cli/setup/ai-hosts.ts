/**
 * The AI hosts that `wsh setup` knows: each host's file of MCP servers, its syntax, and the form of an entry. Data and
 * pure functions only; nothing here reads or writes a file. Every host names the page that describes its format and the
 * day it was checked, because these formats change.
 */
import { join } from "node:path";

/** `user`: every project of this person. `project`: the current directory, in a file meant to be committed. */
export type HostScope = "user" | "project";

/** The inputs of a path. */
export interface PathInputs {
  readonly home: string;
  readonly cwd: string;
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The command line for a host to start. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
}

export interface AiHost {
  readonly id: string;
  readonly title: string;
  /** Page that describes the format, and the day it was checked (year-month-day). */
  readonly source: string;
  readonly checked: string;
  readonly syntax: "jsonc" | "toml";
  /** Candidate files per scope: the first that exists is edited, else the first is created. */
  readonly files: Readonly<Partial<Record<HostScope, (places: PathInputs) => readonly [string, ...string[]]>>>;
  /** Keys from the root of the file to the map of servers. */
  readonly servers: (root: unknown) => readonly string[];
  /** Exactly the keys that wsh sets; others in an existing entry stay. */
  readonly entry: (launch: Launch) => Readonly<Record<string, string | readonly string[]>>;
  /** Files or directories; any of them shows that the host is installed. */
  readonly traces: (places: PathInputs) => readonly string[];
  /** Executables; any of them on PATH shows the same. */
  readonly programs: readonly string[];
  /** Advice after a change, in one sentence. */
  readonly advice: string;
}

/** The name of our entry in every host. */
export const ENTRY_NAME = "wsh";

/** The directory of applications' settings: XDG on Linux, the system's own elsewhere. */
function applicationData({ home, platform, env }: PathInputs): string {
  if (platform === "darwin") return join(home, "Library", "Application Support");
  if (platform === "win32") return env.APPDATA ?? join(home, "AppData", "Roaming");
  return xdgConfig({ home, platform, env, cwd: "" });
}

function xdgConfig({ home, env }: PathInputs): string {
  return env.XDG_CONFIG_HOME || join(home, ".config");
}

/** The directory that a variable names, else the directory in the home. */
function movable(places: PathInputs, variable: string, inHome: string): string {
  return places.env[variable] || join(places.home, inHome);
}

const plainEntry = ({ command, args }: Launch) => ({ command, args });
const typed = ({ command, args }: Launch) => ({ type: "stdio", command, args });

/** OpenCode 2 nests servers under `mcp.servers` and still reads OpenCode 1's flat form, so a new file gets that. */
function openCodeServers(root: unknown): readonly string[] {
  if (typeof root !== "object" || root === null || !("mcp" in root)) return ["mcp"];
  const { mcp } = root;
  if (typeof mcp !== "object" || mcp === null || !("servers" in mcp)) return ["mcp"];
  const { servers } = mcp;
  const isServer = typeof servers === "object" && servers !== null && "type" in servers;
  return isServer ? ["mcp"] : ["mcp", "servers"];
}

export const aiHosts: readonly AiHost[] = [
  {
    id: "claude-code",
    title: "Claude Code",
    source: "https://code.claude.com/docs/en/mcp",
    checked: "2026-11-20",
    syntax: "jsonc",
    files: {
      user: (p) => [
        p.env.CLAUDE_CONFIG_DIR ? join(p.env.CLAUDE_CONFIG_DIR, ".claude.json") : join(p.home, ".claude.json"),
      ],
      project: (p) => [join(p.cwd, ".mcp.json")],
    },
    servers: () => ["mcpServers"],
    entry: typed,
    traces: (p) => [movable(p, "CLAUDE_CONFIG_DIR", ".claude"), join(p.home, ".claude.json")],
    programs: ["claude"],
    advice: "Start a new Claude Code session; /mcp shows the server.",
  },
  {
    id: "claude-desktop",
    title: "Claude Desktop",
    source: "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
    checked: "2026-11-20",
    syntax: "jsonc",
    files: { user: (p) => [join(applicationData(p), "Claude", "claude_desktop_config.json")] },
    servers: () => ["mcpServers"],
    entry: plainEntry,
    traces: (p) => [join(applicationData(p), "Claude")],
    programs: [],
    advice: "Quit Claude Desktop and start it again.",
  },
  {
    id: "cursor",
    title: "Cursor",
    source: "https://cursor.com/docs/mcp",
    checked: "2026-11-20",
    syntax: "jsonc",
    files: {
      user: (p) => [join(p.home, ".cursor", "mcp.json")],
      project: (p) => [join(p.cwd, ".cursor", "mcp.json")],
    },
    servers: () => ["mcpServers"],
    entry: plainEntry,
    traces: (p) => [join(p.home, ".cursor"), join(applicationData(p), "Cursor")],
    programs: ["cursor", "cursor-agent"],
    advice: "Restart Cursor and switch the server on under MCP.",
  },
  {
    id: "vscode",
    title: "VS Code",
    source: "https://code.visualstudio.com/docs/agents/reference/mcp-configuration",
    checked: "2026-11-20",
    syntax: "jsonc",
    files: {
      user: (p) => [join(applicationData(p), "Code", "User", "mcp.json")],
      project: (p) => [join(p.cwd, ".vscode", "mcp.json")],
    },
    servers: () => ["servers"],
    entry: typed,
    traces: (p) => [join(applicationData(p), "Code")],
    programs: ["code"],
    advice: "Run 'MCP: List Servers' in VS Code to start it.",
  },
  {
    id: "codex",
    title: "Codex",
    source: "https://developers.openai.com/codex/mcp",
    checked: "2026-11-20",
    syntax: "toml",
    files: {
      user: (p) => [join(movable(p, "CODEX_HOME", ".codex"), "config.toml")],
      project: (p) => [join(p.cwd, ".codex", "config.toml")],
    },
    servers: () => ["mcp_servers"],
    entry: plainEntry,
    traces: (p) => [movable(p, "CODEX_HOME", ".codex")],
    programs: ["codex"],
    advice: "Start Codex again; a project's file counts only in a trusted project.",
  },
  {
    id: "gemini",
    title: "Gemini CLI",
    source: "https://geminicli.com/docs/tools/mcp-server/",
    checked: "2026-11-20",
    syntax: "jsonc",
    files: {
      user: (p) => [join(p.home, ".gemini", "settings.json")],
      project: (p) => [join(p.cwd, ".gemini", "settings.json")],
    },
    servers: () => ["mcpServers"],
    entry: plainEntry,
    traces: (p) => [join(p.home, ".gemini")],
    programs: ["gemini"],
    advice: "Start Gemini CLI again; /mcp shows the server.",
  },
  {
    id: "zed",
    title: "Zed",
    source: "https://zed.dev/docs/ai/mcp",
    checked: "2026-11-20",
    syntax: "jsonc",
    files: {
      user: (p) => [join(zedConfig(p), "settings.json")],
      project: (p) => [join(p.cwd, ".zed", "settings.json")],
    },
    servers: () => ["context_servers"],
    entry: plainEntry,
    traces: (p) => [zedConfig(p)],
    programs: ["zed", "zeditor"],
    advice: "Zed reads the change at once; its agent panel shows the server.",
  },
  {
    id: "opencode",
    title: "OpenCode",
    source: "https://opencode.ai/docs/mcp-servers/ and https://opencode.ai/docs/migrate-v1/",
    checked: "2026-11-20",
    syntax: "jsonc",
    files: {
      user: (p) => {
        const directory = join(xdgConfig(p), "opencode");
        return [join(directory, "opencode.json"), join(directory, "opencode.jsonc")];
      },
      project: (p) => [join(p.cwd, "opencode.json"), join(p.cwd, "opencode.jsonc")],
    },
    servers: openCodeServers,
    entry: ({ command, args }) => ({ type: "local", command: [command, ...args] }),
    traces: (p) => [join(xdgConfig(p), "opencode")],
    programs: ["opencode"],
    advice: "Start OpenCode again.",
  },
];

/** Zed keeps to ~/.config on macOS too; only Linux honours XDG_CONFIG_HOME. */
function zedConfig(places: PathInputs): string {
  if (places.platform === "win32") return join(applicationData(places), "Zed");
  return places.platform === "darwin" ? join(places.home, ".config", "zed") : join(xdgConfig(places), "zed");
}
