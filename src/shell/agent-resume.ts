/** The command lines with which AI agents resume one of their conversations. Pure. */
import { conversationIdPattern } from "../protocol/agent.ts";

interface Resuming {
  /** Words before the id; the last one ends in `=` if the id is part of it. */
  readonly words: readonly string[];
  /** Other spellings of the word before the id. */
  readonly also?: readonly string[];
}

const table: Readonly<Record<string, Resuming>> = {
  claude: { words: ["--resume"], also: ["-r", "--session-id"] },
  codex: { words: ["resume"] },
  gemini: { words: ["--resume"], also: ["-r", "--session-id"] },
  qwen: { words: ["--resume"], also: ["-r"] },
  opencode: { words: ["--session"], also: ["-s"] },
  copilot: { words: ["--resume="], also: ["--resume"] },
  "cursor-agent": { words: ["--resume="], also: ["--resume"] },
  amp: { words: ["threads", "continue"] },
};

/** @param program the name by which the agent is called @returns null for an agent whose command line is unknown */
export function resumeLine(agent: string, program: string, id: string): string | null {
  const known = Object.hasOwn(table, agent) ? table[agent] : undefined;
  if (known === undefined || !conversationIdPattern.test(id)) return null;
  const words = known.words.join(" ");
  return `${program} ${words}${words.endsWith("=") ? "" : " "}${id}`;
}

/** The id of the conversation that an agent was started with; null: there is none. @param args argv[0] first */
export function resumedId(agent: string, args: readonly string[]): string | null {
  const known = Object.hasOwn(table, agent) ? table[agent] : undefined;
  if (known === undefined) return null;
  const last = known.words.at(-1)?.replace("=", "") ?? "";
  for (const [at, arg] of args.entries()) {
    for (const word of [last, ...(known.also ?? [])]) {
      const id = arg === word ? args[at + 1] : arg.startsWith(`${word}=`) ? arg.slice(word.length + 1) : undefined;
      if (id !== undefined && isId(id)) return id;
    }
  }
  return null;
}

/** Whether arguments only choose a conversation, so that running them again repeats no task. */
export function onlyResumes(args: readonly string[]): boolean {
  return args.every((arg) => isId(arg) || isId(arg.slice(arg.indexOf("=") + 1)) || words.has(arg));
}

const words: ReadonlySet<string> = new Set([
  ...["-r", "-c", "-s", "--resume", "--continue", "--session", "--session-id", "--last"],
  ...["resume", "threads", "continue", "latest"],
]);

/** Whether a word is an id, not part of a task. */
function isId(text: string): boolean {
  return text.length >= 16 && /\d/.test(text) && conversationIdPattern.test(text);
}
