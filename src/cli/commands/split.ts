/** `wsh split`: opens a pane beside another one. */
import type { Command } from "commander";
import { UsageError } from "../arguments.ts";
import {
  addBoundsOptions,
  addPlaceOptions,
  addProgramOptions,
  type BoundsOptions,
  type PlaceOptions,
  type ProgramOptions,
  placeOf,
  programOf,
} from "../panes/options.ts";
import { printChange } from "../panes/output.ts";
import { atTarget } from "../panes/target.ts";
import { splitAtDashes } from "../shell-words.ts";

type SplitOptions = PlaceOptions & BoundsOptions & ProgramOptions & { readonly json?: boolean };

export function register(program: Command): void {
  const split = program
    .command("split [words...]")
    .usage("[options] [TARGET] [-- COMMAND…]")
    .description(
      "Open a pane with a shell, or COMMAND, beside TARGET (a session, window or pane; default: this pane), and print its id.\n" +
        "One word after -- is shell text; several words are arguments.",
    );
  addProgramOptions(addBoundsOptions(addPlaceOptions(split)))
    .option("--json", "print the windows and panes as JSON")
    .action(async (words: string[], options: SplitOptions, command: Command) => {
      const { before, after } = splitAtDashes(words, process.argv);
      if (before.length > 1) throw new UsageError(`unexpected argument '${before[1]}'`, "Write the command after --.");
      const given = { ...placeOf(options), ...programOf(options, after) };
      const made = await atTarget(command, before[0], (session) => session.call("pane.split", given));
      return printChange(made, "pane", options.json);
    });
}
