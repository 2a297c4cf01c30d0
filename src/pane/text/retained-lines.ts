/**
 * The retained head and tail of rendered output.
 *
 * A HeadTail takes lines in order and retains the first and the last within a budget of bytes; lines in between are
 * counted, and given to an overflow if it has one. It never holds more than its budget and one line over it.
 */
import { trimSpaces } from "../../terminal/rows/row-text.ts";
/** Lines of output, first and last. */
export interface RetainedLines {
  readonly head: readonly string[];
  readonly tail: readonly string[];
  readonly omitted: number;
}

/** Receives the lines that fall between head and tail, in order; numbers count the lines of the output from 1. */
export interface Overflow {
  addLine(number: number, text: string): void;
  addRun(number: number, source: LineSource, from: number, count: number): void;
}

/** Long-term storage of lines as two texts: a separate string for each short line takes ten times its length. */
export class PackedLines {
  private readonly head: string | null;
  private readonly tail: string | null;
  private readonly omitted: number;

  constructor({ head, tail, omitted }: RetainedLines) {
    this.head = head.length === 0 ? null : head.join("\n");
    this.tail = tail.length === 0 ? null : tail.join("\n");
    this.omitted = omitted;
  }

  /** Size of the stored text, in characters. */
  get bytes(): number {
    return (this.head?.length ?? 0) + (this.tail?.length ?? 0);
  }

  lines(): RetainedLines {
    return { head: this.head?.split("\n") ?? [], tail: this.tail?.split("\n") ?? [], omitted: this.omitted };
  }
}

/** UTF-8 bytes of a line with its newline. */
export function lineCost(line: string): number {
  return Buffer.byteLength(line) + 1;
}

/** Lines whose texts are made on request. */
export interface LineSource {
  text(index: number): string;
  /** Characters of the lines `from` to `to` together, without reading them. */
  length(from: number, to: number): number;
  /** The lines `from` to `to` as UTF-8, each ended by CR LF or LF, if available in that form; else null. */
  bytes(from: number, to: number): Uint8Array | null;
}

/** Lines of the tail: one, or a run of a source from `from` on. */
type TailPart = string | { readonly source: LineSource; readonly from: number; readonly count: number };

interface TailEntry {
  readonly part: TailPart;
  readonly bytes: number;
  /** Whether it is kept out of the overflow. */
  readonly isWithheld: boolean;
}

/** A run of lines is dropped in parts of this many. */
const RUN_LINES = 64;

export class HeadTail {
  private readonly head: string[] = [];
  /** A queue: parts before `first` have been dropped. */
  private tail: TailEntry[] = [];
  private firstPart = 0;
  private tailLines = 0;
  private headBytes = 0;
  private tailBytes = 0;
  private droppedLines = 0;
  /** Whether the head is full: further lines belong to the tail. */
  private isHeadFull = false;

  /** @param budget bytes of UTF-8, half for the head and half for the tail */
  constructor(
    private readonly budget: number,
    private readonly overflow: Overflow | null = null,
  ) {}

  /** Lines seen so far. */
  get count(): number {
    return this.head.length + this.droppedLines + this.tailLines;
  }

  /** Bytes held; for lines not read yet, their characters. */
  get bytes(): number {
    return this.headBytes + this.tailBytes;
  }

  /** Whether further lines may be dropped. */
  get isPastHead(): boolean {
    return this.isHeadFull;
  }

  /** @param isWithheld whether it is kept out of the overflow */
  push(line: string, isWithheld = false): void {
    const bytes = lineCost(line);
    if (!this.isHeadFull && this.headBytes + bytes <= this.budget / 2) {
      this.head.push(line);
      this.headBytes += bytes;
      return;
    }
    this.isHeadFull = true;
    this.add({ part: line, bytes, isWithheld }, 1);
  }

  /** The first `count` lines of a source, past the head. They are read with the output, if still stored. */
  pushAll(source: LineSource, count: number): void {
    for (let from = 0; from < count; from += RUN_LINES) {
      const lines = Math.min(RUN_LINES, count - from);
      const bytes = source.length(from, from + lines) + lines;
      this.add({ part: { source, from, count: lines }, bytes, isWithheld: false }, lines);
    }
  }

  /** Counts lines that were not read because they would have been dropped. */
  skip(lines: number): void {
    if (lines <= 0) return;
    this.isHeadFull = true;
    this.droppedLines += this.tailLines + lines;
    this.tail = [];
    this.firstPart = 0;
    this.tailLines = 0;
    this.tailBytes = 0;
  }

  retained(): RetainedLines {
    const all = this.entries().flatMap(({ part }) => linesOf(part));
    const from = this.surplus(all);
    return { head: [...this.head], tail: all.slice(from), omitted: this.droppedLines + from };
  }

  /**
   * Like `retained`, with every line that has not gone to the overflow: the tail may exceed its half by some lines.
   */
  retainedWithPending(): RetainedLines {
    return {
      head: [...this.head],
      tail: this.entries().flatMap(({ part }) => linesOf(part)),
      omitted: this.droppedLines,
    };
  }

  /** The output is complete: lines beyond the budget go to the overflow. */
  close(): RetainedLines {
    const entries = this.entries().flatMap(({ part, isWithheld }) =>
      linesOf(part).map((line) => ({ line, isWithheld })),
    );
    const from = this.surplus(entries.map(({ line }) => line));
    for (const { line, isWithheld } of entries.slice(0, from)) {
      if (!isWithheld) this.overflow?.addLine(this.head.length + this.droppedLines + 1, line);
      this.droppedLines++;
    }
    const tail = entries.slice(from).map(({ line }) => line);
    this.tail = tail.map((part) => ({ part, bytes: lineCost(part), isWithheld: false }));
    this.firstPart = 0;
    this.tailLines = tail.length;
    return { head: [...this.head], tail, omitted: this.droppedLines };
  }

  private entries(): readonly TailEntry[] {
    return this.tail.slice(this.firstPart);
  }

  /** How many of these lines from the start exceed the tail's half; one always fits. */
  private surplus(lines: readonly string[]): number {
    let from = lines.length;
    for (let bytes = 0; from > 0; from--) {
      bytes += lineCost(lines[from - 1] ?? "");
      if (bytes > this.budget / 2 && from < lines.length) break;
    }
    return from;
  }

  private add(entry: TailEntry, lines: number): void {
    this.tail.push(entry);
    this.tailBytes += entry.bytes;
    this.tailLines += lines;
    this.trim();
  }

  private trim(): void {
    for (;;) {
      const oldest = this.tail[this.firstPart];
      if (oldest === undefined || this.firstPart + 1 >= this.tail.length) break;
      if (this.tailBytes - oldest.bytes < this.budget / 2) break;
      const { part } = oldest;
      const lines = typeof part === "string" ? 1 : part.count;
      if (this.overflow !== null && !oldest.isWithheld) {
        const number = this.head.length + this.droppedLines + 1;
        if (typeof part === "string") this.overflow.addLine(number, part);
        else this.overflow.addRun(number, part.source, part.from, part.count);
      }
      this.tailBytes -= oldest.bytes;
      this.tailLines -= lines;
      this.droppedLines += lines;
      this.firstPart++;
    }
    // Compacting now and then keeps the queue within twice its contents.
    if (this.firstPart > 1_024 && this.firstPart > this.tail.length / 2) {
      this.tail = this.tail.slice(this.firstPart);
      this.firstPart = 0;
    }
  }
}

function linesOf(part: TailPart): string[] {
  if (typeof part === "string") return [part];
  return Array.from({ length: part.count }, (_, index) => trimSpaces(part.source.text(part.from + index)));
}
