/**
 * MCP for the gateway: a socket that listens for bridges, a handler for `/mcp`, and a way to stop. The SDK is loaded by
 * the first caller, so that a server without MCP clients neither waits for it nor holds it in memory.
 */

import type { Call } from "../operations/call.ts";
import { defined } from "../protocol/defined.ts";
import { bindAside } from "../registry/single-server.ts";
import type { McpExtension } from "./caller-server.ts";
import type { HttpIdentity } from "./http/caller.ts";
import type { McpHttp } from "./http/http.ts";
import { Changes, type SessionFeed } from "./resources/changes.ts";
import type { ConversationOptions } from "./socket/conversation.ts";
import { listenMcp, type McpSocket } from "./socket/listener.ts";

export interface McpEndpointOptions {
  readonly call: Call;
  /** Calls back with a session's id when it started, ended or was renamed. */
  readonly sessions: SessionFeed;
  /** Whether other machines are reachable. */
  readonly hasMachines?: () => boolean;
  /** Longest wait of a call that sets none, in ms (setting mcp_max_wait_ms). Default 30 000. */
  readonly maxWaitMs?: number;
  /** Interval between progress notifications, in ms. Default 1 000. */
  readonly progressMs?: number;
  /** Idle time after which a session over HTTP ends, in ms. Default half an hour. */
  readonly idleMs?: number;
  /** Sessions over HTTP at once. Default 256. */
  readonly maxSessions?: number;
  /** Served in addition to wsh's own tools. */
  readonly extend?: McpExtension;
  /** Bridges connected or left; they keep an ephemeral server. */
  readonly changed?: (bridges: number) => void;
  /** A caller's connection or session has ended, and with it everything that it owns. */
  readonly callerGone?: (id: string) => void;
}

export class McpEndpoint {
  private readonly changes: Changes;
  private readonly sockets: McpSocket[] = [];
  private http: Promise<McpHttp> | null = null;
  private conversation: ReturnType<McpEndpoint["loadConversation"]> | null = null;

  constructor(private readonly options: McpEndpointOptions) {
    this.changes = new Changes(options.call, options.sessions);
  }

  /** Connected bridges. */
  get bridges(): number {
    return this.sockets.reduce((sum, { connections }) => sum + connections, 0);
  }

  /** Listens for bridges. The path must be free; an earlier socket keeps serving its bridges. */
  listen(path: string): void {
    const { changed } = this.options;
    const options = {
      loadConversation: () => (this.conversation ??= this.loadConversation()),
      ...(changed === undefined ? {} : { changed: () => changed(this.bridges) }),
    };
    this.sockets.push(bindAside(path, (aside) => listenMcp(aside, options)));
  }

  /** Answers an admitted request to `/mcp`. Its time limit must be off: an answer may be a stream. */
  async handle(request: Request, identity: HttpIdentity): Promise<Response> {
    this.http ??= this.loadHttp();
    return (await this.http).handle(request, identity);
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.stop();
    await (await this.http)?.stop();
  }

  private async loadConversation() {
    const { Conversation } = await import("./socket/conversation.ts");
    return { ConversationClass: Conversation, options: this.conversationOptions() };
  }

  private async loadHttp(): Promise<McpHttp> {
    const { createMcpHttp } = await import("./http/http.ts");
    const { idleMs, maxSessions } = this.options;
    return createMcpHttp({
      ...this.conversationOptions(),
      ...defined({ idleMs, maxSessions }),
    });
  }

  private conversationOptions(): ConversationOptions {
    const { call, maxWaitMs, progressMs, callerGone, extend, hasMachines } = this.options;
    return {
      call,
      changes: this.changes,
      ...defined({ maxWaitMs, hasMachines, progressMs, callerGone, extend }),
    };
  }
}
