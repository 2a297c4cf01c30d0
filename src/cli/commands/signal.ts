/** `wsh signal`: a signal to the foreground process group of a session. */
import type { Command } from "commander";
import { instanceOf } from "../instance.ts";
import { printText } from "../print.ts";
import { SessionClient } from "../session/client.ts";

export function register(program: Command): void {
  program
    .command("signal <name> <signal>")
    .description("Send a signal (INT, SIGTERM, 15 …) to the session's foreground program.")
    .action(async (name: string, wanted: string, _options, command: Command) => {
      using session = await SessionClient.open(instanceOf(command), name);
      const { signal } = await session.call("session.signal", { signal: wanted });
      await printText(`Sent ${signal} to session '${session.name}'.\n`);
    });
}
