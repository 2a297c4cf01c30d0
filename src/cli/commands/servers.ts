/** `wsh servers`: other machines whose sessions can be used from here by `machine/session`. */
import type { Command } from "commander";
import { hostname } from "../../instance/hostname.ts";
import type { Instance } from "../../instance/paths.ts";
import { WshError } from "../../protocol/errors.ts";
import { isServerAlive } from "../../registry/single-server.ts";
import { readText, requireArgument, UsageError } from "../arguments.ts";
import { instanceOf, settingsOf } from "../instance.ts";
import { complain, print, printJson, printText, table } from "../print.ts";
import { requirePerson } from "../session/client.ts";
import { shownMachine, shownMachines } from "../session/machine-list.ts";
import { machinesOf } from "../session/machines.ts";

interface ServersOptions {
  readonly name?: string;
  readonly token?: string;
  readonly ca?: string;
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("servers [action] [server]")
    .usage("[list | add ADDRESS | remove NAME | info NAME | reload]")
    .description(
      "Other machines: every command that takes a session accepts NAME/SESSION for theirs.\n" +
        "ADDRESS is ssh://[user@]host[:port], where ssh may ask for a password, or https://host[:port] with --token.\n" +
        "The machine needs wsh too; over ssh, this command offers to copy it.",
    )
    .option("--name <name>", "add: local name (default: the first part of the host)")
    .option("--token <token>", "add: token of its https server (WSH_MACHINE_TOKEN keeps it out of process lists)")
    .option("--ca <file>", "add: PEM certificates to trust for https, instead of the system's")
    .option("--json", "print as JSON")
    .action(
      async (action: string | undefined, server: string | undefined, options: ServersOptions, command: Command) => {
        const instance = instanceOf(command);
        if (action === "add" || action === "remove") await requirePerson(instance, `wsh servers ${action}`);
        switch (action) {
          case undefined:
          case "list":
            return list(instance, options.json === true);
          case "add":
            return add(instance, requireArgument(server, action, "an address"), options);
          case "remove": {
            const name = requireArgument(server, action, "a machine's name");
            await remove(instance, name);
            return printText(`Machine '${name}' removed; its sessions keep running.\n`);
          }
          case "info":
            return info(instance, requireArgument(server, action, "a machine's name"), options.json === true);
          case "reload":
            return reload(instance, options.json === true);
          default:
            throw new UsageError(`unknown action '${action}'`, "Use list, add, remove, info or reload.");
        }
      },
    );
}

async function list(instance: Instance, json: boolean): Promise<void> {
  const shown = await shownMachines(instance);
  if (json) return printJson(shown);
  if (shown.length === 0) return printText("No other machines. Add one: wsh servers add ssh://user@host\n");
  const rows = shown.map(({ hostname, address, health, sessions, needs_input: waiting = 0, version, error }) => [
    hostname,
    health,
    `${sessions}${waiting === 0 ? "" : ` (${waiting} ${waiting === 1 ? "needs" : "need"} input)`}`,
    version ?? "-",
    error === undefined ? address : `${address}: ${error}`,
  ]);
  await print(table([["NAME", "HEALTH", "SESSIONS", "VERSION", "ADDRESS"], ...rows]));
}

async function add(instance: Instance, address: string, { name, token, ca, json }: ServersOptions): Promise<void> {
  const { values } = await settingsOf(instance);
  const machines = await machinesOf(instance);
  const secret = token ?? (process.env.WSH_MACHINE_TOKEN || undefined);
  const certificates = ca === undefined ? undefined : readText(ca);
  const link = await machines.add({ address, name, token: secret, ca: certificates }, hostname(values.hostname));
  const shown = await shownMachine(instance, link.machine);
  if (shown.health !== "healthy") process.exitCode = 1;
  if (json === true) return printJson(shown);
  if (shown.health === "healthy") return printText(`Machine '${link.machine}' added: wsh ${shown.version} answers.\n`);
  const trouble = shown.health === "rejected" ? "refuses this one" : "does not answer";
  complain(`machine '${link.machine}' is added, but ${trouble}: ${shown.error ?? shown.health}`);
  complain(`See: wsh doctor ${link.machine}`);
}

async function info(instance: Instance, name: string, json: boolean): Promise<void> {
  const shown = await shownMachine(instance, name);
  if (shown.health !== "healthy") process.exitCode = 1;
  if (json) return printJson(shown);
  const rows = Object.entries(shown).map(([key, value]) => [
    key,
    key === "as_of" ? new Date(Number(value)).toISOString() : String(value),
  ]);
  await print(table(rows));
}

/** A machine of the fleet is removed by the server, which knows the fleet. */
async function remove(instance: Instance, name: string): Promise<void> {
  const machines = await machinesOf(instance);
  if (machines.addedMachines.some((each) => each.name === name) || !isServerAlive(instance))
    return machines.remove(name);
  const { askServer } = await import("../../registry/server-client.ts");
  await askServer(instance, "DELETE", `/servers/${encodeURIComponent(name)}`);
}

/** Reloads the links of the server, if one runs: this command's own links end with it. */
async function reload(instance: Instance, json: boolean): Promise<void> {
  const { askServer, requireAnswering } = await import("../../registry/server-client.ts");
  await requireAnswering(instance);
  try {
    await askServer(instance, "POST", "/servers/reload");
  } catch (thrown) {
    // A server that has ended has no links.
    const { code } = WshError.from(thrown);
    if (code !== "server_unavailable" && code !== "outcome_unknown") throw thrown;
  }
  await list(instance, json);
}
