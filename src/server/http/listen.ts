/** Listens on the Unix socket and TCP addresses, each with the same app. */
import type { Hono } from "hono";
import { WshError } from "../../protocol/errors.ts";
import type { WebSocketEndpoint } from "../websocket/websockets.ts";
import { type Bind, hostName } from "./address.ts";
import type { AppEnv, RequestOrigin } from "./context.ts";
import type { TlsPem } from "./tls-files.ts";

/** Seconds of silence after which a TCP connection is closed; routes that wait disable it for themselves. */
const TCP_IDLE_S = 120;
/**
 * Idle timeout of the Unix socket, on which waits take minutes: Bun's default is 10 s, and a single request cannot
 * disable it there. Bun's types have no such option beside `unix`; `object` hides it from them.
 */
const NO_IDLE_LIMIT: object = { idleTimeout: 0 };
/** Largest body that is read only to answer with a refusal; past it the connection is closed. */
const MAX_READ_BYTES = 16 * 1024 * 1024;

export interface SocketHandlers {
  /** Bun's WebSocket handler, shared by all listeners. */
  readonly websocket: Bun.WebSocketHandler<WebSocketEndpoint>;
}

export function listenUnix(path: string, app: Hono<AppEnv>, handlers: SocketHandlers): Bun.Server<WebSocketEndpoint> {
  return Bun.serve({
    ...NO_IDLE_LIMIT,
    unix: path,
    maxRequestBodySize: MAX_READ_BYTES,
    fetch: (request: Request, server: Bun.Server<WebSocketEndpoint>) =>
      app.fetch(request, { listener: "unix", peer: null, peerPort: null, server } satisfies RequestOrigin),
    websocket: handlers.websocket,
  });
}

/** @throws WshError invalid_request when the address is in use or not this machine's */
export function listenTcp(
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
        return app.fetch(request, { listener: "tcp", peer, peerPort, server } satisfies RequestOrigin);
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
