/** `wsh clear`: clears a session's history and screen. */
import type { Command } from "commander";
import { instanceOf } from "../instance.ts";
import { SessionClient } from "../session/client.ts";

export function register(program: Command): void {
  program
    .command("clear <name>")
    .description(
      "Clear a session's screen and scrollback, also on disk. The command history (wsh history) and labelled checkpoints remain.",
    )
    .action(async (name: string, _options, command: Command) => {
      using session = await SessionClient.open(instanceOf(command), name);
      await session.call("session.clear", {});
    });
}
