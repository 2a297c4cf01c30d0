/**
 * One connection to a host, as the host sees it: hello, requests with their cancellation, one stream, events. A peer that
 * breaks the framing is closed; a peer that does not read only fills its own outbox, which the stream watches.
 */
import * as v from "valibot";
import type { Access, Caller } from "../protocol/caller.ts";
import { AnyHelloSchema, CancelSchema, type Hello, PEER_TIMEOUT_MS, RequestSchema } from "../protocol/control.ts";
import { WshError } from "../protocol/errors.ts";
import {
  encodeFrame,
  encodeJsonFrame,
  type Frame,
  FrameDecoder,
  type FrameType,
  frameJson,
  frameTypes,
  PROTOCOL_VERSION,
} from "../protocol/messages.ts";
import { Outbox } from "./outbox.ts";
import type { Wire, WireEvents } from "./socket.ts";

export interface PeerRequest {
  readonly op: string;
  readonly input: unknown;
  readonly caller: Caller;
  readonly access: Access;
  readonly signal: AbortSignal;
}

export interface PeerHandler {
  hello(): Hello;
  /** Answers one request; what it throws becomes the error of the response. */
  request(request: PeerRequest, peer: Peer): Promise<unknown>;
  /** Frames of the peer's stream: input, resize, end. */
  stream(frame: Frame, peer: Peer): void;
  closed(peer: Peer): void;
}

export class Peer {
  readonly outbox: Outbox;
  private readonly decoder = new FrameDecoder();
  private readonly running = new Map<number, AbortController>();
  private readonly helloTimer: Timer;
  private greeted = false;
  /** What it says that it is; a server keeps the records of what it asks for. */
  isServer = false;
  private closed = false;
  private afterFlush: (() => void) | null = null;
  /** Called when the outbox has become empty after the socket had refused bytes. */
  onDrain: (() => void) | null = null;

  constructor(
    private readonly wire: Wire,
    private readonly handler: PeerHandler,
  ) {
    this.outbox = new Outbox((bytes) => this.wire.write(bytes));
    this.helloTimer = setTimeout(() => this.close(), PEER_TIMEOUT_MS);
  }

  /** What the peer is to hear of its connection. */
  get events(): WireEvents {
    return { data: (bytes) => this.receive(bytes), drain: () => this.drained(), close: () => this.lost() };
  }

  private receive(bytes: Uint8Array): void {
    this.guarded(() => {
      for (const frame of this.decoder.push(bytes)) this.dispatch(frame);
    });
  }

  /** Does what the peer has asked for; what cannot be understood of it closes the connection, and ends nothing else. */
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

  send(type: FrameType, value: unknown): void {
    if (!this.closed) this.outbox.write(encodeJsonFrame(type, value));
  }

  /** Several frames of a kind in one write. */
  sendAll(type: FrameType, values: readonly unknown[]): void {
    if (this.closed || values.length === 0) return;
    this.outbox.write(Buffer.concat(values.map((value) => encodeJsonFrame(type, value))));
  }

  sendBytes(type: FrameType, bytes: Uint8Array): void {
    if (!this.closed) this.outbox.write(encodeFrame(type, bytes));
  }

  /** Closes once everything queued has been taken. */
  finish(): void {
    if (this.outbox.pending === 0) this.close();
    else this.afterFlush = () => this.close();
  }

  /** For a peer that stays and is mostly silent: its connection wakes nobody from now on. */
  rest(): void {
    this.wire.rest();
  }

  close(): void {
    this.wire.end();
    this.lost();
  }

  /** The connection is gone: ends what it waited for. */
  private lost(): void {
    if (this.closed) return;
    this.closed = true;
    clearTimeout(this.helloTimer);
    for (const controller of this.running.values()) controller.abort();
    this.running.clear();
    this.outbox.clear();
    this.handler.closed(this);
  }

  get isClosed(): boolean {
    return this.closed;
  }

  private dispatch(frame: Frame): void {
    if (!this.greeted) {
      this.greet(frame);
      return;
    }
    switch (frame.type) {
      case frameTypes.request:
        void this.answer(v.parse(RequestSchema, frameJson(frame)));
        return;
      case frameTypes.cancel:
        this.running.get(v.parse(CancelSchema, frameJson(frame)).id)?.abort();
        return;
      case frameTypes.input:
      case frameTypes.resize:
      case frameTypes.end:
        this.handler.stream(frame, this);
        return;
      default:
        throw new WshError("invalid_request", `a client does not send frame type ${frame.type}`);
    }
  }

  private greet(frame: Frame): void {
    if (frame.type !== frameTypes.hello) throw new WshError("invalid_request", "the first frame must be a hello");
    const hello = v.parse(AnyHelloSchema, frameJson(frame));
    clearTimeout(this.helloTimer);
    this.greeted = true;
    this.isServer = hello.role === "server";
    this.send(frameTypes.hello, this.handler.hello());
    if (hello.wsh !== PROTOCOL_VERSION) this.finish();
  }

  private async answer({ id, op, input, caller, access }: v.InferOutput<typeof RequestSchema>): Promise<void> {
    const controller = new AbortController();
    this.running.set(id, controller);
    try {
      const { name, ...rest } = caller;
      const result = await this.handler.request(
        {
          op,
          input,
          caller: name === undefined ? rest : { ...rest, name },
          access,
          signal: controller.signal,
        },
        this,
      );
      this.send(frameTypes.response, { id, result: result ?? {} });
    } catch (thrown) {
      this.send(frameTypes.response, { id, error: WshError.from(thrown).toBody() });
    } finally {
      this.running.delete(id);
    }
  }
}
