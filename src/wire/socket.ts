/**
 * A connection over a Unix socket between processes of an instance, as both ends hold it. It begins as a socket of
 * Bun's; a long, mostly silent one is put to `rest` and continues without it, transparently to its owner.
 *
 * As long as a single socket of Bun's is connected, Bun wakes its process 1.25 times a second (the Date header of an
 * HTTP server that may not even exist, and a search for timed-out sockets), each time with its allocator's thread;
 * neither can be switched off. A session process and its server are connected for as long as both live, so their
 * connection takes the descriptor out of Bun's socket: a stream reads it, which waits without a timer, and writes are
 * direct. A round trip then costs 0.02 ms instead of 0.014.
 *
 * The owner keeps the untaken part of a write (Outbox) until `drain`.
 */

import fs from "node:fs";
import { errorCode } from "../base/errno.ts";
import type { ByteReader } from "../platform/byte-reader.ts";
import { duplicate } from "../platform/descriptors.ts";
import { platform } from "../platform/platform.ts";
import { peerPid } from "../platform/unix-socket.ts";
import { PEER_TIMEOUT_MS } from "../protocol/control.ts";
import { WshError } from "../protocol/errors.ts";

/** First pause when a connection is not accepted, or a resting one takes nothing, in ms: 200 KB are read faster. */
const FIRST_RETRY_MS = 1;
/** Longest pause, in ms: a stalled process is rarely tried. */
const LONGEST_RETRY_MS = 32;

export interface WireEvents {
  /** Copy the array to keep it. */
  data(bytes: Uint8Array): void;
  /** Called after a write that was not taken in full; sometimes without one. */
  drain(): void;
  /**
   * Called once, as the last event; not for the owner's own `end`.
   * @param isCut the connection is lost, but the peer may still be running; never for a local socket
   */
  close(isCut?: boolean): void;
}

/** The transport of a connection's bytes. */
export interface Carrier {
  /** @returns the number of bytes taken; -1 when it is closed */
  write(bytes: Uint8Array): number;
  pause(): void;
  resume(): void;
  /** For a long, mostly silent connection: it causes no wake-ups from now on. */
  rest(): void;
  end(): void;
}

/** Transport of a connection over a Unix socket, as Bun's sockets are. */
type Transport = Omit<Carrier, "rest">;

type BunSocket = Bun.Socket<Wire>;

export class Wire implements Carrier {
  private carrier: Transport | null = null;
  /** The transport, until the connection rests. */
  private socket: BunSocket | null = null;
  private isOpen = true;
  private isPaused = false;

  private constructor(private events: WireEvents) {}

  /**
   * Waits while the listener's queue of connections is full (that of a stopped process, or for a moment of a
   * busy one), and while this process has no descriptor left.
   * @param timeoutMs longest such wait, in ms
   * @throws Bun.connect's error if nothing listens at the path; WshError session_unavailable or resource_limit_reached if
   * the wait times out
   */
  static async connect(path: string, events: WireEvents, timeoutMs = PEER_TIMEOUT_MS): Promise<Wire> {
    const deadline = performance.now() + timeoutMs;
    for (let pauseMs = FIRST_RETRY_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_RETRY_MS)) {
      const wire = new Wire(events);
      try {
        await Bun.connect({
          unix: path,
          data: wire,
          socket: { ...Wire.handlers, open: (socket) => wire.begin(socket) },
        });
        return wire;
      } catch (cause) {
        // Bun reports a full queue and a lack of descriptors as ECONNREFUSED, too.
        if (errorCode(cause) !== "ECONNREFUSED") throw cause;
        const { kind } = platform().sockets.connect(path);
        if (kind === "refused" || kind === "absent") throw cause;
        if (performance.now() >= deadline) {
          throw kind === "exhausted"
            ? new WshError("resource_limit_reached", `no descriptor is left to connect to ${path}`, {}, { cause })
            : new WshError("session_unavailable", `the process at ${path} accepts no connection`, {}, { cause });
        }
      }
      await Bun.sleep(pauseMs);
    }
  }

  /** Listens at a free path; the directory controls who may connect. Calls `accept` for every connection. */
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

  /** @returns the number of bytes taken; -1 when the connection is closed */
  write(bytes: Uint8Array): number {
    return this.carrier?.write(bytes) ?? -1;
  }

  /** Stops reading, so that the other end sees a full socket. */
  pause(): void {
    this.isPaused = true;
    this.carrier?.pause();
  }

  resume(): void {
    this.isPaused = false;
    this.carrier?.resume();
  }

  /**
   * Process id at the other end, from the kernel; null where the kernel does not report it, or the connection rests.
   */
  get peerPid(): number | null {
    const fd = descriptorOf(this.socket);
    return fd === null ? null : peerPid(fd);
  }

  end(): void {
    this.isOpen = false;
    this.carrier?.end();
  }

  /** For a long, mostly silent connection: it causes no wake-ups from now on. Repeating it changes nothing. */
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

  /** Bun's socket has ended, which does not affect a connection that has left it. */
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

/** Null when Bun does not expose it. */
function descriptorOf(socket: BunSocket | null): number | null {
  // Missing from the types of Bun 1.4.
  const fd: unknown = socket === null ? null : Reflect.get(socket, "fd");
  return typeof fd === "number" && fd >= 0 ? fd : null;
}

/** Duplicates the descriptor, if possible. */
function duplicateOf(socket: BunSocket): number | null {
  const own = descriptorOf(socket);
  if (!platform().sockets.canLeaveBun || own === null) return null;
  const fd = duplicate(own);
  return fd < 0 ? null : fd;
}

/** Owns its descriptor and closes it once, after the stream has released it. */
class QuietSocket implements Transport {
  private readonly reader: ByteReader;
  private retry: Timer | null = null;
  private retryMs = FIRST_RETRY_MS;
  private resumed: PromiseWithResolvers<void> | null = null;
  private isClosed = false;

  constructor(
    readonly fd: number,
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
      // Reading reports that the other side is gone.
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
      // ECONNRESET: the other side is gone and left some of our bytes unread.
      const { value, done } = await this.reader.read().catch(() => ({ value: undefined, done: true }));
      if (done || value === undefined) break;
      // The connection may have been paused or closed during the read.
      await this.untilResumed();
      if (!this.isClosed) this.events.data(value);
    }
    if (this.isClosed) return;
    this.end();
    // Effects of the last bytes come first, as with Bun's sockets, which report the end in a separate turn.
    setImmediate(() => this.events.close());
  }
}
