/** `wsh detach`: disconnects attached terminals; the session goes on. */
import type { Command } from "commander";
import { instanceOf } from "./context.ts";
import { forEachSession } from "./each-session.ts";
import { print } from "./print.ts";

export function register(program: Command): void {
  program
    .command("detach <name...>")
    .description("Disconnect the terminals that are attached to sessions; what runs in them goes on.")
    .action(async (names: string[], _options, command: Command) => {
      await forEachSession(instanceOf(command), names, async (session) => {
        await session.call("session.detach", {});
        await print(`Session '${session.name}' detached.\n`);
      });
    });
}
