/** `wsh rename`: gives a session another name. */
import type { Command } from "commander";
import { instanceOf } from "../instance.ts";
import { printText } from "../print.ts";
import { SessionClient } from "../session/client.ts";

export function register(program: Command): void {
  program
    .command("rename <name> <new>")
    .description("Rename a session; terminals and clients stay connected.")
    .action(async (name: string, renamed: string, _options, command: Command) => {
      using session = await SessionClient.open(instanceOf(command), name);
      const info = await session.call("session.update", { name: renamed });
      await printText(`Session '${session.name}' is now '${info.name}'.\n`);
    });
}
