/** `wsh info`: the instance, its server, and the limits with their errors. */
import type { Command } from "commander";
import * as v from "valibot";
import type { Instance } from "../../instance/paths.ts";
import { outputSchema } from "../../operations/table.ts";
import { visibleCell } from "../../protocol/harmless-text.ts";
import { VERSION } from "../../protocol/version.ts";
import { askServer } from "../../registry/server-client.ts";
import { isServerAlive } from "../../registry/single-server.ts";
import { isSettingName, limitsOf, settingOf } from "../../settings/table.ts";
import { instanceOf, settingsOf } from "../instance.ts";
import { pairs, print, printJson, table } from "../print.ts";
import { findAll } from "../session/session-list.ts";

/** Errors of limits that do not answer resource_limit_reached. */
const otherErrors: Readonly<Record<string, string>> = {
  max_sessions: "max_sessions_reached",
  max_input_bytes: "input_send_failed",
  max_commands: "oldest goes",
  max_command_bytes: "oldest goes",
  max_client_queue_bytes: "closed",
};

export function register(program: Command): void {
  program
    .command("info")
    .description("Print the instance's paths, the state of its server, and the limits in force.")
    .option("--json", "print it as JSON")
    .action(async ({ json }: { readonly json?: boolean }, command: Command) => {
      const instance = instanceOf(command);
      const server = isServerAlive(instance)
        ? v.parse(outputSchema("server.info"), await askServer(instance, "GET", "/server/info"))
        : null;
      const limits = server?.limits ?? limitsOf((await settingsOf(instance)).values);
      const { name, runtimeDir, stateDir, configFile, httpSocket, mcpSocket } = instance;
      const paths = {
        runtime_dir: runtimeDir,
        state_dir: stateDir,
        config_file: configFile,
        http_socket: httpSocket,
        mcp_socket: mcpSocket,
      };
      if (json === true) return printJson({ version: VERSION, instance: name, paths, server, limits });
      await print(
        [
          pairs([
            ["wsh", VERSION],
            ["instance", name],
            ["runtime", runtimeDir],
            ["state", stateDir],
            ["settings", configFile],
            ["server", server === null ? "none runs" : `wsh ${server.version}, process ${server.pid}`],
            ...(server === null
              ? []
              : ([
                  ["up for", `${Math.round(server.uptime_ms / 1000)} s`],
                  ["stays", server.persistent ? "yes" : "until its last session ends"],
                  ["socket", httpSocket],
                  ["TCP", server.addresses.join(", ") || "none"],
                  ["sessions", String(server.sessions)],
                  ["viewers", await viewersOf(instance)],
                ] as const)),
          ]),
          limitsTable(limits),
        ].join("\n"),
      );
    });
}

/** Pages that show a session, by name: `dev: chrome-1, share-2`. */
async function viewersOf(instance: Instance): Promise<string> {
  const infos = (await findAll(instance)).flatMap((one) => ("info" in one ? [one.info] : []));
  const shown = infos.flatMap(({ name, viewers = [] }) => {
    return viewers.length === 0 ? [] : [`${name}: ${viewers.map((each) => visibleCell(each.name)).join(", ")}`];
  });
  return shown.join("; ") || "none in a browser";
}

function limitsTable(limits: Readonly<Record<string, number>>): string {
  const rows = Object.entries(limits).map(([name, value]) => {
    const facts = isSettingName(name) ? settingOf(name) : null;
    const error = otherErrors[name] ?? "resource_limit_reached";
    return [name, `${value} ${facts?.unit ?? ""}`.trim(), error, facts?.doc ?? ""];
  });
  return table([["LIMIT", "VALUE", "BEYOND IT", "MEANING"], ...rows]);
}
