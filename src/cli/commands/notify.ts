/** `wsh notify`: shows a message at the terminals of a session. */
import type { Command } from "commander";
import { UsageError } from "../arguments.ts";
import { atTarget } from "../panes/target.ts";
import { complain } from "../print.ts";

export function register(program: Command): void {
  program
    .command("notify <message>")
    .description(
      "Show a message at the terminals that are attached to a session. Exit code 1 if none is attached.\n" +
        "A program in a pane can print OSC 9, 99 or 777 instead; wsh forwards it as a notice (see the manual).",
    )
    .option("--session <name>", "the session (default: this one)")
    .action(async (message: string, { session }: { readonly session?: string }, command: Command) => {
      if (message.trim() === "") throw new UsageError("the message is empty");
      const { terminals } = await atTarget(command, session, (at) => at.call("terminal.show", { message }));
      if (terminals > 0) return;
      process.exitCode = 1;
      complain(`no terminal is attached to ${session === undefined ? "this session" : `session '${session}'`}`);
    });
}
