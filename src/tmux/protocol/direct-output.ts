/**
 * The standard output of a client in control mode, written directly by this process: the binary `tmux` buffers
 * everything in its own memory, and only the pipe or terminal behind it shows whether the reader keeps up. On Linux
 * only, for a client whose output can be opened again (not a socket); output of other clients passes through them.
 *
 * Invariant: bytes are written in their order; nothing blocks; the descriptor is closed once.
 */
import fs from "node:fs";
import { openForWriting } from "../../platform/own-process.ts";
import { platform } from "../../platform/platform.ts";
import { Outbox } from "../../wire/outbox.ts";

/** Interval between attempts while the reader does not read, in ms. */
const RETRY_MS = 10;

export class DirectOutput {
  private readonly outbox = new Outbox((bytes) => this.send(bytes));
  private timer: Timer | null = null;
  private isClosed = false;
  private flushed: (() => void) | null = null;

  private constructor(
    private readonly descriptor: number,
    private readonly drained: () => void,
  ) {}

  /** Returns null if the output cannot be opened. */
  static open(pid: number, drained: () => void): DirectOutput | null {
    // The number may belong to another process, as in a container: then nothing is opened.
    if (platform().processes.stat(pid)?.name.startsWith("tmux") !== true) return null;
    const descriptor = openForWriting(pid, 1);
    return descriptor === null ? null : new DirectOutput(descriptor, drained);
  }

  get pending(): number {
    return this.outbox.pending;
  }

  write(bytes: Uint8Array): void {
    if (this.isClosed) return;
    this.outbox.write(bytes);
    this.wait();
  }

  /** Resolves when everything is written, or the reader is gone. */
  async end(): Promise<void> {
    if (!this.isClosed && this.pending > 0) await new Promise<void>((resolve) => (this.flushed = resolve));
    this.close();
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    clearTimeout(this.timer ?? undefined);
    this.outbox.clear();
    fs.closeSync(this.descriptor);
    this.flushed?.();
  }

  private send(bytes: Uint8Array): number {
    try {
      return fs.writeSync(this.descriptor, bytes);
    } catch (thrown) {
      if (thrown instanceof Error && "code" in thrown && thrown.code === "EAGAIN") return 0;
      // The reader is gone.
      return bytes.length;
    }
  }

  private wait(): void {
    if (this.pending === 0) this.flushed?.();
    else
      this.timer ??= setTimeout(() => {
        this.timer = null;
        this.outbox.drain();
        this.wait();
        this.drained();
      }, RETRY_MS);
  }
}
