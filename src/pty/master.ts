/**
 * The master side of a terminal as a descriptor of our own: what is written, asked and set there without going through
 * the object that made it. Non-blocking, close-on-exec. Bun.Terminal opens the terminal and starts the child on it but
 * does not tell its descriptor, so the descriptor is recognised: it is the one that is a master and was not there before.
 */

import { readdirSync } from "node:fs";
import { libc, POLLOUT } from "./libc.ts";
import type { PtyFlags } from "./port.ts";

const darwin = process.platform === "darwin";

/** Every open descriptor of this process that is a terminal's master side, with the path of the other side. */
export function masters(): Map<number, string> {
  const found = new Map<number, string>();
  for (const name of readdirSync("/dev/fd")) {
    const tty = String(libc().ptsname(Number(name)) ?? "");
    if (tty.startsWith("/dev/")) found.set(Number(name), tty);
  }
  return found;
}

/** sys/ioctl.h. */
const TIOCSWINSZ = darwin ? 0x80087467 : 0x5414;

/** c_lflag in struct termios and its bits: tcflag_t has 4 bytes on Linux, 8 on macOS. */
const LFLAG_OFFSET = darwin ? 24 : 12;
const ICANON = darwin ? 0x100 : 0x2;
const ECHO = 0x8;
/** Larger than any struct termios. */
const TERMIOS_BYTES = 128;

export class Master {
  #closed = false;

  /** @param fd owned from now on @param tty path of the other side */
  private constructor(
    readonly fd: number,
    readonly tty: string,
  ) {}

  /** Finds the master that appeared since `before` was taken and duplicates it; the original may be closed then. */
  static appeared(before: ReadonlyMap<number, string>): Master {
    for (const [fd, tty] of masters()) {
      if (before.get(fd) === tty) continue;
      const own = libc().duplicate(fd);
      if (own < 0) throw new Error(`descriptor ${fd} of ${tty} cannot be duplicated`);
      return new Master(own, tty);
    }
    throw new Error("no new terminal among the open descriptors");
  }

  /** A second descriptor of the same terminal, owned by the caller. */
  duplicate(): number {
    const fd = libc().duplicate(this.fd);
    if (fd < 0) throw new Error(`descriptor ${this.fd} of ${this.tty} cannot be duplicated`);
    return fd;
  }

  /** Bytes that the terminal took: 0 when it is full, -1 when it is closed. */
  offer(bytes: Uint8Array): number {
    if (this.#closed) return -1;
    if (bytes.length === 0) return 0;
    return Math.max(0, libc().write(this.fd, bytes, bytes.length));
  }

  /** Whether the terminal takes input now; for a descriptor on which a write would block. */
  takesInput(): boolean {
    // struct pollfd { int fd; short events; short revents; }; revents is the upper half of the second word.
    const watched = new Int32Array([this.fd, POLLOUT]);
    return !this.#closed && libc().poll(watched, 1, 0) > 0 && (watched[1] ?? 0) >>> 16 === POLLOUT;
  }

  resize(rows: number, cols: number): void {
    // struct winsize { unsigned short rows, cols, width and height in pixels; }
    if (!this.#closed) libc().ioctl(this.fd, TIOCSWINSZ, new Uint16Array([rows, cols, 0, 0]));
  }

  flags(): PtyFlags | null {
    const termios = new Uint8Array(TERMIOS_BYTES);
    if (this.#closed || libc().tcgetattr(this.fd, termios) !== 0) return null;
    const local = new DataView(termios.buffer).getUint32(LFLAG_OFFSET, true);
    return { canonical: (local & ICANON) !== 0, echo: (local & ECHO) !== 0 };
  }

  /** The process group that holds the terminal; null when none does. */
  foreground(): number | null {
    const group = this.#closed ? -1 : libc().tcgetpgrp(this.fd);
    return group > 0 ? group : null;
  }

  /** When no duplicate is left, the terminal hangs up and its session gets SIGHUP. Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    libc().close(this.fd);
  }
}
