/**
 * The common part of the gateway's WebSockets: Bun's handler for all listeners, keep-alive, and a connection's
 * limits. The endpoint defines the protocol. A peer that leaves a ping unanswered is closed. When a peer does not
 * read, `send` reports that, and the endpoint decides what to send; a peer beyond the queue limit is
 * disconnected.
 */
import { WshError } from "../../protocol/errors.ts";

/** Longest message from a client (docs/protocol.md, Limits); past it the connection is dropped. */
const MAX_MESSAGE_BYTES = 1024 * 1024;

interface KeepAlive {
  /** Interval between pings, in ms. */
  readonly pingMs: number;
  /** Longest wait for the answer, in ms. */
  readonly pongMs: number;
}

export type WebSocketPeer = Bun.ServerWebSocket<WebSocketEndpoint>;

/** The endpoint's side of one connection. */
export interface WebSocketEndpoint {
  open(socket: WebSocketPeer): void;
  message(data: string | Uint8Array): void;
  /** The queue is empty. */
  drain(): void;
  /** The connection is gone; called once. */
  close(): void;
}

/** Close codes of the gateway (RFC 6455 §7.4.1). */
export const closeCodes = { normal: 1000, policy: 1008, trouble: 1011 } as const;

/**
 * Maximum typed bytes that no session process has taken: a few large pastes. It takes megabytes at once unless it
 * hangs.
 */
export const MAX_PENDING_INPUT = 4 * 1024 * 1024;

/** Closes a connection whose input its session process does not take. @param pending bytes */
export function closeIfInputPends(socket: WebSocketPeer | null, pending: number): void {
  if (pending > MAX_PENDING_INPUT) socket?.close(closeCodes.trouble, "the session does not accept its input");
}

/** The body of an error message. */
export function errorBody(thrown: unknown) {
  const { schema, ...body } = WshError.from(thrown).bodyAt("http");
  return body;
}

/** Reason in the close frame for a session's end. */
export function closeReason(reason: string): { readonly code: number; readonly reason: string } {
  switch (reason) {
    case "killed":
      return { code: closeCodes.normal, reason: "session killed" };
    case "server_stopped":
      return { code: closeCodes.normal, reason: "server shutting down" };
    case "moved_away":
      return { code: closeCodes.policy, reason: "the pane is in another session" };
    case "private":
      return { code: closeCodes.policy, reason: "the session is private now" };
    case "session_crashed":
      return { code: closeCodes.trouble, reason: "session process crashed" };
    case "access_denied":
      return { code: closeCodes.policy, reason: "this caller may not type" };
    case "input_refused":
      return { code: closeCodes.trouble, reason: "the program does not read its input" };
    default:
      return { code: closeCodes.normal, reason: "session ended" };
  }
}

export class WebSockets {
  private readonly open = new Map<WebSocketEndpoint, OpenConnection>();
  /** For endpoints that are not open yet: the end of the token that admitted them. */
  private readonly endSignals = new WeakMap<WebSocketEndpoint, AbortSignal>();

  constructor(
    private readonly keepAlive: KeepAlive,
    /** Maximum bytes that wait for a peer before it is dropped. */
    private readonly maxQueueBytes: number,
  ) {}

  get count(): number {
    return this.open.size;
  }

  /** For Bun.serve. */
  get handler(): Bun.WebSocketHandler<WebSocketEndpoint> {
    return {
      maxPayloadLength: MAX_MESSAGE_BYTES,
      backpressureLimit: this.maxQueueBytes,
      closeOnBackpressureLimit: true,
      // The gateway sends its own pings: Bun's are tied to its idle timeout.
      idleTimeout: 0,
      sendPings: false,
      // Only pictures of views are compressed, with a window of 16 KB per socket that requests it.
      perMessageDeflate: { compress: "16KB", decompress: false },
      open: (socket) => {
        const ended = this.endSignals.get(socket.data);
        this.open.set(socket.data, new OpenConnection(socket, this.keepAlive, ended, () => this.drop(socket)));
        if (ended?.aborted === true) this.drop(socket);
        else socket.data.open(socket);
      },
      message: (socket, data) => {
        if (this.open.has(socket.data)) socket.data.message(data);
      },
      drain: (socket) => socket.data.drain(),
      pong: (socket) => this.open.get(socket.data)?.pongReceived(),
      close: (socket) => this.forget(socket),
    };
  }

  /** The connection that is about to be opened ends with the token that admitted it. */
  endWith(ended: AbortSignal, endpoint: WebSocketEndpoint): void {
    this.endSignals.set(endpoint, ended);
  }

  /** The token that admitted the connection is no longer valid. A peer that reads nothing does not delay the end. */
  private drop(socket: WebSocketPeer): void {
    socket.close(closeCodes.policy, "token revoked");
    this.forget(socket);
  }

  private forget({ data: endpoint }: WebSocketPeer): void {
    const connection = this.open.get(endpoint);
    if (connection === undefined) return;
    this.open.delete(endpoint);
    connection[Symbol.dispose]();
    endpoint.close();
  }

  closeAll(reason: string): void {
    const close = closeReason(reason);
    for (const { socket } of this.open.values()) socket.close(close.code, close.reason);
  }
}

/** Pings one peer; ends with the connection. */
class OpenConnection implements Disposable {
  private timer: Timer;

  constructor(
    readonly socket: WebSocketPeer,
    private readonly times: KeepAlive,
    private readonly tokenEnd: AbortSignal | undefined,
    private readonly drop: () => void,
  ) {
    tokenEnd?.addEventListener("abort", drop, { once: true });
    this.timer = setTimeout(() => this.ping(), times.pingMs);
  }

  pongReceived(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ping(), this.times.pingMs);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.timer);
    this.tokenEnd?.removeEventListener("abort", this.drop);
  }

  private ping(): void {
    this.socket.ping();
    // A dead peer does not answer a close frame either.
    this.timer = setTimeout(() => this.socket.terminate(), this.times.pongMs);
  }
}
