/**
 * What this gateway answers to another machine's: who it is, one operation, and the socket of a session
 * (docs/protocol.md, Links). Checks, access and the audit log are those of every other request.
 */
import type { Hono } from "hono";
import type { AuditLog } from "../../instance/audit/audit-log.ts";
import type { Call, CallContext } from "../../operations/call.ts";
import { findOperation } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import { LinkCallSchema, type LinkHello } from "../../protocol/machines.ts";
import { PROTOCOL_VERSION } from "../../protocol/messages.ts";
import { parse } from "../../protocol/parse.ts";
import { type Asked, askedBy } from "../../protocol/requests.ts";
import { VERSION } from "../../protocol/version.ts";
import type { Hosts } from "../hosts/session-hosts.ts";
import type { AppContext, AppEnv } from "../http/context.ts";
import { findOrShow } from "../operations/find-or-show.ts";
import type { OnceCalls } from "../operations/once.ts";
import type { ServerState } from "../operations/server-state.ts";
import type { WebSockets } from "../websocket/websockets.ts";
import { SessionRelay } from "./session-relay.ts";

/** Streams of other machines at once. */
const MAX_STREAMS = 1024;

export interface LinkRoutesOptions {
  readonly call: Call;
  readonly once: Pick<OnceCalls, "cancel">;
  readonly hosts: Hosts;
  readonly state: Pick<ServerState, "hostname" | "serverId">;
  readonly sockets: WebSockets;
  readonly audit: AuditLog | null;
  /** A stream opened or closed. */
  readonly changed: () => void;
}

export class LinkRoutes {
  private streams = 0;

  constructor(private readonly options: LinkRoutesOptions) {}

  /** Open streams, which keep an ephemeral server alive. */
  get holders(): number {
    return this.streams;
  }

  mount(app: Hono<AppEnv>): void {
    app.get("/link", (c) => c.json(this.hello()));
    app.post("/link/call", async (c) => {
      c.env.server.timeout(c.req.raw, 0);
      return c.json({ result: (await this.called(c)) ?? {} });
    });
    // The caller there wants no answer any more; a lost connection says nothing of that.
    app.delete("/link/call", (c) => {
      const { once } = this.askedBy(c, { operation: "", input: null });
      if (once !== undefined) this.options.once.cancel(once.key);
      return c.body(null, 204);
    });
    app.get("/link/stream", (c) => this.stream(c));
  }

  private hello(): LinkHello {
    const { hostname, serverId } = this.options.state;
    return { wsh: PROTOCOL_VERSION, version: VERSION, server_id: serverId, hostname, now: Date.now() };
  }

  private async called(c: AppContext): Promise<unknown> {
    const body: unknown = await c.req.json().catch(() => null);
    const { op, session, input, caller } = parse(LinkCallSchema, body, { what: "the call" });
    const operation = findOperation(op);
    if (operation === undefined) throw new WshError("unknown_method", `no operation '${op}'`);
    const context = this.contextOf(c);
    const { name, ...who } = caller;
    return this.options.call(operation.name, (input ?? {}) as never, {
      ...context,
      ...this.askedBy(c, { operation: op, target: session, input }),
      caller: {
        ...who,
        id: `${context.caller.id}:${caller.id}`,
        connected: false,
        ...(name === undefined ? {} : { name }),
      },
      ...(operation.scope === "server" || session === undefined ? {} : { session }),
    });
  }

  private async stream(c: AppContext): Promise<Response> {
    if (c.req.header("upgrade")?.toLowerCase() !== "websocket") {
      throw new WshError("invalid_request", "this path takes WebSocket connections only", {}, { status: 426 });
    }
    if (this.streams >= MAX_STREAMS) throw new WshError("resource_limit_reached", `${MAX_STREAMS} streams are open`);
    const target = c.req.query("target") ?? "";
    const context = this.contextOf(c);
    const { audit, hosts, sockets } = this.options;
    const began = performance.now();
    let endpoint: SessionRelay | FailedStream;
    let host: Awaited<ReturnType<typeof findOrShow>> | null = null;
    let failure: WshError | null = null;
    try {
      host = await findOrShow(hosts, context, target);
    } catch (thrown) {
      failure = WshError.from(thrown);
    }
    if (host === null) endpoint = new FailedStream(failure ?? new WshError("session_not_found", "no session"));
    else {
      this.streams++;
      endpoint = new SessionRelay({
        socket: host.entry.socket,
        access: context.access,
        id: `${context.caller.id}#${crypto.randomUUID()}`,
        isOnly: context.only !== undefined,
        closed: () => {
          this.streams--;
          this.options.changed();
        },
      });
    }
    const result = failure?.code ?? "ok";
    const ms = performance.now() - began;
    const reached = host === null ? {} : { reached: host.info };
    audit?.write({
      operation: "link.stream",
      input: null,
      context: { ...context, session: target },
      result,
      ms,
      ...reached,
    });
    if (c.env.server.upgrade(c.req.raw, { data: endpoint })) {
      c.get("revoked")?.addEventListener("abort", () => sockets.drop(endpoint), { once: true });
      return new Response(null);
    }
    endpoint.close();
    throw new WshError("invalid_request", "the request is not a valid WebSocket handshake");
  }

  private askedBy(c: AppContext, asks: Parameters<typeof askedBy>[2]): Asked {
    return askedBy((name) => c.req.header(name), `link:${c.get("verdict").tokenName}`, asks);
  }

  private contextOf(c: AppContext): CallContext {
    const { access, tokenName, session } = c.get("verdict");
    return {
      signal: c.req.raw.signal,
      access,
      caller: { kind: "http", id: `link:${tokenName}`, connected: false },
      via: { token: tokenName, peer: c.env.peer },
      ...(session === undefined ? {} : { only: session }),
    };
  }
}

/** A client cannot read the answer to a refused handshake: it is told over the WebSocket. */
class FailedStream {
  constructor(private readonly error: WshError) {}

  open(socket: { send(text: string): number; close(code: number, reason: string): void }): void {
    socket.send(JSON.stringify({ error: this.error.toBody() }));
    socket.close(1011, this.error.code);
  }

  message(): void {}
  drain(): void {}
  close(): void {}
}
