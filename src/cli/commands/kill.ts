/** `wsh kill`: ends sessions; answers when their programs have ended. */
import type { Command } from "commander";
import { instanceOf } from "../instance.ts";
import { say } from "../print.ts";
import { forEachSession } from "../session/each.ts";
import { endSession } from "../session/end.ts";

export function register(program: Command): void {
  program
    .command("kill <name...>")
    .description(
      "End sessions: SIGHUP to everything in them, SIGKILL to what is left after kill_grace_ms.\n" +
        "One that hangs is ended by force.",
    )
    .action(async (names: string[], _options, command: Command) => {
      const instance = instanceOf(command);
      await forEachSession(names, async (name) => say(`Session '${await endSession(instance, name)}' killed.\n`));
    });
}
