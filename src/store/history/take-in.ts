/**
 * Takes journals into the database: new lines of several, in batches ordered by time, then removes those that are
 * complete. Any number of processes may do so at once; SQLite's lock puts them in order, and each looks at the progress
 * again when it has it. Rows and words that are written in the order of their ids cost half of what they cost otherwise.
 *
 * What must stay true: lines and progress are one transaction; a journal is removed only when everything in it is in the
 * database and nobody can append to it. Text that is no line is passed over: it was cut off and written again.
 */

import { type Database, SQLiteError } from "bun:sqlite";
import fs from "node:fs";
import { basename } from "node:path";
import { openHistory } from "./database.ts";
import { idAt } from "./ids.ts";
import { journalsIn, type OpenJournal, openJournal } from "./journal.ts";
import type { HistoryPlaces } from "./places.ts";
import { type HistoryRecord, kindOf, readLine, readNamed } from "./record.ts";
import { keepWithin, type Retention } from "./retention.ts";
import { RowWriter } from "./rows.ts";

/** Bytes of journals that one transaction takes in: some 30,000 commands, less than half a second. */
const BATCH_BYTES = 16 * 1024 * 1024;
/** Journals that are read side by side: those of sessions that ran at the same time. */
const GROUP = 16;
/** Longest line of a journal, in bytes: a command and its output, escaped. */
const MAX_LINE_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

export interface TakenIn {
  readonly records: number;
  /** Journals that are in the database now, and gone. */
  readonly journals: number;
}

/** @throws WshError history_unavailable; or SQLite's error, e.g. a full disk: then what is not taken in stays in its journals */
export function takeIn(places: HistoryPlaces, retention: Retention): TakenIn {
  const names = journalsIn(places.journals);
  const db = openHistory(places);
  try {
    return takeInto(db, names, retention);
  } finally {
    db.close();
  }
}

/** As takeIn, with the database open. */
export function takeInto(db: Database, journals: readonly string[], retention: Retention): TakenIn {
  const taken = { records: 0, journals: 0 };
  const failures: unknown[] = [];
  for (let at = 0; at < journals.length; at += GROUP) takeGroup(db, journals.slice(at, at + GROUP), taken, failures);
  keepWithin(db, retention, journals);
  if (failures.length > 0) throw failures[0];
  return taken;
}

/** @param failures gets why a journal cannot be read: it holds up no other; a database that cannot be written holds up all */
function takeGroup(
  db: Database,
  paths: readonly string[],
  sum: { records: number; journals: number },
  failures: unknown[],
): void {
  using opened = new DisposableStack();
  const journals = paths.flatMap((path) => {
    const journal = openJournal(path);
    return journal === null ? [] : [{ path, name: basename(path), journal: opened.use(journal), failed: false }];
  });
  // A search that finds nothing new writes nothing: that costs the disk several waits.
  const progress = db.query<{ offset: number }, [string]>("SELECT offset FROM journals WHERE name = ?");
  let open = journals.filter(({ name, journal }) => {
    const known = progress.get(name);
    return known === null || fs.fstatSync(journal.fd).size > known.offset;
  });
  while (open.length > 0) {
    const share = Math.ceil(BATCH_BYTES / open.length);
    const { records, unfinished } = takeBatch(db, open, share, failures);
    sum.records += records;
    open = unfinished;
  }
  const forget = db.query("DELETE FROM journals WHERE name = ?");
  for (const { path, name, journal, failed } of journals) {
    if (!journal.complete || failed) continue;
    sum.records += takeLost(db, name, journal);
    fs.rmSync(path, { force: true });
    forget.run(name);
    sum.journals++;
  }
}

interface Source {
  readonly name: string;
  readonly journal: OpenJournal;
  /** It could not be read. */
  failed: boolean;
}

/** The next lines of each journal, up to a share of bytes, in one transaction. */
function takeBatch<S extends Source>(
  db: Database,
  sources: readonly S[],
  share: number,
  failures: unknown[],
): { readonly records: number; readonly unfinished: S[] } {
  return db
    .transaction(() => {
      const begin = db.query("INSERT OR IGNORE INTO journals (name, offset, seq) VALUES (?, 0, 0)");
      const progress = db.query<{ id: number; offset: number; seq: number }, [string]>(
        "SELECT id, offset, seq FROM journals WHERE name = ?",
      );
      const proceed = db.query("UPDATE journals SET offset = ?, seq = ? WHERE id = ?");
      const remember = db.query("INSERT OR REPLACE INTO begun (journal, seq, offset, length) VALUES (?, ?, ?, ?)");
      const ended = db.query("DELETE FROM begun WHERE journal = ? AND seq = ?");
      const writer = new RowWriter(db);
      const batch: { readonly record: HistoryRecord; readonly at: number }[] = [];
      const unfinished: S[] = [];
      for (const source of sources) {
        begin.run(source.name);
        const known = progress.get(source.name);
        if (known === null) continue;
        try {
          const { lines, end, atEnd, startOf } = readLines(source.journal.fd, known.offset, share);
          let { seq } = known;
          /** Which line says that a command began. */
          const open = new Map<number, number>();
          for (const [index, text] of lines.entries()) {
            const kind = kindOf(text);
            if (kind?.kind === "begin") {
              // Its own number may come again, when the first writing was cut.
              if (kind.begun >= seq) open.set(kind.begun, index);
              seq = Math.max(seq, kind.begun);
              continue;
            }
            const line = kind === null ? readLine(text) : null;
            const named = line === null && kind === null ? readNamed(text) : null;
            if (named !== null) writer.named(named.id, named.name, idAt(named.at));
            const begun = kind?.begun ?? line?.begun;
            if (begun !== undefined && !open.delete(begun)) ended.run(known.id, begun);
            // Written again after a failure: the first writing had succeeded after all.
            if (line === null || line.seq <= seq) continue;
            seq = line.seq;
            batch.push({ record: line.record, at: line.record.started_at ?? 0 });
          }
          for (const [begun, index] of open) {
            const start = startOf(index);
            remember.run(known.id, begun, known.offset + start, startOf(index + 1) - start);
          }
          if (end > known.offset) proceed.run(end, seq, known.id);
          if (!atEnd) unfinished.push(source);
        } catch (error) {
          if (error instanceof SQLiteError) throw error;
          source.failed = true;
          failures.push(error);
        }
      }
      batch.sort((one, other) => one.at - other.at);
      for (const { record } of batch) writer.write(record, null);
      writer.finish();
      return { records: batch.length, unfinished };
    })
    .immediate();
}

/** Takes in the commands of a complete journal that began and never ended: the process that wrote it was killed. */
function takeLost(db: Database, name: string, journal: OpenJournal): number {
  const left = db.query<{ journal: number; seq: number; offset: number; length: number }, [string]>(
    "SELECT begun.* FROM begun JOIN journals ON journals.id = begun.journal WHERE journals.name = ? ORDER BY begun.seq",
  );
  if (left.get(name) === null) return 0;
  return db
    .transaction(() => {
      const lost = left.all(name);
      const writer = new RowWriter(db);
      let records = 0;
      for (const { offset, length } of lost) {
        const bytes = Buffer.alloc(length);
        const line = readLine(bytes.toString("utf8", 0, fs.readSync(journal.fd, bytes, 0, length, offset)));
        // Blanked since: it was deleted.
        if (line === null) continue;
        writer.write(line.record, null);
        records++;
      }
      writer.finish();
      const [first] = lost;
      if (first !== undefined) db.query("DELETE FROM begun WHERE journal = ?").run(first.journal);
      return records;
    })
    .immediate();
}

/** Whole lines from an offset on. A line without end is left for later, unless it is longer than any can be. */
function readLines(
  fd: number,
  offset: number,
  most: number,
): {
  readonly lines: readonly string[];
  readonly end: number;
  readonly atEnd: boolean;
  /** Bytes before a line. */
  startOf(index: number): number;
} {
  const bytes = Buffer.allocUnsafe(most);
  const count = fs.readSync(fd, bytes, 0, bytes.length, offset);
  const last = bytes.subarray(0, count).lastIndexOf(NEWLINE);
  const atEnd = count < bytes.length;
  if (last === -1) {
    if (!atEnd && most <= MAX_LINE_BYTES) return readLines(fd, offset, MAX_LINE_BYTES + 1);
    return { lines: [], end: count > MAX_LINE_BYTES ? offset + count : offset, atEnd, startOf: () => 0 };
  }
  const lines = bytes.toString("utf8", 0, last).split("\n");
  return { lines, end: offset + last + 1, atEnd, startOf: (index) => startOfLine(bytes, index) };
}

/** Counted in bytes: text that is no UTF-8 is of another length once it is read. */
function startOfLine(bytes: Buffer, index: number): number {
  let start = 0;
  for (let line = 0; line < index; line++) start = bytes.indexOf(NEWLINE, start) + 1;
  return start;
}
