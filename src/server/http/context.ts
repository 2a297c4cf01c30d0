/** The context of a request in the app: its origin, and the identity that admitted it. */
import type { Context } from "hono";
import type { Acting, Caller } from "../../protocol/caller.ts";
import { defined, present } from "../../protocol/defined.ts";
import { AGENT_HEADER } from "../../protocol/requests.ts";
import type { Admitted } from "../auth/guard.ts";
import type { WebSocketEndpoint } from "../websocket/websockets.ts";

/** Added by the listener to a request. */
export interface RequestOrigin {
  readonly listener: "unix" | "tcp";
  /**
   * The AI agent among the ancestors of the process at the other end, as the kernel reports it; null: none, or over
   * TCP.
   */
  readonly agent: string | null;
  /** Peer address, for rate limits and the audit log; null on the Unix socket. */
  readonly peer: string | null;
  readonly peerPort: number | null;
  readonly server: Bun.Server<WebSocketEndpoint>;
}

export type AppEnv = {
  Bindings: RequestOrigin;
  Variables: {
    verdict: Admitted;
  };
};
export type AppContext = Context<AppEnv>;

/** The recorded part of a refused request: without its query, which may contain a ticket. */
export interface RefusedRequest {
  readonly method: string;
  readonly path: string;
  readonly peer: string | null;
}

/** A request's caller, with its admitting identity; the only code that creates callers. */
export function actingFor(
  c: AppContext,
  caller: Omit<Caller, "only" | "via" | "agent">,
): Acting & { ended?: AbortSignal } {
  const { access, tokenName: token, tokenId: id, session, endSignal } = c.get("verdict");
  const via = { token, id, peer: c.env.peer };
  return {
    access,
    caller: { ...caller, via, ...defined({ only: session, agent: agentOf(c) }) },
    ...present({ ended: endSignal }),
  };
}

/** The owner of a request's id: an agent shares the Unix socket, or a token, with people and other agents. */
export function requestOwner(c: AppContext, way: "http" | "link"): string {
  const agent = agentOf(c);
  const token = `${way}:${c.get("verdict").tokenId}`;
  return agent === undefined ? token : `${token} ${agent}`;
}

function agentOf(c: AppContext): string | undefined {
  return c.env.agent ?? c.get("verdict").agent ?? c.req.header(AGENT_HEADER);
}
