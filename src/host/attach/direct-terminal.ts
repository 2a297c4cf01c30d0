/**
 * The terminal of a person who is attached, opened by the host itself: what a relayed program prints goes straight to it,
 * and keys come straight from it, so that an echo crosses no other process. The client keeps it in raw mode, paints on it,
 * and puts it back in the end; both never write at one time (see attach.ts).
 *
 * It is opened without blocking and only if it is the very device that the client has: a path can lead elsewhere in
 * another mount namespace. A terminal that takes nothing holds up nobody: what waits is `pending`.
 *
 * It is the client's only while the client runs in the foreground. Nobody tells when a client is stopped, so its state is
 * read before every read of keys, and now and then while something is written: what is typed after it was stopped is the
 * shell's and stays where it is, until the client takes its terminal up again.
 */
import fs from "node:fs";
import tty from "node:tty";
import { TerminalOutput } from "../../platform/terminal-writer.ts";
import { libc } from "../../platform/tty-calls.ts";
import type { PersonDevice } from "../../protocol/attach.ts";
import { SignalledInput } from "./signalled-input.ts";
import { ClientProcess } from "./terminal-owner.ts";

/** Interval between checks whose terminal it is, while much is written there, in ms: one takes 4 µs (m). */
const LOOK_MS = 10;
/**
 * How long everything else waits when an echo was written, in µs: the kernel may have to hand it to the terminal on this
 * very processor, and does so as soon as nobody needs it.
 */
const HANDOVER_US = 40;
/** A descriptor to be waited for that is none, as struct pollfd. */
const NOTHING = Int32Array.of(-1, 0);

export class PersonTerminal {
  readonly output: TerminalOutput;
  private input: SignalledInput | null = null;
  private reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  /** Settled when the last reader has let go of the descriptor. */
  private readerGone: Promise<unknown> = Promise.resolve();
  private closed = false;
  private lookedAt = 0;

  private constructor(
    private readonly fd: number,
    private readonly client: ClientProcess | null,
  ) {
    this.output = new TerminalOutput(fd);
  }

  /** Null where the device cannot be opened, or the path leads to another. */
  static open(person: PersonDevice): PersonTerminal | null {
    const { path, device, inode, number } = person;
    const { O_RDWR, O_NOCTTY, O_NONBLOCK } = fs.constants;
    try {
      const fd = fs.openSync(path, O_RDWR | O_NOCTTY | O_NONBLOCK);
      const { dev, ino, rdev } = fs.fstatSync(fd);
      if (tty.isatty(fd) && dev === device && ino === inode && rdev === number) {
        return new PersonTerminal(fd, ClientProcess.open(person));
      }
      fs.closeSync(fd);
    } catch {
      // Not ours to open, or gone: the client carries the bytes.
    }
    return null;
  }

  /** The client may write there now, and so may we. Runs per chunk. */
  get isHeld(): boolean {
    if (this.client === null) return true;
    const now = performance.now();
    if (now - this.lookedAt < LOOK_MS) return true;
    this.lookedAt = now;
    return this.client.holdsTerminal;
  }

  /** Writes what was typed, and gives the processor away so that it is seen before anything else is done. */
  echo(bytes: Uint8Array): void {
    this.output.write(bytes);
    this.handOver();
  }

  handOver(): void {
    libc().pollWithin(NOTHING, HANDOVER_US);
  }

  /** Keys from now on. `ended`: the terminal is gone; `lost`: it is no longer the client's. */
  async read(keys: (bytes: Uint8Array) => void, ended: () => void, lost: () => void): Promise<void> {
    await this.readerGone;
    const { client } = this;
    if (this.reader !== null || this.input !== null || this.closed) return;
    if (client !== null) {
      this.input = SignalledInput.begin(this.fd, {
        mayRead: () => {
          // The echo need not look again.
          this.lookedAt = performance.now();
          return client.holdsTerminal;
        },
        keys,
        lost,
        ended,
      });
      if (this.input !== null) return;
    }
    await this.readStream(keys, ended, lost);
  }

  /** Where nobody tells that keys wait, or nothing is known of the client: what is read while it is stopped is lost. */
  private async readStream(keys: (bytes: Uint8Array) => void, ended: () => void, lost: () => void): Promise<void> {
    const reader = Bun.file(this.fd).stream().getReader();
    this.reader = reader;
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (this.reader !== reader) return;
        if (done || this.closed) break;
        if (this.client === null || this.client.holdsTerminal) {
          this.lookedAt = performance.now();
          keys(value);
        } else lost();
      }
    } catch {
      // EIO: it was closed on the other side.
    }
    if (!this.closed && this.reader === reader) ended();
  }

  /** Reads no more, and forgets what waits to be written: another process has the terminal. It can be read again. */
  release(): void {
    this.input?.stop();
    this.input = null;
    if (this.reader !== null) this.readerGone = this.reader.cancel().catch(() => {});
    this.reader = null;
    this.output.discard();
  }

  /** What waits is forgotten. Idempotent. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.release();
    this.client?.close();
    void this.readerGone.finally(() => fs.closeSync(this.fd));
  }
}
