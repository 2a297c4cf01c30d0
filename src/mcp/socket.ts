/**
 * The door for bridges: `NAME.mcp.sock`. After a hello line each way a connection carries JSON-RPC lines, served by the
 * SDK for both eras. A connection is one caller; what it owns ends with it. Reading stops while the peer does not read.
 */

import type { JSONRPCMessage, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Socket } from "bun";
import * as v from "valibot";
import { WshError } from "../protocol/errors.ts";
import { VERSION } from "../protocol/version.ts";
import type { Changes } from "./changes.ts";
import { MAX_HELLO_BYTES, MCP_SOCKET_VERSION, type ServerHello } from "./hello.ts";
import { LineTransport } from "./line-transport.ts";
import { listenedResources } from "./listens.ts";
import { registerSubscriptions } from "./resources.ts";
import { createMcpServer, type McpCaller, type McpSettings } from "./server.ts";

const ClientHelloSchema = v.object({
  wsh_mcp: v.literal(MCP_SOCKET_VERSION),
  version: v.string(),
  cwd: v.optional(v.string()),
  env: v.optional(v.record(v.string(), v.string())),
  tools: v.optional(v.picklist(["core", "all"]), "all"),
  session: v.optional(v.string()),
  read_only: v.optional(v.boolean(), false),
});

export interface McpSocketOptions extends McpSettings {
  readonly changes: Changes;
  /** A bridge came or went; they keep an ephemeral server. */
  readonly changed?: (connections: number) => void;
  /** The caller's connection has ended, and with it what it owns. */
  readonly callerGone?: (id: string) => void;
}

export interface McpSocket {
  readonly connections: number;
  stop(): void;
}

/** What is known of one connection; `conversation` once the hello was good. */
interface Connection {
  hello: Uint8Array[];
  helloSize: number;
  conversation: Conversation | null;
}

/** Listens; the directory guards who may connect. The caller has made sure that the path is free. */
export function listenMcp(path: string, options: McpSocketOptions): McpSocket {
  const open = new Set<Socket<Connection>>();
  const listener = Bun.listen<Connection>({
    unix: path,
    socket: {
      open(socket) {
        socket.data = { hello: [], helloSize: 0, conversation: null };
        open.add(socket);
        options.changed?.(open.size);
      },
      data(socket, bytes) {
        if (socket.data.conversation !== null) socket.data.conversation.transport.push(bytes);
        else greet(socket, bytes, options);
      },
      drain: (socket) => socket.data.conversation?.transport.drain(),
      close(socket) {
        socket.data.conversation?.end();
        open.delete(socket);
        options.changed?.(open.size);
      },
      error(socket) {
        socket.end();
      },
    },
  });
  return {
    get connections() {
      return open.size;
    },
    stop() {
      listener.stop(false);
      for (const socket of open) socket.end();
    },
  };
}

/** Collects the first line, answers it, and hands what follows to the conversation. */
function greet(socket: Socket<Connection>, bytes: Uint8Array, options: McpSocketOptions): void {
  const { data } = socket;
  const end = bytes.indexOf(0x0a);
  data.hello.push(new Uint8Array(end === -1 ? bytes : bytes.subarray(0, end)));
  data.helloSize += bytes.length;
  try {
    if (end === -1) {
      if (data.helloSize <= MAX_HELLO_BYTES) return;
      throw new WshError("invalid_request", `the first line is over ${MAX_HELLO_BYTES} bytes`);
    }
    const caller = callerOf(Buffer.concat(data.hello).toString());
    data.hello = [];
    const answer: ServerHello = { wsh_mcp: MCP_SOCKET_VERSION, version: VERSION, pid: process.pid };
    socket.write(`${JSON.stringify(answer)}\n`);
    data.conversation = new Conversation(socket, caller, options);
    data.conversation.transport.push(bytes.subarray(end + 1));
  } catch (thrown) {
    socket.end(`${JSON.stringify({ error: WshError.from(thrown).toBody() })}\n`);
  }
}

/** @throws WshError host_version or invalid_request */
function callerOf(line: string): McpCaller {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new WshError("invalid_request", "the first line is not JSON");
  }
  const parsed = v.safeParse(ClientHelloSchema, value);
  if (!parsed.success) {
    const [issue] = parsed.issues;
    throw new WshError("invalid_request", `the hello's '${v.getDotPath(issue) ?? ""}': ${issue.message}`, {
      hint: `This server is wsh ${VERSION}; restart it, or use the wsh that started it.`,
    });
  }
  const { tools, session, cwd, env, read_only } = parsed.output;
  return {
    id: `mcp:${crypto.randomUUID()}`,
    connected: true,
    access: read_only ? "observe" : "admin",
    tools,
    ...(session === undefined ? {} : { session }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env }),
  };
}

/** One caller's JSON-RPC, until its connection ends. */
class Conversation {
  readonly transport: LineTransport;
  private readonly owned: Disposable[] = [];
  private readonly listens = new Map<string | number, Disposable[]>();
  private modern: McpServer | null = null;

  constructor(
    socket: Socket<Connection>,
    private readonly caller: McpCaller,
    private readonly options: McpSocketOptions,
  ) {
    this.transport = new LineTransport(socket);
    this.transport.observe = (message) => this.followListens(message);
    serveStdio(({ era }) => this.serve(era), { transport: this.transport });
  }

  end(): void {
    this.transport.lost();
    for (const listen of this.listens.keys()) this.endListen(listen);
    for (const owned of this.owned) owned[Symbol.dispose]();
    this.options.callerGone?.(this.caller.id);
  }

  private serve(era: "legacy" | "modern"): McpServer {
    const { changes } = this.options;
    const server = createMcpServer(this.options, this.caller);
    if (era === "legacy") {
      this.owned.push(registerSubscriptions(server, changes));
    } else {
      // The SDK sends on only what a listen asked for.
      this.modern = server;
      this.owned.push(changes.onSessions(() => void server.server.sendResourceListChanged().catch(() => {})));
    }
    return server;
  }

  /** The SDK answers `subscriptions/listen`; which resources to watch for it is ours to find out. */
  private followListens(message: JSONRPCMessage): void {
    if (!("method" in message)) return;
    const { params } = message;
    if (message.method === "notifications/cancelled") {
      const id = params?.requestId;
      if (typeof id === "string" || typeof id === "number") this.endListen(id);
    } else if (message.method === "subscriptions/listen" && "id" in message) {
      const watches = listenedResources(params).map((uri) =>
        this.options.changes.onResource(
          uri,
          () => void this.modern?.server.sendResourceUpdated({ uri }).catch(() => {}),
        ),
      );
      this.endListen(message.id);
      this.listens.set(message.id, watches);
    }
  }

  private endListen(id: string | number): void {
    for (const watch of this.listens.get(id) ?? []) watch[Symbol.dispose]();
    this.listens.delete(id);
  }
}
