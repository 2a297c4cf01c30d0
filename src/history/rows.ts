/**
 * The rows of commands, and their words in the index: written and removed. Each within the caller's transaction.
 *
 * Invariant: a row leaves the index with the same tokens that it was added with, or the index would still find
 * something; both derive from facets.ts and the row.
 */
import type { Database } from "bun:sqlite";
import { facetsOf, type Indexed } from "./facets.ts";
import { idAt } from "./ids.ts";
import type { HistoryRecord } from "./record.ts";

/** The line that identifies an imported command. */
interface ImportedKey {
  readonly journal: number;
  readonly seq: number;
}

interface SessionName {
  readonly id: string;
  readonly name: string;
  /** Id of the newest command under this name. */
  newest: number;
}

type Origin = Pick<HistoryRecord, "session" | "session_id" | "pane_id" | "shell" | "by">;

/** Writes commands as rows, and their words into the index. For one transaction: it caches its lookups. */
export class RowWriter {
  private readonly insert;
  private readonly index;
  private readonly print;
  private readonly name;
  /** Sessions that these commands ran in, by id and name. */
  private readonly names = new Map<string, SessionName>();
  /** Name of the previous command's session: most commands follow in the same session. */
  private latest: SessionName | null = null;
  private readonly directories = new Map<string, number>();
  private readonly origins = new Map<string, number>();
  private latestOrigin: { readonly of: Origin; readonly id: number } | null = null;
  /** First id of a time, and the next free one after those used by this writer, for several commands at once. */
  private readonly nextIds = new Map<number, number>();

  constructor(private readonly db: Database) {
    this.insert = db.query(
      `INSERT INTO commands (id, command, directory, origin, started_at, duration_ms, exit_code, signal, journal, seq)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
    );
    this.index = db.query("INSERT INTO words (rowid, command, facets) VALUES (?, ?, ?)");
    this.print = db.query("INSERT INTO outputs (id, text) VALUES (?, ?)");
    this.name = db.query(
      "INSERT INTO sessions (id, name, newest) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET newest = max(newest, excluded.newest)",
    );
  }

  /**
   * @param from identifies an imported command; null for others
   * @param at orders a command without a start time, in ms of Unix time
   */
  write(record: HistoryRecord, from: ImportedKey | null, at = 0): void {
    const { command, cwd, exit_code, signal, by, duration_ms, session, session_id } = record;
    const directory = cwd === null ? null : (this.directories.get(cwd) ?? this.directory(cwd));
    const row: Indexed = { directory, origin: this.origin(record), by, exit_code, signal, duration_ms };
    const first = idAt(record.started_at ?? at);
    let id = this.nextIds.get(first) ?? first;
    // Another command began in the same millisecond; in some imported files, thousands in one second.
    while (!this.put(id, record, row, from)) id++;
    if (id > first) this.nextIds.set(first, id + 1);
    this.index.run(id, command, facetsOf(row));
    if (session_id !== null && session !== null) this.recordName(session_id, session, id);
    if (record.output !== null) this.print.run(id, record.output);
  }

  /** @returns whether the id was free. Builds no lists of values, which would take as long as reading the command. */
  private put(id: number, record: HistoryRecord, row: Indexed, from: ImportedKey | null): boolean {
    const { changes } = this.insert.run(
      id,
      record.command,
      row.directory,
      row.origin,
      record.started_at,
      record.duration_ms,
      row.exit_code,
      row.signal,
      from === null ? null : from.journal,
      from === null ? null : from.seq,
    );
    return changes > 0;
  }

  /** Writes the names of sessions: after the last command. */
  finish(): void {
    for (const { id, name, newest } of this.names.values()) this.name.run(id, name, newest);
    this.names.clear();
    this.latest = null;
  }

  /** @param command id of a command under that name, or of its time */
  recordName(id: string, name: string, command: number): void {
    let known = this.latest;
    if (known === null || known.id !== id || known.name !== name) {
      const key = `${id} ${name}`;
      known = this.names.get(key) ?? { id, name, newest: command };
      this.names.set(key, known);
      this.latest = known;
    }
    if (command > known.newest) known.newest = command;
  }

  private directory(path: string): number {
    this.db.query("INSERT OR IGNORE INTO directories (path) VALUES (?)").run(path);
    const id = idOf(this.db.query<Id, [string]>("SELECT id FROM directories WHERE path = ?").get(path));
    this.directories.set(path, id);
    return id;
  }

  private origin(record: Origin): number {
    const { latestOrigin } = this;
    if (latestOrigin !== null && isSameOrigin(latestOrigin.of, record)) return latestOrigin.id;
    const { session, session_id, pane_id, shell, by } = record;
    const key = JSON.stringify([session, session_id, pane_id, shell, by]);
    let id = this.origins.get(key);
    if (id === undefined) {
      type Values = [string | null, string | null, string | null, string | null, string];
      const known = this.db
        .query<Id, Values>(
          "SELECT id FROM origins WHERE session IS ? AND session_id IS ? AND pane_id IS ? AND shell IS ? AND by = ?",
        )
        .get(session, session_id, pane_id, shell, by);
      id = idOf(
        known ??
          this.db
            .query<Id, Values>(
              "INSERT INTO origins (session, session_id, pane_id, shell, by) VALUES (?, ?, ?, ?, ?) RETURNING id",
            )
            .get(session, session_id, pane_id, shell, by),
      );
      this.origins.set(key, id);
    }
    this.latestOrigin = { of: record, id };
    return id;
  }
}

interface Id {
  readonly id: number;
}

function idOf(row: Id | null): number {
  if (row === null) throw new Error("a row that was just written is not there");
  return row.id;
}

function isSameOrigin(one: Origin, other: Origin): boolean {
  return (
    one.session_id === other.session_id &&
    one.pane_id === other.pane_id &&
    one.session === other.session &&
    one.shell === other.shell &&
    one.by === other.by
  );
}

type Row = Indexed & { readonly id: number; readonly command: string };
const ROW = `SELECT c.id, c.command, c.directory, c.origin, c.exit_code, c.signal, c.duration_ms, o.by
  FROM commands c CROSS JOIN origins o ON o.id = c.origin`;

/** @returns the number of these commands. Pieces of them remain in the files: see eraseRemoved */
export function removeFrom(db: Database, ids: readonly number[]): number {
  const find = db.query<Row, [number]>(`${ROW} WHERE c.id = ?`);
  const words = db.query("INSERT INTO words (words, rowid, command, facets) VALUES ('delete', ?, ?, ?)");
  const command = db.query("DELETE FROM commands WHERE id = ?");
  const output = db.query("DELETE FROM outputs WHERE id = ?");
  let removed = 0;
  for (const id of ids) {
    const row = find.get(id);
    if (row === null) continue;
    words.run(id, row.command, facetsOf(row));
    command.run(id);
    output.run(id);
    removed++;
  }
  return removed;
}
