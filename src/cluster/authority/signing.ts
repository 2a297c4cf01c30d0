/**
 * The keys of a fleet and their signatures: the operator signs the account; the account has one signing key per role,
 * whose template of permissions applies to each user that it signed; the account's JWT lists the revoked users.
 */
import {
  createAccount,
  createOperator,
  createUser,
  encodeAccount,
  encodeOperator,
  encodeUser,
  fromSeed,
  newScopedSigner,
} from "@nats-io/jwt";
import { type FleetRole, fleetRoles } from "../../protocol/fleet.ts";
import { rolePermissions } from "./permissions.ts";

/** No limit, in NATS's JWTs. */
const UNLIMITED = -1;
/** Disk limit of the bucket of machines, in bytes: 10,000 machines of 1 KB, many times over. */
const BUCKET_BYTES = 64 * 1024 * 1024;
const MS_PER_SECOND = 1_000;

export interface FleetKeys {
  readonly seeds: Readonly<Record<"operator" | "account" | "system" | FleetRole, string>>;
  /** Public keys of the two accounts. */
  readonly account: string;
  readonly system: string;
}

/** Public key of a user, and the time before which signatures for it are invalid (Unix time in ms). */
interface Revocation {
  readonly key: string;
  readonly revokedAt: number;
}

export function makeKeys(): FleetKeys {
  const account = createAccount();
  const system = createAccount();
  const seed = (pair: { getSeed(): Uint8Array }) => new TextDecoder().decode(pair.getSeed());
  return {
    seeds: {
      operator: seed(createOperator()),
      account: seed(account),
      system: seed(system),
      machine: seed(createAccount()),
      observe: seed(createAccount()),
      operate: seed(createAccount()),
      admin: seed(createAccount()),
    },
    account: account.getPublicKey(),
    system: system.getPublicKey(),
  };
}

/** Restores keys from their seeds. @param seedOf text of one of them */
export function keysFrom(seedOf: (name: keyof FleetKeys["seeds"]) => string): FleetKeys {
  const names = ["operator", "account", "system", ...fleetRoles] as const;
  const seeds = Object.fromEntries(names.map((name) => [name, seedOf(name)])) as FleetKeys["seeds"];
  return { seeds, account: publicKey(seeds.account), system: publicKey(seeds.system) };
}

export function signOperator(name: string, { seeds, system }: FleetKeys): Promise<string> {
  return encodeOperator(name, pair(seeds.operator), { system_account: system });
}

export function signSystemAccount({ seeds }: FleetKeys): Promise<string> {
  const limits = { ...unlimited, mem_storage: 0, disk_storage: 0, streams: 0, consumer: 0 };
  return encodeAccount("SYS", pair(seeds.system), { limits }, { signer: pair(seeds.operator) });
}

export function signAccount(name: string, { seeds }: FleetKeys, revoked: readonly Revocation[]): Promise<string> {
  const signers = fleetRoles.map((role) => {
    const { publish, subscribe } = rolePermissions[role];
    const permissions = { pub: { allow: [...publish], deny: [] }, sub: { allow: [...subscribe], deny: [] } };
    return newScopedSigner(pair(seeds[role]), role, {
      ...permissions,
      subs: UNLIMITED,
      data: UNLIMITED,
      payload: UNLIMITED,
    });
  });
  const bucket = { mem_storage: 0, disk_storage: BUCKET_BYTES, streams: 1, consumer: 0, disk_max_stream_bytes: 0 };
  const revocations = Object.fromEntries(
    revoked.map(({ key, revokedAt }) => [key, Math.floor(revokedAt / MS_PER_SECOND)]),
  );
  const account = { limits: { ...unlimited, ...bucket }, signing_keys: signers, revocations };
  return encodeAccount(name, pair(seeds.account), account, { signer: pair(seeds.operator) });
}

const unlimited = {
  subs: UNLIMITED,
  data: UNLIMITED,
  payload: UNLIMITED,
  imports: UNLIMITED,
  exports: UNLIMITED,
  conn: UNLIMITED,
  leaf: UNLIMITED,
  wildcards: true,
} as const;

interface SignedUser {
  readonly jwt: string;
  readonly seed: string;
  /** Its public key. */
  readonly key: string;
}

/** A new user of a role, with the permissions of the role's template. @param expiresAt Unix time in ms; null: never */
export async function signUser(
  seeds: { readonly account: string; readonly role: string },
  name: string,
  tags: readonly string[],
  expiresAt: number | null,
): Promise<SignedUser> {
  const user = createUser();
  const jwt = await encodeUser(
    name,
    user,
    fromPublicOf(seeds.account),
    { tags: [...tags] },
    {
      signer: pair(seeds.role),
      scopedUser: true,
      ...(expiresAt === null ? {} : { exp: Math.floor(expiresAt / MS_PER_SECOND) }),
    },
  );
  return { jwt, seed: new TextDecoder().decode(user.getSeed()), key: user.getPublicKey() };
}

/** A user of the system account for some minutes, which sends the servers a new account's JWT. */
export async function signSystemUser(systemSeed: string, expiresAt: number): Promise<SignedUser> {
  const user = createUser();
  const exp = Math.floor(expiresAt / MS_PER_SECOND);
  const jwt = await encodeUser("wsh-fleet", user, pair(systemSeed), {}, { exp });
  return { jwt, seed: new TextDecoder().decode(user.getSeed()), key: user.getPublicKey() };
}

function pair(seed: string): ReturnType<typeof fromSeed> {
  return fromSeed(new TextEncoder().encode(seed));
}

function publicKey(seed: string): string {
  return pair(seed).getPublicKey();
}

function fromPublicOf(accountSeed: string): string {
  return publicKey(accountSeed);
}
