/**
 * Reads a terminal's master descriptor on the event loop, on systems whose kernel does not signal output (turns.ts).
 * Bun's stream of a file suits this best: it waits without a thread, delivers a read in the same turn (an echo takes
 * 0.03 ms, through a thread and back 0.07), takes up to 128 KB in one turn of a flood, and reads no further ahead until
 * more is requested.
 *
 * A terminal that no process has open on the other side hangs up: its stream ends. A new one is tried now and
 * then, since a child may close its terminal and reopen it. A paused or closed reader delivers nothing.
 */

import type { ByteReader } from "../platform/byte-reader.ts";
import type { TerminalDevice, TerminalOutput } from "./master.ts";

/** Interval between attempts to read a terminal that has hung up, in ms: long, since hangups are rare. */
const HUNG_RETRY_MS = 200;

interface ReaderEvents {
  /** The receiver owns the array. */
  data(bytes: Uint8Array): void;
  /** Every byte was delivered and no process has the other side open. */
  hungUp(): void;
}

export class StreamReader {
  readonly #output: TerminalOutput;
  readonly #events: ReaderEvents;
  #reader: ByteReader | null = null;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #resolvePause: (() => void) | null = null;
  #isPaused = false;
  #isWaiting = false;
  #isHungUp = false;
  #isClosed = false;

  constructor(master: TerminalDevice, events: ReaderEvents) {
    this.#output = master.openOutput();
    this.#events = events;
    void this.#run();
  }

  get isHungUp(): boolean {
    return this.#isHungUp;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /**
   * Whether everything that the stream read was delivered, so that bytes read elsewhere follow. Bun runs the
   * continuation of a read before it checks the next descriptor, so no bytes are between its buffer and us.
   */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** The stream itself waits for output. */
  readonly hasOutput = false;

  /** Only used when one loop reads all terminals. */
  noteTyping(): void {}
  noteAnswer(): void {}

  /** The stream needs no help to end. */
  noteProgramEnd(): void {}

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#resolvePause?.();
    this.#resolvePause = null;
  }

  /** Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#retryTimer);
    this.resume();
    const reader = this.#reader;
    if (reader === null) this.#output.close();
    else reader.cancel().finally(() => this.#output.close());
  }

  async #run(): Promise<void> {
    const reader = this.#output.stream().getReader();
    this.#reader = reader;
    try {
      for (;;) {
        this.#isWaiting = true;
        const { value, done } = await reader.read();
        this.#isWaiting = false;
        if (done || this.#isClosed) break;
        this.#isHungUp = false;
        this.#events.data(value);
        if (this.#isPaused) await this.#untilResumed();
      }
    } catch {
      // EIO: no process has the other side open. (macOS: the stream's end.)
    }
    this.#isWaiting = false;
    if (this.#isClosed) return;
    this.#reader = null;
    this.#isHungUp = true;
    this.#retryTimer = setTimeout(() => void this.#run(), HUNG_RETRY_MS);
    this.#events.hungUp();
  }

  #untilResumed(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#resolvePause = resolve;
    return promise;
  }
}
