/**
 * The journal of one process: commands are appended as lines, and another process imports them into the
 * database later (import-journals.ts). The process holds a lock on its journal while it may still append, so
 * a journal whose lock is free is complete.
 *
 * Invariants: a written line changes only after it is in the database and commands are deleted there: then it is
 * blanked, even while the writer appends, unless its command still runs; a line that a full disk cut is ended by the
 * next write and written again under the same number. Commands wait in memory while nothing can be written, up to a
 * limit; past it the oldest are dropped. Nothing is opened before the first command.
 *
 * A command may be recorded at its start: if its end never comes, because the process was killed, this record remains.
 * The line of its end is complete in itself, and refers to the other. Both are in one journal: when one is full,
 * running commands move to the next.
 */
import fs from "node:fs";
import { join } from "node:path";
import { isFileAt } from "../instance/lock.ts";
import { ensureOwnDir } from "../instance/owned-files.ts";
import { tryFlock } from "../platform/descriptors.ts";
import { namesIn, openToRead } from "../platform/readable.ts";
import { type HistoryRecord, writeBegin, writeLine, writeMoved, writeNamed } from "./record.ts";

/** Length at which a journal is closed and another one begun, in bytes: an import takes a second. */
const ROTATE_BYTES = 4 * 1024 * 1024;
/** Maximum bytes that wait in memory while the disk is full. */
const MAX_PENDING_BYTES = 256 * 1024;
const SUFFIX = ".jsonl";
/** On a file system without locks, a journal without writes for this long is complete, in ms: a month. */
const STALE_MS = 30 * 24 * 3600 * 1000;

interface JournalEvents {
  /** A journal was begun: there may be many. */
  begun(): void;
  /** Writing failed for the first time since it last worked. */
  failed(error: unknown): void;
}

/** A command that has begun and not ended. */
export interface JournaledCommand {
  /** Number of its line in the journal that is written to. */
  seq: number;
  readonly record: HistoryRecord;
}

export class Journal {
  private readonly begun = new Set<JournaledCommand>();
  private isUsed = false;
  private fd: number | null = null;
  private bytes = 0;
  private seq = 0;
  private pending: { readonly line: string; readonly bytes: number }[] = [];
  private pendingBytes = 0;
  /** The file ends within a line. */
  private torn = false;
  private failing = false;

  /** @param directory created when the first command is written */
  constructor(
    private readonly directory: string,
    private readonly events: JournalEvents,
  ) {}

  /** A command has begun: pass the result to `append` with its end. */
  begin(record: HistoryRecord): JournaledCommand {
    this.isUsed = true;
    this.rotate();
    const begun = { seq: ++this.seq, record };
    this.begun.add(begun);
    this.write(writeBegin(begun.seq, record));
    return begun;
  }

  /** A command has ended. */
  append(record: HistoryRecord, begun?: JournaledCommand): void {
    this.isUsed = true;
    this.rotate();
    if (begun !== undefined) this.begun.delete(begun);
    this.write(writeLine({ seq: ++this.seq, begun: begun?.seq, record }));
  }

  /** Discards a begun command that must not be recorded. */
  forget(begun: JournaledCommand): void {
    if (this.begun.delete(begun)) this.write(writeMoved(++this.seq, begun.seq));
  }

  /** The session was renamed: its commands are found by the new name too. Writes nothing to an unused journal. */
  recordName(id: string, name: string, at: number): void {
    if (this.isUsed) this.write(writeNamed(id, name, at));
  }

  /** Continues in another journal when this one is long enough. */
  private rotate(): void {
    if (this.bytes < ROTATE_BYTES || this.pending.length > 0) return;
    for (const each of this.begun) this.write(writeMoved(++this.seq, each.seq));
    if (this.pending.length > 0) return;
    this.close();
    for (const each of this.begun) {
      each.seq = ++this.seq;
      this.write(writeBegin(each.seq, each.record));
    }
  }

  private write(line: string): void {
    const bytes = Buffer.byteLength(line);
    this.pending.push({ line, bytes });
    this.pendingBytes += bytes;
    this.flush();
    while (this.pendingBytes > MAX_PENDING_BYTES && this.pending.length > 1) {
      this.pendingBytes -= this.pending.shift()?.bytes ?? 0;
    }
  }

  /** Writes pending lines, and releases the journal. */
  close(): void {
    this.flush();
    if (this.fd !== null) fs.closeSync(this.fd);
    this.fd = null;
    this.bytes = 0;
    this.torn = false;
    if (this.pending.length === 0) this.seq = 0;
  }

  private flush(): void {
    try {
      for (let next = this.pending[0]; next !== undefined; next = this.pending[0]) {
        this.put(next.line);
        this.pending.shift();
        this.pendingBytes -= next.bytes;
      }
      this.failing = false;
    } catch (error) {
      if (!this.failing) this.events.failed(error);
      this.failing = true;
    }
  }

  /** @throws the system's error; then the file has nothing of the line, or a part */
  private put(line: string): void {
    this.fd ??= this.open();
    const bytes = Buffer.from(this.torn ? `\n${line}` : line);
    let written = 0;
    try {
      while (written < bytes.length) written += fs.writeSync(this.fd, bytes, written);
      this.torn = false;
    } finally {
      this.bytes += written;
      if (written > 0 && written < bytes.length) this.torn = true;
    }
  }

  private open(): number {
    ensureOwnDir(this.directory);
    for (;;) {
      const path = join(this.directory, `${Date.now().toString(36)}-${crypto.randomUUID().slice(0, 13)}${SUFFIX}`);
      const { O_WRONLY, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW } = fs.constants;
      const fd = fs.openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      const { kind } = tryFlock(fd);
      // An importing process may have opened it before we held its lock, and have removed it as complete.
      if (kind === "refused" || (kind === "taken" && isFileAt(path, fd))) {
        this.events.begun();
        return fd;
      }
      fs.closeSync(fd);
    }
  }
}

/** Paths of the journals of a directory, oldest first. */
export function journalsIn(directory: string): string[] {
  return namesIn(directory)
    .filter((name) => name.endsWith(SUFFIX))
    .sort()
    .map((name) => join(directory, name));
}

/** A journal that a reader has opened. */
export interface OpenJournal extends Disposable {
  readonly fd: number;
  /** It gets no more lines, not even while it is open here. */
  readonly complete: boolean;
}

/** Returns null when the journal is gone or its path is not a file. */
export function openJournal(path: string): OpenJournal | null {
  const fd = openToRead(path);
  if (fd === null) return null;
  if (!fs.fstatSync(fd).isFile()) {
    fs.closeSync(fd);
    return null;
  }
  const { kind } = tryFlock(fd);
  const stale = (): boolean => Date.now() - fs.fstatSync(fd).mtimeMs > STALE_MS;
  return {
    fd,
    complete: kind === "taken" || (kind === "refused" && stale()),
    [Symbol.dispose]: () => fs.closeSync(fd),
  };
}

/** Blank lines, in bytes, that are written at a time. */
const BLANK_BYTES = 64 * 1024;

/** Part of a journal, in bytes. */
export interface JournalPart {
  readonly offset: number;
  readonly length: number;
}

/**
 * Overwrites the beginning of a journal with blank lines, which readers skip: its commands are in the database, and
 * must not remain elsewhere. @param end where a line ends
 * @param retained whole lines before `end` that stay, in the order of their offsets
 * @throws the system's error
 */
export function blankJournal(path: string, end: number, retained: readonly JournalPart[] = []): void {
  let fd: number;
  try {
    fd = fs.openSync(path, fs.constants.O_WRONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  try {
    const blank = Buffer.alloc(BLANK_BYTES, "\n");
    const last = Math.min(end, fs.fstatSync(fd).size);
    let index = 0;
    for (const { offset, length } of [...retained, { offset: last, length: 0 }]) {
      const stop = Math.min(offset, last);
      while (index < stop) index += fs.writeSync(fd, blank, 0, Math.min(blank.length, stop - index), index);
      index = Math.max(index, offset + length);
    }
  } finally {
    fs.closeSync(fd);
  }
}
