/**
 * One connection as the session process sees it: hello, requests with cancellation, one stream, events. A peer that
 * breaks the framing is closed; a peer that does not read fills only its own outbox, which the stream watches.
 */
import * as v from "valibot";
import type { Access, Caller } from "../protocol/caller.ts";
import {
  AnyHelloSchema,
  CancelSchema,
  type Hello,
  PEER_TIMEOUT_MS,
  RequestSchema,
  type WaitsForPerson,
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
import { Outbox } from "./outbox.ts";
import type { Carrier, WireEvents } from "./socket.ts";

export interface PeerRequest {
  readonly op: string;
  readonly input: unknown;
  /** The target as the caller wrote it. */
  readonly target?: string;
  readonly caller: Caller;
  readonly access: Access;
  readonly signal: AbortSignal;
  readonly once?: RequestKey;
  /** Unix time in ms after which the request is not begun. */
  readonly deadline?: number;
  /** Tells the caller that the request waits for a person's permission. */
  readonly waits?: (waiting: WaitsForPerson) => void;
}

export interface PeerHandler {
  /** A promise while the process is not ready: the peer waits for its hello. */
  hello(peer: Peer): Hello | Promise<Hello>;
  /** Answers one request; an exception becomes the error of the response. */
  request(request: PeerRequest, peer: Peer): Promise<unknown>;
  /** Messages of the peer's stream: input, resize, end. */
  stream(message: WireMessage, peer: Peer): void;
  closed(peer: Peer): void;
}

/** The caller of an agent's own process: it has used no token or notice, whatever it claims. */
function actingFor(agent: string, { via: _, ...caller }: Caller): Caller {
  return { ...caller, agent };
}

export class Peer {
  readonly outbox: Outbox;
  private readonly decoder = new MessageDecoder();
  private readonly running = new Map<number, AbortController>();
  private readonly helloTimer: Timer;
  private greeted = false;
  /** Whether the peer identified itself as a server; a server writes the audit records of its requests. */
  isServer = false;
  /**
   * The AI agent among the ancestors of the peer's process, as the kernel reports it: its requests are that agent's,
   * whatever they say.
   */
  agent: string | null = null;
  private closed = false;
  private afterFlush: (() => void) | null = null;
  /** Called once, when the connection has ended. */
  onClosed: (() => void) | null = null;
  /** Called when the outbox is empty again after the socket had refused bytes. */
  onDrain: (() => void) | null = null;

  constructor(
    private readonly wire: Carrier,
    private readonly handler: PeerHandler,
    /** Finds the agent among the ancestors of the peer's process; called once. */
    private readonly agentAt: () => string | null = () => null,
  ) {
    this.outbox = new Outbox((bytes) => this.wire.write(bytes));
    this.helloTimer = setTimeout(() => this.close(), PEER_TIMEOUT_MS);
  }

  /** Events of the connection that the peer handles. */
  get events(): WireEvents {
    return { data: (bytes) => this.receive(bytes), drain: () => this.drained(), close: () => this.lost() };
  }

  private receive(bytes: Uint8Array): void {
    this.guarded(() => {
      for (const message of this.decoder.push(bytes)) this.dispatch(message);
    });
  }

  /** Runs a peer's message; an unparsable message closes this connection only. */
  guarded(act: () => void): void {
    try {
      act();
    } catch {
      this.close();
    }
  }

  private drained(): void {
    if (!this.outbox.drain()) return;
    this.afterFlush?.();
    this.onDrain?.();
  }

  send(type: MessageType, value: unknown): void {
    if (!this.closed) this.outbox.write(encodeJsonMessage(type, value));
  }

  /** Sends several messages of a type in one write. */
  sendAll(type: MessageType, values: readonly unknown[]): void {
    if (this.closed || values.length === 0) return;
    this.outbox.write(Buffer.concat(values.map((value) => encodeJsonMessage(type, value))));
  }

  sendBytes(type: MessageType, bytes: Uint8Array): void {
    if (!this.closed) this.outbox.write(encodeMessage(type, bytes));
  }

  /** Closes once the queue has been taken. */
  finish(): void {
    if (this.outbox.pending === 0) this.close();
    else this.afterFlush = () => this.close();
  }

  /** For a long, mostly silent peer: its connection causes no wake-ups from now on. */
  rest(): void {
    this.wire.rest();
  }

  close(): void {
    this.wire.end();
    this.lost();
  }

  /** The connection is lost: aborts its running requests. */
  private lost(): void {
    if (this.closed) return;
    this.closed = true;
    clearTimeout(this.helloTimer);
    for (const controller of this.running.values()) controller.abort();
    this.running.clear();
    this.outbox.clear();
    this.handler.closed(this);
    this.onClosed?.();
  }

  get isClosed(): boolean {
    return this.closed;
  }

  private dispatch(message: WireMessage): void {
    if (!this.greeted) {
      this.greet(message);
      return;
    }
    switch (message.type) {
      case messageTypes.request:
        void this.answer(v.parse(RequestSchema, messageJson(message)));
        return;
      case messageTypes.cancel:
        this.running.get(v.parse(CancelSchema, messageJson(message)).id)?.abort();
        return;
      case messageTypes.input:
      case messageTypes.resize:
      case messageTypes.end:
        this.handler.stream(message, this);
        return;
      default:
        throw new WshError("invalid_request", `a client does not send message type ${message.type}`);
    }
  }

  private greet(message: WireMessage): void {
    if (message.type !== messageTypes.hello) throw new WshError("invalid_request", "the first message must be a hello");
    const hello = v.parse(AnyHelloSchema, messageJson(message));
    clearTimeout(this.helloTimer);
    this.greeted = true;
    this.isServer = hello.role === "server";
    this.agent = this.agentAt();
    const answer = (own: Hello): void => {
      this.send(messageTypes.hello, own);
      if (hello.wsh !== PROTOCOL_VERSION) this.finish();
    };
    const own = this.handler.hello(this);
    if (own instanceof Promise) void own.then(answer);
    else answer(own);
  }

  private async answer(request: v.InferOutput<typeof RequestSchema>): Promise<void> {
    const { id, op, input, target, access, once, deadline, tells } = request;
    const waits = (waiting: WaitsForPerson): void =>
      this.send(messageTypes.event, { event: "waits_for_person", request: id, ...waiting });
    const caller = this.agent === null ? request.caller : actingFor(this.agent, request.caller);
    const controller = new AbortController();
    this.running.set(id, controller);
    try {
      const result = await this.handler.request(
        {
          op,
          input,
          ...defined({ target }),
          caller,
          access,
          signal: controller.signal,
          ...defined({ once, deadline, waits: tells === true ? waits : undefined }),
        },
        this,
      );
      this.send(messageTypes.response, { id, result: result ?? {} });
    } catch (thrown) {
      this.send(messageTypes.response, { id, error: WshError.from(thrown).toBody() });
    } finally {
      this.running.delete(id);
    }
  }
}
