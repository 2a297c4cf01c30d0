/**
 * The database of commands: SQLite with a full-text index, beside the journals. Opened by short-lived processes only:
 * SQLite is synchronous, and costs memory that a server or session would keep.
 *
 * What must stay true: a row and the progress in its journal are written in one transaction, so that a crash at any
 * moment takes in nothing twice and loses nothing. Ids grow with the time a command began, so that the newest are found
 * first without sorting, whenever they were taken in.
 */

import { constants, Database } from "bun:sqlite";
import fs from "node:fs";
import { pathToFileURL } from "node:url";
import { checkOwnFile, ensureOwnDir } from "../../instance/owned-files.ts";
import { WshError } from "../../protocol/errors.ts";
import type { HistoryPlaces } from "./places.ts";

/** Version of the tables, in `PRAGMA user_version`. */
const SCHEMA = 2;
/** How long a writer waits for another one, in ms. Without it, concurrent writers lose transactions. */
const BUSY_MS = 5_000;
/** Ids per ms of time: more commands than begin in one. An id stays an exact number until the year 2109. */
const IDS_PER_MS = 2048;
/** Pages of 4 KiB that the log of changes collects before they are copied into the database: a few batches of taking in. */
const CHECKPOINT_PAGES = 8_000;
const OPTIONAL = { throwIfNoEntry: false } as const;
/** Cache of pages, in KiB. */
const CACHE_KIB = 32 * 1024;

/**
 * Words that the index collects before it writes them, in bytes. With FTS5's own megabyte, half of the time of taking in
 * is spent on merging small pieces.
 */
const INDEX_BATCH_BYTES = 16 * 1024 * 1024;

const tables = `
CREATE TABLE commands (
  id INTEGER PRIMARY KEY, command TEXT NOT NULL, cwd TEXT, started_at INTEGER, duration_ms INTEGER, exit_code INTEGER,
  signal TEXT, session TEXT, session_id TEXT, pane_id TEXT, shell TEXT, by TEXT NOT NULL, journal INTEGER, seq INTEGER
);
CREATE UNIQUE INDEX imported ON commands (journal, seq) WHERE by = 'import';
CREATE TABLE outputs (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE journals (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, offset INTEGER NOT NULL, seq INTEGER NOT NULL
);
CREATE TABLE swept (at INTEGER NOT NULL);
INSERT INTO swept VALUES (0);
CREATE VIRTUAL TABLE words USING fts5 (
  command, facets, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO words (words, rank) VALUES ('hashsize', ${INDEX_BATCH_BYTES});
`;

/**
 * Since version 2: where the lines of commands stand that have begun and not ended, in journals; and the names that each
 * session had, with the newest command under each.
 */
const additions = `
CREATE TABLE begun (
  journal INTEGER NOT NULL, seq INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL,
  PRIMARY KEY (journal, seq)
) WITHOUT ROWID;
CREATE TABLE sessions (id TEXT NOT NULL, name TEXT NOT NULL, newest INTEGER NOT NULL, PRIMARY KEY (id, name)) WITHOUT ROWID;
INSERT INTO sessions SELECT session_id, session, max(id) FROM commands
  WHERE session_id IS NOT NULL AND session IS NOT NULL GROUP BY session_id, session;
`;

/**
 * Opens the database, and creates or migrates it.
 * @throws WshError history_unavailable: made by a newer wsh, damaged, or the file cannot be opened; unsafe_path
 */
export function openHistory(places: HistoryPlaces): Database {
  ensureOwnDir(places.journals);
  try {
    const isNew = !checkOwnFile(places.database);
    // The file is created with the mode that it keeps; SQLite would use the umask.
    if (isNew) fs.closeSync(fs.openSync(places.database, "a", 0o600));
    const db = new Database(places.database, { create: true, readwrite: true, strict: true });
    try {
      db.run(`PRAGMA busy_timeout = ${BUSY_MS}`);
      migrate(db, places.database);
      db.run(`PRAGMA cache_size = -${CACHE_KIB}`);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  } catch (error) {
    throw historyFailure(error, places.database);
  }
}

/**
 * The database as it stands, for reading alone: where a full disk has no room for SQLite's own files. Null where changes
 * wait beside it, or its tables are of another version.
 */
export function openToRead(places: HistoryPlaces): Database | null {
  try {
    if (!checkOwnFile(places.database) || (fs.statSync(`${places.database}-wal`, OPTIONAL)?.size ?? 0) > 0) return null;
    const { SQLITE_OPEN_READONLY, SQLITE_OPEN_URI } = constants;
    const db = new Database(`${pathToFileURL(places.database)}?immutable=1`, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    if (versionOf(db) === SCHEMA) return db;
    db.close();
    return null;
  } catch {
    return null;
  }
}

/** What went wrong with the database, for people. */
export function historyFailure(error: unknown, path: string): WshError {
  if (error instanceof WshError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new WshError("history_unavailable", `the history ${path} cannot be used: ${reason}`, {}, { cause: error });
}

function migrate(db: Database, path: string): void {
  if (versionOf(db) !== SCHEMA) {
    db.run("PRAGMA auto_vacuum = INCREMENTAL");
    db.run("PRAGMA journal_mode = WAL");
    // Another process may be doing the same: only who has the lock looks again.
    db.transaction(() => {
      const version = versionOf(db);
      if (version > SCHEMA) {
        throw new WshError("history_unavailable", `the history ${path} was made by a newer wsh (version ${version})`, {
          hint: "Use that wsh for the history; nothing was changed, and commands are kept until then.",
        });
      }
      if (version < 1) db.run(tables);
      if (version < 2) db.run(additions);
      db.run(`PRAGMA user_version = ${SCHEMA}`);
    }).immediate();
  }
  db.run("PRAGMA journal_mode = WAL");
  db.run("PRAGMA synchronous = NORMAL");
  db.run("PRAGMA secure_delete = ON");
  db.run(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
}

function versionOf(db: Database): number {
  return db.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;
}

/** A time that an id tells from others is before this, in ms of Unix time; what a wrong clock said counts as it. */
export const LAST_MS = Date.UTC(2100, 0);

/** First id of commands that began at a time. @param ms Unix time */
export function idAt(ms: number): number {
  return Math.min(LAST_MS, Math.max(0, Math.floor(ms))) * IDS_PER_MS;
}
