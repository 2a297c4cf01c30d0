/**
 * The order in which a process reads its terminals: one loop for any number of them.
 *
 * Invariants:
 * - The person's keys come first: they are checked before every read (`beforeEachRead`).
 * - The pane that a person types into is read before all others. While an echo is awaited, the others get small
 *   portions.
 * - One read is about SLICE_MS of work, and all reads of a turn TURN_MS; then sockets, timers and answers run. The
 *   budget is the process's, so ten floods delay nothing more than one does.
 * - No terminal starves: of the readable ones, the one that has waited longest is next.
 * - Nothing is lost: bytes are read only when they can be delivered, and a terminal is checked until its end is found.
 *
 * The kernel signals available output (O_ASYNC, SIGURG, which does nothing by default); a signal is an edge, and a
 * flooding terminal would send thousands. So a terminal with more than one read of output is polled in each turn
 * instead, until it is empty. Then signals are enabled again, and it is polled once more, for output that arrived in
 * between. A hangup is not signalled: terminals whose program has ended are polled every ENDING_MS. Linux only;
 * elsewhere a stream reads (stream-reader.ts).
 */
import { platform } from "../platform/platform.ts";
import { system } from "../platform/system.ts";
import { libc } from "../platform/tty-calls.ts";

const SIGNAL = "SIGURG";
const { F_GETFL, F_SETFL, F_SETOWN, F_SETSIG, O_ASYNC, SIGURG, POLLIN } = system.constants;
/** Work of one read while a person types, and otherwise, in ms: an echo waits no longer for a read that has begun. */
const SLICE_MS = 1;
const CALM_SLICE_MS = 2;
/**
 * Work of one turn of the event loop, in ms: a call waits for one or two (measured: with 4 ms, calls took twice as long
 * and floods no less).
 */
const TURN_MS = 2;
/** Least and most bytes of one read. The kernel gives at most 4 KB at a time when the program writes no faster. */
const LEAST_BYTES = 4 * 1024;
const MOST_BYTES = 128 * 1024;
/** Assumed bytes parsed per ms before a measurement: those of a screen full of colours. */
const FIRST_RATE = 16 * 1024;
/** Weight of the newest read in the measured rate. */
const NEWEST_READ_WEIGHT = 0.3;
/**
 * Time after a key during which other panes leave the processor to the echo, in ms: longer than a pause within a word.
 */
const TYPED_MS = 250;
/** Portion of another pane meanwhile: bytes per interval in ms, 0.4 MB a second, more than anyone reads. */
const TYPING_PORTION_BYTES = 8 * 1024;
const TYPING_INTERVAL_MS = 20;
/**
 * The same interval until the echo of the last key has arrived: a program whose output is read continues to
 * print, and takes processor time from the program that must echo.
 */
const AWAITED_ECHO_INTERVAL_MS = 100;
/** Interval between polls of a terminal whose program has ended, in ms. */
const ENDING_MS = 2;

/** Receives the output. */
export interface TurnsPort {
  /** The receiver owns the array. */
  data(bytes: Uint8Array): void;
  /** Every byte was delivered and no process has the other side open. */
  hungUp(): void;
}

const readers = new Set<TurnReader>();
const readBuffer = Buffer.allocUnsafeSlow(MOST_BYTES);
let lookForKeys = (): void => {};
let lastTyping: { readonly reader: TurnReader; readonly at: number } | null = null;
let isRunning = false;
let nextTurn: { readonly cancel: () => void; readonly at: number } | null = null;

/** @param look reads the person's pending keys; runs before every read */
export function beforeEachRead(look: () => void): void {
  lookForKeys = look;
}

export class TurnReader {
  /** Whether it has more output than was read: it is polled in each turn instead of signalled. */
  isBusy = true;
  isPaused = false;
  isHungUp = false;
  /** Bytes that are parsed in a ms, as measured. */
  bytesPerMs = FIRST_RATE;
  lastReadAt = 0;
  /** Whether its program has ended. */
  isEnding = false;
  private isSignalled = false;
  private isClosed = false;

  private constructor(
    readonly fd: number,
    readonly port: TurnsPort,
  ) {}

  /** Null when the kernel sends no signal. @param fd of the terminal's master; the caller still owns it */
  static create(fd: number, port: TurnsPort): TurnReader | null {
    if (F_SETSIG === null || !platform().terminals.signalsInput) return null;
    const { fcntl } = libc();
    if (fcntl(fd, F_SETOWN, process.pid) !== 0 || fcntl(fd, F_SETSIG, SIGURG) !== 0) return null;
    const reader = new TurnReader(fd, port);
    if (readers.size === 0) process.on(SIGNAL, runTurn);
    readers.add(reader);
    scheduleTurn(0);
    return reader;
  }

  /** Bytes read elsewhere follow: nothing is read ahead. */
  get isWaiting(): boolean {
    return !this.isClosed;
  }

  /** Whether it has unread output: its turn is still to come. */
  get hasOutput(): boolean {
    return !this.isClosed && pollReaders([this]).has(this);
  }

  /** A person has typed into it. Runs per key. */
  noteTyping(): void {
    lastTyping = { reader: this, at: performance.now() };
  }

  /** The terminal's output was read elsewhere. */
  noteAnswer(): void {
    this.lastReadAt = performance.now();
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.isBusy = true;
    scheduleTurn(0);
  }

  /** Its program has ended: reads the remaining output, then reports the end. */
  noteProgramEnd(): void {
    this.isEnding = true;
    scheduleTurn(0);
  }

  /** Idempotent. Call before the descriptor is closed. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    readers.delete(this);
    this.setSignalled(false);
    if (lastTyping?.reader === this) lastTyping = null;
    if (readers.size === 0) process.off(SIGNAL, runTurn);
  }

  /** Its output is read: the kernel signals more. */
  awaitSignal(): void {
    this.isBusy = false;
    this.setSignalled(true);
  }

  /** It has more output than this turn reads. */
  pollEachTurn(): void {
    this.isBusy = true;
    this.setSignalled(false);
  }

  private setSignalled(isEnabled: boolean): void {
    if (isEnabled === this.isSignalled) return;
    this.isSignalled = isEnabled;
    const { fcntl } = libc();
    const flags = fcntl(this.fd, F_GETFL, 0);
    if (flags >= 0) fcntl(this.fd, F_SETFL, isEnabled ? flags | O_ASYNC : flags & ~O_ASYNC);
  }
}

/** Schedules a turn in `ms`, unless one is due sooner. */
function scheduleTurn(ms: number): void {
  if (isRunning) return;
  const at = performance.now() + ms;
  if (nextTurn !== null && nextTurn.at <= at) return;
  nextTurn?.cancel();
  if (ms > 0) {
    const timer = setTimeout(runTurn, ms);
    nextTurn = { at, cancel: () => clearTimeout(timer) };
  } else {
    const immediate = setImmediate(runTurn);
    nextTurn = { at, cancel: () => clearImmediate(immediate) };
  }
}

/** One turn. Runs per signal, and while a terminal has more than was read. */
function runTurn(): void {
  if (isRunning) return;
  isRunning = true;
  nextTurn?.cancel();
  nextTurn = null;
  const began = performance.now();
  let nextTurnMs: number | null = null;
  try {
    for (;;) {
      lookForKeys();
      const ready = findReady();
      const now = performance.now();
      const isTyping = lastTyping !== null && now - lastTyping.at < TYPED_MS;
      const isAwaited = isTyping && lastTyping !== null && lastTyping.reader.lastReadAt < lastTyping.at;
      const pause = isAwaited ? AWAITED_ECHO_INTERVAL_MS : isTyping ? TYPING_INTERVAL_MS : 0;
      const chosen = chooseReader(ready, now, pause);
      if (chosen === null) {
        for (const reader of ready) nextTurnMs = Math.min(nextTurnMs ?? pause, reader.lastReadAt + pause - now);
        break;
      }
      if (now - began > TURN_MS) {
        nextTurnMs = 0;
        break;
      }
      readFrom(chosen, isTyping);
    }
  } finally {
    isRunning = false;
  }
  for (const reader of readers)
    if (reader.isEnding && !reader.isHungUp) nextTurnMs = Math.min(nextTurnMs ?? ENDING_MS, ENDING_MS);
  if (nextTurnMs !== null) scheduleTurn(Math.max(0, nextTurnMs));
}

/** The terminals with output; the others get signals. */
function findReady(): TurnReader[] {
  const candidates = [...readers].filter(({ isPaused, isHungUp, isEnding }) => !isPaused && (!isHungUp || !isEnding));
  if (candidates.length === 0) return [];
  let ready = pollReaders(candidates);
  const idle = candidates.filter((reader) => reader.isBusy && !ready.has(reader));
  if (idle.length > 0) {
    for (const reader of idle) reader.awaitSignal();
    // Output that arrived before signals were enabled again was not signalled.
    ready = ready.union(pollReaders(idle));
  }
  for (const reader of ready) reader.pollEachTurn();
  return [...ready];
}

function pollReaders(polledReaders: readonly TurnReader[]): Set<TurnReader> {
  // struct pollfd { int fd; short events; short revents; }; revents is the upper half of the second word.
  const watched = new Int32Array(polledReaders.length * 2);
  for (const [index, { fd }] of polledReaders.entries()) {
    watched[2 * index] = fd;
    watched[2 * index + 1] = POLLIN;
  }
  const ready = new Set<TurnReader>();
  if (libc().poll(watched, polledReaders.length, 0) <= 0) return ready;
  for (const [index, reader] of polledReaders.entries()) {
    const events = (watched[2 * index + 1] ?? 0) >>> 16;
    if ((events & POLLIN) !== 0) ready.add(reader);
    else if (events !== 0 && reader.isEnding && !reader.isHungUp) {
      reader.isHungUp = true;
      reader.port.hungUp();
    }
  }
  return ready;
}

/**
 * The terminal that a person types into, or else the one that has waited longest, if it may be read now.
 * @param pause between two reads of the others while a person types; 0: nobody types
 */
function chooseReader(ready: readonly TurnReader[], now: number, pause: number): TurnReader | null {
  if (pause > 0 && lastTyping !== null && ready.includes(lastTyping.reader)) return lastTyping.reader;
  let chosen: TurnReader | null = null;
  for (const reader of ready) {
    if (now - reader.lastReadAt < pause) continue;
    if (chosen === null || reader.lastReadAt < chosen.lastReadAt) chosen = reader;
  }
  return chosen;
}

function readFrom(reader: TurnReader, isTyping: boolean): void {
  const isBeside = isTyping && lastTyping?.reader !== reader;
  const most = isBeside ? TYPING_PORTION_BYTES : MOST_BYTES;
  const size = Math.round(reader.bytesPerMs * (isTyping ? SLICE_MS : CALM_SLICE_MS));
  const began = performance.now();
  reader.lastReadAt = began;
  const length = libc().read(reader.fd, readBuffer, Math.min(most, Math.max(LEAST_BYTES, size)));
  if (length <= 0) {
    // Empty or hung up: which of the two is determined once its program has ended.
    reader.awaitSignal();
    return;
  }
  reader.port.data(new Uint8Array(readBuffer.subarray(0, length)));
  const ms = performance.now() - began;
  if (ms > 0) reader.bytesPerMs = reader.bytesPerMs * (1 - NEWEST_READ_WEIGHT) + (length / ms) * NEWEST_READ_WEIGHT;
}
