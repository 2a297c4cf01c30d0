/**
 * The program's description for completion scripts: every subcommand with its options, and the values of each position.
 * It is derived from the commands themselves, so that a script covers every one.
 */
import type { Command, Option } from "commander";

/** The values of a position on the command line. */
export type Value =
  | { readonly kind: "choices"; readonly choices: readonly string[] }
  | { readonly kind: "session" }
  | { readonly kind: "path" }
  | { readonly kind: "other" };

export interface CompletionOption {
  readonly short: string | null;
  readonly long: string | null;
  readonly summary: string;
  /** null: a switch. */
  readonly value: Value | null;
}

export interface CompletionCommand {
  readonly names: readonly string[];
  readonly summary: string;
  readonly options: readonly CompletionOption[];
  /** By position; `rest`: the last one repeats. */
  readonly values: readonly Value[];
  readonly rest: boolean;
}

/** @param whole a program with every subcommand; each takes the program's own options, too */
export function describeCommands(whole: Command): CompletionCommand[] {
  const globals = describeOptions(whole.options);
  return whole.commands.map((command) => describe(command, globals));
}

function describe(command: Command, globals: readonly CompletionOption[]): CompletionCommand {
  const subcommands = command.commands;
  const all = describeOptions(
    [command, ...subcommands].flatMap(({ options }) => options.filter(({ hidden }) => !hidden)),
  );
  // The parts of a command share options, such as --json.
  const own = [...new Map(all.map((option) => [option.long ?? option.short, option])).values()];
  const parameters = command.registeredArguments;
  return {
    names: [command.name(), ...command.aliases()],
    summary: command.summary(),
    options: [...own, ...globals.filter(({ long }) => !own.some((option) => option.long === long))],
    values: [...valuesOf(command), ...subcommandValues(subcommands)],
    rest: parameters.at(-1)?.variadic === true,
  };
}

function valuesOf({ registeredArguments }: Command): Value[] {
  return registeredArguments.map((argument) => valueNamed(argument.name(), argument.argChoices));
}

/** The name of a part, then the values that a part takes there. */
function subcommandValues(subcommands: readonly Command[]): Value[] {
  if (subcommands.length === 0) return [];
  const values = subcommands.map(valuesOf);
  const longest = Math.max(...values.map(({ length }) => length));
  const behind = Array.from({ length: longest }, (_, index): Value => {
    const specific = values.flatMap((each) => each[index] ?? []).filter(({ kind }) => kind !== "other");
    return specific.find(({ kind }) => kind === "session") ?? specific[0] ?? { kind: "other" };
  });
  return [{ kind: "choices", choices: subcommands.map((part) => part.name()) }, ...behind];
}

function describeOptions(options: readonly Option[]): CompletionOption[] {
  const help: CompletionOption = { short: "-h", long: "--help", summary: "show the help", value: null };
  const described = options
    .filter((option) => !option.hidden && option.long !== "--version")
    .map((option) => ({
      short: option.short ?? null,
      long: option.long ?? null,
      summary: option.description,
      value: option.required || option.optional ? optionValue(option) : null,
    }));
  return [...described, help];
}

/** A <name> of an option is an instance's or an AI host's; only --session takes a session's. */
function optionValue({ long, flags, argChoices }: Option): Value {
  const value = valueNamed(/<([^>]+)>/.exec(flags)?.[1] ?? "", argChoices);
  return value.kind === "session" && long !== "--session" ? { kind: "other" } : value;
}

/** The names of arguments in our own commands determine their values. */
function valueNamed(name: string, choices: readonly string[] | undefined): Value {
  if (choices !== undefined) return { kind: "choices", choices };
  if (/^name(\.\.\.)?$/.test(name)) return { kind: "session" };
  return /^(path|file|dir)$/.test(name) ? { kind: "path" } : { kind: "other" };
}
