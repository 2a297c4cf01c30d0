/** The caller of an operation, and what it may do: the same terms in every transport. */

/** What a caller may do: read, act, administer. Each level includes those before it. */
export type Access = "observe" | "operate" | "admin";

/** How a caller was admitted, for the audit log. */
export interface Admission {
  /** Name of the token, or of a fleet's user. */
  readonly token: string;
  /** Distinguishes the token from an earlier one of the same name. */
  readonly id?: string;
  /** Address of the peer; null where there is none. */
  readonly peer: string | null;
  /** Whose part of the limits it takes there, as another machine says for whom it asks (shares.ts). */
  readonly share?: string;
}

/**
 * Shown to the person at the terminal while the caller holds the keyboard, and written to the audit log. It travels with
 * every call and stream, so that what is done later in its name is what it may do: `only` and `via` come from what
 * admitted it, never from its messages.
 */
export interface Caller {
  readonly kind: "http" | "ws" | "mcp" | "cli";
  /** Stable for the life of the connection or MCP session; a stateless caller has no id of its own. */
  readonly id: string;
  /** What a person calls it ("Claude Code"). */
  readonly name?: string;
  /** Whether `id`, and with it what the caller owns, ends with a connection. */
  readonly connected: boolean;
  /** Id of the only session that it may use (a token made for it); absent: all. */
  readonly only?: string;
  /** Absent: a process of this account, on a Unix socket. */
  readonly via?: Admission;
}

/** A caller, and its access: whoever acts for it later, acts with both. */
export interface Acting {
  readonly caller: Caller;
  readonly access: Access;
}

const accessOrder: readonly Access[] = ["observe", "operate", "admin"];

export function accessCovers(held: Access, needed: Access): boolean {
  return accessOrder.indexOf(held) >= accessOrder.indexOf(needed);
}

/** The access of a caller by what admitted it, where its own process says for whom it asks. */
export function lesserAccess(held: Access, said: Access): Access {
  return accessCovers(held, said) ? said : held;
}

/** The caller that another machine's connection is here, asking for one of its own. @param share the part of that one */
export function actingAt(caller: Caller, share: string | null | undefined): Caller {
  return caller.via === undefined || share === undefined || share === null
    ? caller
    : { ...caller, via: { ...caller.via, share } };
}

interface ByKeys {
  readonly access: Access;
  readonly caller: Pick<Caller, "only" | "via">;
}

/** The same caller, by its keys at an attached terminal: what they call is a person's. */
export function byKeys({ access, caller: { only, via } }: ByKeys): Acting {
  const limits = { ...(only === undefined ? {} : { only }), ...(via === undefined ? {} : { via }) };
  return { access, caller: { kind: "cli", id: "keys", connected: true, ...limits } };
}

/** The name shown for a caller that gave none. */
const nameless: Readonly<Record<Caller["kind"], string>> = {
  http: "an HTTP client",
  ws: "a WebSocket client",
  mcp: "an MCP client",
  cli: "wsh",
};

/** Tokens that any number of programs share: the Unix socket's callers, the instance's own token, none at all. */
const sharedIds: ReadonlySet<string> = new Set(
  ["http", "mcp"].flatMap((way) => ["socket", "own", "none"].map((token) => `${way}:${token}`)),
);

/** The id by which a caller is known again; null where others have the same. */
export function callerIdentity({ id }: Caller): string | null {
  return sharedIds.has(id) ? null : id;
}

/** What people are told of a caller. */
export function callerLabel({ kind, name }: Caller): string {
  return name ?? nameless[kind];
}
