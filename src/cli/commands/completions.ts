/**
 * `wsh completions`: a shell script generated from the program itself, so that it covers every subcommand and option.
 * To complete a session's name, the script runs `wsh list` at that moment.
 */
import { Argument, type Command } from "commander";
import { bashCompletions } from "../completions/bash.ts";
import { fishCompletions } from "../completions/fish.ts";
import { describeCommands } from "../completions/model.ts";
import { zshCompletions } from "../completions/zsh.ts";
import { print } from "../print.ts";

const makers = { bash: bashCompletions, zsh: zshCompletions, fish: fishCompletions } as const;

export function register(program: Command, loadWholeProgram: () => Promise<Command>): void {
  program
    .command("completions")
    .description(
      "Print completions for a shell, including session names. To use them:\n" +
        '  bash: eval "$(wsh completions bash)"      zsh: eval "$(wsh completions zsh)"\n' +
        "  fish: wsh completions fish | source",
    )
    .addArgument(new Argument("<shell>").choices(Object.keys(makers)))
    .action(async (shell: keyof typeof makers) => {
      await print(makers[shell](describeCommands(await loadWholeProgram())));
    });
}
