/**
 * A terminal that treats its program as macOS does, built on a Linux one: unread output is discarded when
 * the last process closes its side, the end then reads as end of file instead of EIO, and the rest of a line that is
 * longer than the kernel keeps is lost, including its Enter.
 */
import type { FindTerminal, TerminalDevice, TerminalOutput } from "../../src/pty/master.ts";
import type { PtyFlags } from "../../src/pty/port.ts";

/** Output that the kernel buffers for a reader, in bytes: more blocks the program. */
const OUTPUT_BYTES = 2 * 1024;
/** MAX_CANON, including the end of the line. */
const LINE_BYTES = 1024;

const LINE_ENDS: readonly number[] = [0x0a, 0x0d, 0x04];

export class DarwinTerminal implements TerminalDevice {
  readonly tty: string;
  /** Bytes that the program wrote while nothing was read. */
  private queue: Uint8Array[] = [];
  private queued = 0;
  /** No process has the other side open. */
  private hungUp = false;
  private closed = false;
  /** All data that was read is in the queue. */
  private waiting = false;
  private lineBytes = 0;
  private reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  private changed = Promise.withResolvers<void>();

  constructor(private readonly real: TerminalDevice) {
    this.tty = real.tty;
  }

  openOutput(): TerminalOutput {
    if (this.reader === null) void this.fill(this.real.openOutput());
    let open = true;
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      while (open && this.queued === 0 && !this.hungUp) await this.changed.promise;
      const bytes = new Uint8Array(Buffer.concat(this.queue));
      this.queue = [];
      this.queued = 0;
      this.wake();
      if (!open) return;
      if (bytes.length > 0) controller.enqueue(bytes);
      else controller.close();
    };
    return {
      // Nothing is read ahead.
      stream: () => new ReadableStream({ pull }, { highWaterMark: 0 }),
      close: () => {
        open = false;
        this.wake();
      },
    };
  }

  releaseTerminal(): void {
    if (this.queued === 0 && this.waiting) this.real.releaseTerminal();
  }

  offer(bytes: Uint8Array): number {
    const kept = this.real.flags()?.canonical === true ? bytes.filter((byte) => this.keeps(byte)) : bytes;
    const taken = this.real.offer(kept);
    return taken === kept.length ? bytes.length : taken;
  }

  /** Data that is read ahead comes from the kernel, not from here. */
  readAnswer(): null {
    return null;
  }

  readRemaining(): null {
    return null;
  }

  readInTurns(): null {
    return null;
  }

  hasOutput(): boolean {
    return this.real.hasOutput();
  }

  takesInput(): boolean {
    return this.real.takesInput();
  }

  resize(rows: number, cols: number): void {
    this.real.resize(rows, cols);
  }

  flags(): PtyFlags | null {
    return this.real.flags();
  }

  switchEchoOn(): boolean {
    return this.real.switchEchoOn();
  }

  foreground(): number | null {
    return this.real.foreground();
  }

  close(): void {
    this.closed = true;
    this.wake();
    void this.reader?.cancel().catch(() => {});
    this.real.close();
  }

  private keeps(byte: number): boolean {
    if (this.lineBytes >= LINE_BYTES) return false;
    this.lineBytes = LINE_ENDS.includes(byte) ? 0 : this.lineBytes + 1;
    return true;
  }

  private async fill(source: TerminalOutput): Promise<void> {
    const reader = source.stream().getReader();
    this.reader = reader;
    try {
      for (;;) {
        this.waiting = true;
        const { value, done } = await reader.read();
        this.waiting = false;
        if (done || this.closed) break;
        this.queue.push(value);
        this.queued += value.length;
        this.wake();
        while (this.queued >= OUTPUT_BYTES && !this.closed) await this.changed.promise;
      }
    } catch {
      // EIO: the last process has closed its side.
    }
    await reader.cancel().catch(() => {});
    source.close();
    this.queue = [];
    this.queued = 0;
    this.hungUp = true;
    this.wake();
  }

  private wake(): void {
    this.changed.resolve();
    this.changed = Promise.withResolvers<void>();
  }
}

/** The same terminal, treating its program as macOS does. */
export function onDarwin(device: FindTerminal): FindTerminal {
  return (child) => new DarwinTerminal(device(child));
}
