/** The caller of an operation and its rights, in the form of every transport. */
import { defined } from "./defined.ts";
import { quoted } from "./harmless-text.ts";

/** A caller's access: read, act, administer. Each level includes the previous ones. */
export type Access = "observe" | "operate" | "admin";

/** How a caller was admitted, for the audit log. */
export interface Admission {
  /** Name of the token, or of a fleet's user. */
  readonly token: string;
  /** Distinguishes the token from an earlier one of the same name. */
  readonly id?: string;
  /** Address of the peer; null: it has none. */
  readonly peer: string | null;
  /** The caller's share of limits there, as another machine reports it (shares.ts). */
  readonly share?: string;
}

/**
 * Shown to the person at the terminal while the caller holds the keyboard, and written to the audit log. It is sent
 * with every call and stream, so that later actions on the caller's behalf have its rights: `only` and `via` come from
 * its admission, never from its messages.
 */
export interface Caller {
  readonly kind: "http" | "ws" | "mcp" | "cli";
  /** Constant during the connection or MCP session; a stateless caller has no unique id. */
  readonly id: string;
  /** Its name for people ("Claude Code"). */
  readonly name?: string;
  /** The AI agent on whose behalf a command line runs, as the command line itself reports. */
  readonly agent?: string;
  /** Whether `id`, and everything the caller owns, ends with a connection. */
  readonly connected: boolean;
  /** Id of the only session that it may use (with a token for one session); absent: all. */
  readonly only?: string;
  /** Process id of the only program of a pane on which it may act: a restored pane has another. */
  readonly program?: number;
  /** Absent: a process of this account, on a Unix socket. */
  readonly via?: Admission;
}

/** A caller, and its access: later actions for it use both. */
export interface Acting {
  readonly caller: Caller;
  readonly access: Access;
}

/** Name of the admission by a notice's address, which answers one question, once. */
export const NOTICE_TOKEN = "notice";

const accessOrder: readonly Access[] = ["observe", "operate", "admin"];

export function accessCovers(held: Access, needed: Access): boolean {
  return accessOrder.indexOf(held) >= accessOrder.indexOf(needed);
}

/** The access of a caller: that of its admission, limited to the access that its own process states. */
export function lesserAccess(held: Access, reported: Access): Access {
  return accessCovers(held, reported) ? reported : held;
}

/** The caller that a request from another machine acts for. @param share that caller's share */
export function actingAt(caller: Caller, share: string | null | undefined): Caller {
  return caller.via === undefined || share === undefined || share === null
    ? caller
    : { ...caller, via: { ...caller.via, share } };
}

interface ByKeys {
  readonly access: Access;
  readonly caller: Pick<Caller, "only" | "via" | "agent">;
}

/** The same caller, acting by keys at an attached terminal: a person's calls, unless an agent has attached it. */
export function byKeys({ access, caller: { only, via, agent } }: ByKeys): Acting {
  const limits = { ...defined({ only, via, agent }) };
  return { access, caller: { kind: "cli", id: "keys", connected: true, ...limits } };
}

/** Names for callers without one. */
const nameless: Readonly<Record<Caller["kind"], string>> = {
  http: "an HTTP client",
  ws: "a WebSocket client",
  mcp: "an MCP client",
  cli: "wsh",
};

/** Whether a name is wsh's own word for a caller without one. */
export function isNameless(name: string): boolean {
  return Object.values(nameless).includes(name);
}

/** A caller's label in a sentence: a name that a client has chosen cannot be read as wsh's own words. */
export function callerText(label: string): string {
  return isNameless(label) ? label : quoted(label);
}

/** Tokens that several programs share: the Unix socket's callers, the instance's own token, no token. */
const sharedTokens = ["socket", "own", "none"];
const sharedIds: ReadonlySet<string> = new Set(
  ["http", "mcp"].flatMap((way) => sharedTokens.map((token) => `${way}:${token}`)),
);

/** The token that admitted a caller, unless any program of this account may use it. */
export function ownToken({ via }: Pick<Caller, "via">): string | null {
  return via === undefined || sharedTokens.includes(via.token) ? null : via.token;
}

/** The id that identifies a caller; null: others have the same. */
export function callerIdentity({ id }: Caller): string | null {
  return sharedIds.has(id) ? null : id;
}

/** A caller's name for people. */
export function callerLabel({ kind, name }: Caller): string {
  return name ?? nameless[kind];
}
