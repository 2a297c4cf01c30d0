/**
 * Finds commands: by words of the command line (each the beginning of one), directory, session, exit, actor, time and
 * duration; the newest first. The index answers every filter that narrows a search much.
 *
 * Invariant: wherever possible, the index is read from the newest command backwards, so that a search ends with its
 * last result, however frequent its words are.
 */

import type { Database } from "bun:sqlite";
import type { Concealment } from "../protocol/concealed.ts";
import { actorFacet, directoryFacet, durationFacet, exitFacet, failedFacet, originFacet } from "./facets.ts";
import { idAt } from "./ids.ts";
import type { HistoryRecord } from "./record.ts";
import { Terms } from "./terms.ts";

export interface HistorySearch {
  /** Words of the command line, in any order; each may be the beginning of one. */
  readonly words?: string;
  /** Absolute directory: in it or below. */
  readonly cwd?: string;
  readonly session?: string;
  readonly failed?: boolean;
  readonly exit_code?: number;
  /** Unix times in ms: not before, and before. */
  readonly since?: number;
  readonly until?: number;
  readonly min_duration_ms?: number;
  readonly by?: HistoryRecord["by"];
  readonly limit: number;
  /** Commands before this id: the end of the last page. */
  readonly before?: number;
  readonly output?: boolean;
}

interface FoundCommand extends Omit<HistoryRecord, "output"> {
  readonly id: number;
  readonly output?: string | null;
}

const COLUMNS = `c.id, c.command, d.path AS cwd, c.started_at, c.duration_ms, c.exit_code, c.signal, o.session,
  o.session_id, o.pane_id, o.shell, o.by`;

/**
 * Maximum directories or sessions in one index query, which reads every segment for each of them (some 20
 * µs). With more, rows are compared instead, since nearly all of them match.
 */
const MAX_FACETS = 500;

/** Returns one more than the limit if there are more. */
export function searchHistory(db: Database, search: HistorySearch): FoundCommand[] {
  // One view of the database: index queries depend on the words in it.
  return db.transaction(() => findCommands(db, search)).deferred();
}

function findCommands(db: Database, search: HistorySearch): FoundCommand[] {
  const { words, rest } = splitWords(search.words ?? "");
  const match = facets(search).map((facet) => `facets : ${facet}`);
  const terms = words.length > 0 ? new Terms(db) : null;
  for (const word of words) {
    const phrases = terms?.beginningWith(word) ?? null;
    if (phrases?.length === 0) return [];
    match.push(`command : ${phrases === null ? `${quoted(word)} *` : `(${phrases.map(quoted).join(" OR ")})`}`);
  }
  const where: string[] = [];
  const values: (string | number)[] = [];
  const add = (condition: string, ...given: (string | number)[]): void => {
    where.push(condition);
    values.push(...given);
  };
  const oneOf = (ids: readonly number[], column: string, facet: (id: number) => string): void => {
    if (ids.length <= MAX_FACETS) match.push(`facets : (${ids.map(facet).join(" OR ")})`);
    else add(`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(ids));
  };
  if (search.cwd !== undefined && search.cwd !== "/") {
    const ids = directoriesIn(db, search.cwd);
    if (ids.length === 0) return [];
    oneOf(ids, "c.directory", directoryFacet);
  }
  if (search.session !== undefined) {
    const ids = originsOf(db, search.session);
    if (ids.length === 0) return [];
    oneOf(ids, "c.origin", originFacet);
  }
  if (match.length > 0) add("words MATCH ?", match.join(" AND "));
  const id = match.length > 0 ? "words.rowid" : "c.id";
  if (search.since !== undefined) add(`${id} >= ?`, idAt(search.since));
  const end = Math.min(
    search.until === undefined ? Number.MAX_SAFE_INTEGER : idAt(search.until),
    search.before ?? Number.MAX_SAFE_INTEGER,
  );
  if (end < Number.MAX_SAFE_INTEGER) add(`${id} < ?`, end);
  if (search.by !== undefined) add("o.by = ?", search.by);
  if (search.exit_code !== undefined) add("c.exit_code = ?", search.exit_code);
  if (search.min_duration_ms !== undefined) add("c.duration_ms >= ?", search.min_duration_ms);
  for (const part of rest) add("instr(lower(c.command), lower(?)) > 0", part);
  // CROSS: the newest come first only while commands are read in their own order.
  const source = `${match.length > 0 ? "words CROSS JOIN commands c ON c.id = words.rowid" : "commands c"}
    CROSS JOIN origins o ON o.id = c.origin LEFT JOIN directories d ON d.id = c.directory`;
  const output = search.output === true ? ", (SELECT text FROM outputs o WHERE o.id = c.id) AS output" : "";
  const filter = where.length > 0 ? `WHERE ${where.join(" AND ")}` : "";
  const sql = `SELECT ${COLUMNS}${output} FROM ${source} ${filter} ORDER BY ${id} DESC LIMIT ?`;
  return db.query<FoundCommand, (string | number)[]>(sql).all(...values, search.limit + 1);
}

/** A directory and those below it. */
function directoriesIn(db: Database, path: string): number[] {
  return (
    db
      .query<{ id: number }, [string, string, string]>(
        "SELECT id FROM directories WHERE path = ? OR (path >= ? AND path < ?)",
      )
      // The next character after the slash ends the range.
      .all(path, `${path}/`, `${path}0`)
      .map(({ id }) => id)
  );
}

/** Maximum sessions followed through their names; for one name, over the whole history. */
const MAX_RENAMED = 100;

/**
 * Origins of the commands of a session name: of sessions that had this name, and of sessions that have it
 * after a rename, so that commands from before the rename are found by the present name.
 */
function originsOf(db: Database, name: string): number[] {
  const renamed = db
    .query<{ id: string }, [string, string, number]>(
      `SELECT DISTINCT other.id FROM sessions own JOIN sessions other ON other.id = own.id AND other.name <> ?
       WHERE own.name = ? AND own.newest = (SELECT max(newest) FROM sessions WHERE id = own.id)
       ORDER BY own.newest DESC LIMIT ?`,
    )
    .all(name, name, MAX_RENAMED);
  return db
    .query<{ id: number }, [string, string]>(
      "SELECT id FROM origins WHERE session = ? OR session_id IN (SELECT value FROM json_each(?))",
    )
    .all(name, JSON.stringify(renamed.map(({ id }) => id)))
    .map(({ id }) => id);
}

/**
 * Splits into words for the index, and the rest: words of one letter or of punctuation alone, which the index
 * does not contain or would find everywhere.
 */
function splitWords(text: string): { words: string[]; rest: string[] } {
  const all = text.split(/\s+/).filter((word) => word !== "");
  const inIndex = (word: string): boolean => /[\p{L}\p{N}]{2}/u.test(word);
  return { words: all.filter(inIndex), rest: all.filter((word) => !inIndex(word)) };
}

function facets({ failed, exit_code = 0, min_duration_ms = 0, by }: HistorySearch): string[] {
  const long = durationFacet(min_duration_ms);
  return [
    ...(failed === true ? [failedFacet] : []),
    ...(exit_code === 0 ? [] : [exitFacet(exit_code)]),
    ...(long === null ? [] : [long]),
    // Nearly every command is a person's: the index would be read from end to end.
    ...(by === undefined || by === "person" ? [] : [actorFacet(by)]),
  ];
}

/** A string of the index's query language; it cannot end early. */
function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

/** The fields of commands that an AI agent may see. @param concealment null: another caller */
export function commandsSeen<T extends { readonly session_id?: string | null | undefined }>(
  commands: readonly T[],
  concealment: Concealment | null,
): T[] {
  return commands.filter(({ session_id: id }) => id == null || concealment?.hidden.has(id) !== true);
}
