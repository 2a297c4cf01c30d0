/**
 * Mounts the WebSocket endpoints (docs/protocol.md, WebSockets): every check that can refuse a connection runs before
 * the upgrade, with the statuses and errors of HTTP. Keeps the list of server-level connections, which receive events
 * of all sessions and keep an ephemeral server alive.
 */
import type { Hono } from "hono";
import type { AuditLog } from "../../log/audit/audit-log.ts";
import type { Call, CallContext } from "../../operations/call.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import type { LifecycleEvent } from "../../protocol/events.ts";
import { requireRoom, type Share, shareOf } from "../../protocol/shares.ts";
import { browserKind } from "../auth/login-routes.ts";
import type { Tickets } from "../auth/tickets.ts";
import { type AppContext, type AppEnv, actingFor } from "../http/context.ts";
import type { RemoteEvents } from "../machines/remote-events.ts";
import type { ViewKeys } from "../options.ts";
import type { StreamedPane, StreamedSession, StreamedSessions } from "../sessions/streamed-session.ts";
import { RawSocket } from "./raw-socket.ts";
import { ServerSocket, type ServerSocketOptions } from "./server-socket.ts";
import { SessionSocket } from "./session-socket.ts";
import { TypedInputRecord } from "./typed-input-record.ts";
import { upgrade } from "./upgrade.ts";
import { ViewSocket } from "./view-socket.ts";
import type { WebSocketEndpoint, WebSockets } from "./websockets.ts";

interface WebSocketRoutesOptions {
  readonly sources: StreamedSessions;
  /** A caller's connection has ended: releases everything that it held here. */
  readonly callerGone: (id: string) => void;
  readonly call: Call;
  readonly remoteEvents: Pick<RemoteEvents, "watch" | "requireKnown">;
  readonly concealedFrom: ServerSocketOptions["concealedFrom"];
  readonly sockets: WebSockets;
  readonly tickets: Tickets;
  /** Null: nothing is recorded. */
  readonly audit: AuditLog | null;
  readonly limits: {
    readonly max_websockets: number;
    readonly max_subscriptions: number;
    readonly max_waiters: number;
  };
  /** Keys of the person at terminals in pages. */
  readonly viewKeys: (isTolerant: boolean) => Promise<ViewKeys>;
  /** A server-level connection opened or closed. */
  readonly connectionsChanged: () => void;
}

/** Tokens whose names do not identify their owners. */
const nameless: ReadonlySet<string> = new Set(["own", "none", "socket"]);

export class WebSocketRoutes {
  private readonly serverSockets = new Map<ServerSocket, Share>();

  constructor(private readonly options: WebSocketRoutesOptions) {}

  /** Number of server-level connections. */
  get connectionCount(): number {
    return this.serverSockets.size;
  }

  broadcast(event: LifecycleEvent): void {
    for (const endpoint of this.serverSockets.keys()) endpoint.lifecycle(event);
  }

  mount(app: Hono<AppEnv>): void {
    const { sources, call, limits, tickets, audit, callerGone } = this.options;
    const writeAudit = audit?.write ?? (() => {});
    const jsonOptions = { call, sources, maxWaits: limits.max_waiters, callerGone, audit: writeAudit };
    app.post("/auth/ws-ticket", (c) => {
      const context = { ...wsContext(c), signal: c.req.raw.signal };
      let result = "ok";
      try {
        const { agent } = context.caller;
        const ticket = tickets.issue({ ...c.get("verdict"), ...defined({ agent }) }, shareOf(context));
        return c.json({ ticket });
      } catch (thrown) {
        result = WshError.from(thrown).code;
        throw thrown;
      } finally {
        writeAudit({ operation: "ws.ticket", input: null, context, result, ms: 0 });
      }
    });
    this.mountSocket(app, "/sessions/:name/ws/raw", async (c) => {
      const source = await this.paneOf(c);
      const context = { ...wsContext(c), signal: c.req.raw.signal, session: source.info.name };
      const { access, caller } = context;
      const snapshot = ["1", "true"].includes(c.req.query("snapshot") ?? "");
      const record = this.record("ws.raw", source, context);
      return RawSocket.open(source, { access, caller }, snapshot, record);
    });
    this.mountSocket(app, "/sessions/:name/ws/view", async (c) => {
      const source = await sources.find(c.req.param("name") ?? "", c.get("verdict").session);
      const context = { ...wsContext(c), signal: c.req.raw.signal, session: source.info.name };
      const { access, caller } = context;
      const viewer = viewerName(c);
      const record = this.record("ws.view", source, context);
      const keys = this.options.viewKeys;
      const follows = c.get("verdict").share === true;
      return new ViewSocket({ sources, source, context: { access, caller }, viewer, follows, keys, record });
    });
    this.mountSocket(app, "/sessions/:name/ws/json", async (c) => {
      const source = await this.paneOf(c);
      return SessionSocket.open({ ...jsonOptions, context: wsContext(c) }, source);
    });
    this.mountSocket(app, "/ws/json", async (c) => {
      const context = wsContext(c);
      const share = shareOf(context);
      requireRoom(limits.max_websockets, share, this.serverSockets.values(), "WebSockets are open");
      const endpoint = new ServerSocket({
        ...jsonOptions,
        context,
        maxSubscriptions: limits.max_subscriptions,
        remoteEvents: this.options.remoteEvents,
        concealedFrom: this.options.concealedFrom,
        closed: (gone) => {
          this.serverSockets.delete(gone);
          this.options.connectionsChanged();
        },
      });
      this.serverSockets.set(endpoint, share);
      return endpoint;
    });
  }

  /** Null: nothing is recorded. */
  private record(operation: string, source: StreamedSession, context: CallContext): TypedInputRecord | null {
    const { audit } = this.options;
    if (audit === null) return null;
    const began = performance.now();
    return new TypedInputRecord(audit.hasher(), (typed) => {
      const ms = performance.now() - began;
      audit.write({ operation, input: null, context, reached: source.info, result: "ok", ms, typed });
    });
  }

  private paneOf(c: AppContext): Promise<StreamedPane> {
    return this.options.sources.pane(c.req.param("name") ?? "", c.get("verdict").session);
  }

  private mountSocket(app: Hono<AppEnv>, path: string, opening: (c: AppContext) => Promise<WebSocketEndpoint>): void {
    app.get(path, (c) => upgrade(c, this.options.sockets, () => opening(c)));
  }
}

/** Name for people of a page that shows a session: its token, or its browser. */
function viewerName(c: AppContext): string {
  const { tokenName } = c.get("verdict");
  if (nameless.has(tokenName)) return browserKind(c.req.header("user-agent") ?? "");
  return tokenName.replace(/^device:/, "");
}

function wsContext(c: AppContext): Omit<CallContext, "signal"> {
  return actingFor(c, { kind: "ws", id: `ws:${crypto.randomUUID()}`, connected: true });
}
