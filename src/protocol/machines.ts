/**
 * Other machines: their addresses, their entries in lists, and the messages between two gateways over a link
 * (docs/machines.md). Pure.
 */
import * as v from "valibot";
import { defined } from "./defined.ts";
import { WshError } from "./errors.ts";
import { described, integerFrom, optional } from "./fields.ts";
import { checkInstanceName, checkMachineName } from "./names.ts";

/** A machine reached by ssh: the arguments of `ssh`, and the instance of wsh there. */
export interface SshAddress {
  readonly kind: "ssh";
  readonly user: string | null;
  readonly host: string;
  readonly port: number | null;
  /** Null: the default instance there. */
  readonly instance: string | null;
}

/** A machine whose server listens on TCP. */
export interface HttpAddress {
  readonly kind: "http";
  /** Without a trailing slash. */
  readonly url: string;
  readonly host: string;
}

export type Address = SshAddress | HttpAddress;

/** Neither may begin with `-`, which ssh would read as an option; ssh's own config resolves the rest. */
const userPattern = /^[A-Za-z0-9_.][A-Za-z0-9_.@+-]{0,63}$/;
const hostPattern = /^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,252}$/;
const ipv6Pattern = /^\[[0-9A-Fa-f:.]+(%[A-Za-z0-9_.-]+)?\]$/;
const sshPattern = /^ssh:\/\/(?:([^@/?#]*)@)?(\[[^\]]*\]|[^:/?#]*)(?::([0-9]{1,5}))?\/?(?:\?instance=([^&#]*))?$/;

/**
 * Reads `ssh://[user@]host[:port][?instance=NAME]`, `https://host[:port][/prefix]`, or `http://` for this machine only:
 * a token must not cross a network unencrypted.
 * @throws WshError invalid_address, invalid_instance_name
 */
export function parseAddress(text: string): Address {
  if (text.startsWith("ssh://")) return sshAddress(text);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) throw bad(text, "is not an address");
  if (url.username !== "" || url.password !== "") throw bad(text, "contains a password", "Pass the token separately.");
  if (url.search !== "" || url.hash !== "") throw bad(text, "has more than a host, a port and a path");
  const isOwn = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
  if (url.protocol === "http:" && !isOwn) throw bad(text, "is not encrypted", "Use https://, or ssh://.");
  return { kind: "http", url: text.replace(/\/+$/, ""), host: url.hostname };
}

function sshAddress(text: string): SshAddress {
  const [all, user, host = "", port, instance] = sshPattern.exec(text) ?? [];
  if (all === undefined) throw bad(text, "is not ssh://[user@]host[:port]");
  if (user !== undefined && !userPattern.test(user)) throw bad(text, "has a user name that ssh could misread");
  if (!hostPattern.test(host) && !ipv6Pattern.test(host)) throw bad(text, "has a host that ssh could misread");
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) throw bad(text, "has an invalid port");
  return {
    kind: "ssh",
    user: user ?? null,
    host: plainHost(host),
    port: port === undefined ? null : Number(port),
    instance: instance === undefined ? null : checkInstanceName(instance),
  };
}

/** The default name of a machine, from its address: the first part of its host name. */
export function nameFrom({ host }: Address): string {
  const isNumeric = /^[0-9.]+$/.test(host) || host.includes(":");
  const name = isNumeric ? host.replace(/[^0-9A-Za-z]+/g, "-").replace(/^-|-$/g, "") : (host.split(".")[0] ?? host);
  return checkMachineName(name);
}

/** Whether a text is an address and not a machine's name. */
export function isAddress(text: string): boolean {
  return /^(ssh|https?):\/\//.test(text);
}

function bad(text: string, why: string, hint?: string): WshError {
  const shown = JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text);
  return new WshError("invalid_address", `${shown} ${why}`, defined({ hint }));
}

/** Name by which every server addresses itself, and which no other machine may have. */
export const localMachine = "local";

export const fleetAddress = "fleet";

/**
 * Whether a machine answers, from its link's state. `version`: it speaks another protocol; `rejected`: it refuses this
 * one.
 */
const machineHealths = [
  "connecting",
  "healthy",
  "stale",
  "unreachable",
  "unavailable",
  "conflict",
  "rejected",
  "version",
] as const;
export type MachineHealth = (typeof machineHealths)[number];

/** An entry of `/servers`: the answering server, or one that it reaches. */
export const ServerEntrySchema = v.object({
  hostname: described(v.string(), "its name in machine/target"),
  address: described(v.string(), "'local': the answering server; 'fleet': over NATS; else its address"),
  health: described(v.picklist(machineHealths), "whether it answers; connecting: not contacted yet"),
  role: described(v.picklist(["member", "remote"]), "remote: another machine"),
  sessions: described(v.number(), "number of running sessions, as last known"),
  needs_input: optional(v.number(), "how many of those, or agents in them, wait for input; absent: unknown"),
  server_id: described(v.string(), "changes at each start; empty while unknown"),
  version: v.optional(v.string()),
  error: optional(v.string(), "why it does not answer"),
  as_of: optional(v.number(), "Unix time in ms of its last answer"),
  tags: optional(v.array(v.string()), "for a machine of the fleet: from its credentials"),
});
export type ServerEntry = v.InferOutput<typeof ServerEntrySchema>;

/** One operation for another machine's gateway. */
export const LinkCallSchema = v.object({
  op: v.pipe(v.string(), v.maxLength(64)),
  session: v.optional(v.pipe(v.string(), v.maxLength(256))),
  input: v.optional(v.unknown()),
  caller: v.object({
    kind: v.picklist(["http", "ws", "mcp", "cli"]),
    id: v.pipe(v.string(), v.maxLength(256)),
    name: v.optional(v.pipe(v.string(), v.maxLength(256))),
    agent: v.optional(v.pipe(v.string(), v.maxLength(256))),
    /** The token of the asking machine for which it asks, if that is not the account's own. */
    share: v.optional(v.pipe(v.string(), v.maxLength(256))),
  }),
});

/** A host in the form for sockets: an IPv6 address without the brackets that it has in a URL. */
export function plainHost(host: string): string {
  return host.replace(/^\[|\]$/g, "");
}

/** The latest Unix time in ms that is a valid date (ECMA-262, Time Values). */
const LAST_TIME_MS = 8.64e15;
/** Unix time in ms from another machine, within the range of dates. */
export const ToldTimeSchema = v.pipe(v.number(), v.minValue(0), v.maxValue(LAST_TIME_MS));

/** The description that a machine's gateway sends of itself. */
export const LinkHelloSchema = v.looseObject({
  /** PROTOCOL_VERSION there. */
  wsh: v.number(),
  version: v.pipe(v.string(), v.maxLength(64)),
  server_id: v.pipe(v.string(), v.maxLength(256)),
  hostname: v.pipe(v.string(), v.maxLength(256)),
  /** Unix time in ms by its own clock. */
  now: v.optional(ToldTimeSchema),
  /**
   * For placement: the sessions that it lets others start, its tags, one-minute load per processor, running sessions.
   */
  accept: v.optional(v.picklist(["none", "named", "placed"])),
  tags: v.optional(v.pipe(v.array(v.pipe(v.string(), v.maxLength(64))), v.maxLength(64))),
  load: v.optional(v.pipe(v.number(), v.minValue(0))),
  sessions: v.optional(v.pipe(v.number(), v.minValue(0))),
});
export type LinkHello = v.InferOutput<typeof LinkHelloSchema>;

/**
 * Control messages beside the bytes of a session's socket over a link, as text: `credit` permits that many more bytes
 * to the other end, `open` reports that the socket is connected, `error` why it is not, `ping` asks whether the other
 * end is present. Binary messages are the socket's bytes.
 */
/**
 * To which process of a pane's session a stream connects: that of the session, which has its layout, or that which runs
 * the pane. They differ after the pane has moved to another session.
 */
export const DialedProcessSchema = v.picklist(["session", "pane"]);
export type DialedProcess = v.InferOutput<typeof DialedProcessSchema>;

export const LinkNoteSchema = v.union([
  v.object({ credit: integerFrom(1) }),
  v.object({ open: v.literal(true) }),
  v.object({ error: v.looseObject({ code: v.string(), message: v.string() }) }),
  v.object({ ping: v.number() }),
  v.object({ pong: v.number() }),
]);
export type LinkNote = v.InferOutput<typeof LinkNoteSchema>;

/**
 * Bytes that an end may send before the other has taken any: a session process renders a viewer that lags by more, so
 * more would only be stale.
 */
export const LINK_CREDIT_BYTES = 256 * 1024;
/** Largest binary message over a link, in bytes, so that keys do not wait behind a long one. */
export const LINK_CHUNK_BYTES = 32 * 1024;
