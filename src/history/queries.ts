/**
 * Queries of the history. Each first imports the journals, so that it sees the newest commands. Only
 * short-lived processes call them.
 */

import { type Database, SQLiteError } from "bun:sqlite";
import { forgetCommands } from "../events/forget.ts";
import type { HistoryDeleteInput, HistoryPage, HistorySearchInput } from "../operations/history.ts";
import type { Concealment } from "../protocol/concealed.ts";
import { defined } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";
import { historyFailure, openHistory, openToRead } from "./database.ts";
import { chosenOf, searchOf } from "./filters.ts";
import { takeImport } from "./import/import-commands.ts";
import type { ImportSource } from "./import/sources.ts";
import { takeInto } from "./import-journals.ts";
import { journalsIn } from "./journal.ts";
import type { HistoryPlaces } from "./paths.ts";
import type { HistoryRecord } from "./record.ts";
import { eraseRemoved, type Retention, removeAllRows, removeCommands, removeRows } from "./retention.ts";
import { commandsSeen, searchHistory } from "./search.ts";

export interface Deleted {
  readonly deleted: number;
  /** Why deleted commands may remain in files. */
  readonly warnings?: string[];
}

/** Maximum commands that one transaction deletes. */
const DELETE_BATCH = 10_000;

export class History implements Disposable {
  private readonly db: Database;
  /** Why the database cannot be written; null: it can. */
  private readonly readOnly: string | null;
  /** Why the newest commands may be missing. */
  readonly warnings: string[] = [];

  /** @throws WshError history_unavailable */
  constructor(
    private readonly places: HistoryPlaces,
    private readonly retention: Retention,
    /** Limits on the AI agent that asks; null: another caller. */
    private readonly concealment: Concealment | null = null,
  ) {
    const { db, failed } = opened(places);
    this.db = db;
    this.readOnly = failed;
    if (failed === null) this.takeIn();
    else this.warnings.push(`the newest commands may be missing: they could not be imported (${failed})`);
  }

  [Symbol.dispose](): void {
    this.db.close();
  }

  /** Imports new lines. A full disk leaves the journals unchanged. */
  takeIn(): void {
    try {
      takeInto(this.db, journalsIn(this.places.journals), this.retention);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.warnings.push(`the newest commands may be missing: they could not be imported (${reason})`);
    }
  }

  /** @throws WshError invalid_request, history_unavailable */
  search(input: Omit<HistorySearchInput, "all_machines">): HistoryPage {
    const { limit, before, output } = input;
    const found = this.guarded(() =>
      searchHistory(this.db, { ...searchOf(input), limit, output, ...defined({ before }) }),
    );
    const commands = commandsSeen(found.slice(0, limit), this.concealment);
    return { commands, more: found.length > limit, ...this.warned() };
  }

  /** @throws WshError invalid_request (nothing chosen), history_unavailable */
  delete({ id, all, ...input }: HistoryDeleteInput): Deleted {
    const search = chosenOf({ id, all, ...input });
    this.requireWritable();
    const deleted = this.guarded(() => {
      const journals = journalsIn(this.places.journals);
      if (this.places.events !== undefined) forgetCommands(this.places.events);
      if (id !== undefined) return removeCommands(this.db, [id], journals);
      let deleted = Object.keys(search).length === 0 ? removeAllRows(this.db) : 0;
      for (;;) {
        const found = searchHistory(this.db, { ...search, limit: DELETE_BATCH }).map((command) => command.id);
        if (found.length === 0) break;
        deleted += removeRows(this.db, found);
      }
      // Also without matches: this completes an earlier deletion that was interrupted.
      eraseRemoved(this.db, journals);
      return deleted;
    });
    return { deleted, ...this.warned() };
  }

  /** Imports another program's history. @returns how many commands are new */
  import(source: ImportSource, records: readonly HistoryRecord[], before: number): number {
    this.requireWritable();
    return this.guarded(() => takeImport(this.db, source, records, before));
  }

  private requireWritable(): void {
    if (this.readOnly === null) return;
    throw new WshError("history_unavailable", `nothing was changed: ${this.readOnly}`, {
      hint: "Free disk space, or make it writable.",
    });
  }

  private warned(): { readonly warnings?: string[] } {
    return this.warnings.length === 0 ? {} : { warnings: [...this.warnings] };
  }

  private guarded<T>(act: () => T): T {
    try {
      return act();
    } catch (error) {
      throw historyFailure(error, this.places.database);
    }
  }
}

/**
 * Searches still work when nothing can be written: a full disk.
 * @throws WshError as openHistory
 */
function opened(places: HistoryPlaces): { readonly db: Database; readonly failed: string | null } {
  try {
    return { db: openHistory(places), failed: null };
  } catch (error) {
    const { cause } = WshError.from(error);
    const db = cause instanceof SQLiteError && /IOERR|FULL|CANTOPEN/.test(cause.code ?? "") ? openToRead(places) : null;
    if (db === null) throw error;
    return { db, failed: WshError.from(error).message };
  }
}
