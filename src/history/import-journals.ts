/**
 * Imports journals into the database: new lines of all, in batches ordered by time; then removes complete
 * journals. Any number of processes may do so at once; SQLite's lock orders them, and each reads the progress
 * again once it has the lock. Writing rows and words in the order of their ids costs half as much, so the
 * journal whose next command is the oldest is read first.
 *
 * Invariants: lines and progress are one transaction; a journal is removed only when everything in it is in the
 * database and no process can append to it; its progress is deleted only after that, so a journal without progress
 * whose file is gone has been imported.
 */

import { type Database, SQLiteError } from "bun:sqlite";
import fs from "node:fs";
import { basename } from "node:path";
import { idAt } from "./ids.ts";
import { type OpenJournal, openJournal } from "./journal.ts";
import { JournalReader, PIECE_BYTES, type Taker } from "./journal-reader.ts";
import { type HistoryRecord, readLine } from "./record.ts";
import { keepWithin, type Retention } from "./retention.ts";
import { RowWriter } from "./rows.ts";

/** Bytes of journals that one transaction imports: some 30,000 commands, less than half a second. */
const BATCH_BYTES = 16 * 1024 * 1024;
/** Journals that are open at once: below the 256 files that macOS gives a process. */
const GROUP = 128;

/** @throws SQLite's error (a full disk): then unread lines remain in their journals */
export function takeInto(db: Database, journals: readonly string[], retention: Retention): void {
  const failures: unknown[] = [];
  for (let index = 0; index < journals.length; index += GROUP)
    takeGroup(db, journals.slice(index, index + GROUP), failures);
  keepWithin(db, retention, journals);
  if (failures.length > 0) throw failures[0];
}

/**
 * @param failures receives why a journal cannot be read, which does not affect others; an unwritable database ends the
 * import
 */
function takeGroup(db: Database, paths: readonly string[], failures: unknown[]): void {
  using opened = new DisposableStack();
  const journals: ImportSource[] = paths.flatMap((path) => {
    const journal = openJournal(path);
    return journal === null
      ? []
      : [{ path, name: basename(path), journal: opened.use(journal), failed: false, reached: null }];
  });
  // A search that finds nothing new writes nothing: that costs the disk several waits.
  const progress = db.query<{ offset: number }, [string]>("SELECT offset FROM journals WHERE name = ?");
  let open = journals.filter(({ name, journal }) => {
    const known = progress.get(name);
    return known === null || fs.fstatSync(journal.fd).size > known.offset;
  });
  while (open.length > 0) {
    open = takeBatch(db, open, failures);
    // Memory grows with each batch; waiting for a collection would take as long as the import itself.
    if (open.length > 0) Bun.gc(false);
  }
  const forget = db.query("DELETE FROM journals WHERE name = ?");
  for (const { path, name, journal, failed } of journals) {
    if (!journal.complete || failed) continue;
    takeLost(db, name, journal);
    fs.rmSync(path, { force: true });
    forget.run(name);
  }
}

interface ImportSource {
  readonly path: string;
  readonly name: string;
  readonly journal: OpenJournal;
  failed: boolean;
  /** Time at which the newest command read, or the next one, began, in ms of Unix time; null: unknown so far. */
  reached: number | null;
}

/**
 * Imports the next lines of the journals, beginning with the oldest command, in one transaction. @returns those with more
 * lines
 */
function takeBatch<S extends ImportSource>(db: Database, sources: readonly S[], failures: unknown[]): S[] {
  return db
    .transaction(() => {
      const writer = new RowWriter(db);
      const ended = db.query("DELETE FROM begun WHERE journal = ? AND seq = ?");
      const batch: HistoryRecord[] = [];
      const bytes = Buffer.allocUnsafe(PIECE_BYTES);
      const readings = sources.flatMap((source) => readingOf(db, source));
      for (const { source, reader } of readings) {
        attempt(source, failures, () => {
          source.reached ??= reader.nextTime();
        });
      }
      let unread = readings.filter(({ source }) => !source.failed);
      for (let read = 0; read < BATCH_BYTES && unread.length > 0; ) {
        const { id, source, reader } = unread.reduce((one, other) => (timeOf(other) < timeOf(one) ? other : one));
        const taker: Taker = {
          record: (record) => batch.push(record),
          ended: (begun) => ended.run(id, begun),
          recordName: (session, name, at) => writer.recordName(session, name, idAt(at)),
        };
        attempt(source, failures, () => {
          const before = batch.length;
          read += reader.read(bytes, taker);
          if (batch.length > before) source.reached = batch.at(-1)?.started_at ?? source.reached;
        });
        unread = unread.filter((each) => !each.reader.atEnd && !each.source.failed);
      }
      for (const reading of readings) keepProgress(db, reading);
      batch.sort((one, other) => (one.started_at ?? 0) - (other.started_at ?? 0));
      for (const record of batch) writer.write(record, null);
      writer.finish();
      return unread.map(({ source }) => source);
    })
    .immediate();
}

/** A journal that cannot be read does not stop others. @throws SQLite's error, which stops all */
function attempt(source: ImportSource, failures: unknown[], act: () => void): void {
  try {
    act();
  } catch (error) {
    if (error instanceof SQLiteError) throw error;
    source.failed = true;
    failures.push(error);
  }
}

/** A journal, read from the end of the last import. */
interface Reading<S extends ImportSource> {
  /** The journal's number in the database. */
  readonly id: number;
  readonly source: S;
  readonly reader: JournalReader;
  readonly from: number;
}

/** Runs in the transaction: the importing process first removes a journal and then deletes its progress. */
function readingOf<S extends ImportSource>(db: Database, source: S): Reading<S>[] {
  const progress = db.query<{ id: number; offset: number; seq: number }, [string]>(
    "SELECT id, offset, seq FROM journals WHERE name = ?",
  );
  if (progress.get(source.name) === null) {
    // Another process has imported it since it was opened here.
    if (!isThere(source)) return [];
    db.query("INSERT INTO journals (name, offset, seq) VALUES (?, 0, 0)").run(source.name);
  }
  const known = progress.get(source.name);
  if (known === null) return [];
  const reader = new JournalReader(source.journal.fd, known.offset, known.seq);
  return [{ id: known.id, source, reader, from: known.offset }];
}

/** Whether its path still leads to the open file. */
function isThere({ path, journal }: ImportSource): boolean {
  const found = fs.statSync(path, { throwIfNoEntry: false });
  const own = fs.fstatSync(journal.fd);
  return found !== undefined && found.ino === own.ino && found.dev === own.dev;
}

function timeOf({ source }: Reading<ImportSource>): number {
  return source.reached ?? 0;
}

function keepProgress(db: Database, { id, reader, from }: Reading<ImportSource>): void {
  const remember = db.query("INSERT OR REPLACE INTO begun (journal, seq, offset, length) VALUES (?, ?, ?, ?)");
  for (const [seq, { offset, length }] of reader.begun) remember.run(id, seq, offset, length);
  if (reader.offset > from) {
    db.query("UPDATE journals SET offset = ?, seq = ? WHERE id = ?").run(reader.offset, reader.seq, id);
  }
}

/** Imports the commands of a complete journal that began and never ended: the process that wrote it was killed. */
function takeLost(db: Database, name: string, journal: OpenJournal): void {
  const left = db.query<{ journal: number; seq: number; offset: number; length: number }, [string]>(
    "SELECT begun.* FROM begun JOIN journals ON journals.id = begun.journal WHERE journals.name = ? ORDER BY begun.seq",
  );
  if (left.get(name) === null) return;
  db.transaction(() => {
    const lost = left.all(name);
    const writer = new RowWriter(db);
    for (const { offset, length } of lost) {
      const bytes = Buffer.alloc(length);
      const line = readLine(bytes.toString("utf8", 0, fs.readSync(journal.fd, bytes, 0, length, offset)));
      // The line was blanked meanwhile: its command was deleted.
      if (line === null) continue;
      writer.write(line.record, null);
    }
    writer.finish();
    const [first] = lost;
    if (first !== undefined) db.query("DELETE FROM begun WHERE journal = ?").run(first.journal);
  }).immediate();
}
