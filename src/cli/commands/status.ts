/** `wsh status`: the state of a session's program and the evidence for it; without a name, the server's state. */
import type { Command } from "commander";
import * as v from "valibot";
import { outputSchema } from "../../operations/table.ts";
import type { Status } from "../../protocol/commands.ts";
import { askServer } from "../../registry/server-client.ts";
import { instanceOf } from "../instance.ts";
import { pairs, print, printJson } from "../print.ts";
import { SessionClient } from "../session/client.ts";

export function register(program: Command): void {
  program
    .command("status [name]")
    .description(
      "Print the state of a session's program and the evidence for it; without a name, the state of the server.",
    )
    .option("--json", "print all details as JSON")
    .action(async (name: string | undefined, { json }: { readonly json?: boolean }, command: Command) => {
      const instance = instanceOf(command);
      if (name === undefined) {
        const info = v.parse(outputSchema("server.info"), await askServer(instance, "GET", "/server/info"));
        if (json === true) return printJson(info);
        return print(
          pairs([
            ["server", `wsh ${info.version}, process ${info.pid}, ${info.persistent ? "persistent" : "ephemeral"}`],
            ["socket", instance.httpSocket],
            ["TCP", info.addresses.join(", ") || "none"],
            ["sessions", String(info.sessions)],
          ]),
        );
      }
      using session = await SessionClient.open(instance, name);
      const status = await session.call("status.get", {});
      return json === true ? printJson(status) : print(pairs(describe(status)));
    });
}

function describe(status: Status): [string, string][] {
  const { last_command: last } = status;
  return [
    ["state", `${status.state}: ${status.why}`],
    ...(status.foreground === null
      ? []
      : [["running", `${status.foreground.command_line} (${status.foreground.pid})`] as [string, string]]),
    ["directory", status.cwd ?? "unknown"],
    ["idle", `${Math.round(status.idle_ms / 100) / 10} s`],
    ...(last === null
      ? []
      : [
          ["last command", `${last.command ?? "?"} (${last.exit_code ?? last.signal ?? last.state})`] as [
            string,
            string,
          ],
        ]),
    [
      "shell",
      status.shell_integration.active
        ? `${status.shell_integration.shell ?? "?"} with integration`
        : `no integration${status.shell_integration.reason === undefined ? "" : `: ${status.shell_integration.reason}`}`,
    ],
  ];
}
