/**
 * The database of commands: SQLite with a full-text index, beside the journals. Opened by short-lived processes only:
 * SQLite is synchronous, and costs memory that a server or session would retain.
 *
 * Invariants: a row and the progress in its journal are written in one transaction, so that a crash at any moment
 * imports nothing twice and loses nothing. Ids grow with a command's start time, whenever it was imported, so that the
 * newest are found first without sorting.
 */

import { constants, Database } from "bun:sqlite";
import fs from "node:fs";
import { pathToFileURL } from "node:url";
import { checkOwnFile, ensureOwnDir } from "../instance/owned-files.ts";
import { WshError } from "../protocol/errors.ts";
import type { HistoryPlaces } from "./paths.ts";

/** Version of the tables, in `PRAGMA user_version`. */
const SCHEMA = 4;
/** Longest wait of a writer for another one, in ms. Without it, concurrent writers lose transactions. */
const BUSY_MS = 5_000;
/** Pages of 4 KiB that the log of changes collects before they are copied into the database: a few imports. */
const CHECKPOINT_PAGES = 8_000;
const OPTIONAL = { throwIfNoEntry: false } as const;
/** Cache of pages, in KiB. */
const CACHE_KIB = 32 * 1024;

/**
 * Words that the index collects before it writes them, in bytes. With FTS5's default of one megabyte, an
 * import spends half of its time on merging small pieces.
 */
const INDEX_BATCH_BYTES = 16 * 1024 * 1024;

/**
 * Number of index segments that are merged at a time. With FTS5's default of four, large imports write words
 * once more; with more than eight, a search reads as many more segments.
 */
const MERGED_SEGMENTS = 8;

/**
 * A command's directory, and its session, pane, shell and actor, are stored once in separate tables: a row,
 * and its words in the index (facets.ts), carry their numbers. The index stores no text and no lengths:
 * removing a row requires its words again. `begun` has the positions in journals of commands that have begun and not
 * ended; `sessions` the names that each session had, with the newest command under each.
 */
const tables = `
CREATE TABLE directories (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
CREATE TABLE origins (
  id INTEGER PRIMARY KEY, session TEXT, session_id TEXT, pane_id TEXT, shell TEXT, by TEXT NOT NULL
);
CREATE INDEX origin_sessions ON origins (session_id, session);
CREATE TABLE commands (
  id INTEGER PRIMARY KEY, command TEXT NOT NULL, directory INTEGER, origin INTEGER NOT NULL, started_at INTEGER,
  duration_ms INTEGER, exit_code INTEGER, signal TEXT, journal INTEGER, seq INTEGER
);
CREATE UNIQUE INDEX imported ON commands (journal, seq) WHERE journal IS NOT NULL;
CREATE VIRTUAL TABLE words USING fts5 (
  command, facets, content = '', columnsize = 0, tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO words (words, rank) VALUES ('hashsize', ${INDEX_BATCH_BYTES});
INSERT INTO words (words, rank) VALUES ('automerge', ${MERGED_SEGMENTS});
CREATE TABLE outputs (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE journals (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, offset INTEGER NOT NULL, seq INTEGER NOT NULL
);
CREATE TABLE swept (at INTEGER NOT NULL);
INSERT INTO swept VALUES (0);
CREATE TABLE begun (
  journal INTEGER NOT NULL, seq INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL,
  PRIMARY KEY (journal, seq)
) WITHOUT ROWID;
CREATE TABLE sessions (id TEXT NOT NULL, name TEXT NOT NULL, newest INTEGER NOT NULL, PRIMARY KEY (id, name)) WITHOUT ROWID;
`;

/**
 * Opens the database, and creates it.
 * @throws WshError history_unavailable: made by another version of wsh, damaged, or the file cannot be opened; unsafe_path
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
      prepare(db, places.database);
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
 * The database unmodified, for reading only: on a full disk there is no room for SQLite's own files. Null when changes
 * wait beside it, or its tables have another version.
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

/** Describes a failure of the database for users. */
export function historyFailure(error: unknown, path: string): WshError {
  if (error instanceof WshError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new WshError("history_unavailable", `the history ${path} cannot be used: ${reason}`, {}, { cause: error });
}

function prepare(db: Database, path: string): void {
  db.run("PRAGMA secure_delete = ON");
  if (versionOf(db) !== SCHEMA) {
    db.run("PRAGMA auto_vacuum = INCREMENTAL");
    db.run("PRAGMA journal_mode = WAL");
    // Another process may be doing the same: the version is checked again under the lock.
    db.transaction(() => {
      const version = versionOf(db);
      if (version === SCHEMA) return;
      if (version !== 0) throw otherVersion(path, version);
      db.run(tables);
      db.run(`PRAGMA user_version = ${SCHEMA}`);
    }).immediate();
  }
  db.run("PRAGMA journal_mode = WAL");
  db.run("PRAGMA synchronous = NORMAL");
  db.run(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
}

function otherVersion(path: string, version: number): WshError {
  const [age, hint] =
    version > SCHEMA
      ? ["a newer", "Use the newer wsh for the history."]
      : ["an unreleased", "Remove the file: the history begins again."];
  return new WshError("history_unavailable", `the history ${path} was created by ${age} wsh (version ${version})`, {
    hint: `${hint} Nothing was changed; commands are kept until then.`,
  });
}

function versionOf(db: Database): number {
  return db.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;
}
