/** Who calls over HTTP: what the gateway found out about the request, and what the request's URL asks for. */
import type { Access } from "../../protocol/caller.ts";
import type { McpCaller, McpSettings } from "../caller-server.ts";
import type { Changes } from "../resources/changes.ts";

export interface McpHttpOptions extends McpSettings {
  readonly changes: Changes;
  /** Time without use after which a session ends, in ms. Default half an hour. */
  readonly idleMs?: number;
  /** Sessions at once; past it the one unused for longest ends. Default 256. */
  readonly maxSessions?: number;
  /** A session has ended, and with it what its caller owns. */
  readonly callerGone?: (id: string) => void;
}

/** As whom a request was admitted. */
export interface HttpIdentity {
  readonly access: Access;
  readonly tokenName: string;
  /** Tells the token from an earlier one of the same name. */
  readonly tokenId?: string;
  /** Address of the peer; absent or null on the Unix socket. */
  readonly peer?: string | null;
  /** The only session that the token opens. */
  readonly only?: string;
}

/** Who calls, and what the URL's query asks for: `tools=core`, `session=NAME`, `read_only=1`. */
export function callerFor(id: string, connected: boolean, url: string, identity: HttpIdentity): McpCaller {
  const query = new URL(url).searchParams;
  const session = query.get("session") ?? identity.only ?? null;
  return {
    id,
    connected,
    access: query.get("read_only") === "1" ? "observe" : identity.access,
    tools: query.get("tools") === "core" ? "core" : "all",
    via: { token: identity.tokenName, peer: identity.peer ?? null },
    ...(session === null ? {} : { session }),
    ...(identity.only === undefined ? {} : { only: identity.only }),
  };
}
