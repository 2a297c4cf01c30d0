/**
 * The program as Commander parses it: global flags, help, and the subcommands that a command line needs. Only the named
 * subcommand is loaded; for an unknown name all are, to suggest a similar one.
 */
import { Command, Help, Option } from "commander";
import { VERSION } from "../protocol/version.ts";
import { type CatalogEntry, catalogEntries, findEntry, loadCommand } from "./catalog.ts";
import { rootHelp } from "./help.ts";
import type { PrefixWords } from "./prefix-words.ts";
import { takesColor } from "./print.ts";

/** `wsh` without a subcommand. */
export async function openProgram(words?: PrefixWords): Promise<Command> {
  const { configureOpen } = await import("./commands/open.ts");
  const program = addGlobalFlags(baseProgram(words));
  configureOpen(program);
  return program;
}

/** The program with the subcommand `word`; with all of them when none has that name. */
export async function fullProgram(word: string, words?: PrefixWords): Promise<Command> {
  const entry = findEntry(word);
  return programOf(entry === undefined ? catalogEntries : [entry], words);
}

/** The program with every subcommand: the source of completions and the manual. */
export function wholeProgram(): Promise<Command> {
  return programOf(catalogEntries);
}

async function programOf(entries: readonly CatalogEntry[], words?: PrefixWords): Promise<Command> {
  const program = addGlobalFlags(baseProgram(words)).enablePositionalOptions().usage("[options] [command]");
  const registers = await Promise.all(entries.map(loadCommand));
  for (const register of registers) register(program, wholeProgram);
  for (const command of program.commands) {
    const entry = entries.find(({ name }) => name === command.name());
    command.summary(entry?.summary ?? "");
    if (entry?.alias !== undefined) command.alias(entry.alias);
    addGlobalFlags(command, true);
  }
  return program;
}

/** @param words names the prefix key in help */
function baseProgram(words: PrefixWords = (text) => text): Command {
  return new Command("wsh")
    .version(`wsh ${VERSION}`, "-V, --version", "print the version")
    .helpOption("-h, --help", "show this help")
    .helpCommand("help [command]", "show a command's help")
    .exitOverride()
    .showSuggestionAfterError()
    .allowExcessArguments(false)
    .configureHelp({
      showGlobalOptions: true,
      formatHelp: (command, helper) =>
        command.parent === null && command.commands.length > 0
          ? words(rootHelp())
          : Help.prototype.formatHelp.call(helper, withPrefixNames(command, words), helper),
      styleTitle: (title) => (takesColor(process.stdout) ? `\x1b[1m${title}\x1b[22m` : title),
    })
    .configureOutput({ writeErr: () => {} });
}

function withPrefixNames(command: Command, words: PrefixWords): Command {
  for (const option of command.options) option.description = words(option.description);
  return command.description(words(command.description()));
}

/** The flags that name the instance, wherever they are. @throws CommanderError without their value */
export function instanceFlags(args: readonly string[]): { readonly serverName?: string; readonly socket?: string } {
  const command = addGlobalFlags(new Command().exitOverride().configureOutput({ writeErr: () => {} }));
  command.parseOptions([...args]);
  return command.opts();
}

function addGlobalFlags(command: Command, hidden = false): Command {
  const optionNames = new Set(command.options.map((option) => option.attributeName()));
  const flags = [
    new Option("-L, --server-name <name>", "instance to use (WSH_SERVER_NAME; default: default)"),
    new Option("--socket <path>", "its HTTP socket, DIR/NAME.http.sock, instead of -L (WSH_SOCKET)"),
  ];
  for (const flag of flags) if (!optionNames.has(flag.attributeName())) command.addOption(flag.hideHelp(hidden));
  return command;
}
