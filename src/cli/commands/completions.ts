/**
 * `wsh completions`: a script for a shell, made from the program itself, so that it knows every subcommand and option.
 * Where a session is meant, the script asks `wsh list` at that moment.
 */
import { Argument, type Command, type Option } from "commander";
import { catalogEntries } from "../catalog.ts";
import { bashCompletions } from "../completions/bash.ts";
import { fishCompletions } from "../completions/fish.ts";
import { zshCompletions } from "../completions/zsh.ts";
import { programOf } from "../main.ts";
import { print } from "../print.ts";

/** What a position on the command line takes. */
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

const makers = { bash: bashCompletions, zsh: zshCompletions, fish: fishCompletions } as const;

export function register(program: Command): void {
  program
    .command("completions")
    .description(
      "Print completions for a shell, with the names of sessions. To use them:\n" +
        '  bash: eval "$(wsh completions bash)"      zsh: eval "$(wsh completions zsh)"\n' +
        "  fish: wsh completions fish | source",
    )
    .addArgument(new Argument("<shell>").choices(Object.keys(makers)))
    .action(async (shell: keyof typeof makers) => {
      const whole = await programOf(catalogEntries);
      const globals = describeOptions(whole.options);
      await print(makers[shell](whole.commands.map((command) => describe(command, globals))));
    });
}

function describe(command: Command, globals: readonly CompletionOption[]): CompletionCommand {
  const own = describeOptions(command.options.filter((option) => !option.hidden));
  const entry = catalogEntries.find(({ name }) => name === command.name());
  const taken = command.registeredArguments;
  return {
    names: [command.name(), ...command.aliases()],
    summary: entry?.summary ?? "",
    options: [...own, ...globals.filter(({ long }) => !own.some((option) => option.long === long))],
    values: taken.map((argument) => valueNamed(argument.name(), argument.argChoices)),
    rest: taken.at(-1)?.variadic === true,
  };
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

/** Names that options take are an instance's, a host's; only --session takes a session's. */
function optionValue({ long, flags, argChoices }: Option): Value {
  const value = valueNamed(/<([^>]+)>/.exec(flags)?.[1] ?? "", argChoices);
  return value.kind === "session" && long !== "--session" ? { kind: "other" } : value;
}

/** The names of arguments in our own commands say what they take. */
function valueNamed(name: string, choices: readonly string[] | undefined): Value {
  if (choices !== undefined) return { kind: "choices", choices };
  if (/^name(\.\.\.)?$/.test(name)) return { kind: "session" };
  return /^(path|file|dir)$/.test(name) ? { kind: "path" } : { kind: "other" };
}
