/**
 * Takes journals into the database: new lines of each, in batches, then removes those that are complete. Any number of
 * processes may do so at once; SQLite's lock puts them in order, and each looks at the progress again when it has it.
 *
 * What must stay true: lines and progress are one transaction; a journal is removed only when everything in it is in the
 * database and nobody can append to it. Text that is no line is passed over: it was cut off and written again.
 */

import { type Database, SQLiteError } from "bun:sqlite";
import fs from "node:fs";
import { basename } from "node:path";
import { idAt, openHistory } from "./database.ts";
import { facetsOf } from "./facets.ts";
import { journalsIn, openJournal } from "./journal.ts";
import type { HistoryPlaces } from "./places.ts";
import { type HistoryRecord, readLine } from "./record.ts";
import { keepWithin, type Retention } from "./retention.ts";

/** Bytes of a journal that one transaction takes in: some 20,000 commands, a fifth of a second. */
const BATCH_BYTES = 4 * 1024 * 1024;
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
  for (const path of journals) {
    try {
      takeJournal(db, path, taken);
    } catch (error) {
      // A journal that cannot be read holds up no other; a database that cannot be written holds up all.
      if (error instanceof SQLiteError) throw error;
      failures.push(error);
    }
  }
  keepWithin(db, retention, journals);
  if (failures.length > 0) throw failures[0];
  return taken;
}

function takeJournal(db: Database, path: string, sum: { records: number; journals: number }): void {
  using journal = openJournal(path);
  if (journal === null) return;
  for (;;) {
    const { records, atEnd } = takeBatch(db, basename(path), journal.fd);
    sum.records += records;
    if (atEnd) break;
  }
  if (!journal.complete) return;
  fs.rmSync(path, { force: true });
  db.query("DELETE FROM journals WHERE name = ?").run(basename(path));
  sum.journals++;
}

function takeBatch(db: Database, name: string, fd: number): { readonly records: number; readonly atEnd: boolean } {
  return db
    .transaction(() => {
      db.query("INSERT OR IGNORE INTO journals (name, offset, seq) VALUES (?, 0, 0)").run(name);
      const known = db
        .query<{ id: number; offset: number; seq: number }, [string]>(
          "SELECT id, offset, seq FROM journals WHERE name = ?",
        )
        .get(name);
      if (known === null) return { records: 0, atEnd: true };
      const { lines, end, atEnd } = readLines(fd, known.offset);
      let { seq } = known;
      let records = 0;
      const writer = new RowWriter(db);
      for (const text of lines) {
        const line = readLine(text);
        // Written again after a failure: the first writing had succeeded after all.
        if (line === null || line.seq <= seq) continue;
        writer.write(line.record, { journal: known.id, seq: line.seq });
        seq = line.seq;
        records++;
      }
      db.query("UPDATE journals SET offset = ?, seq = ? WHERE id = ?").run(end, seq, known.id);
      return { records, atEnd };
    })
    .immediate();
}

/** Whole lines from an offset on. A line without end is left for later, unless it is longer than any can be. */
function readLines(fd: number, offset: number): { lines: string[]; end: number; atEnd: boolean } {
  const bytes = Buffer.alloc(BATCH_BYTES);
  const count = fs.readSync(fd, bytes, 0, bytes.length, offset);
  const last = bytes.subarray(0, count).lastIndexOf(NEWLINE);
  const atEnd = count < bytes.length;
  if (last === -1) return { lines: [], end: count > MAX_LINE_BYTES ? offset + count : offset, atEnd };
  const lines = bytes.toString("utf8", 0, last).split("\n");
  return { lines, end: offset + last + 1, atEnd };
}

/** Writes commands as rows, and their words into the index. */
export class RowWriter {
  private readonly insert;
  private readonly index;
  private readonly print;
  /** First id of a time, and the one behind those that this writer gave from there on, where several began at once. */
  private readonly taken = new Map<number, number>();

  constructor(db: Database) {
    this.insert = db.query(
      `INSERT INTO commands (id, command, cwd, started_at, duration_ms, exit_code, signal, session, session_id, pane_id,
       shell, by, journal, seq) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
    );
    this.index = db.query("INSERT INTO words (rowid, command, facets) VALUES (?, ?, ?)");
    this.print = db.query("INSERT INTO outputs (id, text) VALUES (?, ?)");
  }

  /**
   * @param from the line that it comes from; null for an imported command
   * @param at orders a command that does not say when it began, in ms of Unix time
   */
  write(record: HistoryRecord, from: { readonly journal: number; readonly seq: number } | null, at = 0): void {
    const { command, cwd, started_at, duration_ms, exit_code, signal, session, session_id, pane_id, shell, by } =
      record;
    const begun = [started_at, duration_ms, exit_code, signal, session, session_id, pane_id, shell, by] as const;
    const place = [from?.journal ?? null, from?.seq ?? null] as const;
    const first = idAt(started_at ?? at);
    let id = this.taken.get(first) ?? first;
    // Another command began in the same millisecond; in some imported files, thousands in one second.
    while (this.insert.run(id, command, cwd, ...begun, ...place).changes === 0) id++;
    if (id > first) this.taken.set(first, id + 1);
    this.index.run(id, command, facetsOf(record));
    if (record.output !== null) this.print.run(id, record.output);
  }
}
