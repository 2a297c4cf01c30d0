/** `wsh kill`: ends sessions, and returns when their programs have ended. */
import type { Command } from "commander";
import { instanceOf } from "../instance.ts";
import { endedText } from "../panes/output.ts";
import { printText } from "../print.ts";
import { forEachSession } from "../session/each-session.ts";
import { endSession } from "../session/end-session.ts";

export function register(program: Command): void {
  program
    .command("kill <name...>")
    .description(
      "Kill sessions: SIGHUP to the programs in their panes, SIGKILL to those left after the setting kill_grace_ms.\n" +
        "Programs independent of their terminal (nohup, setsid) keep running.\n" +
        "A session process that does not answer gets SIGKILL.",
    )
    .action(async (names: string[], _options, command: Command) => {
      const instance = instanceOf(command);
      await forEachSession(
        instance,
        names,
        { operation: "session.kill", input: { reason: "killed" } },
        async (named) => {
          const { name, ended } = await endSession(instance, named);
          printText(`Session '${name}' killed${endedText(ended)}.\n`);
        },
      );
    });
}
