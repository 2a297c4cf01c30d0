/** `wsh shell-integration`: the script for shells that wsh does not start itself (over ssh, in a container). */
import { Argument, type Command } from "commander";
import { type IntegratedShell, integratedShells, portableScript } from "../../shell/integration.ts";
import { print } from "../print.ts";

export function register(program: Command): void {
  program
    .command("shell-integration")
    .description(
      "Print the script that tells wsh where commands begin and end. Sessions load it automatically; elsewhere, " +
        "such as over ssh, source it at the end of the shell's rc file.",
    )
    .addArgument(new Argument("<shell>").choices(integratedShells))
    .action((shell: IntegratedShell) => print(portableScript(shell)));
}
