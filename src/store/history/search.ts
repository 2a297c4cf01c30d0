/**
 * Finds commands: by words of the command line (each the beginning of one), directory, session, how they ended, who ran
 * them, time and duration; the newest first. Everything that narrows a search much is answered by the index.
 */

import type { Database } from "bun:sqlite";
import { idAt } from "./database.ts";
import { actorFacet, directoryFacet, failedFacet, sessionFacet } from "./facets.ts";
import type { HistoryRecord } from "./record.ts";

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
  /** Commands before this id: where the last page ended. */
  readonly before?: number;
  readonly output?: boolean;
}

export interface FoundCommand extends Omit<HistoryRecord, "output"> {
  readonly id: number;
  readonly output?: string | null;
}

const COLUMNS = `c.id, c.command, c.cwd, c.started_at, c.duration_ms, c.exit_code, c.signal, c.session, c.session_id,
  c.pane_id, c.shell, c.by`;

/** Returns one more than the limit when there are more. */
export function searchHistory(db: Database, search: HistorySearch): FoundCommand[] {
  const { words, rest } = splitWords(search.words ?? "");
  const session = search.session === undefined ? null : namedSession(db, search.session);
  const match = [
    ...words.map((word) => `command : ${quoted(word)} *`),
    ...facets(search).map((facet) => `facets : ${quoted(facet)}`),
    ...(session === null ? [] : [`facets : (${session.names.map((name) => quoted(sessionFacet(name))).join(" OR ")})`]),
  ];
  const where: string[] = [];
  const values: (string | number)[] = [];
  const add = (condition: string, ...given: (string | number)[]): void => {
    where.push(condition);
    values.push(...given);
  };
  if (match.length > 0) add("words MATCH ?", match.join(" AND "));
  const id = match.length > 0 ? "words.rowid" : "c.id";
  if (search.since !== undefined) add(`${id} >= ?`, idAt(search.since));
  const end = Math.min(
    search.until === undefined ? Number.MAX_SAFE_INTEGER : idAt(search.until),
    search.before ?? Number.MAX_SAFE_INTEGER,
  );
  if (end < Number.MAX_SAFE_INTEGER) add(`${id} < ?`, end);
  // Digests may collide, and a mark is no word: what the index said is looked at again.
  if (search.cwd !== undefined && search.cwd !== "/")
    add("(c.cwd = ? OR substr(c.cwd, 1, ?) = ?)", search.cwd, search.cwd.length + 1, `${search.cwd}/`);
  if (session !== null && search.session !== undefined) {
    const ids = session.ids.map(() => "?").join(", ");
    add(`(c.session = ? OR c.session_id IN (${ids}))`, search.session, ...session.ids);
  }
  if (search.by !== undefined) add("c.by = ?", search.by);
  if (search.exit_code !== undefined) add("c.exit_code = ?", search.exit_code);
  if (search.min_duration_ms !== undefined) add("c.duration_ms >= ?", search.min_duration_ms);
  for (const part of rest) add("instr(lower(c.command), lower(?)) > 0", part);
  const source = match.length > 0 ? "words JOIN commands c ON c.id = words.rowid" : "commands c";
  const output = search.output === true ? ", (SELECT text FROM outputs o WHERE o.id = c.id) AS output" : "";
  const filter = where.length > 0 ? `WHERE ${where.join(" AND ")}` : "";
  const sql = `SELECT ${COLUMNS}${output} FROM ${source} ${filter} ORDER BY ${id} DESC LIMIT ?`;
  return db.query<FoundCommand, (string | number)[]>(sql).all(...values, search.limit + 1);
}

/** Most sessions that are followed through their names; of one name, in all the time that is kept. */
const MAX_RENAMED = 100;

/**
 * The sessions that ended up with this name after others, and all names under which commands may be theirs: what ran
 * before a session was renamed is found by its name of now.
 */
function namedSession(db: Database, name: string): { readonly ids: string[]; readonly names: string[] } {
  const others = db
    .query<{ id: string; name: string }, [string, string, number]>(
      `SELECT other.id, other.name FROM sessions own JOIN sessions other ON other.id = own.id AND other.name <> ?
       WHERE own.name = ? AND own.newest = (SELECT max(newest) FROM sessions WHERE id = own.id)
       ORDER BY own.newest DESC LIMIT ?`,
    )
    .all(name, name, MAX_RENAMED);
  return {
    ids: [...new Set(others.map(({ id }) => id))],
    names: [...new Set([name, ...others.map((other) => other.name)])],
  };
}

/** Words for the index; and those of one letter or of marks alone, which it does not hold or would find everywhere. */
function splitWords(text: string): { words: string[]; rest: string[] } {
  const all = text.split(/\s+/).filter((word) => word !== "");
  const inIndex = (word: string): boolean => /[\p{L}\p{N}]{2}/u.test(word);
  return { words: all.filter(inIndex), rest: all.filter((word) => !inIndex(word)) };
}

function facets({ cwd, failed, by }: HistorySearch): string[] {
  return [
    ...(cwd === undefined || cwd === "/" ? [] : [directoryFacet(cwd)]),
    ...(failed === true ? [failedFacet] : []),
    // Nearly every command is a person's: the index would be read from end to end.
    ...(by === undefined || by === "person" ? [] : [actorFacet(by)]),
  ];
}

/** A string of the index's query language; it cannot end early. */
function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
