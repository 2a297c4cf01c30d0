/** `wsh restart`: starts the same program again, in the same session. */
import type { Command } from "commander";
import { instanceOf } from "../instance.ts";
import { printText } from "../print.ts";
import { SessionClient } from "../session/client.ts";

export function register(program: Command): void {
  program
    .command("restart <name>")
    .description("Restart a session's program: same command, directory, size and name.")
    .action(async (name: string, _options, command: Command) => {
      using session = await SessionClient.open(instanceOf(command), name);
      const { pid } = await session.call("session.restart", {});
      await printText(`Session '${session.name}' restarted${pid === null ? "" : ` as process ${pid}`}.\n`);
    });
}
