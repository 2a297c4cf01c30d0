/**
 * Another machine whose gateway answers what a test wants: a real server, and in front of it a proxy that changes its
 * answers, the messages of its streams, and its events. Requests arrive unchanged.
 */
import { encodeJsonMessage, MessageDecoder, messageJson, messageTypes } from "../../src/protocol/messages.ts";
import { Wsh } from "./wsh.ts";

/** Replacement of a JSON value. @param what the operation, `hello` of its gateway, `event`, or `stream` */
export type Lie = (what: string, said: unknown) => unknown;

interface Pair {
  remote: WebSocket;
  readonly path: string;
  readonly decoder: MessageDecoder;
}

const jsonTypes: ReadonlySet<number> = new Set([messageTypes.hello, messageTypes.response, messageTypes.event]);

export class LyingMachine implements AsyncDisposable {
  private readonly server: Bun.Server<Pair>;
  private readonly local = new Set<Bun.ServerWebSocket<Pair>>();
  lie: Lie = (_, said) => said;

  private constructor(
    /** The unchanged machine. */
    readonly remote: Wsh,
    private readonly url: string,
  ) {
    this.server = Bun.serve<Pair>({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request, server) => this.answer(request, server),
      websocket: {
        open: (socket) => this.open(socket),
        message: ({ data }, message) => data.remote.send(message),
        close: (socket) => {
          this.local.delete(socket);
          socket.data.remote.close();
        },
      },
    });
  }

  static async start(): Promise<LyingMachine> {
    const remote = new Wsh();

    return new LyingMachine(remote, await remote.tcpServer("--no-auth"));
  }

  get address(): string {
    return `http://127.0.0.1:${this.server.port}`;
  }

  /** Sends an event to all of its subscribers. */
  tell(text: string): void {
    for (const socket of this.local) if (socket.data.path.startsWith("/ws/json")) socket.send(text);
  }

  private async answer(request: Request, server: Bun.Server<Pair>): Promise<Response | undefined> {
    const { pathname, search } = new URL(request.url);
    const path = `${pathname}${search}`;
    if (request.headers.get("upgrade") !== null) {
      const remote = new WebSocket(`${this.url.replace("http", "ws")}${path}`);
      remote.binaryType = "arraybuffer";
      const opened = Promise.withResolvers<void>();
      remote.onopen = () => opened.resolve();
      await opened.promise;
      server.upgrade(request, { data: { remote, path, decoder: new MessageDecoder() } });
      return undefined;
    }
    const body = request.method === "GET" ? null : await request.text();
    const headers = new Headers(request.headers);
    headers.delete("host");
    const response = await fetch(`${this.url}${path}`, { method: request.method, headers, body });
    const said = await response.json().catch(() => null);
    const what = pathname === "/link" ? "hello" : String(Object(JSON.parse(body || "{}")).op);
    const { status } = response;
    if (what === "hello" || "error" in Object(said)) return Response.json(this.lie(what, said), { status });
    const told = this.lie(what, Object(said).result);
    // Where the head is given, a text is the answer itself.
    if (typeof told === "string" && told.startsWith("{")) return new Response(told);
    return Response.json(isError(told) ? told : { result: told }, { status });
  }

  private open(socket: Bun.ServerWebSocket<Pair>): void {
    const { remote, path, decoder } = socket.data;
    this.local.add(socket);
    const isStream = path.startsWith("/link/stream");
    remote.onmessage = ({ data }) => {
      if (typeof data === "string") {
        const said = JSON.parse(data);
        socket.send(isStream ? data : JSON.stringify(said.event === undefined ? said : this.lie("event", said)));
        return;
      }
      for (const message of decoder.push(new Uint8Array(data))) {
        const { type, payload } = message;
        const said = jsonTypes.has(type) ? encodeJsonMessage(type, this.lie("stream", messageJson(message))) : null;
        const head = new Uint8Array(5);
        head[0] = type;
        new DataView(head.buffer).setUint32(1, payload.length);
        socket.send(said ?? Buffer.concat([head, payload]));
      }
    };
    remote.onclose = () => socket.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop(true);
    await this.remote[Symbol.asyncDispose]();
  }
}

function isError(said: unknown): boolean {
  return typeof said === "object" && said !== null && "error" in said;
}
