/**
 * The command line's entry: finds the subcommand, loads only its code, and turns errors into `wsh: MESSAGE` with a hint
 * on stderr and an exit code: 2 when the command line is wrong, 1 when the command failed. The process ends only after
 * the reader has received all output.
 */
import { CommanderError } from "commander";
import { resolveInstance } from "../instance/paths.ts";
import { WshError } from "../protocol/errors.ts";
import { UsageError } from "./arguments.ts";
import { catalogEntries, findEntry } from "./catalog.ts";
import { requireServed } from "./grant/sandbox-client.ts";
import { rootHelp } from "./help.ts";
import { fullProgram, instanceFlags, openProgram } from "./parser.ts";
import type { PrefixWords } from "./prefix-words.ts";
import { complain, print } from "./print.ts";

const FAILURE = 1;
const USAGE = 2;

/** Runs one command line; ends the process. */
export async function main(args: readonly string[]): Promise<void> {
  const code = await run(args);
  await print("");
  process.exit(code);
}

async function run(args: readonly string[]): Promise<number> {
  try {
    const commandIndex = firstWord(args);
    const [word, next = "--help"] = args.slice(commandIndex);
    if (isHelp(word) || (word === "help" && isHelp(next))) {
      await print((await wordsFor(args))(rootHelp()));
      return 0;
    }
    requireServed(word?.startsWith("-") === true ? undefined : word);
    if (word === "tmux" && !isHelp(args[commandIndex + 1])) {
      const { tmuxCommandLine } = await import("./tmux/command-line.ts");
      return await tmuxCommandLine(args.slice(commandIndex + 1), args.slice(0, commandIndex));
    }
    if (word === undefined || word.startsWith("-")) {
      await (await openProgram(await helpWords(args))).parseAsync([...args], { from: "user" });
    } else {
      // An unknown command is refused by its name, whatever follows it, even --help.
      const isCommand = word === "help" || findEntry(word) !== undefined;
      const program = await fullProgram(word, await helpWords(args));
      await program.parseAsync(isCommand ? [...args] : args.slice(0, commandIndex + 1), { from: "user" });
    }
    return typeof process.exitCode === "number" ? process.exitCode : 0;
  } catch (thrown) {
    return report(thrown, args);
  }
}

function isHelp(word: string | undefined): boolean {
  return word === "--help" || word === "-h";
}

/** Undefined: the command line does not ask for help. */
function helpWords(args: readonly string[]): Promise<PrefixWords> | undefined {
  const end = args.indexOf("--");
  const own = end === -1 ? args : args.slice(0, end);
  return args[firstWord(args)] === "help" || own.some(isHelp) ? wordsFor(own) : undefined;
}

/** Help is printed whatever is wrong with flags, environment or settings. */
async function wordsFor(args: readonly string[]): Promise<PrefixWords> {
  const { prefixWords } = await import("./prefix-words.ts");
  try {
    return await prefixWords(resolveInstance({ flags: instanceFlags(args), env: process.env }));
  } catch {
    return (text) => text;
  }
}

/** Index of the first argument that is neither a global flag nor its value. */
function firstWord(args: readonly string[]): number {
  let offset = 0;
  for (; offset < args.length; offset++) {
    const arg = args[offset] ?? "";
    if (arg === "-L" || arg === "--server-name" || arg === "--socket") offset++;
    else if (!/^(-L.|--server-name=|--socket=)/.test(arg)) break;
  }
  return offset;
}

/** Reports an error; @returns the exit code */
function report(thrown: unknown, args: readonly string[]): number {
  if (thrown instanceof CommanderError) {
    if (thrown.exitCode === 0) return 0;
    if (thrown.code === "commander.help") return failed(`unknown command '${args.at(-1)}'`, helpHint([]), USAGE);
    const message = thrown.message.replace(/^error: /, "");
    const isUnknown = thrown.code === "commander.unknownCommand";
    return failed(isUnknown ? withBegun(message, args) : message, helpHint(args), USAGE);
  }
  if (thrown instanceof UsageError) return failed(thrown.message, thrown.hint || helpHint(args), USAGE);
  if (isDirectoryGone(thrown)) {
    return failed("the current directory was deleted", "Change to another directory, or name one with --cwd.", FAILURE);
  }
  const error = WshError.from(thrown);
  if (error.code === "internal_error" && process.env.WSH_LOG === "debug") complain(Bun.inspect(thrown));
  return failed(error.message, error.code === "internal_error" ? "" : error.hintAt("cli"), FAILURE);
}

/** For an abbreviation, suggests the commands that begin with it; the others are only spelled alike. */
function withBegun(message: string, args: readonly string[]): string {
  const word = args[firstWord(args)] ?? "";
  const begun = catalogEntries.flatMap(({ name }) => (word !== "" && name.startsWith(word) ? name : []));
  return begun.length === 0 ? message : `${message.split("\n")[0]}\n(Did you mean ${begun.join(" or ")}?)`;
}

/** Only code that needs the directory calls this. */
function isDirectoryGone(thrown: unknown): boolean {
  return thrown instanceof Error && "syscall" in thrown && thrown.syscall === "uv_cwd";
}

function helpHint(args: readonly string[]): string {
  const entry = findEntry(args[firstWord(args)] ?? "");
  return entry === undefined ? "See wsh --help." : `See wsh ${entry.name} --help.`;
}

function failed(message: string, hint: string, code: number): number {
  complain(hint === "" ? message : `${message}\n${hint}`);
  return code;
}
