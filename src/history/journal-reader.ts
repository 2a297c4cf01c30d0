/**
 * Reads a journal from the end of the last import, a piece at a time. A command has two lines, one for its start and
 * one for its end: of the first, only the number is read, and its position in case the end is missing.
 *
 * Invariants: `offset` is after a complete line; everything before it has been handed out. Text that is not a line is
 * skipped: it was cut off and written again.
 */
import fs from "node:fs";
import type { JournalPart } from "./journal.ts";
import { type HistoryRecord, kindOf, readLine, readNamed } from "./record.ts";

/**
 * Bytes of a journal that are read at a time: some 70 commands. Journals of the same time are read in turns. Larger
 * pieces raise peak memory (128 KiB: 160 to 212 MB, this: 155) and are not faster.
 */
export const PIECE_BYTES = 32 * 1024;
/** Longest line of a journal, in bytes: a command and its output, escaped. */
const MAX_LINE_BYTES = 1024 * 1024;
/** Bytes that are searched for the time of the next command: after a longer command line it is not found. */
const PEEK_BYTES = 4 * 1024;
const NEWLINE = 0x0a;

/** Receives the records of a journal. */
export interface Taker {
  record(record: HistoryRecord): void;
  /** The end of a command whose start was not read here. */
  ended(begun: number): void;
  recordName(id: string, name: string, at: number): void;
}

export class JournalReader {
  /** Lines of the commands that began in the read part, and have not ended. */
  readonly begun = new Map<number, JournalPart>();
  /** No complete line follows `offset`. */
  atEnd = false;

  /** @param seq number of the last imported command */
  constructor(
    private readonly fd: number,
    public offset: number,
    public seq: number,
  ) {}

  /** @returns when the next command began, in ms of Unix time; 0 when not found */
  nextTime(): number {
    const bytes = Buffer.allocUnsafe(PEEK_BYTES);
    const text = bytes.toString("latin1", 0, fs.readSync(this.fd, bytes, 0, bytes.length, this.offset));
    return Number(/"started_at":(\d{1,15})/.exec(text)?.[1] ?? 0);
  }

  /**
   * Returns the next lines to the taker. @param bytes buffer to read into
   * @returns how many bytes were read
   * @throws the system's error; then the taker got nothing
   */
  read(bytes: Buffer, taker: Taker): number {
    const count = fs.readSync(this.fd, bytes, 0, bytes.length, this.offset);
    const last = bytes.subarray(0, count).lastIndexOf(NEWLINE);
    this.atEnd = count < bytes.length;
    if (last === -1) {
      if (!this.atEnd && bytes.length <= MAX_LINE_BYTES)
        return this.read(Buffer.allocUnsafe(MAX_LINE_BYTES + 1), taker);
      // A line without an end is read later, unless it is longer than any valid one.
      if (count > MAX_LINE_BYTES) this.offset += count;
      return count;
    }
    this.take(bytes, bytes.toString("utf8", 0, last), taker);
    this.offset += last + 1;
    return count;
  }

  private take(bytes: Buffer, text: string, taker: Taker): void {
    /** Numbers and lines of begun commands. */
    const begun = new Map<number, number>();
    /** The newest of them, which usually ends next; 0: there is none. */
    let newest = 0;
    let newestAt = 0;
    const end = (seq: number): void => {
      if (seq === newest) newest = 0;
      else if (!begun.delete(seq) && !this.begun.delete(seq)) taker.ended(seq);
    };
    let index = 0;
    for (let i = 0; i <= text.length; index++) {
      const found = text.indexOf("\n", i);
      const behind = found === -1 ? text.length : found;
      const kind = kindOf(text, i, behind);
      if (kind === null) this.takeLine(text.slice(i, behind), end, taker);
      else if (kind.kind === "moved") end(kind.begun);
      else {
        // The command's own number may occur again if its first line was cut.
        if (kind.begun === this.seq && !this.begun.delete(kind.begun)) taker.ended(kind.begun);
        if (kind.begun >= this.seq) {
          if (newest !== 0 && newest !== kind.begun) begun.set(newest, newestAt);
          newest = kind.begun;
          newestAt = index;
        }
        this.seq = Math.max(this.seq, kind.begun);
      }
      i = behind + 1;
    }
    if (newest !== 0) begun.set(newest, newestAt);
    for (const [seq, line] of begun) {
      const start = startOfLine(bytes, line);
      this.begun.set(seq, { offset: this.offset + start, length: startOfLine(bytes, line + 1) - start });
    }
  }

  private takeLine(text: string, end: (seq: number) => void, taker: Taker): void {
    const line = readLine(text);
    if (line === null) {
      const named = readNamed(text);
      if (named !== null) taker.recordName(named.id, named.name, named.at);
      return;
    }
    const { seq, begun = 0, record } = line;
    if (begun > 0) end(begun);
    // Written again after a failure: the first writing had succeeded after all.
    if (seq <= this.seq) return;
    this.seq = seq;
    taker.record(record);
  }
}

/** Counted in bytes: text that is not UTF-8 changes its length when decoded. */
function startOfLine(bytes: Buffer, index: number): number {
  let start = 0;
  for (let line = 0; line < index; line++) start = bytes.indexOf(NEWLINE, start) + 1;
  return start;
}
