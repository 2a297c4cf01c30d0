/**
 * A fleet's credentials file: its owner's identity for the NATS servers (NATS's own two blocks, so that every NATS
 * client reads it), and in a separate block the servers' addresses and the owner's purpose. The line that `wsh fleet
 * invite` prints is such a file, packed. Pure.
 */
import * as v from "valibot";
import { WshError } from "./errors.ts";
import { isMachineName } from "./names.ts";

/**
 * The roles of credentials: a machine that serves its sessions, or a caller that observes, operates or administers
 * those of others.
 */
export const fleetRoles = ["machine", "observe", "operate", "admin"] as const;
export type FleetRole = (typeof fleetRoles)[number];

/** Maximum servers and tags in credentials, and the longest certificate, in characters. */
const MAX_SERVERS = 32;
const MAX_TAGS = 32;
const MAX_CA_CHARS = 64 * 1024;
/** Longest credentials that are read, in characters: many times the length of a certificate chain. */
export const MAX_CREDS_CHARS = 256 * 1024;

/** The key-value bucket that remembers a fleet's machines. */
export const MACHINES_BUCKET = "wsh_machines";

const serverPattern = /^(tls|nats|wss|ws):\/\/(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(:[0-9]{1,5})?(\/[A-Za-z0-9_./-]*)?$/;
/** Addresses of this machine, for which encryption is not required. */
const ownHostPattern = /^(nats|ws):\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:|\/|$)/;

/** `tls://host:port`, `wss://host:port/path`, or an unencrypted address of this machine. */
function isFleetServer(text: string): boolean {
  return serverPattern.test(text) && (!/^(nats|ws):/.test(text) || ownHostPattern.test(text));
}

const FleetSettingsSchema = v.object({
  v: v.literal(1),
  servers: v.pipe(
    v.array(v.pipe(v.string(), v.check(isFleetServer))),
    v.minLength(1, "no server is named"),
    v.maxLength(MAX_SERVERS),
  ),
  /** PEM certificates that sign the servers', instead of the system's. */
  ca: v.optional(v.pipe(v.string(), v.maxLength(MAX_CA_CHARS))),
  /** The fleet's name, for people. */
  fleet: v.optional(v.pipe(v.string(), v.maxLength(64))),
  role: v.picklist(fleetRoles),
  /** For a cluster without JWTs: the user's name there, and its password. */
  user: v.optional(v.pipe(v.string(), v.check(isMachineName, "the user's name is not valid"))),
  password: v.optional(v.pipe(v.string(), v.maxLength(1_024))),
  tags: v.optional(v.pipe(v.array(v.pipe(v.string(), v.maxLength(64))), v.maxLength(MAX_TAGS)), []),
});
export type FleetSettings = v.InferOutput<typeof FleetSettingsSchema>;

/** How the owner of credentials logs in; null: no login, if the servers require none. */
type FleetLogin =
  | { readonly jwt: string; readonly seed: string }
  | { readonly user: string; readonly password: string }
  | null;

/** A parsed credentials file. */
export interface Credentials {
  readonly login: FleetLogin;
  /** Name of the user for the NATS servers, as in its subjects: a machine's, or a person's. */
  readonly user: string;
  /** Unix time in ms of their expiry; null: never. */
  readonly expiresAt: number | null;
  readonly settings: FleetSettings;
}

const jwtPattern = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
const seedPattern = /^SU[A-Z2-7]{56}$/;

const ClaimsSchema = v.object({
  name: v.string(),
  exp: v.optional(v.number()),
  nats: v.looseObject({ type: v.literal("user") }),
});

/** @throws WshError invalid_credentials */
export function parseCredentials(text: string): Credentials {
  if (text.length > MAX_CREDS_CHARS) throw bad(`the text has more than ${MAX_CREDS_CHARS} characters`);
  const blocks = blocksOf(text);
  const settings = settingsOf(blocks.get("WSH FLEET"));
  const jwt = blocks.get("NATS USER JWT")?.replace(/\s+/g, "");
  if (jwt === undefined) return withoutJwt(settings);
  const seed = blocks.get("USER NKEY SEED")?.replace(/\s+/g, "");
  if (!jwtPattern.test(jwt)) throw bad("the JWT is not valid");
  if (seed === undefined || !seedPattern.test(seed)) throw bad("the user's seed is missing");
  const claims = v.safeParse(v.pipe(v.string(), v.parseJson(), ClaimsSchema), payloadOf(jwt));
  if (!claims.success) throw bad("the JWT does not belong to a user");
  const { name, exp } = claims.output;
  const user = settings.user ?? name;
  if (!isMachineName(user)) throw bad(`the user's name is ${JSON.stringify(user.slice(0, 80))}`);
  return { login: { jwt, seed }, user, expiresAt: exp === undefined ? null : exp * 1_000, settings };
}

function withoutJwt(settings: FleetSettings): Credentials {
  const { user, password } = settings;
  if (user === undefined) throw bad("both the block NATS USER JWT and 'user' in the block WSH FLEET are missing");
  return { login: password === undefined ? null : { user, password }, user, expiresAt: null, settings };
}

/** The file's text. */
export function formatCredentials(jwt: string, seed: string, settings: FleetSettings): string {
  const json = JSON.stringify(settings);
  return [
    ["-----BEGIN NATS USER JWT-----", jwt, "------END NATS USER JWT------"].join("\n"),
    "This file gives full access as its user. Keep it private.",
    ["-----BEGIN USER NKEY SEED-----", seed, "------END USER NKEY SEED------"].join("\n"),
    ["-----BEGIN WSH FLEET-----", json, "------END WSH FLEET------"].join("\n"),
    "",
  ].join("\n\n");
}

/** Parses the blocks of a credentials file by their titles. */
function blocksOf(text: string): ReadonlyMap<string, string> {
  const blocks = new Map<string, string>();
  const lines = text.split(/\r?\n/);
  for (let i = 0; i < lines.length; i++) {
    const title = /^\s*-{3,}\s*BEGIN ([A-Z ]+?)\s*-{3,}\s*$/.exec(lines[i] ?? "")?.[1];
    if (title === undefined) continue;
    const end = lines.findIndex((line, index) => index > i && /^\s*-{3,}\s*END [A-Z ]+?\s*-{3,}\s*$/.test(line));
    if (end < 0) return blocks;
    if (!blocks.has(title))
      blocks.set(
        title,
        lines
          .slice(i + 1, end)
          .join("\n")
          .trim(),
      );
    i = end;
  }
  return blocks;
}

function settingsOf(block: string | undefined): FleetSettings {
  if (block === undefined) {
    throw bad("the block WSH FLEET with the servers' addresses is missing (docs/machines.md, Your own NATS cluster)");
  }
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), FleetSettingsSchema), block);
  if (parsed.success) return parsed.output;
  throw bad(`the block WSH FLEET cannot be read (${parsed.issues[0].message})`);
}

/** Claims of a JWT, whose signature the NATS servers check; empty: they cannot be read. */
function payloadOf(jwt: string): string {
  return Buffer.from(jwt.split(".")[1] ?? "", "base64url").toString("utf8");
}

function bad(why: string): WshError {
  return new WshError("invalid_credentials", `invalid fleet credentials: ${why}`);
}
