/** `wsh popup`: runs a program in a popup over a window, and ends with its exit code. */
import { type Command, Option } from "commander";
import { exitCode } from "../../attach/outcome.ts";
import type { OperationOutput } from "../../operations/table.ts";
import { defined } from "../../protocol/defined.ts";
import { collect, requireOptions, UsageError } from "../arguments.ts";
import { addBoundsOptions, type BoundsOptions, boundsGiven, programOf } from "../panes/options.ts";
import { atTarget } from "../panes/target.ts";
import { complain, printJson, print as printText } from "../print.ts";
import { splitAtDashes } from "../shell-words.ts";

interface PopupOptions extends BoundsOptions {
  readonly cwd?: string;
  readonly env?: readonly string[];
  readonly shell?: string;
  readonly title?: string;
  readonly keep?: "failed" | true;
  readonly border: boolean;
  readonly print?: boolean;
  readonly detach?: boolean;
  readonly json?: boolean;
}

export function register(program: Command): void {
  const popup = program
    .command("popup [words...]")
    .usage("[options] [TARGET] [-- COMMAND…]")
    .description(
      "Run COMMAND, or a shell, in a popup above the window of TARGET (default: this pane), and exit with its code. " +
        "It gets all keys and closes when it ends; without an attached terminal nothing is run.\n" +
        "One word, after -- or without TARGET, is shell text; several words are arguments.",
    );
  addBoundsOptions(popup)
    .option("--print", "print what COMMAND writes to its standard output; it draws on /dev/tty")
    .option("--title <text>", "title in the border")
    .option("--no-border", "without a border")
    .addOption(
      new Option("--keep [when]", "keep it open until Escape or Enter; failed: unless it exits with 0").choices([
        "failed",
      ]),
    )
    .option("-d, --detach", "print its pane's id and do not wait for it")
    .option("--cwd <dir>", "directory to start in (default: that of the pane)")
    .option("--env <name=value>", "set an environment variable (repeatable)", collect)
    .option("--shell <shell>", "path or name of the shell")
    .option("--json", "print the result as JSON")
    .action(open);
}

async function open(words: string[], options: PopupOptions, command: Command): Promise<void> {
  const { before, after } = splitAtDashes(words, process.argv);
  if (before.length > 1) throw new UsageError(`unexpected argument '${before[1]}'`, "Write the command after --.");
  // `wsh popup 'less notes'`: a single word is the command.
  const [target, run] = after === null ? [undefined, before] : [before[0], after];
  const { keep, border, print = false, detach = false, json = false, cwd, env, shell, title } = options;
  requireOptions([{ option: "print", excludes: ["detach"] }], options);
  const input = {
    ...programOf({ ...defined({ cwd, env, shell, title }) }, run.length === 0 ? null : run),
    ...boundsGiven(options),
    ...defined({ keep_after_exit: keep }),
    border,
    print,
    wait: !detach,
  };
  const result = await atTarget(command, target, (session) => session.call("popup.open", input));
  if (json) await printJson(result);
  else if (detach) await printText(`${result.pane}\n`);
  else if (print) await printText(printedBy(result));
  if (result.output_truncated === true) complain("the command wrote more than 1 MiB; the rest is omitted");
  if (detach) return;
  const { exit_code = null, signal = null } = result;
  if (exit_code === null && signal === null) complain("the popup was closed before its program ended");
  process.exitCode = exitCode(exit_code, signal);
}

function printedBy({ output = "", output_base64 }: OperationOutput<"popup.open">): string | Uint8Array {
  return output_base64 === undefined ? output : Buffer.from(output_base64, "base64");
}
