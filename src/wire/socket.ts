/**
 * A connection over a Unix socket between processes of an instance, as its two ends hold it. It begins as a socket of
 * Bun's; one that lasts and is mostly silent is put to `rest` and goes on without it, which its owner need not know of.
 *
 * As long as a single socket of Bun's is connected, Bun wakes its process 1.25 times a second (the Date header of an HTTP
 * server that may not even exist, and a search for sockets whose time is over), each time with its allocator's thread
 * behind it; neither can be switched off. A session's host and its server are connected for as long as both live, so
 * their connection takes the descriptor out of Bun's socket: it is read by a stream, which waits without a timer, and
 * written directly. A round trip costs 0.02 ms instead of 0.014 then.
 *
 * What is not taken of a write is the owner's to keep (Outbox) until `drain`.
 */

import fs from "node:fs";
import { errorCode } from "../base/errno.ts";
import { duplicate } from "../platform/descriptors.ts";

/** Pause before the next try when a resting connection takes nothing, in ms: its reader empties 200 KB faster than that. */
const FIRST_RETRY_MS = 1;
/** Longest pause: a reader that stands still is looked at rarely. */
const LONGEST_RETRY_MS = 32;

export interface WireEvents {
  /** The array is to be copied where it is kept. */
  data(bytes: Uint8Array): void;
  /** After a write that was not taken in full; sometimes without one. */
  drain(): void;
  /** Once, and nothing after it; not for the owner's own `end`. */
  close(): void;
}

/** What carries a connection; Bun's sockets do. */
interface Carrier {
  write(bytes: Uint8Array): number;
  pause(): void;
  resume(): void;
  end(): void;
}

type BunSocket = Bun.Socket<Wire>;

export class Wire {
  private carrier: Carrier | null = null;
  /** What carries it, until it rests. */
  private socket: BunSocket | null = null;
  private isOpen = true;
  private isPaused = false;

  private constructor(private events: WireEvents) {}

  /** @throws what Bun.connect throws when nobody listens at the path */
  static async connect(path: string, events: WireEvents): Promise<Wire> {
    const wire = new Wire(events);
    await Bun.connect({ unix: path, data: wire, socket: { ...Wire.handlers, open: (socket) => wire.begin(socket) } });
    return wire;
  }

  /** Listens at a path that is free; the directory guards who may connect. `accept` is called for every connection. */
  static listen(path: string, accept: (wire: Wire) => WireEvents): { stop(): void } {
    const open = (socket: BunSocket): void => {
      const wire = new Wire(nobody);
      socket.data = wire;
      wire.begin(socket);
      wire.events = accept(wire);
    };
    const listener = Bun.listen<Wire>({ unix: path, socket: { ...Wire.handlers, open } });
    return { stop: () => listener.stop(false) };
  }

  private static readonly handlers = {
    data: (socket: BunSocket, bytes: Uint8Array) => socket.data.events.data(bytes),
    drain: (socket: BunSocket) => socket.data.events.drain(),
    close: (socket: BunSocket) => socket.data.ended(socket),
    error: (socket: BunSocket) => socket.data.ended(socket),
  };

  /** @returns how many bytes were taken; -1 when the connection is closed */
  write(bytes: Uint8Array): number {
    return this.carrier?.write(bytes) ?? -1;
  }

  /** Reads nothing more, so that the other end sees a full socket. */
  pause(): void {
    this.isPaused = true;
    this.carrier?.pause();
  }

  resume(): void {
    this.isPaused = false;
    this.carrier?.resume();
  }

  /** Hangs up. */
  end(): void {
    this.isOpen = false;
    this.carrier?.end();
  }

  /** For a connection that stays and is mostly silent: it wakes nobody from now on. Repeating it changes nothing. */
  rest(): void {
    const { socket } = this;
    this.socket = null;
    if (socket === null || !this.isOpen) return;
    const fd = duplicateOf(socket);
    if (fd === null) return;
    const events = {
      data: (bytes: Uint8Array) => this.events.data(bytes),
      drain: () => this.events.drain(),
      close: () => this.lost(),
    };
    this.carrier = new QuietSocket(fd, events, this.isPaused);
    // The other end does not notice, since the duplicate is open.
    socket.terminate();
    this.events.drain();
  }

  private begin(socket: BunSocket): void {
    this.socket = socket;
    this.carrier = socket;
  }

  /** Bun's socket has ended, which is nothing to a connection that has left it. */
  private ended(socket: BunSocket): void {
    if (this.carrier === null || this.carrier === socket) this.lost();
  }

  private lost(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.events.close();
  }
}

const nobody: WireEvents = { data() {}, drain() {}, close() {} };

/** Of the descriptor, where that can be done. */
function duplicateOf(socket: BunSocket): number | null {
  // Not in the types of Bun 1.4.
  const own: unknown = Reflect.get(socket, "fd");
  if (process.platform !== "linux" || typeof own !== "number" || own < 0) return null;
  const fd = duplicate(own);
  return fd < 0 ? null : fd;
}

/** Owns its descriptor and closes it once, after the stream has let go of it. */
class QuietSocket implements Carrier {
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  private retry: Timer | null = null;
  private retryMs = FIRST_RETRY_MS;
  private resumed: PromiseWithResolvers<void> | null = null;
  private isClosed = false;

  constructor(
    private readonly fd: number,
    private readonly events: WireEvents,
    isPaused: boolean,
  ) {
    if (isPaused) this.pause();
    this.reader = Bun.file(fd).stream().getReader();
    void this.read();
  }

  write(bytes: Uint8Array): number {
    if (this.isClosed) return -1;
    let taken = 0;
    try {
      while (taken < bytes.length) taken += fs.writeSync(this.fd, bytes, taken);
    } catch (error) {
      // That the other side is gone is told by the reading.
      if (errorCode(error) !== "EAGAIN") return -1;
      this.retryMs = taken > 0 ? FIRST_RETRY_MS : Math.min(LONGEST_RETRY_MS, this.retryMs * 2);
      this.retry ??= setTimeout(() => this.drain(), this.retryMs);
    }
    return taken;
  }

  pause(): void {
    this.resumed ??= Promise.withResolvers<void>();
  }

  resume(): void {
    this.resumed?.resolve();
    this.resumed = null;
  }

  end(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    clearTimeout(this.retry ?? undefined);
    this.resume();
    void this.reader
      .cancel()
      .catch(() => {})
      .finally(() => fs.closeSync(this.fd));
  }

  private drain(): void {
    this.retry = null;
    if (!this.isClosed) this.events.drain();
  }

  private async untilResumed(): Promise<void> {
    while (this.resumed !== null) await this.resumed.promise;
  }

  private async read(): Promise<void> {
    while (!this.isClosed) {
      await this.untilResumed();
      // ECONNRESET: the other side is gone with something of ours unread.
      const { value, done } = await this.reader.read().catch(() => ({ value: undefined, done: true }));
      if (done || value === undefined) break;
      // It may have been paused, or closed, while that was read.
      await this.untilResumed();
      if (!this.isClosed) this.events.data(value);
    }
    if (this.isClosed) return;
    this.end();
    // What the last bytes set going is done first, as with Bun's sockets, which tell the end in a turn of its own.
    setImmediate(() => this.events.close());
  }
}
