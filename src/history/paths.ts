/** Paths of an instance's history, and its limits. Loads no database. */
import { join } from "node:path";
import { eventsDir } from "../events/segments.ts";
import type { Instance } from "../instance/paths.ts";
import type { Retention } from "./retention.ts";

export interface HistoryPlaces {
  /** Directory of the journals. */
  readonly journals: string;
  readonly database: string;
  /** Directory of the journal of events, which contains command lines too; absent: there is none. */
  readonly events?: string;
}

interface RetentionSettings {
  readonly history_days: number;
  readonly history_bytes: number;
}

/** Limits of the history by its settings, which may change while a process runs. */
export function retentionOf({ history_days, history_bytes }: RetentionSettings): Retention {
  return { days: history_days, bytes: history_bytes };
}

export function historyPlaces(instance: Instance): HistoryPlaces {
  const directory = join(instance.stateDir, `${instance.name}.history`);
  return { journals: directory, database: join(directory, "history.db"), events: eventsDir(instance) };
}
