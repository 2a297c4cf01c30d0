/**
 * The second adapter, on the package bun-pty (a native library with its own threads). Limits of the package:
 * - Text only: bytes that are not UTF-8 become U+FFFD, both ways.
 * - It polls every 8 ms, and its reading thread never waits: flood output beyond the quantum stays in memory.
 * - It cannot distinguish a killed child from one that ended with code 1, so after one of our signals code 1 is
 *   unknown.
 * - argv[0] is always the file: a login shell is not one unless its arguments say so.
 * - The child inherits this process's environment; env(1) removes variables that it must not have. Features that the
 *   package lacks but the system has (flags, foreground group, path, signals, whether the terminal takes input) use the
 *   terminal's descriptor, found as in the first adapter.
 */

import type { IPty } from "bun-pty";
import { withChildLimits } from "../../platform/child-limits.ts";
import { InputQueue } from "../input-queue.ts";
import { type FindTerminal, Master, type TerminalDevice } from "../master.ts";
import {
  type Pty,
  type PtyEvents,
  type PtyExit,
  type PtyOpen,
  type PtySpawn,
  QUANTUM_BYTES,
  type SignalTarget,
} from "../port.ts";
import { sendSignal } from "../signal.ts";
import { requireStartable } from "../start.ts";

/**
 * The package's writing thread takes any amount into memory. So the terminal is checked before each slice (while that
 * thread is stuck in write(2) the terminal reports that it is full), and the pause gives the thread time to get there:
 * 2 MB/s.
 */
const SLICE_BYTES = 4 * 1024;
const SLICE_PAUSE_MS = 2;
/** The exit code that the package also reports for a child ended by a signal. */
const AMBIGUOUS_CODE = 1;

function openBunPtyOn(device: FindTerminal): PtyOpen {
  return async (spawn, events) => {
    const { spawn: start } = await import("bun-pty");
    const [file = spawn.file, ...args] = commandLine(spawn);
    requireStartable(spawn);
    const { cwd, rows, cols } = spawn;
    const child = withChildLimits(spawn, () =>
      start(file, args, { name: spawn.env.TERM ?? "xterm-256color", cwd, rows, cols, env: { ...spawn.env } }),
    );
    const resize = (toRows: number, toCols: number) => child.resize(toCols, toRows);
    return new BunPtyPty(child, device({ pid: child.pid, rows, cols, resize }), events, spawn.inputLimitBytes);
  };
}

export const openBunPty: PtyOpen = openBunPtyOn(Master.find);

/** The command line, through env(1) when this process has variables that the child must not have. */
function commandLine({ file, args, env }: PtySpawn): string[] {
  const unwanted = Object.keys(process.env).filter((name) => !(name in env));
  return unwanted.length === 0
    ? [file, ...args]
    : ["/usr/bin/env", ...unwanted.flatMap((name) => ["-u", name]), file, ...args];
}

class BunPtyPty implements Pty {
  readonly pid: number;
  readonly tty: string;
  readonly #child: IPty;
  readonly #master: TerminalDevice;
  readonly #events: PtyEvents;
  readonly #input: InputQueue;
  readonly #decoder = new TextDecoder();
  readonly #encoder = new TextEncoder();
  /** Output beyond the quantum. */
  readonly #undelivered: Uint8Array[] = [];
  #unacknowledged = 0;
  #isDelivering = false;
  #isPausing = false;
  #wasSignalled = false;
  #exit: PtyExit | undefined;
  #isExitReported = false;
  #isDisposed = false;

  constructor(child: IPty, master: TerminalDevice, events: PtyEvents, inputLimitBytes: number | undefined) {
    this.#child = child;
    this.#master = master;
    this.#events = events;
    this.pid = child.pid;
    this.tty = master.tty;
    this.#input = new InputQueue((bytes) => this.#offer(bytes), undefined, inputLimitBytes);
    child.onData((text) => {
      this.#undelivered.push(this.#encoder.encode(text));
      this.#deliver();
    });
    child.onExit(({ exitCode }) => {
      const unknown = this.#wasSignalled && exitCode === AMBIGUOUS_CODE;
      this.#exit ??= { code: unknown ? null : exitCode, signal: null };
      this.#input.close("the program has ended");
      this.#drain();
      this.#deliver();
    });
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#input.write(bytes);
  }

  #offer(bytes: Uint8Array): number {
    if (bytes.length === 0 || this.#isPausing || !this.#master.takesInput()) return 0;
    this.#isPausing = true;
    setTimeout(() => {
      this.#isPausing = false;
      this.#input.retryNow();
    }, SLICE_PAUSE_MS);
    const slice = bytes.subarray(0, SLICE_BYTES);
    // Streaming: a slice may end inside a character.
    this.#child.write(this.#decoder.decode(slice, { stream: true }));
    return slice.length;
  }

  /** Only the package reads, when it does. */
  noteTyping(): void {}

  /** Only the package reads. */
  readAnswer(): null {
    return null;
  }

  /** Bytes that the package's thread has read but not delivered are unknown. */
  hasOutput(): boolean {
    return !this.#isDisposed && (this.#undelivered.length > 0 || this.#master.hasOutput());
  }

  ack(n: number): void {
    this.#unacknowledged = Math.max(0, this.#unacknowledged - n);
    this.#deliver();
  }

  resize(rows: number, cols: number): void {
    this.#child.resize(cols, rows);
  }

  flags() {
    return this.#master.flags();
  }

  switchEchoOn() {
    return this.#master.switchEchoOn();
  }

  foreground(): number | null {
    return this.#master.foreground();
  }

  signal(name: NodeJS.Signals, to: SignalTarget): boolean {
    this.#wasSignalled = true;
    return sendSignal(this, this.#exit !== undefined, name, to);
  }

  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#input.close("the terminal is closed");
    this.#master.close();
    // The package's only way to free its handle; it sends SIGHUP to a child that still runs.
    this.#child.kill();
  }

  /** The package reports the end without checking once more for output that the child has left in the terminal. */
  #drain(): void {
    for (let rest = this.#master.readRemaining(); rest !== null; rest = this.#master.readRemaining())
      this.#undelivered.push(rest);
    this.#master.releaseTerminal();
  }

  #deliver(): void {
    if (this.#isDelivering || this.#isExitReported || this.#isDisposed) return;
    this.#isDelivering = true;
    while (this.#unacknowledged < QUANTUM_BYTES && !this.#isDisposed) {
      const next = this.#undelivered.shift();
      if (next === undefined) break;
      const room = QUANTUM_BYTES - this.#unacknowledged;
      if (next.length > room) this.#undelivered.unshift(next.slice(room));
      const bytes = next.length > room ? next.slice(0, room) : next;
      this.#unacknowledged += bytes.length;
      this.#events.data(bytes);
    }
    this.#isDelivering = false;
    if (this.#exit === undefined || this.#undelivered.length > 0 || this.#isDisposed) return;
    this.#isExitReported = true;
    this.#events.exit(this.#exit);
  }
}
