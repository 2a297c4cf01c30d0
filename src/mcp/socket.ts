/**
 * The door for bridges: `NAME.mcp.sock`. After a hello line each way a connection is a conversation of JSON-RPC lines. A
 * connection is one caller; what it owns ends with it. The conversation's code, and the SDK with it, is loaded by the
 * first connection: most servers never have one, and it costs 20 ms and 25 MB.
 */
import type { Socket } from "bun";
import * as v from "valibot";
import { quiet, type Wire } from "../instance/quiet-socket.ts";
import { WshError } from "../protocol/errors.ts";
import { VERSION } from "../protocol/version.ts";
import type { Conversation, ConversationOptions } from "./conversation.ts";
import { MAX_HELLO_BYTES, MCP_SOCKET_VERSION, type ServerHello } from "./hello.ts";
import type { McpCaller } from "./server.ts";

const ClientHelloSchema = v.object({
  wsh_mcp: v.literal(MCP_SOCKET_VERSION),
  version: v.string(),
  cwd: v.optional(v.string()),
  env: v.optional(v.record(v.string(), v.string())),
  tools: v.optional(v.picklist(["core", "all"]), "all"),
  session: v.optional(v.string()),
  read_only: v.optional(v.boolean(), false),
});

export interface McpSocketOptions {
  /** Loads the conversation's code; called for every connection. */
  readonly load: () => Promise<{ readonly Talk: typeof Conversation; readonly options: ConversationOptions }>;
  /** A bridge came or went; they keep an ephemeral server. */
  readonly changed?: (connections: number) => void;
}

export interface McpSocket {
  readonly connections: number;
  stop(): void;
}

/** What is known of one connection; `conversation` once the hello was good and the code is there. */
interface Connection {
  hello: Uint8Array[];
  helloSize: number;
  conversation: Conversation | null;
  /** What carries it: Bun's socket, until the conversation begins. */
  wire: Wire;
  isOpen: boolean;
  /** It has ended, and with it what its caller owns. */
  readonly gone: () => void;
}

/** Listens; the directory guards who may connect. The caller has made sure that the path is free. */
export function listenMcp(path: string, options: McpSocketOptions): McpSocket {
  const open = new Set<Connection>();
  const listener = Bun.listen<Connection>({
    unix: path,
    socket: {
      open(socket) {
        const connection: Connection = {
          hello: [],
          helloSize: 0,
          conversation: null,
          wire: socket,
          isOpen: true,
          gone() {
            connection.isOpen = false;
            connection.conversation?.end();
            open.delete(connection);
            options.changed?.(open.size);
          },
        };
        socket.data = connection;
        open.add(connection);
        void options.load();
        options.changed?.(open.size);
      },
      data(socket, bytes) {
        const { conversation } = socket.data;
        if (conversation === null) greet(socket, bytes, options);
        else conversation.transport.push(bytes);
      },
      drain: (socket) => socket.data.conversation?.transport.drain(),
      close(socket) {
        // One that has left Bun's socket goes on without it.
        if (socket.data.wire === socket) socket.data.gone();
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
      for (const { wire } of open) wire.end();
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
    socket.pause();
    void converse(socket, caller, new Uint8Array(bytes.subarray(end + 1)), options);
  } catch (thrown) {
    socket.end(`${JSON.stringify({ error: WshError.from(thrown).toBody() })}\n`);
  }
}

/** Nothing is read while the code is loaded; what came with the hello is handed on first. */
async function converse(
  socket: Socket<Connection>,
  caller: McpCaller,
  rest: Uint8Array,
  { load }: McpSocketOptions,
): Promise<void> {
  const { Talk, options } = await load();
  const { data } = socket;
  if (!data.isOpen) return;
  const events = {
    data: (bytes: Uint8Array) => data.conversation?.transport.push(bytes),
    drain: () => data.conversation?.transport.drain(),
    close: data.gone,
  };
  // Between two calls of an agent lie minutes: nobody is to be woken in them.
  quiet(socket, events, (wire) => {
    data.wire = wire;
  });
  const conversation = new Talk(data.wire, caller, options);
  data.conversation = conversation;
  conversation.transport.push(rest);
  data.wire.resume();
}

/** @throws WshError invalid_request */
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
