/** Paths of an instance's history. Loads no database. */
import { join } from "node:path";
import { eventsDir } from "../events/segments.ts";
import type { Instance } from "../instance/paths.ts";

export interface HistoryPlaces {
  /** Directory of the journals. */
  readonly journals: string;
  readonly database: string;
  /** Directory of the journal of events, which contains command lines too; absent: there is none. */
  readonly events?: string;
}

export function historyPlaces(instance: Instance): HistoryPlaces {
  const directory = join(instance.stateDir, `${instance.name}.history`);
  return { journals: directory, database: join(directory, "history.db"), events: eventsDir(instance) };
}
