/**
 * A session's socket on another machine, over any transport of messages: a WebSocket of that machine's gateway, or the
 * NATS servers of a fleet. It carries bytes in messages of at most LINK_CHUNK_BYTES, in each direction only as many as
 * the receiver has permitted (protocol/credit.ts). Paused, it queues arriving messages and permits no more. A peer that
 * leaves pings unanswered counts as gone: a laptop that slept is not notified of a lost connection.
 */
import * as v from "valibot";
import { intervals } from "../platform/intervals.ts";
import { ReceiveCredit, SendCredit } from "../protocol/credit.ts";
import { WshError } from "../protocol/errors.ts";
import { LINK_CHUNK_BYTES, type LinkNote, LinkNoteSchema } from "../protocol/machines.ts";
import type { Carrier, WireEvents } from "../wire/socket.ts";
import { remoteError } from "./checked-answer.ts";

/** How many pings may stay unanswered. */
const MISSED_PINGS = 2;
/** Longest time until the other machine has connected to the session's socket, in ms. */
const OPEN_MS = 10_000;

/** Options of a connection to a gateway besides the address. */
export interface SocketOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls?: { readonly ca: string };
}

/** Carries a stream's messages, in order and complete, or reports that it is lost. */
export interface Pipe {
  /** Text is a note; binary data are the socket's bytes, which are not retained. */
  send(data: string | Uint8Array): void;
  close(): void;
}

export interface PipeEvents {
  received(data: string | Uint8Array): void;
  /** @param isEnded the session's process ended the connection, which was not lost */
  connectionLost(isEnded?: boolean): void;
}

/** Reason in the close frame for a connection that the session's process ended. */
export const STREAM_ENDED = "session ended";

/** @throws WshError the other machine's error; machine_unreachable when it does not answer */
export function openStream(url: string, options: SocketOptions, machine: string, events: WireEvents): Promise<Carrier> {
  return openStreamOver((pipe) => webSocketPipe(new WebSocket(url, { ...options } as never), pipe), machine, events);
}

/** @throws WshError like openStream */
export async function openStreamOver(
  open: (events: PipeEvents) => Pipe,
  machine: string,
  events: WireEvents,
): Promise<Carrier> {
  return new LinkStream(open, machine, events).opened;
}

function webSocketPipe(socket: WebSocket, { received, connectionLost }: PipeEvents): Pipe {
  socket.binaryType = "arraybuffer";
  socket.onmessage = ({ data }) => {
    if (typeof data === "string") received(data);
    else if (data instanceof ArrayBuffer) received(new Uint8Array(data));
  };
  socket.onclose = ({ reason }) => connectionLost(reason === STREAM_ENDED);
  socket.onerror = () => connectionLost();
  return { send: (data) => socket.send(typeof data === "string" ? data : data.slice()), close: () => socket.close() };
}

class LinkStream implements Carrier {
  readonly opened: Promise<Carrier>;
  private readonly opening = Promise.withResolvers<Carrier>();
  private readonly sending = new SendCredit();
  private readonly receiving = new ReceiveCredit();
  /** Messages that arrived while paused. */
  private heldBytes: Uint8Array[] = [];
  private isPaused = false;
  private isOpen = false;
  private isOver = false;
  private unanswered = 0;
  private timer: Timer;
  private readonly pipe: Pipe;

  constructor(
    open: (events: PipeEvents) => Pipe,
    private readonly machine: string,
    private readonly events: WireEvents,
  ) {
    this.opened = this.opening.promise;
    this.timer = setTimeout(() => this.endStream(), OPEN_MS);
    this.pipe = open({ received: (data) => this.receive(data), connectionLost: (isEnded) => this.endStream(isEnded) });
  }

  write(bytes: Uint8Array): number {
    if (this.isOver) return -1;
    const taken = this.sending.take(bytes.length);
    for (let index = 0; index < taken; index += LINK_CHUNK_BYTES) {
      this.pipe.send(bytes.subarray(index, Math.min(taken, index + LINK_CHUNK_BYTES)));
    }
    return taken;
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    for (;;) {
      const bytes = this.isPaused ? undefined : this.heldBytes.shift();
      if (bytes === undefined) return;
      this.deliver(bytes);
    }
  }

  /** No effect: a link keeps sending pings, which show whether the other machine is present. */
  rest(): void {}

  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.timer);
    this.heldBytes = [];
    this.pipe.close();
  }

  private receive(data: string | Uint8Array): void {
    if (this.isOver) return;
    this.unanswered = 0;
    if (typeof data === "string") this.note(data);
    else this.receiveBytes(data);
  }

  private receiveBytes(bytes: Uint8Array): void {
    if (!this.receiving.arrived(bytes.length)) this.endStream();
    else if (this.isPaused || this.heldBytes.length > 0) this.heldBytes.push(bytes);
    else this.deliver(bytes);
  }

  private deliver(bytes: Uint8Array): void {
    this.events.data(bytes);
    const credit = this.receiving.used(bytes.length);
    if (credit > 0) this.sendNote({ credit });
  }

  private note(text: string): void {
    const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), LinkNoteSchema), text);
    if (!parsed.success) {
      this.endStream();
      return;
    }
    const note = parsed.output;
    if ("credit" in note) {
      this.sending.grant(note.credit);
      this.events.drain();
    } else if ("open" in note) {
      if (this.isOpen) return;
      this.isOpen = true;
      clearTimeout(this.timer);
      this.timer = setInterval(() => this.ping(), intervals.peerPing);
      this.opening.resolve(this);
    } else if ("error" in note) {
      this.opening.reject(remoteError(this.machine, note.error));
      this.endStream();
    } else if ("ping" in note) this.sendNote({ pong: note.ping });
  }

  private ping(): void {
    if (this.unanswered++ >= MISSED_PINGS) this.endStream();
    else this.sendNote({ ping: this.unanswered });
  }

  private sendNote(note: LinkNote): void {
    if (!this.isOver) this.pipe.send(JSON.stringify(note));
  }

  private endStream(isEnded = false): void {
    if (this.isOver) return;
    this.end();
    // No effect after it has opened.
    this.opening.reject(new WshError("machine_unreachable", `machine '${this.machine}' does not answer`));
    if (this.isOpen) this.events.close(!isEnded);
  }
}
