/** `wsh kill`: ends sessions; answers when their programs have ended. */
import type { Command } from "commander";
import { instanceOf } from "./context.ts";
import { forEachSession } from "./each-session.ts";
import { print } from "./print.ts";

export function register(program: Command): void {
  program
    .command("kill <name...>")
    .description("End sessions: SIGHUP to everything in them, SIGKILL to what is left after kill_grace_ms.")
    .action(async (names: string[], _options, command: Command) => {
      await forEachSession(instanceOf(command), names, async (session) => {
        await session.call("session.kill", {});
        await print(`Session '${session.name}' killed.\n`);
      });
    });
}
