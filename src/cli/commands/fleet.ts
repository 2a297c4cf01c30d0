/**
 * `wsh fleet`: many machines that connect outward to their owner's NATS servers (docs/machines.md, A fleet).
 * The holder of the fleet's directory creates the fleet, invites and revokes; invited members join and leave.
 * Code is loaded on use; only the holder's actions load the code for keys.
 */
import os from "node:os";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import type { Instance } from "../../instance/paths.ts";
import { WshError } from "../../protocol/errors.ts";
import { type FleetRole, fleetRoles } from "../../protocol/fleet.ts";
import { normalizeTags } from "../../protocol/names.ts";
import { quote } from "../../shell/quoting.ts";
import { collect, readText, requireOptions, UsageError, wholeNumber } from "../arguments.ts";
import { endOf, recordAction } from "../credential-audit.ts";
import { instanceOf } from "../instance.ts";
import { complain, print, printJson, printText, table } from "../print.ts";
import { requirePerson } from "../session/client.ts";

/** NATS's own port; an HTTPS port that needs no privileges; the port between servers. */
const PORT = 4222;
const WSS_PORT = 8443;
const CLUSTER_PORT = 6222;
const LAST_PORT = 65_535;
/** Remaining validity of the servers' certificates below which renewal is due, in ms. */
const RENEW_MS = 60 * 86_400_000;

interface Options {
  readonly name?: string;
  readonly host?: readonly string[];
  readonly port?: number;
  readonly wssPort?: number;
  readonly clusterPort?: number;
  readonly cert?: string;
  readonly key?: string;
  readonly ca?: string;
  readonly role?: string;
  readonly tag?: readonly string[];
  readonly expires?: string;
  readonly wss?: boolean;
  readonly dir?: string;
  readonly file?: string;
  readonly start?: boolean;
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("fleet [action] [word]")
    .usage("init [DIR] | invite | list | revoke NAME | renew | join | leave")
    .description(
      "Connect many machines through your own NATS server; use them as NAME/SESSION (docs/machines.md). " +
        "init writes the server's configuration and the keys; invite prints a line to run on another machine.",
    )
    .option("--name <name>", "init: the fleet's; invite: the machine's or person's (default: a free one)")
    .option("--host <host>", "init: the server's address; several make a cluster", collect)
    .option("--port <n>", `init: port for TLS (default: ${PORT})`, wholeNumber(1))
    .option(
      "--wss-port <n>",
      `init: port for secure WebSocket (default: ${WSS_PORT}; 443 passes anywhere)`,
      wholeNumber(1),
    )
    .option("--cluster-port <n>", `init: port between servers (default: ${CLUSTER_PORT})`, wholeNumber(1))
    .option("--cert <file>", "init: the servers' certificate, instead of a generated one")
    .option("--key <file>", "init: its key")
    .option("--ca <file>", "init: its authority (default: the system's authorities)")
    .option("--role <role>", "invite: machine (offers its sessions), observe, operate or admin (use others')")
    .option("--tag <tag>", "invite: tag of the machine (repeatable)", collect)
    .option("--expires <duration>", "invite: lifetime of the credentials: 12h, 30d (default: until revoked)")
    .option("--wss", "invite: secure WebSocket only")
    .option("--dir <dir>", "invite, list, revoke, renew: the fleet's directory (default: fleet, beside the logs)")
    .option("--file <file>", "join: write the credentials to FILE, for wsh server --fleet FILE")
    .option("--no-start", "join: do not start a server")
    .option("--json", "list: as JSON")
    .action(async (action: string | undefined, word: string | undefined, options: Options, command: Command) => {
      const instance = instanceOf(command);
      if (action !== undefined && action !== "list") await requirePerson(instance, `wsh fleet ${action}`);
      switch (action) {
        case "init":
          return init(instance, word, options);
        case "invite":
          return inviteOne(instance, word, options);
        case "list":
          return list(instance, options);
        case "revoke":
          return revokeOne(instance, word, options);
        case "renew":
          return renew(instance, options);
        case "join":
          return (await import("../fleet/join.ts")).join(instance, word, options);
        case "leave":
          return (await import("../fleet/join.ts")).leave(instance);
        default:
          throw new UsageError(
            action === undefined ? "the action is missing" : `unknown action '${action}'`,
            "Use init, invite, list, revoke, renew, join or leave.",
          );
      }
    });
}

function directoryOf({ stateDir }: Instance, dir: string | undefined): string {
  return dir === undefined ? join(stateDir, "fleet") : resolve(dir);
}

const certificateRules = [
  { option: "cert", needs: "key" },
  { option: "key", needs: "cert" },
  { option: "ca", needs: "cert" },
];

async function init(instance: Instance, word: string | undefined, options: Options): Promise<void> {
  const { makeFleet, serverDirectory } = await import("../../cluster/authority/directory.ts");
  const { serverFiles } = await import("../../cluster/authority/server-config.ts");
  const dir = directoryOf(instance, word ?? options.dir);
  const { cert, key, ca } = options;
  requireOptions(certificateRules, options);
  const authority = ca === undefined ? {} : { authority: readText(ca) };
  const ownCertificate =
    cert === undefined || key === undefined
      ? undefined
      : { certificate: readText(cert), key: readText(key), ...authority };
  const hosts = options.host ?? [os.hostname()];
  const fleet = {
    name: options.name ?? "fleet",
    hosts,
    port: portOf(options.port ?? PORT),
    wssPort: portOf(options.wssPort ?? WSS_PORT),
    clusterPort: portOf(options.clusterPort ?? CLUSTER_PORT),
    ownCertificate,
  };
  const { name, port, wssPort } = fleet;
  await recordAction(instance, "fleet.init", { name, hosts }, () => makeFleet(dir, fleet));
  const rejection = tryConfiguration(join(dir, serverDirectory(0)), serverFiles.config);
  complain(`fleet '${name}' is in ${dir}; back up keys/, which controls the fleet`);
  complain(`others connect to ${hosts.join(", ")} on port ${port} (TLS) or ${wssPort} (secure WebSocket)`);
  if (hosts.length === 1)
    complain("start nats-server (2.10 or newer recommended) with this command, then invite yourself:");
  else complain("copy each directory to its host and start nats-server there:");
  for (const at of hosts.keys()) {
    await print(`cd ${quote(join(dir, serverDirectory(at)))} && nats-server -c ${serverFiles.config}\n`);
  }
  complain("  wsh fleet invite --role admin | sh");
  if (rejection !== null) complain(`nats-server rejects the configuration: ${rejection}`);
}

/** nats-server's error about its configuration; null: none, or nats-server is not installed. */
function tryConfiguration(cwd: string, config: string): string | null {
  const program = Bun.which("nats-server");
  if (program === null) return null;
  const { exitCode, stderr } = Bun.spawnSync([program, "-c", config, "-t"], { cwd, stdout: "ignore", stderr: "pipe" });
  return exitCode === 0 ? null : stderr.toString().trim();
}

async function inviteOne(instance: Instance, word: string | undefined, options: Options): Promise<void> {
  if (word !== undefined) throw new UsageError(`unexpected argument '${word}'`, "Give a name with --name.");
  const role = fleetRoles.find((each) => each === options.role);
  if (role === undefined) {
    const what = options.role === undefined ? "--role is missing" : `unknown role '${options.role}'`;
    throw new UsageError(what, `Use --role ${fleetRoles.join(", ")}.`);
  }
  const tags = options.tag ?? [];
  normalizeTags(tags);
  if (tags.length > 0 && role !== "machine") throw new UsageError("only machines have tags");
  const [{ invite, isIn, withdrawUnused }, { readFleet }, { packInvitation }] = await Promise.all([
    import("../../cluster/authority/invite.ts"),
    import("../../cluster/authority/directory.ts"),
    import("../../cluster/authority/invitation.ts"),
  ]);
  const dir = directoryOf(instance, options.dir);
  const members = readFleet(dir).members.filter((each) => isIn(each, Date.now()));
  const name = options.name ?? freeName(role, new Set(members.map((each) => each.name)));
  if (members.some((each) => each.name === name) && (await withdrawUnused(dir, name))) {
    complain(`the earlier invitation of '${name}' was not used and is now revoked`);
  }
  const expiresAt = options.expires === undefined ? null : endOf(options.expires);
  const member = { name, role, tags, expiresAt, wssOnly: options.wss === true };
  const credentials = await recordAction(instance, "fleet.invite", member, () => invite(dir, member));
  // A command over ssh often runs without the user's own directories in PATH.
  await print(`PATH="$PATH:$HOME/.local/bin" wsh fleet join ${packInvitation(credentials)}\n`);
  const end = expiresAt === null ? "it is revoked" : new Date(expiresAt).toISOString();
  const may = role === "machine" ? `is machine '${name}'` : `may ${roleVerbs[role]} as '${name}'`;
  complain(`this line is a secret: the machine or person that runs it ${may}, until ${end}`);
  complain(`run it there, or pipe it: … | ssh ${role === "machine" ? name : "HOST"} sh`);
}

const roleVerbs: Readonly<Record<Exclude<FleetRole, "machine">, string>> = {
  observe: "observe every machine",
  operate: "use every machine",
  admin: "do anything on every machine",
};

function freeName(role: FleetRole, taken: ReadonlySet<string>): string {
  const stem = role === "machine" ? "m" : role;
  let number = 1;
  while (taken.has(`${stem}${number}`)) number++;
  return `${stem}${number}`;
}

async function list(instance: Instance, { dir, json }: Options): Promise<void> {
  const [{ readFleet }, { isIn }] = await Promise.all([
    import("../../cluster/authority/directory.ts"),
    import("../../cluster/authority/invite.ts"),
  ]);
  const directory = directoryOf(instance, dir);
  const { members } = readFleet(directory);
  const { certificatesEndAt } = await import("../../cluster/authority/renew.ts");
  const endsAt = certificatesEndAt(directory);
  if (endsAt !== null && endsAt - Date.now() < RENEW_MS) {
    complain(`the servers' certificates expire on ${dayOf(endsAt)}: run wsh fleet renew`);
  }
  const now = Date.now();
  const stateOf = (each: (typeof members)[number]) =>
    isIn(each, now) ? "invited" : each.revokedAt === null ? "expired" : "revoked";
  if (json === true) {
    return printJson(
      members.map((each) => ({
        name: each.name,
        role: each.role,
        tags: each.tags,
        state: stateOf(each),
        invited_at: each.at,
        expires_at: each.expiresAt,
        revoked_at: each.revokedAt,
      })),
    );
  }
  if (members.length === 0) return printText("No members yet: wsh fleet invite --role admin\n");
  const day = (at: number | null) => (at === null ? "-" : new Date(at).toISOString().slice(0, 16).replace("T", " "));
  const rows = members.map((each) => [
    each.name,
    each.role,
    each.tags.join(",") || "-",
    stateOf(each),
    day(each.at),
    day(each.expiresAt),
  ]);
  await print(table([["NAME", "ROLE", "TAGS", "STATE", "INVITED", "EXPIRES"], ...rows]));
}

async function renew(instance: Instance, { dir }: Options): Promise<void> {
  const { renewCertificates } = await import("../../cluster/authority/renew.ts");
  const renewed = await recordAction(instance, "fleet.renew", {}, () => renewCertificates(directoryOf(instance, dir)));
  const { servers, endsAt } = renewed;
  complain(`the servers' certificates are now valid until ${dayOf(endsAt)}`);
  complain("copy tls/ of each directory to its server, and reload nats-server there:");
  for (const server of servers) await print(`${quote(join(server, "tls"))}\n`);
  complain("  nats-server --signal reload");
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

async function revokeOne(instance: Instance, name: string | undefined, options: Options): Promise<void> {
  if (name === undefined) throw new UsageError("the name to revoke is missing", "See: wsh fleet list");
  const { revoke, tellServers } = await import("../../cluster/authority/invite.ts");
  const dir = directoryOf(instance, options.dir);
  const { role } = await recordAction(instance, "fleet.revoke", { name }, () => revoke(dir, name));
  try {
    await tellServers(dir);
    await printText(`'${name}' (${role}) is revoked: the servers no longer accept it. Its programs keep running.\n`);
  } catch (thrown) {
    const { message } = WshError.from(thrown);
    process.exitCode = 1;
    complain(`'${name}' is revoked in ${dir}, but the servers were not updated: ${message}`);
    complain(`Revoke '${name}' again when the servers can be reached, or restart them with these directories.`);
  }
}

function portOf(port: number): number {
  if (port <= LAST_PORT) return port;
  throw new UsageError(`${port} is not a port`);
}
