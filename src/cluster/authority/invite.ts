/** The members of a fleet: invitations, revocations, and notifying the running servers. */
import { join } from "node:path";
import { present } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { type FleetRole, type FleetSettings, formatCredentials } from "../../protocol/fleet.ts";
import { isMachineName } from "../../protocol/names.ts";
import { writeSecret } from "../fleet/creds-file.ts";
import { changeFleet, type Fleet, type Member, readFleet, readKey, serverDirectory, serversOf } from "./directory.ts";
import type { PushOptions } from "./push.ts";
import { serverFiles } from "./server-config.ts";
import { keysFrom, signAccount, signSystemUser, signUser } from "./signing.ts";

/** Maximum machines and people ever invited: the list is written completely at each change. */
const MAX_MEMBERS = 100_000;
/** Validity of the credentials that notify the servers of a revocation, in ms. */
const PUSH_LIFE_MS = 5 * 60_000;
/** Age up to which the name of an unused invitation can be freed, in ms. */
const UNUSED_MS = 3_600_000;
/** Assumed difference between the clocks here and of a server, in ms. */
const CLOCKS_MS = 60_000;

interface Invited {
  readonly name: string;
  readonly role: FleetRole;
  readonly tags: readonly string[];
  /** Unix time in ms; null: never. */
  readonly expiresAt: number | null;
  /** Whether the member connects by HTTPS only. */
  readonly wssOnly?: boolean;
}

/** Signs a new user and returns its credentials. @throws WshError machine_conflict, invalid_machine_name */
export function invite(dir: string, { name, role, tags, expiresAt, wssOnly }: Invited): Promise<string> {
  if (!isMachineName(name))
    throw new WshError("invalid_machine_name", `${JSON.stringify(name)} is not a valid fleet member name`);
  const now = Date.now();
  return changeFleet(dir, async (fleet) => {
    const before = fleet.members.find((each) => each.name === name && isIn(each, now));
    if (before !== undefined) {
      throw new WshError("machine_conflict", `'${name}' has already been invited, as ${before.role}`, {
        hint: `Two members with one name look like clones. Choose another name, or first: wsh fleet revoke ${name}`,
      });
    }
    if (fleet.members.length >= MAX_MEMBERS) {
      throw new WshError("resource_limit_reached", `${MAX_MEMBERS} members are already invited`);
    }
    const seeds = { account: readKey(dir, "account"), role: readKey(dir, role) };
    const { jwt, seed, key } = await signUser(seeds, name, tags, expiresAt);
    const member: Member = { name, role, tags: [...tags], key, at: now, expiresAt, revokedAt: null };
    const result = formatCredentials(jwt, seed, settingsFor(fleet, role, tags, wssOnly === true));
    return { fleet: { ...fleet, members: [...fleet.members, member] }, result };
  });
}

/** Whether a member's credentials are valid at a time. */
export function isIn({ revokedAt, expiresAt }: Member, now: number): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt > now);
}

function settingsFor(fleet: Fleet, role: FleetRole, tags: readonly string[], wssOnly: boolean): FleetSettings {
  const servers = serversOf(fleet).filter((server) => !wssOnly || server.startsWith("wss:"));
  const { name, ca } = fleet;
  return { v: 1, servers, ...present({ ca }), fleet: name, role, tags: [...tags] };
}

/**
 * Signs the account again without a member, for the servers' next start; repeating it has no effect. @throws WshError
 * machine_not_found
 */
export function revoke(dir: string, name: string): Promise<Member> {
  const now = Date.now();
  return changeFleet(dir, async (fleet) => {
    const member = fleet.members.find((each) => each.name === name && isIn(each, now));
    if (member === undefined) {
      const done = fleet.members.findLast((each) => each.name === name && each.revokedAt !== null);
      if (done !== undefined) return { fleet, result: done };
      throw new WshError("machine_not_found", `fleet '${fleet.name}' has no member '${name}'`, {
        hint: "`wsh fleet list` shows its members.",
      });
    }
    const revoked = { ...member, revokedAt: now };
    const changed = { ...fleet, members: fleet.members.map((each) => (each === member ? revoked : each)) };
    const { account, jwt } = await accountOf(dir, changed);
    for (const at of changed.hosts.keys()) {
      writeSecret(join(dir, serverDirectory(at), serverFiles.accounts, `${account}.jwt`), jwt);
    }
    return { fleet: changed, result: revoked };
  });
}

/**
 * Notifies the running servers of the revoked members; they disconnect them at once, and notify each other.
 * @throws WshError machine_unreachable when no server can be reached
 */
export async function tellServers(dir: string): Promise<void> {
  const fleet = readFleet(dir);
  const { jwt } = await accountOf(dir, fleet);
  const { pushAccount } = await import("./push.ts");
  await pushAccount(await systemOf(dir, fleet), jwt);
}

/**
 * Revokes an invitation that nobody has used: joining with it has failed, and its name becomes free. @returns whether
 * it was revoked
 */
export async function withdrawUnused(dir: string, name: string): Promise<boolean> {
  const fleet = readFleet(dir);
  const now = Date.now();
  const member = fleet.members.find((each) => each.name === name && isIn(each, now));
  // A server that was restarted meanwhile does not remember connections: an older invitation may belong to a
  // machine that is switched off.
  if (member === undefined || now - member.at > UNUSED_MS) return false;
  try {
    const { wasConnected } = await import("./push.ts");
    if (await wasConnected(await systemOf(dir, fleet), `wsh ${name}`, member.at - CLOCKS_MS)) return false;
    await revoke(dir, name);
    await tellServers(dir);
    return true;
  } catch {
    return false; // nobody knows whether it was used
  }
}

async function systemOf(dir: string, fleet: Fleet): Promise<PushOptions> {
  const { jwt, seed } = await signSystemUser(readKey(dir, "system"), Date.now() + PUSH_LIFE_MS);
  return { servers: serversOf(fleet).filter((server) => server.startsWith("tls:")), ca: fleet.ca, jwt, seed };
}

/** The account's JWT with all revoked members. */
async function accountOf(dir: string, fleet: Fleet): Promise<{ account: string; jwt: string }> {
  const keys = keysFrom((name) => readKey(dir, name));
  const revoked = fleet.members.flatMap(({ key, revokedAt }) => (revokedAt === null ? [] : [{ key, revokedAt }]));
  return { account: keys.account, jwt: await signAccount(fleet.name, keys, revoked) };
}
