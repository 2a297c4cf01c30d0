/**
 * `wsh service`: units with which a system keeps the server running. Sessions are separate processes, so neither unit
 * ends them with the server. The command prints the unit and does not install it; a comment in the unit names its path.
 */
import type { Command } from "commander";
import { UsageError } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { print } from "../print.ts";
import { launchdAgent } from "../service/launchd.ts";
import { systemdUnit } from "../service/systemd.ts";
import { stableCommand } from "../stable-command.ts";

export function register(program: Command): void {
  program
    .command("service <system>")
    .description("Print a unit that keeps the server running: systemd (user unit) or launchd (agent).")
    .option("--bind <address>", "TCP address HOST:PORT, or none", "none")
    .action(async (system: string, { bind }: { readonly bind: string }, command: Command) => {
      const { name } = instanceOf(command);
      const start = stableCommand(["server", "--server-name", name, "--bind", bind]);
      if (system === "systemd") return print(systemdUnit(name, start));
      if (system === "launchd") return print(launchdAgent({ name, command: start, env: process.env }));
      throw new UsageError(`unknown system '${system}'`, "Use systemd or launchd.");
    });
}
