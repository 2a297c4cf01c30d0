/**
 * One program on one PTY, and the emulator that shows it. It owns both and joins them: output goes to the emulator and
 * is acknowledged when parsed; the emulator's answers are reported, and reach the program through the input gate. The
 * emulator outlives the program (a restart gives it the next one), so that cursors into the output only ever grow.
 */

import { WshError } from "../protocol/errors.ts";
import { isEcho } from "../protocol/plain-bytes.ts";
import { MIN_PANE_COLS, MIN_PANE_ROWS } from "../protocol/size.ts";
import type { Pty, PtyExit, PtyFlags, PtyOpen, PtySpawn, SignalTarget } from "../pty/port.ts";
import { TerminalModel, type TerminalSink } from "../terminal/model.ts";
import type { TerminalProfile } from "../terminal/profile.ts";
import { InputGate } from "./input-gate.ts";
import { cutAtRedraws } from "./output/redraws.ts";
import type { ProgramPort } from "./ports.ts";
import type { RestoredPane } from "./types.ts";

interface ProgramOptions {
  /** `@7`: unique in the instance. */
  readonly id: string;
  /** The program's name in lists. */
  readonly command: string;
  readonly spawn: PtySpawn;
  readonly open: PtyOpen;
  readonly nonce: string | null;
  /** Secrets of inner shells. */
  readonly childNonces?: ReadonlySet<string>;
  readonly historyLines: number;
  readonly historyBytes: number;
  readonly profile: TerminalProfile;
  /** Whether programs' clipboard writes are kept from clients. */
  readonly hideClipboard: boolean;
  /** Whether programs' titles are kept from clients. */
  readonly hideTitles: boolean;
  /** The output cursor before its first byte. */
  readonly firstOffset: number;
}

/** Reports of a pane in addition to its emulator's. */
export interface ProgramSink extends TerminalSink {
  /** The program has ended and its last output is on the screen. */
  onExit(exit: PtyExit): void;
  /** The screen is about to be rewrapped, between two chunks. */
  resizing(): void;
  /** Input is written to the program; exec's text does not count. */
  input(): void;
  /** The next chunk begins with output that every terminal shows unchanged. */
  ahead(bytes: Uint8Array): void;
}

/** RIS: a restarted program starts on a terminal in its initial state. */
const RESET = new TextEncoder().encode("\x1bc");

/** The size of a program in a pane of this size. */
export function possibleSize({ rows, cols }: { readonly rows: number; readonly cols: number }) {
  return { rows: Math.max(MIN_PANE_ROWS, rows), cols: Math.max(MIN_PANE_COLS, cols) };
}

/** A hold on the program's output. */
export interface OutputHold extends Disposable {
  /** Lets that many bytes through despite the hold. */
  letThrough(bytes: number): void;
}

export class Program implements ProgramPort {
  readonly terminal: TerminalModel;
  /** All input for the program passes through here. */
  readonly input = new InputGate(
    (bytes) => this.write(bytes),
    () => this.sink.input(),
  );
  private currentPty: Pty | null = null;
  private exitOfProgram: PtyExit | null = null;
  private requestedSize: { readonly rows: number; readonly cols: number };
  private size: { readonly rows: number; readonly cols: number };
  /** Bytes passed to the emulator, in its count. */
  private emulatorBytes: number;
  /** Counts starts, so that a late event of an earlier program is not attributed to the present one. */
  private generation = 0;
  private readonly holds = new Set<object>();
  private cutRequests = 0;
  /** Bytes parsed but not acknowledged yet, because the program is held. */
  private unacknowledgedBytes = 0;
  /** Whether the last output was, or may have been, the echo of a key. */
  private isLastOutputEcho = true;
  /** The bytes last reported ahead. */
  private aheadBytes: Uint8Array | null = null;

  constructor(
    private readonly options: ProgramOptions,
    private readonly sink: ProgramSink,
  ) {
    const { spawn, historyLines, historyBytes, nonce, childNonces, profile, hideClipboard, hideTitles } = options;
    const { firstOffset } = options;
    this.size = possibleSize(spawn);
    this.emulatorBytes = firstOffset;
    this.requestedSize = this.size;
    this.terminal = new TerminalModel(
      { ...this.size, historyLines, historyBytes, nonce, childNonces, profile, hideClipboard, hideTitles, firstOffset },
      sink,
    );
  }

  /** @throws WshError session_create_failed when the program cannot be started */
  start(): Promise<void> {
    return this.launch({ ...this.options.spawn, ...this.size });
  }

  /** Restores the terminal's earlier contents before the program starts. */
  prefill({ history, text }: Pick<RestoredPane, "history" | "text">): Promise<void> {
    this.terminal.loadLines(history.lines, history.first);
    return this.parse(text);
  }

  /** No program is started: only the remains of an earlier one are shown. */
  markNeverStarted(): void {
    this.exitOfProgram = { code: null, signal: null };
  }

  get id(): string {
    return this.options.id;
  }

  get command(): string {
    return this.options.command;
  }

  get pid(): number | null {
    return this.currentPty?.pid ?? null;
  }

  get pty(): Pty | null {
    return this.currentPty;
  }

  /** Null while the program runs. */
  get exit(): PtyExit | null {
    return this.exitOfProgram;
  }

  flags(): PtyFlags | null {
    return this.currentPty?.flags() ?? null;
  }

  /** Process group that holds the terminal; null when unknown. */
  foreground(): number | null {
    return this.currentPty?.foreground() ?? null;
  }

  get isBehind(): boolean {
    if (this.currentPty === null || this.exitOfProgram !== null) return false;
    return this.emulatorBytes !== this.terminal.offset || this.currentPty.hasOutput();
  }

  /** The directory in which the program was started. */
  get startCwd(): string {
    return this.options.spawn.cwd;
  }

  /** Resolves when the kernel has the bytes. @throws WshError session_ended, input_send_failed */
  async send(bytes: Uint8Array): Promise<void> {
    this.requirePty();
    await this.input.send(bytes);
  }

  /** A person is about to type. */
  noteTyping(): void {
    this.currentPty?.noteTyping();
  }

  /**
   * A person typed: runs `before` while the program works on its answer, before that is parsed. A program that answers
   * with more than an echo is not awaited: it continues, and is better read once it has printed more.
   */
  withAnswer(before: () => void): void {
    const answer = this.isLastOutputEcho ? (this.currentPty?.readAnswer() ?? null) : null;
    if (answer !== null) this.reportEcho(answer.bytes);
    try {
      before();
    } finally {
      answer?.deliver();
    }
  }

  /** Of several sizes requested while a chunk is parsed, the last counts. */
  async resize(rows: number, cols: number): Promise<void> {
    this.requestedSize = possibleSize({ rows, cols });
    await this.terminal.whenAtRest(() => {
      const { rows, cols } = this.requestedSize;
      if (rows === this.size.rows && cols === this.size.cols) return;
      this.size = this.requestedSize;
      this.sink.resizing();
      // A line editor reads keys, not lines, and redraws the line being edited.
      void this.terminal.resize(rows, cols, this.currentPty?.flags()?.canonical === false);
      this.currentPty?.resize(rows, cols);
    });
  }

  /** @throws WshError session_ended */
  signal(name: NodeJS.Signals, to: SignalTarget): boolean {
    return this.requirePty().signal(name, to);
  }

  /** Ends a running program and starts the same program again, at the pane's present size. */
  async restart(): Promise<void> {
    this.currentPty?.dispose();
    await this.parse(RESET);
    await this.launch({ ...this.options.spawn, ...this.size });
  }

  /**
   * Until the hold is disposed of, the program's output blocks after at most one more quantum, as on a
   * stopped terminal. The program's end is not reported before its output.
   * @returns `letThrough` lets that many more bytes through
   */
  holdOutput(): OutputHold {
    const hold = {};
    this.holds.add(hold);
    return {
      letThrough: (bytes) => this.acknowledgeBytes(Math.min(bytes, this.unacknowledgedBytes)),
      [Symbol.dispose]: () => {
        if (this.holds.delete(hold)) this.acknowledge(0);
      },
    };
  }

  /** Until disposed, output that draws over its own is parsed in several chunks. */
  cutAtRedraws(): Disposable {
    this.cutRequests++;
    return { [Symbol.dispose]: () => void this.cutRequests-- };
  }

  /** Releases all holds, since the program is to end. */
  releaseHolds(): void {
    this.holds.clear();
    this.acknowledge(0);
  }

  dispose(): void {
    this.generation++;
    this.currentPty?.dispose();
    this.currentPty = null;
    this.terminal.dispose();
  }

  private async launch(spawn: PtySpawn): Promise<void> {
    const generation = ++this.generation;
    this.exitOfProgram = null;
    this.input.editor.reset();
    let parsing: Promise<void> = Promise.resolve();
    let pty: Pty | null = null;
    let early = 0;
    this.unacknowledgedBytes = 0;
    try {
      pty = await this.options.open(spawn, {
        data: (bytes) => {
          if (generation !== this.generation) return;
          const { length } = bytes;
          this.reportEcho(bytes);
          parsing = this.parse(bytes).then(() => {
            if (generation !== this.generation) return;
            if (pty === null) early += length;
            else this.acknowledge(length);
          });
        },
        exit: (exit) => {
          void parsing.then(() => this.finish(generation, exit));
        },
      });
    } catch (cause) {
      this.exitOfProgram = { code: null, signal: null };
      if (cause instanceof WshError) throw cause;
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new WshError("session_create_failed", `${spawn.file} could not be started: ${reason}`, {}, { cause });
    }
    this.currentPty = pty;
    this.acknowledge(early);
  }

  private parse(bytes: Uint8Array): Promise<void> {
    this.emulatorBytes += bytes.length;
    if (this.cutRequests === 0) return this.terminal.write(bytes);
    return cutAtRedraws(bytes).reduce((_, piece) => this.terminal.write(piece), Promise.resolve());
  }

  /**
   * Reports the echo of a key before it is parsed, since parsing takes longer than the rest of its path. Only
   * while no byte waits for the emulator and no sequence is open.
   */
  private reportEcho(bytes: Uint8Array): void {
    if (this.aheadBytes === bytes) return;
    this.isLastOutputEcho = isEcho(bytes);
    if (this.emulatorBytes !== this.terminal.offset || !this.isLastOutputEcho) return;
    let now = true;
    void this.terminal.whenAtRest(() => {
      // After an unfinished sequence it would be too late.
      if (!now) return;
      this.aheadBytes = bytes;
      this.sink.ahead(bytes);
    });
    now = false;
  }

  private acknowledge(bytes: number): void {
    this.unacknowledgedBytes += bytes;
    if (this.holds.size === 0) this.acknowledgeBytes(this.unacknowledgedBytes);
  }

  private acknowledgeBytes(bytes: number): void {
    if (bytes === 0) return;
    this.unacknowledgedBytes -= bytes;
    this.currentPty?.ack(bytes);
  }

  private finish(generation: number, exit: PtyExit): void {
    if (generation !== this.generation) return;
    this.exitOfProgram = exit;
    this.currentPty?.dispose();
    this.currentPty = null;
    this.sink.onExit(exit);
  }

  private async write(bytes: Uint8Array): Promise<void> {
    await this.requirePty().write(bytes);
  }

  private requirePty(): Pty {
    if (this.exitOfProgram !== null || this.currentPty === null) {
      throw new WshError("session_ended", `the program of pane '${this.id}' has ended`, {
        exit_code: this.exitOfProgram?.code ?? null,
        signal: this.exitOfProgram?.signal ?? null,
      });
    }
    return this.currentPty;
  }
}
