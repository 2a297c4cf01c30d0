/**
 * The directory of a fleet, which `wsh fleet init` makes once: `keys/` with the signing keys (their holder
 * controls the fleet), one directory for each nats-server with everything that it needs and no signing key, and
 * `fleet.json` with the invited members. Only its owner can access it. It is created under another name and
 * renamed into place when it is complete; changes are made under its lock. The only key that leaves it is the
 * user's own, in an invitation.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import fs from "node:fs";
import { isIP } from "node:net";
import { dirname, join } from "node:path";
import * as v from "valibot";
import { withLock } from "../../instance/lock.ts";
import { checkOwnDir, checkOwnFile } from "../../instance/owned-files.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { type FleetRole, fleetRoles } from "../../protocol/fleet.ts";
import { writeSecret } from "../fleet/creds-file.ts";
import { authorityNameOf, type Certified, makeAuthority, makeServerCertificate } from "./certificate.ts";
import { bracketed, serverConfig, serverFiles } from "./server-config.ts";
import { type FleetKeys, makeKeys, signAccount, signOperator, signSystemAccount } from "./signing.ts";

/** Maximum servers of one cluster: NATS clusters usually have three or five. */
const MAX_SERVERS = 9;
const hostPattern = /^(?!-)[A-Za-z0-9-]{1,63}(\.(?!-)[A-Za-z0-9-]{1,63})*$/;
const LONGEST_HOST = 253;

interface NewFleet {
  readonly name: string;
  /** Names or addresses of the servers' machines. */
  readonly hosts: readonly string[];
  readonly port: number;
  readonly wssPort: number;
  readonly clusterPort: number;
  /**
   * Certificate and key for the servers, and the certificate that signed them, instead of an authority of the fleet's
   * own.
   */
  readonly ownCertificate?: (Certified & { readonly authority?: string }) | undefined;
}

const MemberSchema = v.object({
  name: v.string(),
  role: v.picklist(fleetRoles),
  tags: v.array(v.string()),
  /** Public key of the member's user. */
  key: v.string(),
  at: v.number(),
  expiresAt: v.nullable(v.number()),
  revokedAt: v.nullable(v.number()),
});
export type Member = v.InferOutput<typeof MemberSchema>;

const FleetSchema = v.object({
  v: v.literal(1),
  name: v.string(),
  hosts: v.array(v.string()),
  port: v.number(),
  wssPort: v.number(),
  ca: v.nullable(v.string()),
  members: v.array(MemberSchema),
});
export type Fleet = v.InferOutput<typeof FleetSchema>;

/** @throws WshError invalid_request; then nothing was written */
export async function makeFleet(dir: string, fleet: NewFleet): Promise<void> {
  check(fleet);
  if (fs.lstatSync(dir, { throwIfNoEntry: false }) !== undefined) {
    throw new WshError("invalid_request", `${dir} already exists`, {
      hint: "Name another directory. A fleet is never overwritten: its keys, and with them every machine, would be lost.",
    });
  }
  const keys = makeKeys();
  const newDirectory = `${dir}.${process.pid}.new`;
  try {
    fs.mkdirSync(dirname(dir), { recursive: true, mode: 0o700 });
    fs.mkdirSync(newDirectory, { mode: 0o700 });
    await writeFleet(newDirectory, fleet, keys);
    fs.renameSync(newDirectory, dir);
  } catch (thrown) {
    if (thrown instanceof WshError) throw thrown;
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new WshError("invalid_request", `${dir} cannot be written: ${reason}`, {}, { cause: thrown });
  } finally {
    fs.rmSync(newDirectory, { recursive: true, force: true });
  }
}

async function writeFleet(dir: string, fleet: NewFleet, keys: FleetKeys): Promise<void> {
  const { name, hosts, port, wssPort, clusterPort, ownCertificate } = fleet;
  const authorityName = authorityNameOf(name);
  const authority = ownCertificate === undefined || hosts.length > 1 ? makeAuthority(authorityName) : null;
  const system = await signSystemAccount(keys);
  const files = new Map<string, string>();
  for (const [role, seed] of Object.entries(keys.seeds)) files.set(`keys/${role}.seed`, seed);
  if (authority !== null) {
    files.set("keys/ca.key", authority.key);
    files.set("keys/ca.pem", authority.certificate);
  }
  const operator = await signOperator(name, keys);
  const account = await signAccount(name, keys, []);
  for (const [index, host] of hosts.entries()) {
    const server = serverDirectory(index);
    const put = (file: string, text: string) => files.set(`${server}/${file}`, text);
    const serverCertificate =
      authority === null ? null : makeServerCertificate(authority, authorityName, hostsOf(host));
    const shown = ownCertificate ?? serverCertificate;
    if (shown === null) throw new Error("a server has no certificate");
    put(serverFiles.certificate, shown.certificate);
    put(serverFiles.key, shown.key);
    if (serverCertificate !== null && authority !== null && hosts.length > 1) {
      put(serverFiles.peerCertificate, serverCertificate.certificate);
      put(serverFiles.peerKey, serverCertificate.key);
      put(serverFiles.authority, authority.certificate);
    }
    put(serverFiles.operator, operator);
    put(`${serverFiles.accounts}/${keys.account}.jwt`, account);
    put(`${serverFiles.accounts}/${keys.system}.jwt`, system);
    const config = { fleet: name, name: server, host, cluster: hosts, port, wssPort, clusterPort };
    const accounts = { systemAccount: keys.system, systemJwt: system };
    put(serverFiles.config, serverConfig({ ...config, ...accounts }));
  }
  const ca = ownCertificate === undefined ? (authority?.certificate ?? null) : (ownCertificate.authority ?? null);
  const created: Fleet = { v: 1, name, hosts: [...hosts], port, wssPort, ca, members: [] };
  files.set("fleet.json", `${JSON.stringify(created, null, 2)}\n`);
  for (const [file, text] of files) writeSecret(join(dir, file), text);
}

/** Directory of a server, by its position in the list of hosts. */
export function serverDirectory(at: number): string {
  return `server${at + 1}`;
}

/** Addresses of the servers for clients: by TLS, and by WebSocket for networks that permit only HTTPS. */
export function serversOf({ hosts, port, wssPort }: Pick<Fleet, "hosts" | "port" | "wssPort">): string[] {
  return [
    ...hosts.map((host) => `tls://${bracketed(host)}:${port}`),
    ...hosts.map((host) => `wss://${bracketed(host)}:${wssPort}`),
  ];
}

/** @throws WshError invalid_request, unsafe_path, invalid_setting */
export function readFleet(dir: string): Fleet {
  const path = join(dir, "fleet.json");
  if (!checkOwnDir(dir) || !checkOwnFile(path)) {
    throw new WshError("invalid_request", `no fleet in ${dir}`, {
      hint: "Create one with `wsh fleet init`, or name its directory with --dir.",
    });
  }
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), FleetSchema), fs.readFileSync(path, "utf8"));
  if (parsed.success) return parsed.output;
  throw new WshError("invalid_setting", `${path} does not describe a fleet`, { hint: "Restore it from a backup." });
}

/** Changes a fleet's file, one change at a time. */
export function changeFleet<T>(dir: string, act: (fleet: Fleet) => Promise<{ fleet: Fleet; result: T }>): Promise<T> {
  readFleet(dir);
  return withLock(join(dir, "fleet.lock"), async () => {
    const { fleet, result } = await act(readFleet(dir));
    writeSecret(join(dir, "fleet.json"), `${JSON.stringify(fleet, null, 2)}\n`);
    return result;
  });
}

/** Text of a key. @param name `account`, `system` or a role */
export function readKey(dir: string, name: "account" | "operator" | "system" | FleetRole): string {
  const path = join(dir, "keys", `${name}.seed`);
  if (!checkOwnFile(path)) {
    throw new WshError("invalid_request", `${path} is missing`, { hint: "Restore the fleet's keys from a backup." });
  }
  return fs.readFileSync(path, "utf8").trim();
}

/** A server's own name, and its names on its own machine. */
export function hostsOf(host: string): string[] {
  return [...new Set([host, "localhost", "127.0.0.1", "::1"])];
}

/** @throws WshError invalid_request */
function check({ name, hosts, port, wssPort, clusterPort, ownCertificate }: NewFleet): void {
  if (!/^[A-Za-z0-9_-]{1,32}$/.test(name)) {
    throw invalid(`${JSON.stringify(name)} is not a fleet name`, "Use 1 to 32 of A-Z a-z 0-9 _ -.");
  }
  if (hosts.length === 0 || hosts.length > MAX_SERVERS) throw invalid(`a fleet has 1 to ${MAX_SERVERS} servers`);
  for (const host of hosts) {
    const isHost = isIP(host) !== 0 || (hostPattern.test(host) && host.length <= LONGEST_HOST);
    if (!isHost || /^[0-9.]+$/.test(host) !== (isIP(host) === 4)) {
      throw invalid(`${JSON.stringify(host)} is not a host name or address`);
    }
  }
  if (new Set(hosts.map((host) => host.toLowerCase())).size < hosts.length) throw invalid("duplicate host");
  const ports = hosts.length > 1 ? [port, wssPort, clusterPort] : [port, wssPort];
  if (new Set(ports).size < ports.length) throw invalid(`ports ${ports.join(", ")} must all differ`);
  if (ownCertificate !== undefined) checkGiven(ownCertificate, hosts);
}

function checkGiven(
  { certificate, key, authority }: Certified & { authority?: string },
  hosts: readonly string[],
): void {
  const shown = readPem("--cert", () => new X509Certificate(certificate));
  const secret = readPem("--key", () => createPrivateKey(key));
  if (authority !== undefined) readPem("--ca", () => new X509Certificate(authority));
  if (!shown.checkPrivateKey(secret)) throw invalid("--key is not the key of --cert");
  if (new Date(shown.validTo).getTime() <= Date.now()) throw invalid(`--cert expired on ${shown.validTo}`);
  for (const host of hosts) {
    const matches = isIP(host) === 0 ? shown.checkHost(host) : shown.checkIP(host);
    if (matches === undefined) throw invalid(`--cert is not for '${host}' (${shown.subjectAltName ?? shown.subject})`);
  }
}

function readPem<T>(flag: string, read: () => T): T {
  try {
    return read();
  } catch {
    throw invalid(`the file of ${flag} is not readable PEM`);
  }
}

function invalid(why: string, hint?: string): WshError {
  return new WshError("invalid_request", why, defined({ hint }));
}
