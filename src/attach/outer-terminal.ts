/**
 * The person's terminal: its size, its input and output, and how it is restored. It is opened again by its
 * path, so that non-blocking reads and writes apply to descriptors of our own: the shell shares ours and
 * would keep that mode. The terminal is restored whatever ends the process, except SIGKILL.
 */
import fs from "node:fs";
import tty from "node:tty";
import type { ByteReader } from "../platform/byte-reader.ts";
import { windowPixels } from "../platform/descriptors.ts";
import { platform } from "../platform/platform.ts";
import { type RawMode, rawMode } from "../platform/raw-mode.ts";
import type { PersonDevice } from "../protocol/attach.ts";
import type { LastingChange } from "../protocol/lasting-changes.ts";
import type { Size } from "../protocol/size.ts";
import { TerminalOutput } from "../wire/terminal-output.ts";
import {
  capsFromEnvironment,
  removeImages,
  restoreTerminal,
  restoreTitle,
  savePersonModes,
  saveTitle,
  undoLasting,
} from "./render/modes.ts";

/** Size of a terminal that reports none. */
const FALLBACK_SIZE: Size = { rows: 24, cols: 80 };
/** Longest wait for the session's last bytes, in ms; after a signal, also for those that restore the terminal. */
const FLUSH_MS = 1_000;

/** CAN: ends an unfinished sequence, and shows nothing. */
const CANCEL = "\x18";

interface TerminalOptions {
  /** Draws on the terminal's alternate screen. */
  readonly altScreen: boolean;
  /** Programs may set its title, which is restored at the end. */
  readonly titles: boolean;
}

interface TerminalInput {
  /** Receives typed bytes; the returned promise is awaited before more is read. */
  bytes(bytes: Uint8Array): Promise<void> | null;
  /** No more input follows: it has ended, or the terminal is gone. */
  ended(): void;
}

export class OuterTerminal {
  readonly output: TerminalOutput;
  /** The terminal, when input and output are the same one and another of our processes could open it. */
  readonly device: PersonDevice | null;
  private readonly raw: RawMode | null;
  private readonly inputFd: number | null;
  private readonly openedFds: number[] = [];
  private reader: ByteReader | null = null;
  private isRestored = false;
  private hasStoppedReading = false;
  /** The terminal was restored for another process, which has it now. */
  private isHandedOver = false;
  private lastSize: Size = readSize(FALLBACK_SIZE);
  /** Lasting changes by the session's programs, to be undone. */
  private readonly changes = new Set<LastingChange>();
  /** Images that the session has displayed there. */
  images: readonly number[] = [];
  /** Kitty's keyboard flags before we started. */
  keyboardFlags = 0;
  private readonly endSignal = Promise.withResolvers<void>();
  private readonly atExit = (): void => this.restoreNow();

  /** Enters raw mode and clears space for the session's screen. */
  constructor(private readonly options: TerminalOptions) {
    const { O_RDONLY, O_WRONLY } = fs.constants;
    this.inputFd = tty.isatty(0) ? this.reopen(0, O_RDONLY) : null;
    const outputFd = tty.isatty(1) ? this.reopen(1, O_WRONLY) : null;
    this.output = new TerminalOutput(outputFd ?? 1);
    this.device = this.inputFd === null || outputFd === null ? null : findSharedDevice(this.inputFd, outputFd);
    this.raw = tty.isatty(0) ? rawMode(0) : null;
    process.on("exit", this.atExit);
    this.raw?.enter();
    if (tty.isatty(1)) this.output.write(new TextEncoder().encode(this.openingSequence()));
  }

  /** Whether the terminal can answer a question; the consoles below print it instead. */
  get canAnswer(): boolean {
    return this.raw !== null && tty.isatty(1) && !/^(dumb|linux|vt\d+|unknown|)$/.test(process.env.TERM ?? "");
  }

  /** Records changes by programs, which are undone at the end. */
  recordChanges(changes: readonly LastingChange[]): void {
    for (const change of changes) this.changes.add(change);
  }

  /** Removes the images of a session before the terminal shows another one. */
  removeImages(): void {
    this.output.write(new TextEncoder().encode(removeImages(this.images)));
    this.images = [];
  }

  get lastingChanges(): ReadonlySet<LastingChange> {
    return this.changes;
  }

  /** The size as last read: the system call takes time, and pictures are many. */
  get size(): Size {
    return this.lastSize;
  }

  /** Pixels of a cell; absent: the system does not know. */
  get cell(): { readonly width: number; readonly height: number } | undefined {
    const { rows, cols } = this.lastSize;
    const pixels = windowPixels(1);
    const cell = { width: Math.floor(pixels.width / cols), height: Math.floor(pixels.height / rows) };
    return cell.width > 0 && cell.height > 0 ? cell : undefined;
  }

  /** Calls `resized` when the size changes. */
  watchSize(resized: () => void): void {
    process.on("SIGWINCH", () => {
      this.lastSize = readSize(this.lastSize);
      resized();
    });
  }

  /** Restores the terminal for the process that has it while this one is stopped. */
  async handOver(): Promise<void> {
    await this.waitForOutput();
    this.isHandedOver = true;
    this.writeRestoring();
  }

  /**
   * Takes the terminal back after the process was continued. Without an earlier `handOver`, it had stopped
   * without warning, and the screen is left to be rendered over. In the background the system stops the
   * process here until it returns to the foreground.
   */
  takeBack(): void {
    this.raw?.enter();
    this.lastSize = readSize(this.lastSize);
    if (this.isHandedOver && tty.isatty(1)) this.output.write(new TextEncoder().encode(this.openingSequence()));
    this.isHandedOver = false;
  }

  /** Reads until the input ends; not awaited by its caller. */
  async read(input: TerminalInput): Promise<void> {
    const stream = this.inputFd === null ? Bun.stdin.stream() : Bun.file(this.inputFd).stream();
    const reader: ByteReader = stream.getReader();
    this.reader = reader;
    this.hasStoppedReading = false;
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const busy = input.bytes(value);
        if (busy !== null) await busy;
      }
    } catch {
      // EIO: the terminal was closed.
    }
    if (!this.hasStoppedReading) input.ended();
  }

  /**
   * Stops reading; resolves when everything that was read has been passed on. Later input then waits in the system, for
   * another process or for `read`.
   */
  async stopReading(): Promise<void> {
    this.hasStoppedReading = true;
    await this.reader?.cancel().catch(() => {});
    await Bun.sleep(0);
  }

  /**
   * Waits for the last bytes, then restores the terminal. A terminal that takes no output (its process is
   * stopped, the network is down) is awaited, since nothing else would restore it when it resumes; a signal
   * or the terminal's end stops the wait.
   * @returns whether it has taken everything
   */
  async restore(): Promise<boolean> {
    await this.waitForOutput();
    this.restoreNow();
    const signalled = this.endSignal.promise.then(() => Bun.sleep(FLUSH_MS));
    await Promise.race([this.output.emptied(Number.POSITIVE_INFINITY), signalled]);
    const taken = this.output.pending === 0;
    this.output.discard();
    process.off("exit", this.atExit);
    return taken;
  }

  /** The process got a signal to end: a terminal that takes no output no longer delays it. */
  stopWaiting(): void {
    this.endSignal.resolve();
  }

  private waitForOutput(): Promise<void> {
    return this.output.emptied(FLUSH_MS);
  }

  /** Not awaited, since the process may be ending. */
  private restoreNow(): void {
    if (this.isRestored) return;
    this.isRestored = true;
    void this.reader?.cancel().catch(() => {});
    this.writeRestoring();
  }

  private writeRestoring(): void {
    // The cut may be in the middle of a sequence.
    const cut = this.output.pending > 0 ? CANCEL : "";
    this.output.discard();
    // The normal and the alternate screen have images of their own.
    const images = removeImages(this.images);
    const bytes = [Buffer.from(cut + images), this.closingSequence(), Buffer.from(images)];
    this.images = [];
    if (tty.isatty(1)) this.output.write(new Uint8Array(Buffer.concat(bytes)));
    this.raw?.leave();
  }

  /**
   * Switches to the alternate screen. On the normal one, pushes its content up to the cursor's line into the scrollback
   * instead, so that the session's screen overwrites nothing.
   */
  private openingSequence(): string {
    const savedState = this.canAnswer ? savePersonModes + (this.options.titles ? saveTitle : "") : "";
    return this.options.altScreen
      ? `${savedState}\x1b[?1049h\x1b[H\x1b[2J`
      : `${savedState}${"\r\n".repeat(this.size.rows)}\x1b[H\x1b[2J`;
  }

  /**
   * Restores everything, and leaves the cursor so that the next message begins a new line: on the normal screen right
   * below the session's last output, since a cursor at the bottom would push that away.
   */
  private closingSequence(): Uint8Array {
    const caps = capsFromEnvironment(process.env);
    const { keyboardFlags, canAnswer: hasSavedModes } = this;
    const title = hasSavedModes && this.options.titles ? restoreTitle : "";
    if (this.options.altScreen) {
      const restored = restoreTerminal(caps, { alternate: "own", hasSavedModes, keyboardFlags });
      return new Uint8Array(Buffer.concat([restored, Buffer.from(title)]));
    }
    const undone = undoLasting(this.changes, this.size.cols);
    const modes = restoreTerminal(caps, { alternate: false, hasSavedModes, keyboardFlags });
    const restored = undone + new TextDecoder().decode(modes);
    // The cursor is saved across it, and saved once more for 1049, which restores the last saved position.
    const inPlace = `\x1b7${restored}\x1b8\x1b(B\x0f\x1b[m\x1b7\x1b[?1049l`;
    // Blanks up to the last column wrap only when the cursor was not in the first.
    const ownLine = `${" ".repeat(this.size.cols - 1)}\r\x1b[J`;
    return new TextEncoder().encode(inPlace + ownLine + title);
  }

  /** Opens the same terminal by its path without blocking; null when impossible. */
  private reopen(fd: number, access: number): number | null {
    const path = platform().terminals.path(fd);
    if (path === null) return null;
    const { O_NOCTTY, O_NONBLOCK } = fs.constants;
    try {
      const reopened = fs.openSync(path, access | O_NOCTTY | O_NONBLOCK);
      if (fs.fstatSync(reopened).rdev === fs.fstatSync(fd).rdev) {
        this.openedFds.push(reopened);
        return reopened;
      }
      fs.closeSync(reopened);
    } catch {
      // Another mount namespace, or no permission: the descriptor that we were given must do.
    }
    return null;
  }
}

function findSharedDevice(input: number, output: number): PersonDevice | null {
  const { dev, ino, rdev } = fs.fstatSync(input);
  const path = platform().terminals.path(input);
  const outputStat = fs.fstatSync(output);
  if (path === null || outputStat.ino !== ino || outputStat.dev !== dev) return null;
  return { path, device: dev, inode: ino, number: rdev, pid: process.pid };
}

/** @param before returned when the size can no longer be read: the client notices later that its terminal is gone */
function readSize(before: Size): Size {
  for (const fd of [1, 0]) {
    if (!tty.isatty(fd)) continue;
    const [cols, rows] = windowSize(fd);
    if (rows > 0 && cols > 0) return { rows, cols };
  }
  return before;
}

function windowSize(fd: number): [cols: number, rows: number] {
  return new tty.WriteStream(fd).getWindowSize();
}
