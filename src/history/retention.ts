/**
 * Retention of the history: limits the age of commands and the size of the database. Imported commands have
 * no age limit, only the size limit. Runs after an import.
 */

import type { Database } from "bun:sqlite";
import { basename } from "node:path";
import { directoryFacet, originFacet } from "./facets.ts";
import { idAt } from "./ids.ts";
import { blankJournal, type JournalPart } from "./journal.ts";
import { removeFrom } from "./rows.ts";

export interface Retention {
  readonly days: number;
  readonly bytes: number;
}

const DAY_MS = 24 * 3600 * 1000;
/** Time between two searches for commands that are too old, in ms. */
const SWEEP_MS = DAY_MS / 4;
/** Minimum part of the rows to delete while the database is too large, so that it does not happen at every command. */
const PART = 1 / 16;

/** @param journals existing ones: commands removed from the database are blanked there too */
export function keepWithin(db: Database, { days, bytes }: Retention, journals: readonly string[]): void {
  const now = Date.now();
  const { at: sweptAt = 0 } = db.query<{ at: number }, []>("SELECT at FROM swept").get() ?? {};
  if (now - sweptAt >= SWEEP_MS || sweptAt > now) {
    const old = db
      .query<{ id: number }, [number]>("SELECT id FROM commands WHERE id < ? AND journal IS NULL")
      .all(idAt(now - days * DAY_MS));
    if (old.length > 0)
      removeCommands(
        db,
        old.map(({ id }) => id),
        journals,
      );
    db.query("UPDATE swept SET at = ?").run(now);
  }
  for (let size = sizeOf(db); size > bytes; size = sizeOf(db)) {
    const rows = db.query<{ rows: number }, []>("SELECT count(*) AS rows FROM commands").get()?.rows ?? 0;
    if (rows === 0) break;
    const skip = Math.max(1, Math.ceil(rows * Math.max(PART, 1 - bytes / size)));
    const first = db.query<{ id: number }, [number]>("SELECT id FROM commands ORDER BY id LIMIT 1 OFFSET ?").get(skip);
    removeBefore(db, first === null ? Number.MAX_SAFE_INTEGER : first.id, journals);
  }
}

/** Bytes of the database that are in use. */
function sizeOf(db: Database): number {
  const value = (name: string): number =>
    Object.values(db.query<Record<string, number>, []>(`PRAGMA ${name}`).get() ?? {})[0] ?? 0;
  return (value("page_count") - value("freelist_count")) * value("page_size");
}

function removeBefore(db: Database, id: number, journals: readonly string[]): void {
  const old = db.query<{ id: number }, [number]>("SELECT id FROM commands WHERE id < ?").all(id);
  if (old.length > 0)
    removeCommands(
      db,
      old.map((row) => row.id),
      journals,
    );
}

/**
 * Removes commands, their words and their output from every file.
 * @param journals existing ones, whose imported part is blanked, except for commands that still run
 * @returns the number of commands
 */
export function removeCommands(db: Database, ids: readonly number[], journals: readonly string[]): number {
  const removed = removeRows(db, ids);
  eraseRemoved(db, journals);
  return removed;
}

/** Removes every command, like removeRows, without reading each. @returns their number */
export function removeAllRows(db: Database): number {
  return db
    .transaction(() => {
      const { changes } = db.run("DELETE FROM commands");
      db.run("INSERT INTO words (words) VALUES ('delete-all')");
      db.run("DELETE FROM outputs");
      db.run("DELETE FROM sessions");
      db.run("DELETE FROM directories");
      db.run("DELETE FROM origins");
      db.run("DELETE FROM begun");
      return changes;
    })
    .immediate();
}

/** Removes the rows of commands, of which the files contain pieces until eraseRemoved. */
export function removeRows(db: Database, ids: readonly number[]): number {
  return db.transaction(() => removeFrom(db, ids)).immediate();
}

/** Removes the directories, and the sessions under all their names, of which no command is left. */
function removeNames(db: Database): void {
  const left = db.query("SELECT 1 FROM words WHERE words MATCH ? LIMIT 1");
  const unused = (table: string, facet: (id: number) => string): number[] =>
    db
      .query<{ id: number }, []>(`SELECT id FROM ${table}`)
      .all()
      .flatMap(({ id }) => (left.get(`facets : ${facet(id)}`) === null ? [id] : []));
  db.transaction(() => {
    for (const id of unused("directories", directoryFacet)) db.query("DELETE FROM directories WHERE id = ?").run(id);
    for (const id of unused("origins", originFacet)) db.query("DELETE FROM origins WHERE id = ?").run(id);
    db.run("DELETE FROM sessions WHERE id NOT IN (SELECT session_id FROM origins WHERE session_id IS NOT NULL)");
  }).immediate();
}

/** @throws the system's error, or SQLite's: then pieces of removed commands may remain in files */
export function eraseRemoved(db: Database, journals: readonly string[]): void {
  // Lines blanked below are in the database, and stay there after a power failure.
  db.run("PRAGMA synchronous = FULL");
  removeNames(db);
  // The index keeps deleted words until it is merged, and the log of changes until it is emptied.
  db.run("INSERT INTO words (words) VALUES ('optimize')");
  db.run("PRAGMA incremental_vacuum");
  db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  const offset = db.query<{ offset: number }, [string]>("SELECT offset FROM journals WHERE name = ?");
  // The line of a command that runs is all that remains of it if its session is killed.
  const begun = db.query<JournalPart, [string]>(
    `SELECT begun.offset, length FROM begun JOIN journals ON journals.id = begun.journal
     WHERE name = ? ORDER BY begun.offset`,
  );
  for (const path of journals) {
    const name = basename(path);
    blankJournal(path, offset.get(name)?.offset ?? 0, begun.all(name));
  }
  db.run("PRAGMA synchronous = NORMAL");
}
