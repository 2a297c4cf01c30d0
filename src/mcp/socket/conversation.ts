/** One bridge's JSON-RPC over its connection, served by the SDK for both eras, until the connection ends. */
import type { JSONRPCMessage, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { callerAt, callerNamed, createMcpServer, type McpCaller, type McpSettings } from "../caller-server.ts";
import type { Changes } from "../resources/changes.ts";
import { listenedResources, statedName } from "../resources/listen-events.ts";
import { registerSubscriptions } from "../resources/resources.ts";
import { endScripts } from "../tools/script.ts";
import { type LineSocket, LineTransport } from "./line-transport.ts";

export interface ConversationOptions extends McpSettings {
  readonly changes: Changes;
  /** The caller's connection has ended, and everything it owns with it. */
  readonly callerGone?: (id: string) => void;
}

export class Conversation {
  readonly transport: LineTransport;
  private readonly disposables: Disposable[] = [];
  private readonly listenWatches = new Map<string | number, Disposable[]>();
  private modern: McpServer | null = null;

  constructor(
    socket: LineSocket,
    private readonly caller: McpCaller,
    private readonly options: ConversationOptions,
  ) {
    this.transport = new LineTransport(socket);
    this.transport.observe = (message) => this.followListens(message);
    serveStdio(({ era }) => this.serve(era), { transport: this.transport });
  }

  end(): void {
    this.transport.connectionLost();
    for (const listen of this.listenWatches.keys()) this.endListen(listen);
    for (const owned of this.disposables) owned[Symbol.dispose]();
    endScripts(this.caller.id);
    this.options.callerGone?.(this.caller.id);
  }

  private serve(era: "legacy" | "modern"): McpServer {
    const { changes, call } = this.options;
    const server = createMcpServer(this.options, this.caller);
    if (era === "legacy") {
      this.disposables.push(registerSubscriptions(server, changes, call, () => callerAt(server, this.caller)));
    } else {
      // The SDK forwards only the events that a listen requested.
      this.modern = server;
      this.disposables.push(changes.onSessions(() => void server.server.sendResourceListChanged().catch(() => {})));
    }
    return server;
  }

  /** The SDK answers `subscriptions/listen`; this code finds the resources to watch. */
  private followListens(message: JSONRPCMessage): void {
    if (!("method" in message)) return;
    const { params } = message;
    if (message.method === "notifications/cancelled") {
      const id = params?.requestId;
      if (typeof id === "string" || typeof id === "number") this.endListen(id);
    } else if (message.method === "subscriptions/listen" && "id" in message) {
      const caller = callerNamed(statedName(params), this.caller);
      const watches = listenedResources(params).map((uri) => {
        const tell = () => void this.modern?.server.sendResourceUpdated({ uri }).catch(() => {});
        return this.options.changes.onResource(uri, tell, caller);
      });
      this.endListen(message.id);
      this.listenWatches.set(message.id, watches);
    }
  }

  private endListen(id: string | number): void {
    for (const watch of this.listenWatches.get(id) ?? []) watch[Symbol.dispose]();
    this.listenWatches.delete(id);
  }
}
