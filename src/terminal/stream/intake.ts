/**
 * Output on its way into the emulator.
 *
 * Owns the queue of writes, the unfinished tail, and the clock: `offset`, the output bytes parsed, counted from the
 * pane's first number. Writes are parsed in order, at once, chunk by chunk; every chunk ends at rest and is reported
 * once parsed. Long output is parsed in portions with the event loop in between. At the limit: an unfinished sequence
 * longer than `MAX_TAIL` bytes is passed on, and `whenAtRest` waits for its end.
 */

import { type Classifier, isPicture } from "./client-filter.ts";
import { applyEdits, type Edit } from "./edits.ts";
import { SliceScanner } from "./slice-scanner.ts";

/** Longest unfinished sequence that is waited for; a longer one is passed on incomplete. */
const MAX_TAIL = 65_536;
/** The same for a command with a picture: kitty accepts as much, and few programs send as much at once. */
const MAX_PICTURE = 262_144;
/** Approximate limit of a chunk, so that clients and the event loop get their turn: about 1.5 ms of parsing. */
const MAX_CHUNK = 32_768;
/** How long parsing continues, over any number of writes, before the event loop runs. */
const PORTION_MS = 4;

export interface Chunk {
  readonly offset: number;
  /** Bytes for clients: without queries and our marks. May share memory with the written bytes. */
  readonly bytes: Uint8Array;
  /** The program's original bytes, if requested. */
  readonly raw?: Uint8Array | undefined;
}

interface IntakePort {
  /** Takes lines that need no parsing and begin before `limit`; returns their end. */
  bypassLines(bytes: Uint8Array, from: number, limit: number): number;
  /** Parses a slice; `end` is the offset at its end. Returns bytes that were parsed after it and no program sent. */
  parse(slice: Uint8Array, end: number): Uint8Array | null;
  /** Whether chunks should contain the program's original bytes. */
  wantsRaw?(): boolean;
  /** Takes a picture command, or placeholders; returns the replacement to parse and to send to clients. */
  convertPicture(text: string): string;
  /** SO (1) or SI (0) was read. */
  shift(set: 0 | 1): void;
  chunk(chunk: Chunk): void;
  /** A piece of output was skipped, for the log. */
  crashed(error: unknown): void;
}

interface PendingWrite {
  readonly bytes: Uint8Array;
  readonly done: () => void;
}

const EMPTY = new Uint8Array(0);
const CANCEL = Uint8Array.of(0x18);

export class Intake {
  /** Number of invalid UTF-8 parts, shown as U+FFFD. */
  invalidParts = 0;
  private readonly scanner: SliceScanner;
  private tail: Uint8Array = EMPTY;
  private pendingWrites: PendingWrite[] = [];
  private restWaiters: (() => void)[] = [];
  private isRunning = false;
  private parsing = false;
  /** The emulator gets no more of the open sequence. */
  private isMuted = false;
  private isDisposed = false;
  private parsedBytes: number;
  /** Time at which parsing began since the event loop last ran; null: it has not. */
  private portionStart: number | null = null;

  constructor(
    classify: Classifier,
    { cols, firstOffset }: { readonly cols: number; readonly firstOffset: number },
    private readonly port: IntakePort,
  ) {
    this.parsedBytes = firstOffset;
    this.scanner = new SliceScanner(classify, cols);
  }

  get offset(): number {
    return this.parsedBytes;
  }

  resize(cols: number): void {
    this.scanner.resize(cols);
  }

  write(bytes: Uint8Array): Promise<void> {
    if (this.isDisposed) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.pendingWrites.push({ bytes, done: resolve });
    if (!this.isRunning) void this.runQueue();
    return promise;
  }

  get isParsing(): boolean {
    return this.parsing;
  }

  get isAtRest(): boolean {
    return this.isDisposed || !(this.parsing || this.scanner.isInside);
  }

  whenAtRest<T>(fn: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const run = (): void => {
      try {
        resolve(fn());
      } catch (error) {
        reject(error);
      }
    };
    if (this.isAtRest) run();
    else this.restWaiters.push(run);
    return promise;
  }

  /** Pending writes are dropped; promises resolve. */
  dispose(): void {
    this.isDisposed = true;
    for (const { done } of this.pendingWrites.splice(0)) done();
    for (const waiter of this.restWaiters.splice(0)) waiter();
  }

  /**
   * Parses pending writes; synchronous until a portion is used up. A flood that is read at the speed of
   * parsing arrives as one chain of promises, in which the event loop never runs: so portions span writes.
   */
  private async runQueue(): Promise<void> {
    this.isRunning = true;
    for (let next = this.pendingWrites.shift(); next !== undefined; next = this.pendingWrites.shift()) {
      const bytes = this.tail.length === 0 ? next.bytes : Buffer.concat([this.tail, next.bytes]);
      this.tail = EMPTY;
      for (let index = 0; index < bytes.length && !this.isDisposed; ) {
        // The first chunk of a turn is parsed at once, even in a late turn.
        if (this.isPortionUsedUp()) await new Promise((resolve) => setImmediate(resolve));
        if (!this.isDisposed) index = this.parseGuarded(bytes, index);
      }
      next.done();
    }
    this.isRunning = false;
  }

  /** An error in a piece of one terminal's output skips that piece, and affects no other terminal. */
  private parseGuarded(bytes: Uint8Array, from: number): number {
    const end = this.parsedBytes + bytes.length - from;
    try {
      return this.parseChunk(bytes, from);
    } catch (error) {
      this.parsing = false;
      this.tail = EMPTY;
      this.parsedBytes = end;
      this.port.crashed(error);
      for (const waiter of this.restWaiters.splice(0)) waiter();
      return bytes.length;
    }
  }

  private isPortionUsedUp(): boolean {
    if (this.portionStart !== null) return performance.now() - this.portionStart > PORTION_MS;
    this.portionStart = performance.now();
    setImmediate(() => {
      this.portionStart = null;
    });
    return false;
  }

  /** Parses one chunk from `from` and reports it; returns where the next begins. */
  private parseChunk(bytes: Uint8Array, from: number): number {
    this.parsing = true;
    // The scanner blanks out bytes that no terminal may get.
    const written = this.port.wantsRaw?.() === true ? bytes.slice(from) : undefined;
    const edits: Edit[] = [];
    let position = from;
    while (position < bytes.length && position - from < MAX_CHUNK) {
      if (!this.scanner.isInside)
        position = this.port.bypassLines(bytes, position, Math.min(bytes.length, from + MAX_CHUNK));
      if (position === bytes.length || position - from >= MAX_CHUNK) break;
      let slice = this.scanner.nextSlice(bytes, position);
      if (slice.end === position) {
        const longest = isPicture(bytes, position, position + 2) ? MAX_PICTURE : MAX_TAIL;
        if (!slice.isUnfinished || bytes.length - position <= longest) {
          this.tail = bytes.subarray(position);
          break;
        }
        slice = this.scanner.forceSlice(bytes, position);
      }
      for (const edit of slice.edits) edits.push(edit);
      this.invalidParts += slice.replaced.length;
      const { picture } = slice;
      const whole = applyEdits(bytes, position, picture?.start ?? slice.end, slice.replaced);
      const replacement = this.parseSlice(whole, this.parsedBytes + slice.end - from);
      if (replacement !== null) edits.push({ start: slice.end, end: slice.end, replacement });
      if (picture !== undefined)
        this.insertPicture(picture.text, this.parsedBytes + slice.end - from, slice.end, edits);
      if (slice.title !== null) this.port.parse(slice.title, this.parsedBytes + slice.end - from);
      if (slice.shift !== null) this.port.shift(slice.shift);
      position = slice.end;
    }
    this.parsing = false;
    if (position > from) {
      this.parsedBytes += position - from;
      this.port.chunk({
        offset: this.parsedBytes,
        bytes: applyEdits(bytes, from, position, edits),
        raw: written?.subarray(0, position - from),
      });
      if (!this.scanner.isInside) for (const waiter of this.restWaiters.splice(0)) waiter();
    }
    return this.tail.length > 0 ? bytes.length : position;
  }

  /** Parses the text that replaces a picture, and sends it to clients at `offset`. */
  private insertPicture(text: string, end: number, offset: number, edits: Edit[]): void {
    const drawn = this.port.convertPicture(text);
    // Without the terminator, a character after the command would join the previous one.
    const bytes = Buffer.from(drawn || "\x1b\\");
    if (drawn !== "") edits.push({ start: offset, end: offset, replacement: bytes });
    const replacement = this.parseSlice(bytes, end);
    if (replacement !== null) edits.push({ start: offset, end: offset, replacement });
  }

  private parseSlice(slice: Uint8Array, end: number): Uint8Array | null {
    const { isInside, isExcessive } = this.scanner;
    if (this.isMuted) {
      this.isMuted = isInside;
      return null;
    }
    if (!isExcessive) return this.port.parse(slice, end);
    this.isMuted = true;
    return this.port.parse(CANCEL, end);
  }
}
