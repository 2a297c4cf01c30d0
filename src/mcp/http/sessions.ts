/**
 * MCP sessions over HTTP, for the eras that have them. `initialize` creates a session, which belongs to that request's
 * token and ends by DELETE, after a time without requests or open streams, or as the longest idle one when there are
 * too many. Clients rarely close their sessions, so most end by timeout.
 */
import { isInitializeRequest, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { requireRoom, type Share } from "../../protocol/shares.ts";
import { idOf, isRequestId } from "../../wire/lines.ts";
import { callerAt, createMcpServer } from "../caller-server.ts";
import { registerSubscriptions } from "../resources/resources.ts";
import { endScripts } from "../tools/script.ts";
import { isReadingTool } from "../tools/tools.ts";
import { callerFor, type HttpIdentity, type McpHttpOptions, shareOfIdentity } from "./caller.ts";
import { RecentEvents } from "./event-store.ts";
import { jsonRpcError, onEnd } from "./responses.ts";
import { UnreadHints } from "./unread-hints.ts";

/** Idle time after which a session ends, in ms, unless a setting changes it. */
const DEFAULT_IDLE_MS = 30 * 60 * 1000;
/** Interval between checks for idle sessions, in ms, while there are sessions. */
const SWEEP_MS = 60 * 1000;
/** Limit of sessions, unless a setting changes it (docs/protocol.md, Limits). */
const DEFAULT_MAX_SESSIONS = 256;
/** Delay before a client whose stream broke should reconnect, in ms. */
const RETRY_MS = 3_000;
/**
 * Time without any stream or request after which a client's reads are abandoned, in ms: a living client would have
 * reconnected.
 */
const GONE_MS = 2 * RETRY_MS;

interface Session {
  readonly id: string;
  /** Token of the request that began it. */
  readonly tokenId: string;
  readonly share: Share;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly events: RecentEvents;
  readonly close: () => Promise<void>;
  /** Unanswered requests by id, and whether each changes nothing. Another one with the same id would be ambiguous. */
  readonly unanswered: Map<string | number, boolean>;
  readonly hints: UnreadHints;
  /** Number of open requests and streams. */
  openStreams: number;
  usedAt: number;
  /** Runs while no request or stream is open. */
  disconnectTimer: Timer | null;
}

export class HttpSessions {
  private readonly sessions = new Map<string, Session>();
  private sweeper: Timer | null = null;

  constructor(private readonly options: McpHttpOptions) {}

  /** @param body the request's parsed body */
  async post(request: Request, body: unknown, identity: HttpIdentity): Promise<Response> {
    if (isInitializeRequest(body) && !request.headers.has("mcp-session-id"))
      return this.initialize(request, body, identity);
    const session = this.find(request, identity, idOf(body));
    if (session instanceof Response) return session;
    const { unanswered } = session;
    const requests = requestsIn(body);
    const ids = requests.map(({ id }) => id);
    const taken = ids.find((id, index) => unanswered.has(id) || ids.indexOf(id) < index);
    if (taken !== undefined) {
      return jsonRpcError(400, -32600, "Invalid Request: the id is in use by an open request", taken);
    }
    for (const id of cancelledIds(body)) unanswered.delete(id);
    for (const { id, isRead } of requests) unanswered.set(id, isRead);
    let isAnswering = false;
    try {
      const response = await this.serve(session, request, body);
      isAnswering = response.ok;
      return response;
    } finally {
      if (!isAnswering) for (const id of ids) unanswered.delete(id);
    }
  }

  /** GET opens a stream, DELETE ends the session. */
  async handleOther(request: Request, identity: HttpIdentity): Promise<Response> {
    const session = this.find(request, identity, null);
    if (session instanceof Response) return session;
    const last = request.method === "GET" ? request.headers.get("last-event-id") : null;
    const refusal = last === null ? null : session.events.refusal(last);
    if (refusal !== null) return jsonRpcError(400, -32000, refusal);
    const response = await this.serve(session, request, undefined);
    const wasDeleted = request.method === "DELETE" && response.ok;
    return wasDeleted ? new Response(null, { status: 202 }) : response;
  }

  async stop(): Promise<void> {
    if (this.sweeper !== null) clearInterval(this.sweeper);
    await Promise.all([...this.sessions.values()].map((session) => this.end(session)));
  }

  private async initialize(request: Request, body: unknown, identity: HttpIdentity): Promise<Response> {
    const id = crypto.randomUUID();
    const caller = callerFor(`mcp:${id}`, true, request.url, identity);
    const { changes, call } = this.options;
    const server = createMcpServer(this.options, caller);
    const subscriptions = registerSubscriptions(server, changes, call, () => callerAt(server, caller));
    const events = new RecentEvents();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessionclosed: () => {
        const session = this.sessions.get(id);
        if (session !== undefined) void this.end(session);
      },
      eventStore: events,
      retryInterval: RETRY_MS,
    });
    const unanswered: Session["unanswered"] = new Map();
    const send = transport.send.bind(transport);
    const hints = new UnreadHints();
    transport.send = async (message, options) => {
      if (!("method" in message) && message.id !== undefined) unanswered.delete(message.id);
      if (options?.relatedRequestId === undefined && hints.isWaiting(message)) return;
      await send(message, options);
    };
    const { ended } = identity;
    const end = () => void this.end(session);
    const close = async () => {
      ended?.removeEventListener("abort", end);
      subscriptions[Symbol.dispose]();
      endScripts(caller.id);
      this.options.callerGone?.(caller.id);
      await server.close();
    };
    const session: Session = {
      id,
      tokenId: identity.via.id,
      share: shareOfIdentity(identity),
      transport,
      events,
      close,
      unanswered,
      hints,
      openStreams: 0,
      usedAt: performance.now(),
      disconnectTimer: null,
    };
    await server.connect(transport);
    const response = await this.serve(session, request, body);
    // A refused initialize leaves nothing behind.
    if (!response.ok) {
      await close();
      return response;
    }
    const refusal = this.evictFor(session.share);
    if (refusal !== null) {
      await close();
      return jsonRpcError(429, -32000, refusal, idOf(body));
    }
    this.sessions.set(id, session);
    ended?.addEventListener("abort", end, { once: true });
    if (ended?.aborted === true) end();
    this.sweeper ??= setInterval(() => this.sweep(), Math.min(SWEEP_MS, this.options.idleMs ?? SWEEP_MS));
    this.sweeper.unref();
    return response;
  }

  private async serve(session: Session, request: Request, body: unknown): Promise<Response> {
    session.openStreams++;
    session.usedAt = performance.now();
    clearTimeout(session.disconnectTimer ?? undefined);
    const isStream = request.method === "GET";
    // Messages of an earlier stream may be lost with it.
    if (isStream) session.hints.forget();
    const released = () => {
      session.openStreams--;
      session.usedAt = performance.now();
      if (session.openStreams === 0 && session.unanswered.size > 0)
        session.disconnectTimer = setTimeout(() => cancelReads(session), GONE_MS);
    };
    try {
      const response = await session.transport.handleRequest(request, defined({ parsedBody: body }));
      return onEnd(response, released, isStream ? (piece) => session.hints.markSent(piece) : undefined);
    } catch (error) {
      released();
      throw error;
    }
  }

  private find(request: Request, identity: HttpIdentity, id: string | number | null): Session | Response {
    const wanted = request.headers.get("mcp-session-id");
    if (wanted === null) return jsonRpcError(400, -32000, "Bad Request: Mcp-Session-Id header is required", id);
    const session = this.sessions.get(wanted);
    // Another token's session must look the same as a missing one.
    if (session?.tokenId !== identity.via.id) return jsonRpcError(404, -32001, "Session not found", id);
    return session;
  }

  private sweep(): void {
    const before = performance.now() - (this.options.idleMs ?? DEFAULT_IDLE_MS);
    for (const session of this.sessions.values()) {
      if (session.openStreams === 0 && session.usedAt < before) void this.end(session);
    }
  }

  /** A token at its share of sessions loses its longest idle one. @returns why there is no room for another */
  private evictFor(share: Share): string | null {
    const all = [...this.sessions.values()];
    const limit = this.options.maxSessions ?? DEFAULT_MAX_SESSIONS;
    try {
      requireRoom(
        limit,
        share,
        all.map((session) => session.share),
        "MCP sessions are open",
      );
      return null;
    } catch (thrown) {
      const own = all.filter((session) => session.share === share);
      const [longestUnused] = own.sort((a, b) => a.openStreams - b.openStreams || a.usedAt - b.usedAt);
      if (longestUnused === undefined) return WshError.from(thrown).message;
      void this.end(longestUnused);
      return null;
    }
  }

  private async end(session: Session): Promise<void> {
    if (!this.sessions.delete(session.id)) return;
    clearTimeout(session.disconnectTimer ?? undefined);
    if (this.sessions.size === 0 && this.sweeper !== null) {
      clearInterval(this.sweeper);
      this.sweeper = null;
    }
    await session.close();
  }
}

function messagesIn(body: unknown): readonly Readonly<Record<string, unknown>>[] {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
  return messages.flatMap((message) => (typeof message === "object" && message !== null ? [{ ...message }] : []));
}

/** Ends its reads: a returning client can repeat those, while results of changes are kept for it. */
function cancelReads({ transport, unanswered }: Session): void {
  for (const [requestId, isRead] of unanswered) {
    if (!isRead) continue;
    const error = { code: -32000, message: "No client was waiting for the answer: send the request again" };
    // Stored for a client that returns later still.
    transport.send({ jsonrpc: "2.0", id: requestId, error }).catch(() => {});
    transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
  }
}

function requestsIn(body: unknown): { readonly id: string | number; readonly isRead: boolean }[] {
  return messagesIn(body).flatMap(({ id, method, params }) => {
    if (method === undefined || !isRequestId(id)) return [];
    const tool = typeof params === "object" && params !== null && "name" in params ? params.name : null;
    return [{ id, isRead: method === "tools/call" && isReadingTool(tool) }];
  });
}

/** Requests that stay unanswered, since their caller cancelled them. */
function cancelledIds(body: unknown): (string | number)[] {
  const cancels = messagesIn(body).filter(({ method }) => method === "notifications/cancelled");
  return cancels.flatMap(({ params }) => {
    const id = typeof params === "object" && params !== null && "requestId" in params ? params.requestId : null;
    return isRequestId(id) ? [id] : [];
  });
}
