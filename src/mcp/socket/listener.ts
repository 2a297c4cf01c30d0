/**
 * The socket for bridges: `NAME.mcp.sock`. After a hello line each way a connection is a conversation of JSON-RPC
 * lines. A connection is one caller; what it owns ends with it. The first connection loads the conversation's code and
 * the SDK: most servers never have one, and it costs 20 ms and 25 MB.
 */

import * as v from "valibot";
import { agentAt, ownerProcessAt } from "../../platform/agent-above.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { parse } from "../../protocol/parse.ts";
import { VERSION } from "../../protocol/version.ts";
import { Wire, type WireEvents } from "../../wire/socket.ts";
import type { McpCaller } from "../caller-server.ts";
import { toolSets } from "../tools/tool-sets.ts";
import type { Conversation, ConversationOptions } from "./conversation.ts";
import { MAX_HELLO_BYTES, MCP_SOCKET_VERSION, type ServerHello } from "./hello.ts";

const ClientHelloSchema = v.object({
  wsh_mcp: v.literal(MCP_SOCKET_VERSION),
  version: v.string(),
  /** The agent's directory and environment, for programs that it starts. */
  cwd: v.exactOptional(v.string()),
  env: v.exactOptional(v.record(v.string(), v.string())),
  tools: v.optional(v.picklist(toolSets), "all"),
  session: v.optional(v.string()),
  /** The AI agent among the client's ancestors, if it is known. */
  agent: v.optional(v.string()),
  read_only: v.optional(v.boolean(), false),
});
/** The client's first message. */
export type ClientHello = v.InferInput<typeof ClientHelloSchema>;

interface McpSocketOptions {
  /** Loads the conversation's code; called for every connection. */
  readonly loadConversation: () => Promise<{
    readonly ConversationClass: typeof Conversation;
    readonly options: ConversationOptions;
  }>;
  /** A bridge connected or left; they keep an ephemeral server. */
  readonly changed?: (connections: number) => void;
}

export interface McpSocket {
  readonly connections: number;
  stop(): void;
}

/** Listens; the directory controls who may connect. The caller has ensured that the path is free. */
export function listenMcp(path: string, options: McpSocketOptions): McpSocket {
  const open = new Set<BridgeConnection>();
  const changed = (): void => options.changed?.(open.size);
  const listener = Wire.listen(path, (wire) => {
    const bridge = new BridgeConnection(wire, options.loadConversation, () => {
      open.delete(bridge);
      changed();
    });
    open.add(bridge);
    void options.loadConversation();
    changed();
    return bridge;
  });
  return {
    get connections() {
      return open.size;
    },
    stop() {
      listener.stop();
      for (const bridge of open) bridge.end();
    },
  };
}

/** One connection; `conversation` is set once the hello was valid and the code is loaded. */
class BridgeConnection implements WireEvents {
  private hello: Uint8Array[] = [];
  private helloSize = 0;
  private conversation: Conversation | null = null;
  private isOpen = true;

  constructor(
    private readonly wire: Wire,
    private readonly loadConversation: McpSocketOptions["loadConversation"],
    /** Called when the connection has ended, and with it everything that its caller owns. */
    private readonly onGone: () => void,
  ) {}

  data(bytes: Uint8Array): void {
    if (this.conversation === null) this.greet(bytes);
    else this.conversation.transport.push(bytes);
  }

  drain(): void {
    this.conversation?.transport.drain();
  }

  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.conversation?.end();
    this.onGone();
  }

  /** Closes the connection. */
  end(): void {
    this.wire.end();
    this.close();
  }

  /** Collects the first line, answers it, and passes later bytes to the conversation. */
  private greet(bytes: Uint8Array): void {
    const end = bytes.indexOf(0x0a);
    this.hello.push(new Uint8Array(end === -1 ? bytes : bytes.subarray(0, end)));
    this.helloSize += bytes.length;
    try {
      if (end === -1) {
        if (this.helloSize <= MAX_HELLO_BYTES) return;
        throw new WshError("invalid_request", `the first line exceeds ${MAX_HELLO_BYTES} bytes`);
      }
      const pid = this.wire.peerPid;
      // The bridge's own statement counts only if the kernel does not show an agent.
      const agent = (pid === null ? null : agentAt(pid)) ?? undefined;
      const statement = callerOf(Buffer.concat(this.hello).toString());
      // The host decides how long the bridge lives.
      const caller = {
        ...statement,
        ...defined({ process: pid === null ? undefined : ownerProcessAt(pid), agent: agent ?? statement.agent }),
      };
      this.hello = [];
      this.send({ wsh_mcp: MCP_SOCKET_VERSION, version: VERSION, pid: process.pid } satisfies ServerHello);
      this.wire.pause();
      void this.converse(caller, new Uint8Array(bytes.subarray(end + 1)));
    } catch (thrown) {
      this.send({ error: WshError.from(thrown).bodyAt("mcp") });
      this.end();
    }
  }

  /** Writes a line, which any new socket takes in one piece. */
  private send(value: unknown): void {
    this.wire.write(Buffer.from(`${JSON.stringify(value)}\n`));
  }

  /** Nothing is read while the code is loaded; bytes that came with the hello are passed on first. */
  private async converse(caller: McpCaller, rest: Uint8Array): Promise<void> {
    const { ConversationClass, options } = await this.loadConversation();
    if (!this.isOpen) return;
    // Minutes pass between two calls of an agent: the connection must cause no wake-ups meanwhile.
    this.wire.rest();
    const conversation = new ConversationClass(this.wire, caller, options);
    this.conversation = conversation;
    conversation.transport.push(rest);
    this.wire.resume();
  }
}

/** @throws WshError invalid_request */
function callerOf(line: string): McpCaller {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new WshError("invalid_request", "the first line is not JSON");
  }
  const { tools, session, cwd, env, agent, read_only } = parse(ClientHelloSchema, value, {
    what: "the hello",
    hint: `This server is wsh ${VERSION}; restart it, or use the wsh that started it.`,
  });
  return {
    id: `mcp:${crypto.randomUUID()}`,
    connected: true,
    access: read_only ? "observe" : "admin",
    tools,
    ...defined({ session, cwd, env, agent }),
  };
}
