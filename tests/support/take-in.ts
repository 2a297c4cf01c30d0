/** Imports journals as the history's worker does; a failure is thrown instead of becoming a warning. */
import { openHistory } from "../../src/history/database.ts";
import { takeInto } from "../../src/history/import-journals.ts";
import { journalsIn } from "../../src/history/journal.ts";
import type { HistoryPlaces } from "../../src/history/paths.ts";
import type { Retention } from "../../src/history/retention.ts";

export function takeIn(places: HistoryPlaces, retention: Retention): void {
  const names = journalsIn(places.journals);
  const db = openHistory(places);
  try {
    takeInto(db, names, retention);
  } finally {
    db.close();
  }
}
