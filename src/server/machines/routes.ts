/**
 * Serves another machine's gateway: this gateway's identity, one operation, and the socket of a session
 * (docs/protocol.md, Links). Checks, access and the audit log are those of every other request.
 */
import type { Hono } from "hono";
import type { Machines } from "../../cluster/machines.ts";
import type { CallContext } from "../../operations/call.ts";
import { requireAllSessions } from "../../operations/rights.ts";
import { WshError } from "../../protocol/errors.ts";
import { parseJson } from "../../protocol/json.ts";
import type { LinkHello } from "../../protocol/machines.ts";
import { PROTOCOL_VERSION } from "../../protocol/messages.ts";
import { ASKING_HEADER, askedBy, type RequestMeta } from "../../protocol/requests.ts";
import { VERSION } from "../../protocol/version.ts";
import { type AppContext, type AppEnv, actingFor, requestOwner } from "../http/context.ts";
import { errorResponse } from "../http/request.ts";
import type { ServerState } from "../operations/server-state.ts";
import { upgrade } from "../websocket/upgrade.ts";
import type { WebSockets } from "../websocket/websockets.ts";
import type { LinkEnd, RequestMetaReader } from "./link-end.ts";
import type { PlacementReport } from "./placement-report.ts";

interface LinkRoutesOptions {
  readonly linkEnd: LinkEnd;
  /** Resolves `machine` in a query, by which programs of this machine reach its fleet. */
  readonly machines: Pick<Machines, "link" | "fleet">;
  readonly state: Pick<ServerState, "hostname" | "serverId">;
  readonly reportPlacement: () => PlacementReport;
  readonly sockets: WebSockets;
}

export class LinkRoutes {
  constructor(private readonly options: LinkRoutesOptions) {}

  mount(app: Hono<AppEnv>): void {
    app.get("/link", (c) =>
      answerUnchanged(c, async () => {
        const machine = c.req.query("machine");
        const by = contextOf(c);
        this.options.linkEnd.leases.renew(c.req.header(ASKING_HEADER) ?? "");
        if (machine !== undefined) requireAllSessions(by, "another machine");
        // Times in answers are by this machine's clock.
        return c.json(machine === undefined ? this.hello(by) : { ...(await this.helloFrom(machine)), now: Date.now() });
      }),
    );
    app.post("/link/call", (c) => answerUnchanged(c, () => this.handleCall(c)));
    // The caller there cancels; a lost connection alone does not cancel.
    app.delete("/link/call", (c) => {
      const { once } = requestMetaOf(c, { operation: "", input: null });
      if (once !== undefined) this.options.linkEnd.cancel(once.key);
      return c.body(null, 204);
    });
    app.get("/link/stream", (c) => this.stream(c));
  }

  private async handleCall(c: AppContext): Promise<Response> {
    c.env.server.timeout(c.req.raw, 0);
    const body = jsonOf(await c.req.text());
    const machine = c.req.query("machine");
    const { linkEnd } = this.options;
    const context = contextOf(c);
    const readMeta: RequestMetaReader = (describedRequest) => requestMetaOf(c, describedRequest);
    const result =
      machine === undefined
        ? linkEnd.handleCall(body, context, readMeta, { asking: c.req.header(ASKING_HEADER) ?? "" })
        : linkEnd.forwardCall(machine, body, context, readMeta);
    return c.json({ result: await result });
  }

  private hello({ caller: { only } }: CallContext): LinkHello {
    const { hostname, serverId } = this.options.state;
    const { tags, ...placement } = this.options.reportPlacement();
    const own = { wsh: PROTOCOL_VERSION, version: VERSION, server_id: serverId, hostname, now: Date.now() };
    // Other load here does not concern a caller with a token for one session.
    return only === undefined ? { ...own, ...placement, tags: [...tags] } : own;
  }

  private async helloFrom(machine: string): Promise<LinkHello> {
    const { machines } = this.options;
    // A newly started server does not know its fleet yet.
    await machines.fleet?.ready();
    return machines.link(machine).hello();
  }

  private async stream(c: AppContext): Promise<Response> {
    const { linkEnd, sockets } = this.options;
    return upgrade(c, sockets, async () => {
      const { target = "", machine } = c.req.query();
      const process = c.req.query("process") === "pane" ? "pane" : "session";
      const context = contextOf(c);
      try {
        return machine === undefined
          ? await linkEnd.openStream(target, process, context)
          : linkEnd.forwardStream(machine, target, process, context);
      } catch (thrown) {
        return new FailedStream(WshError.from(thrown));
      }
    });
  }
}

/** Invalid JSON is refused like any other invalid request. */
function jsonOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

/** The asking gateway shows the error with its own hints. */
async function answerUnchanged(c: AppContext, answer: () => Promise<Response>): Promise<Response> {
  try {
    return await answer();
  } catch (thrown) {
    return errorResponse(thrown, c.req.path, true);
  }
}

function contextOf(c: AppContext): CallContext {
  const caller = { kind: "http", id: `link:${c.get("verdict").tokenName}`, connected: false } as const;
  return { signal: c.req.raw.signal, ...actingFor(c, caller) };
}

function requestMetaOf(c: AppContext, describedRequest: Parameters<RequestMetaReader>[0]): RequestMeta {
  return askedBy((name) => c.req.header(name), requestOwner(c, "link"), describedRequest);
}

/** A client cannot read the answer to a refused handshake: the error is sent over the WebSocket. */
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
