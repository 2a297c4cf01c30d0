/** `wsh detach`: disconnects attached terminals; the session continues. */
import type { Command } from "commander";
import { instanceOf } from "../instance.ts";
import { say } from "../print.ts";
import { SessionClient } from "../session/client.ts";
import { forEachSession } from "../session/each.ts";

export function register(program: Command): void {
  program
    .command("detach <name...>")
    .description("Disconnect the terminals attached to sessions; the programs keep running.")
    .action(async (names: string[], _options, command: Command) => {
      const instance = instanceOf(command);
      await forEachSession(names, async (name) => {
        using session = await SessionClient.open(instance, name);
        await session.call("session.detach", {});
        await say(`Session '${session.name}' detached.\n`);
      });
    });
}
