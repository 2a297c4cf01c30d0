/**
 * The master side of a terminal as our own descriptor: writes, queries and settings that bypass the object that opened
 * it. Both adapters' libraries open the terminal and start the child on it but do not expose their descriptors, and
 * open and close some from their own threads. So the right one is recognised by its properties, never by when it
 * appeared: it is the master of the child's controlling terminal, or the one on which a resize was seen.
 *
 * The other side is held open too, until the child has ended and its output was read: macOS discards pending output
 * when the last process closes its side, and a child that ends does. It is opened so that it becomes no process's
 * controlling terminal, never waits, and is closed in children.
 */

import { closeSync, constants, openSync, readdirSync } from "node:fs";
import { duplicate } from "../platform/descriptors.ts";
import { platform } from "../platform/platform.ts";
import { system } from "../platform/system.ts";
import { lineFlags, switchEchoOn } from "../platform/termios.ts";
import { libc } from "../platform/tty-calls.ts";
import type { PtyFlags } from "./port.ts";
import { TurnReader, type TurnsPort } from "./turns.ts";

/** Path of the other side of a master descriptor; "" when it is not one. */
function terminalPath(fd: number): string {
  return String(libc().ptsname(fd) ?? "");
}

/** Our own duplicate of the first open master that `fits`; null when none does. */
function duplicateMaster(fits: (fd: number, tty: string) => boolean): { fd: number; tty: string } | null {
  for (const name of readdirSync("/dev/fd")) {
    const tty = terminalPath(Number(name));
    if (tty === "" || !fits(Number(name), tty)) continue;
    const fd = duplicate(Number(name));
    // Another thread may have closed the original, and its number may refer to something else by now.
    if (fd >= 0 && terminalPath(fd) === tty && fits(fd, tty)) return { fd, tty };
    if (fd >= 0) libc().close(fd);
  }
  return null;
}

/** Holds the other side open; null if it cannot be opened. */
function openTerminal(tty: string): number | null {
  const { O_RDONLY, O_NOCTTY, O_NONBLOCK } = constants;
  try {
    // Non-blocking also at its close, which on macOS would otherwise wait for a reader.
    return openSync(tty, O_RDONLY | O_NOCTTY | O_NONBLOCK);
  } catch {
    return null; // closed by everyone already, or another mount namespace
  }
}

/** Path of a process's controlling terminal; null when it has none or has ended. */
function controllingTerminal(pid: number): string | null {
  const { processes } = platform();
  const stat = processes.stat(pid);
  return stat === null ? null : processes.terminalPath(stat.tty);
}

const { TIOCSWINSZ, TIOCGWINSZ, POLLIN, POLLOUT, F_SETFL } = system.constants;
/** A size that no terminal has: the range above any real one. */
const UNUSED_SIZE = 0x8000;

/** Buffer for one read of a program's answer; the rest is read like any output. */
const ANSWER_BYTES = 4 * 1024;

/** The output of a terminal, read on a separate descriptor. */
export interface TerminalOutput {
  /** Ends, or fails with EIO, when no process has the other side open; another stream can be tried later. */
  stream(): ReadableStream<Uint8Array>;
  close(): void;
}

/** A terminal as its adapters see it; tests put another kernel's behaviour in between. */
export type TerminalDevice = Pick<Master, keyof Master>;

/** A child that was just started, by whatever opened its terminal. */
interface TerminalChild {
  readonly pid: number;
  readonly rows: number;
  readonly cols: number;
  resize(rows: number, cols: number): void;
}

/** Finds the terminal of a child that was just started. */
export type FindTerminal = (child: TerminalChild) => TerminalDevice;

export class Master {
  #isClosed = false;
  #terminalFd: number | null;
  readonly #terminals = platform().terminals;
  // Reused: each key reads its answer.
  readonly #answerBuffer = new Uint8Array(ANSWER_BYTES);

  /** @param fd owned from now on @param tty path of the other side */
  private constructor(
    private readonly fd: number,
    readonly tty: string,
  ) {
    this.#terminalFd = openTerminal(tty);
  }

  /**
   * Finds the master of a child that was just started. When the child no longer has a terminal (it has already ended),
   * the terminal gets an odd size for a moment and is recognised by it.
   */
  static find(this: void, child: TerminalChild): Master {
    const path = controllingTerminal(child.pid);
    const found = path === null ? null : duplicateMaster((_fd, tty) => tty === path);
    if (found !== null) return new Master(found.fd, found.tty);
    const rows = UNUSED_SIZE + Math.floor(Math.random() * UNUSED_SIZE);
    const cols = UNUSED_SIZE + Math.floor(Math.random() * UNUSED_SIZE);
    child.resize(rows, cols);
    const marked = duplicateMaster((fd) => {
      const size = new Uint16Array(4);
      return libc().ioctl(fd, TIOCGWINSZ, size) === 0 && size[0] === rows && size[1] === cols;
    });
    child.resize(child.rows, child.cols);
    if (marked === null) throw new Error(`the terminal of process ${child.pid} is not among the open descriptors`);
    return new Master(marked.fd, marked.tty);
  }

  /** Reads it in turns with all others; null when the kernel does not signal output. */
  readInTurns(port: TurnsPort): TurnReader | null {
    return TurnReader.create(this.fd, port);
  }

  /** The terminal's output; owned by the caller. */
  openOutput(): TerminalOutput {
    const fd = duplicate(this.fd);
    if (fd < 0) throw new Error(`descriptor ${this.fd} of ${this.tty} cannot be duplicated`);
    return { stream: () => Bun.file(fd).stream(), close: () => void libc().close(fd) };
  }

  /**
   * Releases the other side after the child's end, so that the terminal hangs up once no process has it open.
   * Does nothing while output waits to be read: call it again after each read. Idempotent.
   */
  releaseTerminal(): void {
    if (this.#terminalFd === null || this.#hasEvent(POLLIN)) return;
    closeSync(this.#terminalFd);
    this.#terminalFd = null;
  }

  /** Number of bytes that the terminal took: 0 when it is full, -1 when it is closed. */
  offer(bytes: Uint8Array): number {
    if (this.#isClosed) return -1;
    if (bytes.length === 0) return 0;
    return Math.max(0, libc().write(this.fd, bytes, bytes.length));
  }

  /** Output that is available or arrives within `us` microseconds; else null. Blocks that long. */
  readAnswer(us: number): Uint8Array | null {
    if (this.#isClosed || !this.#terminals.readable(this.fd, us)) return null;
    const length = libc().read(this.fd, this.#answerBuffer, ANSWER_BYTES);
    return length > 0 ? this.#answerBuffer.slice(0, length) : null;
  }

  /**
   * Reads available output without waiting, since another thread that reads the same terminal may take it
   * between a poll and a read. That thread's own read may fail with EAGAIN meanwhile.
   * @returns null without output
   */
  readRemaining(): Uint8Array | null {
    if (this.#isClosed) return null;
    libc().fcntl(this.fd, F_SETFL, constants.O_NONBLOCK);
    const length = libc().read(this.fd, this.#answerBuffer, ANSWER_BYTES);
    libc().fcntl(this.fd, F_SETFL, 0);
    return length > 0 ? this.#answerBuffer.slice(0, length) : null;
  }

  /** Whether output can be read now. */
  hasOutput(): boolean {
    return !this.#isClosed && this.#hasEvent(POLLIN);
  }

  /** Whether the terminal takes input now; for a descriptor on which a write would block. */
  takesInput(): boolean {
    return !this.#isClosed && this.#hasEvent(POLLOUT);
  }

  resize(rows: number, cols: number): void {
    // struct winsize { unsigned short rows, cols, width and height in pixels; }
    if (!this.#isClosed) libc().ioctl(this.fd, TIOCSWINSZ, new Uint16Array([rows, cols, 0, 0]));
  }

  flags(): PtyFlags | null {
    return this.#isClosed ? null : lineFlags(this.fd);
  }

  switchEchoOn(): boolean {
    return !this.#isClosed && switchEchoOn(this.fd);
  }

  /** The process group that holds the terminal; null when none does. */
  foreground(): number | null {
    const group = this.#isClosed ? -1 : libc().tcgetpgrp(this.fd);
    return group > 0 ? group : null;
  }

  /** When no duplicate is left, the terminal hangs up and its session gets SIGHUP. Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#terminalFd !== null) closeSync(this.#terminalFd);
    this.#terminalFd = null;
    libc().close(this.fd);
  }

  /** Whether an event is there now, and no other. */
  #hasEvent(event: number): boolean {
    // struct pollfd { int fd; short events; short revents; }; revents is the upper half of the second word.
    const watched = new Int32Array([this.fd, event]);
    return libc().poll(watched, 1, 0) > 0 && (watched[1] ?? 0) >>> 16 === event;
  }
}
