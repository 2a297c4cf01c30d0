/**
 * The default adapter. Bun.Terminal opens the terminal and starts the child. Its object is closed afterwards, and the
 * master descriptor is ours alone: we write, resize, query and signal through it directly, so that input to the child
 * waits for nothing. It is read in turns with all other terminals (turns.ts), as long as the receiver keeps up.
 *
 * At most QUANTUM_BYTES are delivered and unacknowledged, and the stream reads ahead by no more than its own buffer
 * (128 KB, up to 256 KB on a busy machine); past that nothing is read, the kernel's buffer fills, and the child blocks
 * in write(2). The end is reported once, after every byte that the child wrote: its process has ended, and the terminal
 * was read to its end or, when a grandchild keeps it open, has been quiet for a while. Reading never waits for the
 * process's end, since on macOS that waits for its output to be read.
 */

import { withChildLimits } from "../../platform/child-limits.ts";
import { system } from "../../platform/system.ts";
import type { WshError } from "../../protocol/errors.ts";
import { InputQueue } from "../input-queue.ts";
import { type FindTerminal, Master, type TerminalDevice } from "../master.ts";
import {
  ANSWER_US,
  type Pty,
  type PtyAnswer,
  type PtyEvents,
  type PtyExit,
  type PtyOpen,
  type PtySpawn,
  QUANTUM_BYTES,
  type SignalTarget,
} from "../port.ts";
import { sendSignal } from "../signal.ts";
import { requireStartable, silentStartFailure, startFailure } from "../start.ts";
import { StreamReader } from "../stream-reader.ts";
import type { TurnReader } from "../turns.ts";

/** Time until a failed start is detected, in ms: the child's time from fork to its end. */
const BEGIN_MS = 30;
/** How long a silent grandchild that keeps the terminal open delays the report of the child's end. */
const QUIET_MS = 100;
/**
 * Maximum output of the child itself that may be undelivered at its end: read ahead, awaiting acknowledgement, and in
 * the kernel's buffers. Further output is a grandchild's and delays nothing.
 */
const LEFT_BEHIND_BYTES = 3 * QUANTUM_BYTES;

/** @param reportsFailure whether starting an invalid program is an error */
export function openBunTerminalOn(device: FindTerminal, reportsFailure = system.starts.reportsFailure): PtyOpen {
  return async (spawn, events) => {
    const pty = new BunTerminalPty(spawn, events, device);
    if (!reportsFailure) await pty.awaitStart(spawn);
    return pty;
  };
}

export const openBunTerminal: PtyOpen = openBunTerminalOn(Master.find);

class BunTerminalPty implements Pty {
  readonly pid: number;
  readonly tty: string;
  readonly #events: PtyEvents;
  readonly #master: TerminalDevice;
  readonly #input: InputQueue;
  readonly #reader: StreamReader | TurnReader;
  #unacknowledged = 0;
  /** Read, but beyond the delivery limit. */
  #undelivered: Uint8Array | null = null;
  #exit: PtyExit | undefined;
  #isExitReported = false;
  /** Counted since the child's end. */
  #deliveredAfterExit = 0;
  #quietTimer: ReturnType<typeof setTimeout> | undefined;
  #isDisposed = false;
  /** Called with the first output, or with the end if none came; returns whether that end was a failed start. */
  #startProbe: ((exit: PtyExit | null) => boolean) | null = null;

  constructor(spawn: PtySpawn, events: PtyEvents, device: FindTerminal) {
    this.#events = events;
    requireStartable(spawn);
    try {
      const child = withChildLimits(spawn, () => this.#spawn(spawn));
      this.pid = child.pid;
      const { rows, cols } = spawn;
      const resize = (toRows: number, toCols: number) => child.terminal?.resize(toCols, toRows);
      this.#master = device({ pid: child.pid, rows, cols, resize });
      child.terminal?.close();
    } catch (error) {
      throw startFailure(spawn, error);
    }
    this.tty = this.#master.tty;
    this.#input = new InputQueue((bytes) => this.#master.offer(bytes), undefined, spawn.inputLimitBytes);
    const port = { data: (bytes: Uint8Array) => this.#receive(bytes), hungUp: () => this.#reportEnd() };
    this.#reader = this.#master.readInTurns(port) ?? new StreamReader(this.#master, port);
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
        this.#handleExit({ code: signal === null ? exitCode : null, signal });
      },
    });
  }

  /** Resolves when the program runs, as far as detectable. @throws WshError session_create_failed */
  async awaitStart(spawn: PtySpawn): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<WshError | null>();
    const timer = setTimeout(() => this.#startProbe?.(null), BEGIN_MS);
    this.#startProbe = (exit) => {
      clearTimeout(timer);
      this.#startProbe = null;
      const failure = exit === null ? null : silentStartFailure(spawn, exit);
      resolve(failure);
      return failure !== null;
    };
    const failure = await promise;
    if (failure === null) return;
    this.dispose();
    throw failure;
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#input.write(bytes);
  }

  noteTyping(): void {
    this.#reader.noteTyping();
  }

  readAnswer(): PtyAnswer | null {
    // During a flood output is read as it comes, and a program that does not read its input does not answer.
    if (!this.#reader.isWaiting || this.#unacknowledged > 0 || this.#input.pendingBytes > 0) return null;
    if (this.#isExitReported || this.#isDisposed) return null;
    const bytes = this.#master.readAnswer(ANSWER_US);
    if (bytes !== null) this.#reader.noteAnswer();
    return bytes === null ? null : { bytes, deliver: () => this.#receive(bytes) };
  }

  hasOutput(): boolean {
    if (this.#isExitReported || this.#isDisposed || this.#reader.isHungUp) return false;
    return !this.#reader.isWaiting || this.#master.hasOutput();
  }

  ack(n: number): void {
    this.#unacknowledged = Math.max(0, this.#unacknowledged - n);
    const rest = this.#undelivered;
    if (this.#unacknowledged >= QUANTUM_BYTES) return;
    this.#undelivered = null;
    if (rest !== null) this.#receive(rest);
    if (this.#undelivered === null && this.#unacknowledged < QUANTUM_BYTES) this.#reader.resume();
  }

  resize(rows: number, cols: number): void {
    this.#master.resize(rows, cols);
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
    return sendSignal(this, this.#exit !== undefined, name, to);
  }

  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    clearTimeout(this.#quietTimer);
    this.#input.close("the terminal is closed");
    this.#reader.close();
    this.#master.close();
  }

  /** Runs once per read. */
  #receive(bytes: Uint8Array): void {
    if (this.#isExitReported || this.#isDisposed) return;
    this.#startProbe?.(null);
    const room = QUANTUM_BYTES - this.#unacknowledged;
    const part = bytes.length > room ? bytes.subarray(0, room) : bytes;
    if (part !== bytes) this.#undelivered = bytes.subarray(room);
    this.#unacknowledged += part.length;
    if (this.#unacknowledged >= QUANTUM_BYTES) this.#reader.pause();
    if (this.#exit !== undefined) this.#deliveredAfterExit += part.length;
    this.#events.data(part);
    this.#input.retryNow();
    if (this.#exit !== undefined) this.#reportEnd();
  }

  #handleExit(exit: PtyExit): void {
    this.#exit = exit;
    this.#input.close("the program has ended");
    this.#reportEnd();
    this.#reader.noteProgramEnd();
  }

  /** Reports the end if it has come; otherwise checks again later. */
  #reportEnd(): void {
    if (this.#exit === undefined || this.#isExitReported || this.#isDisposed) return;
    clearTimeout(this.#quietTimer);
    this.#master.releaseTerminal();
    const read = this.#reader.isHungUp && this.#undelivered === null;
    if (read || this.#deliveredAfterExit > LEFT_BEHIND_BYTES) this.#emitExit(this.#exit);
    else this.#quietTimer = setTimeout(() => this.#checkQuietEnd(), QUIET_MS);
  }

  /** Undelivered output causes the silence itself. */
  #checkQuietEnd(): void {
    if (this.#exit === undefined || this.#isExitReported || this.#isDisposed) return;
    if (this.#reader.isPaused || this.#reader.hasOutput) this.#reportEnd();
    else this.#emitExit(this.#exit);
  }

  #emitExit(exit: PtyExit): void {
    this.#isExitReported = true;
    if (this.#startProbe?.(exit) !== true) this.#events.exit(exit);
  }
}
