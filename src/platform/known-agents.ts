/**
 * Identifies the agent that a process is, by its name, its script or its command line. Pure. The table contains common
 * agents; settings add to it (`agents = ["NAME=PATTERN"]`) and take precedence.
 *
 * Agents are often scripts: `node /usr/bin/claude` is claude, as is a shell script of that name. Such a process is a
 * *wrapper* when it starts the same agent again.
 */
import { basename } from "node:path";

/** The compared properties of a process. */
export interface ProcessNames {
  /** The name as the kernel reports it, truncated. */
  readonly name: string;
  readonly args: readonly string[];
}

export interface AgentMatch {
  readonly name: string;
  /** Whether an interpreter runs it. */
  readonly isScript: boolean;
}

interface AgentRule {
  readonly name: string;
  /** Names of its program, or of its script without a suffix. */
  readonly programs: readonly string[];
  /** Part of its script's path, for a script with a common name. */
  readonly paths: readonly string[];
  /** Variables that the agent sets for its commands. */
  readonly variables: readonly string[];
}

const rule = (
  name: string,
  programs: readonly string[] = [],
  paths: readonly string[] = [],
  variables: readonly string[] = [],
): AgentRule => ({ name, programs: [name, ...programs], paths, variables });

const builtIn: readonly AgentRule[] = [
  rule("claude", ["claude-code"], ["/@anthropic-ai/claude-code/"], ["CLAUDECODE"]),
  rule("codex", [], ["/@openai/codex/"], ["CODEX_SANDBOX", "CODEX_THREAD_ID"]),
  rule("gemini", ["gemini-cli"], ["/@google/gemini-cli/"], ["GEMINI_CLI"]),
  rule("opencode", [".opencode"], ["/opencode-ai/"], ["OPENCODE"]),
  rule("aider", [], ["/aider/__main__.py"]),
  rule("cursor-agent", [], ["/cursor-agent/"], ["CURSOR_AGENT"]),
  rule("copilot", [], ["/@github/copilot/"]),
  rule("goose"),
  rule("amp", [], ["/@sourcegraph/amp/"]),
  rule("qwen", ["qwen-code"], ["/@qwen-code/qwen-code/"]),
  rule("crush"),
  rule("droid"),
  rule("auggie", [], ["/@augmentcode/auggie/"]),
  rule("kimi", ["kimi-cli"]),
  rule("kiro-cli", ["kiro-cli-chat"]),
];

const interpreters =
  /^(?:node|nodejs|bun(?:\.exe)?|deno|tsx|ruby|python[\d.]*|pypy[\d.]*|sh|bash|dash|zsh|ksh|node-MainThread|MainThread)$/;
/** Options of interpreters that take the next argument. */
const valued: ReadonlySet<string> = new Set(["-r", "--require", "--import", "--loader", "-X", "-W", "--env-file"]);
const suffix = /\.(?:[cm]?js|[cm]?ts|py|sh|rb)$/;

export type AgentTable = (process: ProcessNames) => AgentMatch | null;

/**
 * The table with a user's entries: `NAME=PATTERN`. A pattern without blank or slash is a program's name, else the whole
 * command line; `*` matches anything.
 */
export function agentTable(own: readonly string[] = []): AgentTable {
  const added = own.map((entry) => {
    const equals = entry.indexOf("=");
    const pattern = entry.slice(equals + 1);
    return { name: entry.slice(0, equals), matches: glob(pattern), wholeLine: /[\s/]/.test(pattern) };
  });
  return (process) => {
    const words = wordsOf(process);
    const line = process.args.join(" ");
    for (const { name, matches, wholeLine } of added) {
      if (wholeLine ? matches.test(line) : words.programs.some((program) => matches.test(program))) {
        return { name, isScript: words.script !== null };
      }
    }
    for (const { name, programs, paths } of builtIn) {
      if (programs.some((program) => words.programs.includes(program)))
        return { name, isScript: words.script !== null };
      if (words.script !== null && paths.some((part) => words.script?.includes(part))) return { name, isScript: true };
    }
    return null;
  };
}

/** The agent whose command has this environment, as `NAME=VALUE`. */
export function agentInEnvironment(env: readonly string[]): string | null {
  const isThere = (variable: string): boolean => env.some((each) => each.startsWith(`${variable}=`));
  return builtIn.find(({ variables }) => variables.some(isThere))?.name ?? null;
}

function glob(pattern: string): RegExp {
  const parts = pattern.split("*").map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s");
}

/** The names of a process, and the path of its script if an interpreter runs it. */
function wordsOf({ name, args }: ProcessNames): { programs: readonly string[]; script: string | null } {
  // A login shell's own name begins with a dash.
  const program = basename(args[0] ?? "").replace(/^-/, "");
  if (!interpreters.test(program)) return { programs: [program, name], script: null };
  const script = scriptOf(args);
  if (script === null) return { programs: [name], script: null };
  return { programs: [basename(script).replace(suffix, ""), ...(interpreters.test(name) ? [] : [name])], script };
}

/** The script argument of an interpreter; null: a command (`-c`, `-e`), or none. */
function scriptOf(args: readonly string[]): string | null {
  for (let index = 1; index < args.length; index++) {
    const arg = args[index] ?? "";
    if (arg === "-m") return args[index + 1] ?? null;
    if (/^(?:-[a-z]*[ce]|--eval|--print|-p)$/.test(arg)) return null;
    if (valued.has(arg)) index++;
    // `bun run SCRIPT`, `deno run SCRIPT`.
    else if (!arg.startsWith("-") && !(arg === "run" && index === 1)) return arg;
  }
  return null;
}
