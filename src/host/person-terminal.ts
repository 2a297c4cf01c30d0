/**
 * The terminal of a person who is attached, opened by the host itself: what a relayed program prints goes straight to it,
 * and keys come straight from it, so that an echo crosses no other process. The client keeps it in raw mode, paints on it,
 * and puts it back in the end; both never write at one time (see attach.ts).
 *
 * It is opened without blocking and only if it is the very device that the client has: a path can lead elsewhere in
 * another mount namespace. A terminal that takes nothing holds up nobody: what waits is `pending`.
 */
import fs from "node:fs";
import tty from "node:tty";
import type { PersonDevice } from "../protocol/attach.ts";
import { TerminalOutput } from "../pty/terminal-output.ts";

export class PersonTerminal {
  readonly output: TerminalOutput;
  private reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  private closed = false;

  private constructor(private readonly fd: number) {
    this.output = new TerminalOutput(fd);
  }

  /** Null where the device cannot be opened, or the path leads to another. */
  static open({ path, device, inode, number }: PersonDevice): PersonTerminal | null {
    const { O_RDWR, O_NOCTTY, O_NONBLOCK } = fs.constants;
    try {
      const fd = fs.openSync(path, O_RDWR | O_NOCTTY | O_NONBLOCK);
      const { dev, ino, rdev } = fs.fstatSync(fd);
      if (tty.isatty(fd) && dev === device && ino === inode && rdev === number) return new PersonTerminal(fd);
      fs.closeSync(fd);
    } catch {
      // Not ours to open, or gone: the client carries the bytes.
    }
    return null;
  }

  /** Keys from now on. `ended`: the terminal is gone. */
  async read(keys: (bytes: Uint8Array) => void, ended: () => void): Promise<void> {
    if (this.reader !== null || this.closed) return;
    const reader = Bun.file(this.fd).stream().getReader();
    this.reader = reader;
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (done || this.closed) break;
        keys(value);
      }
    } catch {
      // EIO: it was closed on the other side.
    }
    if (!this.closed) ended();
  }

  /** What waits is forgotten. Idempotent. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.output.discard();
    const { reader } = this;
    if (reader === null) fs.closeSync(this.fd);
    else reader.cancel().finally(() => fs.closeSync(this.fd));
  }
}
