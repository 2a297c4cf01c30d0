/**
 * An attached person's terminal, opened by the session process itself: a passed-through program's output goes straight
 * to it, and keys come straight from it if the system can report them unread (`readsKeys`), so that an echo crosses no
 * other process. The client keeps it in raw mode, renders on it, and restores it at the end; the two never write at the
 * same time (see attach.ts).
 *
 * It is opened without blocking, and only if it is the same device that the client has: a path can lead elsewhere in
 * another mount namespace. A terminal that takes nothing blocks nothing: its bytes stay `pending`.
 *
 * The client holds it only while it runs in the foreground. No event reports that a client was stopped, so its state is
 * checked before every read of keys, and periodically during writes. Keys typed after the stop belong to the shell and
 * are left unread until the client resumes.
 */
import fs from "node:fs";
import tty from "node:tty";
import type { ByteReader } from "../../platform/byte-reader.ts";
import { platform } from "../../platform/platform.ts";
import type { TerminalHolder } from "../../platform/port.ts";
import type { PersonDevice } from "../../protocol/attach.ts";
import { TerminalOutput } from "../../wire/terminal-output.ts";
import { SignalledInput } from "./signalled-input.ts";

/** Interval between checks of the terminal's owner during heavy output, in ms: one check takes 4 µs (measured). */
const OWNER_CHECK_MS = 10;
/**
 * Pause after the write of an echo, in µs: the kernel may have to pass it on to the terminal, or to the process
 * that holds it, on this processor, and does so as soon as the processor is idle.
 */
const HANDOVER_US = 40;

export class DirectTerminal {
  readonly output: TerminalOutput;
  private input: SignalledInput | null = null;
  private reader: ByteReader | null = null;
  /** Settled when the last reader has released the descriptor. */
  private readerReleased: Promise<unknown> = Promise.resolve();
  /** Changes with every beginning and end of reading. */
  private readingToken: symbol | null = null;
  private isClosed = false;
  private holderCheckedAt = 0;

  private constructor(
    private readonly fd: number,
    private readonly holder: TerminalHolder | null,
  ) {
    this.output = new TerminalOutput(fd);
  }

  /** Whether this process may read keys here; otherwise they arrive through the client. */
  readonly readsKeys = platform().terminals.signalsInput;

  /** Null when the device cannot be opened, the path leads to another, or only the client may write there. */
  static open(person: PersonDevice): DirectTerminal | null {
    const { path, device, inode, number } = person;
    const holder = findHolder(person);
    if (holder === null && !platform().terminals.signalsInput) return null;
    const { O_RDWR, O_NOCTTY, O_NONBLOCK } = fs.constants;
    try {
      const fd = fs.openSync(path, O_RDWR | O_NOCTTY | O_NONBLOCK);
      const { dev, ino, rdev } = fs.fstatSync(fd);
      if (tty.isatty(fd) && dev === device && ino === inode && rdev === number) {
        return new DirectTerminal(fd, holder);
      }
      fs.closeSync(fd);
    } catch {
      // The terminal cannot be opened here, or is gone: the client forwards the bytes.
    }
    holder?.close();
    return null;
  }

  /** Whether the client, and with it this process, may write there now. Runs per chunk. */
  get isHeld(): boolean {
    if (this.holder === null) return true;
    const now = performance.now();
    if (now - this.holderCheckedAt < OWNER_CHECK_MS) return true;
    this.holderCheckedAt = now;
    return this.holder.holdsTerminal;
  }

  /** Writes an echo, and yields the processor so that it shows before any other work. */
  echo(bytes: Uint8Array): void {
    this.output.write(bytes);
    this.handOver();
  }

  /** Yields the processor to the process just written to. */
  handOver(): void {
    platform().terminals.pause(HANDOVER_US);
  }

  /** Starts reading keys. `ended`: the terminal is gone; `lost`: the client no longer holds it. */
  async read(keys: (bytes: Uint8Array) => void, ended: () => void, lost: () => void): Promise<void> {
    const readingToken = Symbol();
    this.readingToken = readingToken;
    await this.readerReleased;
    const { holder } = this;
    if (
      this.readingToken !== readingToken ||
      !this.readsKeys ||
      this.reader !== null ||
      this.input !== null ||
      this.isClosed
    )
      return;
    if (holder !== null) {
      this.input = SignalledInput.begin(this.fd, {
        mayRead: () => {
          // Saves the echo another check.
          this.holderCheckedAt = performance.now();
          return holder.holdsTerminal;
        },
        keys,
        lost,
        ended,
      });
      if (this.input !== null) return;
    }
    await this.readStream(keys, ended, lost);
  }

  /**
   * Fallback without a signal for waiting keys, and without the client's state: keys read while the client is stopped
   * are lost.
   */
  private async readStream(keys: (bytes: Uint8Array) => void, ended: () => void, lost: () => void): Promise<void> {
    const reader = Bun.file(this.fd).stream().getReader();
    this.reader = reader;
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (this.reader !== reader) return;
        if (done || this.isClosed) break;
        if (this.holder === null || this.holder.holdsTerminal) {
          this.holderCheckedAt = performance.now();
          keys(value);
        } else lost();
      }
    } catch {
      // EIO: the other side closed it.
    }
    if (!this.isClosed && this.reader === reader) ended();
  }

  /** Stops reading and discards pending output: another process has the terminal. Reading can begin again. */
  release(): void {
    this.stopReading();
    this.output.discard();
  }

  /** Reading can begin again. */
  stopReading(): void {
    this.readingToken = null;
    this.input?.stop();
    this.input = null;
    if (this.reader !== null) this.readerReleased = this.reader.cancel().catch(() => {});
    this.reader = null;
  }

  /** Discards pending output. Idempotent. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.release();
    this.holder?.close();
    void this.readerReleased.finally(() => fs.closeSync(this.fd));
  }
}

/**
 * Null without a pid that names the same process here (another pid namespace): then it counts as holding its terminal.
 */
function findHolder({ pid, number }: PersonDevice): TerminalHolder | null {
  return pid === undefined ? null : platform().processes.holder(pid, number);
}
