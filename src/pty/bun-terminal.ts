/**
 * The default adapter. Bun.Terminal opens the terminal and starts the child; then its object is closed and the master
 * descriptor is ours alone: this thread writes, resizes, asks and signals through it directly, and a worker reads it
 * into a shared ring (reader-worker.ts). So nothing that goes to the child waits for the reader, even when it sleeps.
 *
 * At most QUANTUM_BYTES are delivered and unacknowledged, RING_BYTES more wait in the ring; past that the worker sleeps
 * and the child blocks in write(2). The end is reported once, after every byte that the child wrote: its process has
 * ended, and the terminal was read to its end or, when a grandchild keeps it open, has been quiet for a while.
 */

import { WshError } from "../protocol/errors.ts";
import { InputQueue } from "./input-queue.ts";
import { libc } from "./libc.ts";
import { Master } from "./master.ts";
import { withOpenFiles } from "./open-files.ts";
import { type Pty, type PtyEvents, type PtyExit, type PtyOpen, type PtySpawn, QUANTUM_BYTES } from "./port.ts";
import type { ReaderStart } from "./reader-worker.ts";
import { createRing, held, hung, RING_BYTES, take, wish, word } from "./ring.ts";
import { sendSignal } from "./signal.ts";

/** One delivery: small enough that a parser returns to its event loop between two (~3 ms at 20 MB/s). */
const DELIVERY_BYTES = 64 * 1024;
/** A grandchild that keeps the terminal open but is silent holds up the report of the child's end for so long. */
const QUIET_MS = 100;
/**
 * What the child itself can have written before it ended and was not delivered yet: the ring and the kernel's buffers
 * (Linux: 8 KB and 4 KB). Output beyond is a grandchild's and holds up nothing.
 */
const LEFT_BEHIND_BYTES = RING_BYTES + 64 * 1024;

export const openBunTerminal: PtyOpen = async (spawn, events) => new BunTerminalPty(spawn, events);

/**
 * In development the worker lies beside this module. In the compiled binary this module is part of a chunk at the root
 * of the embedded tree, and the worker, an entry point of the build, keeps its path below `src`.
 */
function workerUrl(): URL {
  const path = import.meta.url.includes("/$bunfs/") ? "./pty/reader-worker.ts" : "./reader-worker.ts";
  return new URL(path, import.meta.url);
}

class BunTerminalPty implements Pty {
  readonly pid: number;
  readonly tty: string;
  readonly #events: PtyEvents;
  readonly #master: Master;
  readonly #input: InputQueue;
  readonly #ring = createRing();
  readonly #worker: Worker;
  readonly #wake: number;
  #unacknowledged = 0;
  #delivering = false;
  #exit: PtyExit | undefined;
  #reported = false;
  /** Counted since the child's end. */
  #deliveredAfterExit = 0;
  #quiet: ReturnType<typeof setTimeout> | undefined;
  #disposed = false;

  constructor(spawn: PtySpawn, events: PtyEvents) {
    this.#events = events;
    // Started first: it loads while the child starts. Holding the process alive is for whoever listens, not for a thread
    // that may sleep for days.
    this.#worker = new Worker(workerUrl(), { smol: true, ref: false });
    try {
      const child = withOpenFiles(spawn.openFiles ?? null, () => this.#spawn(spawn));
      this.pid = child.pid;
      const { rows, cols } = spawn;
      const resize = (toRows: number, toCols: number) => child.terminal?.resize(toCols, toRows);
      this.#master = Master.of({ pid: child.pid, rows, cols, resize });
      child.terminal?.close();
    } catch (error) {
      this.#worker.terminate();
      const reason = error instanceof Error ? error.message : String(error);
      throw new WshError("session_create_failed", `${spawn.file} was not started: ${reason}`, {}, { cause: error });
    }
    this.tty = this.#master.tty;
    this.#input = new InputQueue((bytes) => this.#master.offer(bytes));
    const ends = new Int32Array(2);
    libc().pipe(ends);
    const [wake = -1, wakeWriter = -1] = ends;
    this.#wake = wakeWriter;
    const start: ReaderStart = { ring: this.#ring, master: this.#master.duplicate(), wake };
    this.#worker.addEventListener("close", () => {
      libc().close(start.master);
      libc().close(start.wake);
      libc().close(wakeWriter);
    });
    this.#worker.onmessage = () => this.#deliver();
    this.#worker.onerror = (event) => this.#readerFailed(event.message);
    this.#worker.postMessage(start);
  }

  #spawn(spawn: PtySpawn) {
    return Bun.spawn([spawn.file, ...spawn.args], {
      ...(spawn.argv0 === undefined ? {} : { argv0: spawn.argv0 }),
      cwd: spawn.cwd,
      env: { ...spawn.env },
      terminal: { rows: spawn.rows, cols: spawn.cols },
      onExit: ({ exitCode, signalCode }) => {
        // A signal without a name (a real-time one) comes as its number.
        const signal = typeof signalCode === "number" ? `SIG${signalCode}` : signalCode;
        this.#ended({ code: signal === null ? exitCode : null, signal });
      },
    });
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#input.write(bytes);
  }

  ack(n: number): void {
    this.#unacknowledged = Math.max(0, this.#unacknowledged - n);
    this.#deliver();
  }

  resize(rows: number, cols: number): void {
    this.#master.resize(rows, cols);
  }

  flags() {
    return this.#master.flags();
  }

  foreground(): number | null {
    return this.#master.foreground();
  }

  signal(name: NodeJS.Signals, to: "foreground" | "group" | "child"): void {
    sendSignal(this, this.#exit !== undefined, name, to);
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    clearTimeout(this.#quiet);
    this.#input.close("the terminal is closed");
    Atomics.store(this.#ring.words, word.wish, wish.stop);
    Atomics.notify(this.#ring.words, word.wish);
    Atomics.notify(this.#ring.words, word.taken);
    libc().write(this.#wake, new Uint8Array(1), 1);
    this.#worker.terminate();
    this.#master.close();
  }

  /** Runs once per announcement of the reader and once per acknowledgement. */
  #deliver(): void {
    // A receiver that acknowledges inside data() comes back here: the loop below goes on for it.
    if (this.#delivering || this.#reported || this.#disposed) return;
    // At the limit the reader's message stays unanswered, so that it sends no other; ack() comes back here.
    if (this.#unacknowledged >= QUANTUM_BYTES) return;
    this.#delivering = true;
    Atomics.store(this.#ring.words, word.signalled, 0);
    // Only what waits now: the reader announces what comes meanwhile, and the event loop has its turn in between.
    let rest = held(this.#ring);
    while (rest > 0 && this.#unacknowledged < QUANTUM_BYTES && !this.#disposed) {
      const bytes = take(this.#ring, Math.min(rest, DELIVERY_BYTES, QUANTUM_BYTES - this.#unacknowledged));
      rest -= bytes.length;
      this.#unacknowledged += bytes.length;
      if (this.#exit !== undefined) this.#deliveredAfterExit += bytes.length;
      this.#events.data(bytes);
    }
    this.#delivering = false;
    this.#input.poke();
    this.#reportEnd();
  }

  #ended(exit: PtyExit): void {
    this.#exit = exit;
    Atomics.compareExchange(this.#ring.words, word.wish, wish.run, wish.finish);
    Atomics.notify(this.#ring.words, word.wish);
    this.#input.close("the program has ended");
    this.#deliver();
  }

  /** Reports the end if it has come; otherwise sees to it that somebody asks again. */
  #reportEnd(): void {
    if (this.#exit === undefined || this.#reported || this.#disposed) return;
    clearTimeout(this.#quiet);
    const complete = Atomics.load(this.#ring.words, word.hung) === hung.final;
    const empty = held(this.#ring) === 0;
    if ((complete && empty) || this.#deliveredAfterExit > LEFT_BEHIND_BYTES) this.#report(this.#exit);
    // While bytes wait for an acknowledgement, ack() asks again.
    else if (empty) this.#quiet = setTimeout(() => this.#quietEnd(), QUIET_MS);
  }

  #quietEnd(): void {
    if (this.#exit === undefined || this.#reported || this.#disposed) return;
    if (held(this.#ring) === 0) this.#report(this.#exit);
    else this.#deliver();
  }

  /** A defect, such as a build without the worker: a terminal that nobody reads would hang for ever. */
  #readerFailed(message: string): void {
    console.error(`the reader of ${this.tty} failed: ${message}`);
    if (!this.#reported) this.#report({ code: null, signal: null });
    this.dispose();
  }

  #report(exit: PtyExit): void {
    this.#reported = true;
    this.#events.exit(exit);
  }
}
