/**
 * All listeners of the server behind one app: TCP if requested (with `localhost` in both address families), and the
 * Unix socket. New certificates take effect by listening again on the same port. Open connections are kept, except
 * those between two requests: Bun closes those with the old listener, and clients reconnect.
 */
import { X509Certificate } from "node:crypto";
import type { Hono } from "hono";
import { WshError } from "../../protocol/errors.ts";
import { bindAside } from "../../registry/single-server.ts";
import type { WebSocketEndpoint } from "../websocket/websockets.ts";
import { type Bind, hostName, isLoopback } from "./address.ts";
import type { AppEnv, RequestOrigin } from "./context.ts";
import { certificateProblem, readTls, type TlsFiles, type TlsPem } from "./tls-files.ts";
import { UnixFront } from "./unix-front.ts";

/** Seconds of silence after which a TCP connection is closed; routes that wait disable it for themselves. */
const TCP_IDLE_S = 120;
/**
 * Idle timeout of the Unix socket, on which waits take minutes: Bun's default is 10 s, and a single request cannot
 * disable it there. Bun's types have no such option beside `unix`; `object` hides it from them.
 */
const NO_IDLE_LIMIT: object = { idleTimeout: 0 };
/** Largest body that is read only to be answered with a refusal; for a longer one the connection is closed. */
const MAX_READ_BYTES = 16 * 1024 * 1024;

interface SocketHandlers {
  /** Bun's WebSocket handler, shared by all listeners. */
  readonly websocket: Bun.WebSocketHandler<WebSocketEndpoint>;
}

function serveUnix(
  path: string,
  agent: string | null,
  app: Hono<AppEnv>,
  handlers: SocketHandlers,
): Bun.Server<WebSocketEndpoint> {
  return Bun.serve({
    ...NO_IDLE_LIMIT,
    unix: path,
    maxRequestBodySize: MAX_READ_BYTES,
    fetch: (request: Request, server: Bun.Server<WebSocketEndpoint>) =>
      app.fetch(request, { listener: "unix", agent, peer: null, peerPort: null, server } satisfies RequestOrigin),
    websocket: handlers.websocket,
  });
}

/** @throws WshError invalid_request when the address is in use or not this machine's */
function listenTcp(
  bind: Bind,
  app: Hono<AppEnv>,
  handlers: SocketHandlers,
  tls: TlsPem | null,
): Bun.Server<WebSocketEndpoint> {
  try {
    return Bun.serve({
      hostname: bind.host,
      port: bind.port,
      idleTimeout: TCP_IDLE_S,
      maxRequestBodySize: MAX_READ_BYTES,
      fetch(request: Request, server: Bun.Server<WebSocketEndpoint>) {
        const { address: peer = null, port: peerPort = null } = server.requestIP(request) ?? {};
        return app.fetch(request, { listener: "tcp", agent: null, peer, peerPort, server } satisfies RequestOrigin);
      },
      ...(tls === null ? {} : { tls: { cert: tls.certPem, key: tls.keyPem } }),
      websocket: handlers.websocket,
    });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new WshError(
      "invalid_request",
      `cannot listen on ${hostName(bind.host)}:${bind.port}: ${reason}`,
      {
        hint: "Choose another address with --bind, or --bind none.",
      },
      { cause },
    );
  }
}

interface ListenersOptions {
  readonly bind: Bind | null;
  readonly tls: TlsFiles | null;
  readonly httpSocket: string;
  readonly app: Hono<AppEnv>;
  readonly handlers: SocketHandlers;
  /** The AI agent among the ancestors of a process of this account; null: none, or agents have no limits here. */
  readonly agentAt: (pid: number) => string | null;
}

export class Listeners {
  private tcp: { server: Bun.Server<WebSocketEndpoint>; readonly bind: Bind }[] = [];
  private readonly unix: UnixFront;
  /** Content of the files when they were last valid. */
  private pem: TlsPem | null;

  /**
   * Listens over TCP; the Unix socket follows when everything else is ready (listenUnix), since clients send requests
   * as soon as they find it.
   * @throws WshError invalid_request when an address cannot be bound or the TLS files cannot be read
   */
  constructor(private readonly options: ListenersOptions) {
    const { app, handlers, agentAt } = options;
    this.unix = new UnixFront({ agentAt, serve: (path, agent) => serveUnix(path, agent, app, handlers) });
    this.pem = options.tls === null ? null : readTls(options.tls);
    try {
      const { bind } = options;
      if (bind !== null) {
        const port = this.listen(bind);
        // `localhost` may mean ::1; without IPv6, or if the port is taken there, 127.0.0.1 suffices.
        if (bind.host === "127.0.0.1") this.tryListen({ host: "::1", port });
      }
    } catch (error) {
      for (const { server } of this.tcp) void server.stop(true);
      throw error;
    }
  }

  /** Listens on the Unix socket, which must be free; again after its file was deleted: open connections are kept. */
  listenUnix(): void {
    bindAside(this.options.httpSocket, (path) => this.unix.listen(path));
  }

  /** Origins over TCP. */
  get addresses(): string[] {
    return this.tcp.map(({ server }) => server.url.origin);
  }

  /**
   * Address for TCP from programs of this machine. If there is none, listens at the first free one of `candidates`.
   * @throws WshError invalid_request when none is free
   */
  loopback(candidates: readonly Bind[]): URL {
    const listener = this.tcp.find(
      ({ bind }) => isLoopback(bind.host) || bind.host === "0.0.0.0" || bind.host === "::",
    );
    if (listener !== undefined) return listener.server.url;
    for (const [index, bind] of candidates.entries()) {
      try {
        const port = this.listen(bind);
        this.tryListen({ host: "::1", port });
        break;
      } catch (error) {
        if (index === candidates.length - 1) throw error;
      }
    }
    return this.loopback([]);
  }

  /** Whether the certificate covers a name. */
  isFor(name: string): boolean {
    return this.pem !== null && new X509Certificate(this.pem.certPem).checkHost(name) !== undefined;
  }

  /** Why clients will refuse the certificate; null: they accept it, or there is none. */
  get certificateProblem(): string | null {
    return this.pem === null ? null : certificateProblem(this.pem, Date.now());
  }

  /**
   * Reads certificate and key again. @throws WshError invalid_request when they are invalid; then the old ones are kept
   */
  reloadTls(): void {
    const { tls, app, handlers } = this.options;
    if (tls === null) return;
    const pem = readTls(tls);
    this.pem = pem;
    for (const entry of this.tcp) {
      void entry.server.stop(false);
      entry.server = listenTcp(entry.bind, app, handlers, pem);
    }
  }

  async stop(): Promise<void> {
    await Promise.all([this.unix.stop(), ...this.tcp.map(({ server }) => server.stop(true))]);
  }

  private listen(bind: Bind): number {
    const { app, handlers } = this.options;
    const server = listenTcp(bind, app, handlers, this.pem);
    const port = server.port ?? bind.port;
    this.tcp.push({ server, bind: { host: bind.host, port } });
    return port;
  }

  private tryListen(bind: Bind): void {
    try {
      this.listen(bind);
    } catch {
      // Optional: see the comment on `localhost`.
    }
  }
}
