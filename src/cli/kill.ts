/** `wsh kill`: ends sessions; answers when their programs have ended. */
import type { Command } from "commander";
import { instanceOf } from "./context.ts";
import { print } from "./print.ts";
import { SessionClient } from "./session-client.ts";

export function register(program: Command): void {
  program
    .command("kill <name...>")
    .description("End sessions: SIGHUP to everything in them, SIGKILL to what is left after kill_grace_ms.")
    .action(async (names: string[], _options, command: Command) => {
      const instance = instanceOf(command);
      for (const name of names) {
        using session = await SessionClient.open(instance, name);
        await session.call("session.kill", {});
        await print(`Session '${session.name}' killed.\n`);
      }
    });
}
