/** `wsh reset-terminal`: for a terminal that was left in disorder, by whatever program. */
import type { Command } from "commander";
import { capsFromEnvironment, restoreTerminal } from "../attach/paint-modes.ts";
import { print } from "./print.ts";

export function register(program: Command): void {
  program
    .command("reset-terminal")
    .description("Put a terminal in order that a program left confused: modes, colours, cursor, echo.")
    .action(async () => {
      // `sane` has no portable call of its own; stty is in POSIX and knows every system's flags.
      if (process.stdin.isTTY) Bun.spawnSync(["stty", "sane"], { stdio: ["inherit", "ignore", "ignore"] });
      await print(restoreTerminal(capsFromEnvironment(process.env), { alternate: "maybe" }));
    });
}
