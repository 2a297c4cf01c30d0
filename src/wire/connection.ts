/**
 * A client's connection to a session process's socket: hello, requests with ids, events, and one stream. When the
 * connection ends, every pending request fails with the reason. Messages are delivered in order; `pause` stops reading,
 * so that the session process sees a slow reader as a full socket.
 */
import * as v from "valibot";
import {
  AnyHelloSchema,
  type Hello,
  HelloSchema,
  PEER_TIMEOUT_MS,
  type Request,
  ResponseSchema,
  type WaitsForPerson,
  WaitsForPersonSchema,
} from "../protocol/control.ts";
import { defined } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";
import {
  encodeJsonMessage,
  encodeMessage,
  MessageDecoder,
  type MessageType,
  messageJson,
  messageTypes,
  PROTOCOL_VERSION,
  type WireMessage,
} from "../protocol/messages.ts";
import type { RequestKey } from "../protocol/requests.ts";
import { VERSION } from "../protocol/version.ts";
import { Outbox } from "./outbox.ts";
import { patience } from "./patience.ts";
import { type Carrier, Wire, type WireEvents } from "./socket.ts";

/**
 * Opens a connection to a session process without a socket path on this machine. @throws WshError the reason why it
 * cannot
 */
export interface Dial {
  /** Its name in messages. */
  readonly called: string;
  open(events: WireEvents): Promise<Carrier>;
}

export interface ConnectionEvents {
  /** Messages that are neither hello nor response: events, output, frames, the stream's end. */
  message?(message: WireMessage): void;
  /** Called once, after the last message. */
  close?(): void;
}

export type RequestContext = Pick<Request, "caller" | "access"> & {
  readonly once?: RequestKey;
  readonly deadline?: number;
  /** The target as the caller wrote it. */
  readonly target?: string;
  readonly signal?: AbortSignal;
  /** The request waits for a person's permission. */
  readonly waits?: ((waiting: WaitsForPerson) => void) | undefined;
};

interface Waiting {
  readonly waits: RequestContext["waits"];
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** A process on another machine cannot be inspected: only its silence counts. */
function remotePatience(_called: string, timeoutMs: number, over: () => void): () => void {
  const timer = setTimeout(over, timeoutMs);
  return () => clearTimeout(timer);
}

export class Connection {
  private readonly waiting = new Map<number, Waiting>();
  private readonly decoder = new MessageDecoder();
  private readonly outbox: Outbox;
  private wire: Carrier | null = null;
  private nextId = 1;
  private helloWaiter: PromiseWithResolvers<Hello> | null = Promise.withResolvers<Hello>();
  private closed = false;
  private cut = false;

  private constructor(
    /** The socket's path; for a session on another machine its name. */
    readonly path: string,
    private events: ConnectionEvents,
  ) {
    this.outbox = new Outbox((bytes) => this.wire?.write(bytes) ?? -1);
  }

  /**
   * Connects and says hello.
   * @param timeoutMs longest wait for a session process that accepts but does not answer, in ms
   * @throws WshError session_not_found (no listener), session_unavailable (no answer), version_mismatch (speaks another
   * version), machine_unreachable (connection lost)
   */
  static async open(
    address: string | Dial,
    role: Hello["role"],
    events: ConnectionEvents = {},
    timeoutMs = PEER_TIMEOUT_MS,
  ): Promise<{ connection: Connection; hello: Hello }> {
    const path = typeof address === "string" ? address : address.called;
    const connection = new Connection(path, events);
    const hello = connection.helloWaiter?.promise ?? Promise.reject(new Error("no hello expected"));
    hello.catch(() => {});
    const wireEvents: WireEvents = {
      data: (bytes) => connection.receive(bytes),
      drain: () => void connection.outbox.drain(),
      close: (isCut) => connection.lost(isCut),
    };
    if (typeof address !== "string") connection.wire = await address.open(wireEvents);
    else
      try {
        connection.wire = await Wire.connect(address, wireEvents, timeoutMs);
      } catch (cause) {
        if (cause instanceof WshError) throw cause;
        throw new WshError("session_not_found", `nothing listens at ${path}`, {}, { cause });
      }
    connection.send(messageTypes.hello, { wsh: PROTOCOL_VERSION, version: VERSION, role } satisfies Hello);
    const answered = (typeof address === "string" ? patience : remotePatience)(path, timeoutMs, () => {
      const error = new WshError("session_unavailable", `the session process at ${path} does not answer`);
      connection.helloWaiter?.reject(error);
    });
    try {
      return { connection, hello: await hello };
    } catch (error) {
      connection.close();
      throw error;
    } finally {
      answered();
    }
  }

  /** Takes over the events, for example when a stream begins. */
  listen(events: ConnectionEvents): void {
    this.events = events;
  }

  /** Bytes that the session process has not taken. */
  get pending(): number {
    return this.outbox.pending;
  }

  get isClosed(): boolean {
    return this.closed;
  }

  /** Whether the connection to another machine was lost: the process there has not ended it. */
  get isCut(): boolean {
    return this.cut;
  }

  /** @throws WshError session_unavailable when it has ended */
  requireOpen(): void {
    if (this.closed) throw this.lostError();
  }

  /** @throws the session process's error, session_unavailable when the connection ends first, or cancelled */
  request(op: string, input: unknown, context: RequestContext): Promise<unknown> {
    if (this.closed) return Promise.reject(this.lostError());
    const id = this.nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const { signal, caller, access, target, once, deadline, waits } = context;
    this.waiting.set(id, { resolve, reject, waits });
    const addressed = defined({ target });
    const asked = { ...defined({ once, deadline }), ...(waits === undefined ? {} : { tells: true }) };
    this.send(messageTypes.request, { id, op, input, ...addressed, caller, access, ...asked } satisfies Request);
    if (signal === undefined) return promise;
    const cancel = (): void => this.send(messageTypes.cancel, { id });
    if (signal.aborted) cancel();
    else signal.addEventListener("abort", cancel, { once: true });
    return promise.finally(() => signal.removeEventListener("abort", cancel));
  }

  send(type: MessageType, value: unknown): void {
    if (!this.closed) this.outbox.write(encodeJsonMessage(type, value));
  }

  sendBytes(type: MessageType, bytes: Uint8Array): void {
    if (!this.closed) this.outbox.write(encodeMessage(type, bytes));
  }

  pause(): void {
    this.wire?.pause();
  }

  resume(): void {
    this.wire?.resume();
  }

  /** For a long, mostly silent connection: it causes no wake-ups from now on. */
  rest(): void {
    this.wire?.rest();
  }

  close(): void {
    this.wire?.end();
    this.lost();
  }

  private receive(bytes: Uint8Array): void {
    try {
      for (const message of this.decoder.push(bytes)) this.dispatch(message);
    } catch (cause) {
      const foreign = `the process at ${this.path} is not a session process`;
      this.helloWaiter?.reject(
        cause instanceof WshError ? cause : new WshError("session_unavailable", foreign, {}, { cause }),
      );
      this.close();
    }
  }

  private dispatch(message: WireMessage): void {
    if (message.type === messageTypes.hello) {
      this.greet(messageJson(message));
    } else if (message.type === messageTypes.response) {
      const response = v.parse(ResponseSchema, messageJson(message));
      const waiting = this.waiting.get(response.id);
      this.waiting.delete(response.id);
      if ("error" in response) waiting?.reject(WshError.fromBody(response.error));
      else waiting?.resolve(response.result);
    } else if (message.type !== messageTypes.event || !this.tells(message)) {
      this.events.message?.(message);
    }
  }

  /** @returns whether the message is about a request that waits for a person */
  private tells(message: WireMessage): boolean {
    if (![...this.waiting.values()].some(({ waits }) => waits !== undefined)) return false;
    const told = v.safeParse(WaitsForPersonSchema, messageJson(message));
    if (!told.success) return false;
    const { request, session, until } = told.output;
    // The number of the request is this connection's own: another process has another one.
    this.waiting.get(request)?.waits?.({ session, until });
    return true;
  }

  private greet(value: unknown): void {
    const any = v.parse(AnyHelloSchema, value);
    if (any.wsh !== PROTOCOL_VERSION) {
      this.helloWaiter?.reject(
        new WshError(
          "version_mismatch",
          `the session process at ${this.path} is wsh ${any.version} and speaks protocol ${any.wsh}; this is wsh ${VERSION} with protocol ${PROTOCOL_VERSION}`,
        ),
      );
    } else {
      this.helloWaiter?.resolve(v.parse(HelloSchema, value));
    }
    this.helloWaiter = null;
  }

  private lost(isCut = false): void {
    if (this.closed) return;
    this.closed = true;
    this.cut = isCut;
    this.outbox.clear();
    // The session process has died, and only its socket remains.
    this.helloWaiter?.reject(
      isCut
        ? new WshError("machine_unreachable", `the connection to '${this.path}' was lost before it answered`)
        : new WshError("session_not_found", `the session process at ${this.path} ended before it answered`),
    );
    const error = this.lostError();
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
    this.events.close?.();
  }

  private lostError(): WshError {
    return new WshError("session_unavailable", `the connection to the session process at ${this.path} is closed`);
  }
}
