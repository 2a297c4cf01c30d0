/** `wsh detach`: disconnects attached terminals; the session continues. */
import type { Command } from "commander";
import { defined } from "../../protocol/defined.ts";
import { UsageError, wholeNumber } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { printText } from "../print.ts";
import { SessionClient } from "../session/client.ts";
import { forEachSession } from "../session/each-session.ts";

export function register(program: Command): void {
  program
    .command("detach <name...>")
    .description("Disconnect the terminals attached to sessions; the programs keep running.")
    .option("--client <id>", "only this terminal of the session (`wsh clients`)", wholeNumber(1))
    .action(async (names: string[], { client }: { readonly client?: number }, command: Command) => {
      if (client !== undefined && names.length > 1) throw new UsageError("--client needs exactly one session");
      const instance = instanceOf(command);
      await forEachSession(
        instance,
        names,
        { operation: "session.detach", input: defined({ client }) },
        async (name) => {
          using session = await SessionClient.open(instance, name);
          await session.call("session.detach", defined({ client }));
          const what = client === undefined ? `Session '${session.name}'` : `Terminal ${client} of '${session.name}'`;
          await printText(`${what} detached.\n`);
        },
      );
    });
}
