/** The caller over HTTP: the gateway's findings about the request, and the options in its URL. */
import type { Access, Admission } from "../../protocol/caller.ts";
import { defined, present } from "../../protocol/defined.ts";
import { type Share, shareOf } from "../../protocol/shares.ts";
import type { McpCaller, McpSettings } from "../caller-server.ts";
import type { Changes } from "../resources/changes.ts";
import { toolSets } from "../tools/tool-sets.ts";

export interface McpHttpOptions extends McpSettings {
  readonly changes: Changes;
  /** Idle time after which a session ends, in ms. Default half an hour. */
  readonly idleMs?: number;
  /** Limit of sessions; past it the one idle longest ends. Default 256. */
  readonly maxSessions?: number;
  /** A session has ended, and with it everything that its caller owns. */
  readonly callerGone?: (id: string) => void;
}

/** The identity with which a request was admitted. */
export interface HttpIdentity {
  readonly access: Access;
  readonly via: Admission & { readonly id: string };
  /** Aborts when the token ends; absent: it has no end. */
  readonly ended?: AbortSignal;
  /** The only session that the token permits. */
  readonly only?: string;
  /** The AI agent among the ancestors of the process at the other end of a Unix socket. */
  readonly agent?: string;
}

export function shareOfIdentity({ access, via, only }: HttpIdentity): Share {
  return shareOf({ access, caller: { via, ...defined({ only }) } });
}

/** The caller, and the options of the URL's query: `tools=core|machines`, `session=NAME`, `read_only=1`. */
export function callerFor(id: string, connected: boolean, url: string, identity: HttpIdentity): McpCaller {
  const query = new URL(url).searchParams;
  const session = query.get("session") ?? identity.only ?? null;
  return {
    id,
    connected,
    access: query.get("read_only") === "1" ? "observe" : identity.access,
    tools: toolSets.find((set) => set === query.get("tools")) ?? "all",
    via: identity.via,
    ...defined({ ended: identity.ended }),
    ...present({ session }),
    ...defined({ only: identity.only, agent: identity.agent }),
  };
}
