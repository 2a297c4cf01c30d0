/** `wsh env`: the variables of the terminal that was attached last, for shells and scripts. */
import type { Command } from "commander";
import { Option } from "commander";
import { agentLink, linkAgent } from "../../instance/agent-link.ts";
import { assignments } from "../../shell/variable-assignments.ts";
import { UsageError } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { print, printJson, printText } from "../print.ts";
import { SessionClient } from "../session/client.ts";

interface EnvOptions {
  readonly shell?: "sh" | "fish" | true;
  readonly agent?: boolean;
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("env")
    .argument("[name]", "session (default: the one in which this command runs)")
    .description(
      "Print the environment variables of the terminal attached last (SSH_AUTH_SOCK, DISPLAY …).\n\n" +
        'Shells with integration adopt them at their next prompt; in others, run: eval "$(wsh env --shell)".\n' +
        '--agent prints a path that always leads to a running ssh agent: export SSH_AUTH_SOCK="$(wsh env --agent)".',
    )
    .addOption(new Option("--shell [syntax]", "print assignments for a shell").choices(["sh", "fish"]))
    .option("--agent", "print the path of the instance's link to the ssh agent")
    .option("--json", "print them as JSON; null: the terminal does not set it")
    .action(async (name: string | undefined, options: EnvOptions, command: Command) => {
      const instance = instanceOf(command);
      if (options.agent === true) {
        linkAgent(instance, null);
        return printText(`${agentLink(instance)}\n`);
      }
      const target = name ?? process.env.WSH_PANE;
      if (target === undefined) throw new UsageError("not inside a session: name one", "Use: wsh env NAME");
      using session = await SessionClient.open(instance, target);
      const { variables } = await session.call("session.environment", {});
      if (options.json === true) return printJson(variables);
      const all = Object.entries(variables).map(([variable, value]) => ({ name: variable, value }));
      if (options.shell !== undefined) {
        return print(assignments(all, options.shell === true ? "sh" : options.shell));
      }
      return printText(
        all.flatMap(({ name: variable, value }) => (value === null ? [] : `${variable}=${value}\n`)).join(""),
      );
    });
}
