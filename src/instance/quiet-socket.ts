/**
 * A connection that costs nothing while nobody says anything. As long as a single socket of Bun's is connected, Bun wakes
 * its process 1.25 times a second (the Date header of an HTTP server that may not even exist, and a search for sockets
 * whose time is over), each time with its allocator's thread behind it; neither can be switched off. A session's host and
 * its server are connected for as long as both live, so they take the descriptor out of Bun's socket and carry it
 * themselves: read by a stream, which waits without a timer, and written directly. A round trip costs 0.02 ms instead of
 * 0.014 then.
 *
 * The descriptor is owned here from then on and closed once, after the stream has let go of it. `close` is told once,
 * and nothing after it. What the socket does not take is the caller's to keep (Outbox) until `drain`.
 */

import fs from "node:fs";
import { duplicate } from "./libc.ts";
import { errorCode } from "./paths.ts";

/** What an owner needs of a connection; Bun's sockets have it too. */
export interface Wire {
  /** @returns how many bytes were taken; -1 when the connection is closed */
  write(bytes: Uint8Array): number;
  pause(): void;
  resume(): void;
  /** Hangs up. */
  end(): void;
}

export interface WireEvents {
  /** The array is the receiver's own. */
  data(bytes: Uint8Array): void;
  /** After a write that was not taken in full. */
  drain(): void;
  close(): void;
}

/** Bun's socket, as far as it is needed. */
interface Convertible extends Wire {
  terminate(): void;
}

/** Pause before the next try when the socket takes nothing, in ms: its reader empties 200 KB faster than that. */
const FIRST_RETRY_MS = 1;
/** Longest pause: a reader that stands still is looked at rarely. */
const LONGEST_RETRY_MS = 32;

/**
 * Takes the connection over from Bun's socket, if that can be done here: `use` is given what carries it from now on, and
 * then Bun's socket ends without the other side noticing. Its own close event comes meanwhile and is to be ignored.
 */
export function quiet(socket: Convertible, events: WireEvents, use: (wire: Wire) => void): void {
  // Not in the types of Bun 1.4.
  const own: unknown = Reflect.get(socket, "fd");
  if (process.platform !== "linux" || typeof own !== "number" || own < 0) return;
  const fd = duplicate(own);
  if (fd < 0) return;
  use(new QuietSocket(fd, events));
  socket.terminate();
}

class QuietSocket implements Wire {
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  private retry: Timer | null = null;
  private retryMs = FIRST_RETRY_MS;
  private resumed: PromiseWithResolvers<void> | null = null;
  private isClosed = false;

  constructor(
    private readonly fd: number,
    private readonly events: WireEvents,
  ) {
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

  private async read(): Promise<void> {
    while (!this.isClosed) {
      await this.resumed?.promise;
      // ECONNRESET: the other side is gone with something of ours unread.
      const { value, done } = await this.reader.read().catch(() => ({ value: undefined, done: true }));
      if (done || value === undefined) break;
      if (!this.isClosed) this.events.data(value);
    }
    if (this.isClosed) return;
    this.end();
    // What the last bytes set going is done first, as with Bun's sockets, which tell the end in a turn of its own.
    setImmediate(() => this.events.close());
  }
}
