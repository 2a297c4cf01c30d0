/** `wsh reset-terminal`: restores a terminal that any program left in disorder. */
import type { Command } from "commander";
import { capsFromEnvironment, restoreTerminal, undoLasting } from "../../attach/render/modes.ts";
import { lastingChanges } from "../../protocol/lasting-changes.ts";
import { instanceOf } from "../instance.ts";
import { print } from "../print.ts";
import { SessionClient } from "../session/client.ts";

/** Width of a terminal that reports none, in columns. */
const FALLBACK_COLS = 80;

export function register(program: Command): void {
  program
    .command("reset-terminal [name]")
    .description(
      "Reset your terminal when a program left it in a bad state: modes, colours, cursor, echo. With NAME: that session's " +
        "terminal; prints what was left on (line drawing, a scroll region, …).",
    )
    .action(async (name: string | undefined, _options, command: Command) => {
      if (name !== undefined) {
        using session = await SessionClient.open(instanceOf(command), name);
        const { mended } = await session.call("session.reset", {});
        return print(mended.map((each) => `${each}\n`).join(""));
      }
      // `sane` has no portable call; stty is in POSIX and knows every system's flags.
      if (process.stdin.isTTY) Bun.spawnSync(["stty", "sane"], { stdio: ["inherit", "ignore", "ignore"] });
      const cols = process.stdout.columns || FALLBACK_COLS;
      const everything = undoLasting(new Set(lastingChanges), cols);
      const modes = restoreTerminal(capsFromEnvironment(process.env), { alternate: "maybe" });
      await print(new Uint8Array(Buffer.concat([Buffer.from(everything), modes])));
    });
}
