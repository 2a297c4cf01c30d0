/**
 * The page's control WebSocket: calls of operations, events about sessions, subscriptions. It reconnects automatically;
 * pending calls then fail, and subscriptions begin again.
 */
import { defined } from "../../protocol/defined.ts";
import { Backoff } from "./backoff.ts";
import { Heartbeat } from "./heartbeat.ts";
import { Refusal, type Server } from "./server.ts";

/** `silent`: connected, but the server does not answer. */
export type ControlState = "connecting" | "live" | "silent" | "lost" | "refused";

/** An unsolicited message of the server. */
export type ControlEvent = Readonly<Record<string, unknown>> & { readonly event?: string };

interface ControlEvents {
  state(state: ControlState, why: string): void;
  event(event: ControlEvent): void;
}

interface PendingCall {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

export class ControlSocket {
  private socket: WebSocket | null = null;
  private readonly backoff = new Backoff(() => void this.connect());
  private readonly heartbeat = new Heartbeat({
    sendPing: () => this.socket?.send(JSON.stringify({ method: "ping" })),
    tick: (isSilent) => this.updateSilence(isSilent),
    giveUp: () => this.disconnect("the server does not answer"),
  });
  private isSilent = false;
  private readonly pendingCalls = new Map<number, PendingCall>();
  private nextId = 1;
  private isRefused = false;

  constructor(
    private readonly server: Server,
    private readonly events: ControlEvents,
  ) {}

  get isOpen(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  start(): void {
    this.isRefused = false;
    void this.connect();
  }

  retry(): void {
    this.backoff.retryNow();
  }

  /** @throws Refusal of the operation, or when the connection is lost before the answer */
  call<T>(method: string, params: object = {}, session?: string): Promise<T> {
    const id = this.nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    if (!this.isOpen) {
      reject(new Refusal(0, "server_unavailable", "the server is not connected", ""));
      return promise;
    }
    // The caller chooses the answer's type, from the operation's table.
    this.pendingCalls.set(id, { resolve: (result) => resolve(result as T), reject });
    this.socket?.send(JSON.stringify({ id, method, params, ...defined({ session }) }));
    return promise;
  }

  private async connect(): Promise<void> {
    if (this.isRefused) return;
    try {
      const socket = new WebSocket(await this.server.socketUrl("ws/json"));
      this.socket = socket;
      socket.addEventListener("open", () => {
        this.isSilent = false;
        this.heartbeat.start();
        this.backoff.reset();
        this.events.state("live", "");
      });
      socket.addEventListener("message", ({ data }) => {
        if (this.socket !== socket) return;
        this.heartbeat.messageArrived();
        this.receive(JSON.parse(String(data)));
      });
      socket.addEventListener("close", () => {
        // A stalled connection that was given up may close only after the next one has begun.
        if (this.socket === socket) this.disconnect("the connection to the server was lost");
      });
    } catch (thrown) {
      if (thrown instanceof Refusal && (thrown.status === 401 || thrown.status === 403)) {
        this.isRefused = true;
        this.events.state("refused", thrown.message);
      } else this.reportLost("the server does not answer");
    }
  }

  private updateSilence(isSilent: boolean): void {
    if (isSilent === this.isSilent) return;
    this.isSilent = isSilent;
    this.events.state(isSilent ? "silent" : "live", isSilent ? "the server does not answer" : "");
  }

  private disconnect(why: string): void {
    this.heartbeat.stop();
    const { socket } = this;
    this.socket = null;
    socket?.close();
    this.reportLost(why);
  }

  private reportLost(why: string): void {
    const error = new Refusal(0, "server_unavailable", why, "");
    for (const { reject } of this.pendingCalls.values()) reject(error);
    this.pendingCalls.clear();
    this.events.state("lost", why);
    this.backoff.schedule();
  }

  private receive(message: Record<string, unknown>): void {
    const { id, result, error } = message;
    if (typeof id !== "number") {
      this.events.event(message);
      return;
    }
    const waiting = this.pendingCalls.get(id);
    this.pendingCalls.delete(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(refusalOf(error));
  }
}

function refusalOf(error: unknown): Refusal {
  const { code = "internal_error", message = "unknown error", hint = "" } = Object(error);
  return new Refusal(0, String(code), String(message), String(hint));
}
