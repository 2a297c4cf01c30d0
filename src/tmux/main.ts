/**
 * `wsh tmux ARGS`: tmux's command line, run by the operations of wsh. The options before the command are tmux's; the
 * caller has made the backend of the instance that they name.
 */
import type { Backend } from "./backend.ts";
import { commandTable } from "./commands/table.ts";
import { splitWords } from "./parse/commands.ts";
import { Run } from "./run.ts";

const usage = `usage: tmux [-2CDlNuvV] [-c shell-command] [-f file] [-L socket-name]
            [-S socket-path] [-T features] [command [flags]]
`;

/** Options before the command. */
interface FrontOptions {
  readonly server: string | null;
  readonly socket: string | null;
  readonly shell: string | null;
  /** `-f`: a file that is read if no session is running, as tmux reads it at its start. */
  readonly file: string | null;
  readonly request: "version" | null;
  /** Number of `-C` flags: 2 inside a terminal that supports control mode. */
  readonly control: number;
  readonly rest: readonly string[];
  /** A usage error, in tmux's words. */
  readonly error: string | null;
}

const SILENT = "2DluNv";

export function readFront(args: readonly string[]): FrontOptions {
  const front = { server: null, socket: null, shell: null, file: null, request: null, control: 0, error: null } as {
    -readonly [K in keyof Omit<FrontOptions, "rest">]: FrontOptions[K];
  };
  let index = 0;
  for (; index < args.length; index++) {
    const word = args[index] ?? "";
    if (!word.startsWith("-") || word === "-") break;
    if (word === "--") {
      index++;
      break;
    }
    for (let i = 1; i < word.length; i++) {
      const flag = word[i] ?? "";
      if (SILENT.includes(flag)) continue;
      if (flag === "V") front.request = "version";
      else if (flag === "C") front.control++;
      else if ("cfLST".includes(flag)) {
        const rest = word.slice(i + 1);
        const value = rest === "" ? args[++index] : rest;
        if (value === undefined) front.error ??= `tmux: option requires an argument -- ${flag}\n${usage.trimEnd()}`;
        if (flag === "L") front.server = value ?? null;
        if (flag === "S") front.socket = value ?? null;
        if (flag === "f") front.file = value ?? null;
        if (flag === "c") front.shell = value ?? null;
        break;
      } else front.error ??= `tmux: invalid option -- '${flag}'\n${usage.trimEnd()}`;
    }
  }
  return { ...front, rest: args.slice(index) };
}

/** @returns the exit status */
export async function runTmux(backend: Backend, words: readonly string[], file: string | null = null): Promise<number> {
  if (file !== null && (await backend.sessions()).infos.length === 0) {
    // A failing command in that file does not prevent tmux from starting.
    const quiet = { ...backend, print: async () => {}, complain: async () => {} };
    const start = new Run(quiet, commandTable);
    start.isStarting = true;
    await start.commands([["source-file", "-q", file]]);
  }
  const run = new Run(backend, commandTable);
  await run.commands(splitWords(words.length === 0 ? ["new-session"] : words));
  return run.status;
}
