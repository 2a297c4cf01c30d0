/**
 * The index entries of a command besides its words, as separate tokens: the directory, the session with its pane, how
 * it ended, how long it took and who ran it. So a rare directory among many commands is found as quickly as a rare
 * word. The first letter is a token's type. Pure.
 */
import type { HistoryRecord } from "./record.ts";

/** @param id of the table of directories */
export function directoryFacet(id: number): string {
  return `d${id}`;
}

/** @param id of the table of origins */
export function originFacet(id: number): string {
  return `s${id}`;
}

export const failedFacet = "xfailed";

export function exitFacet(code: number): string {
  return `e${code < 0 ? "n" : ""}${Math.abs(code)}`;
}

/** Durations rare enough to search for, in ms. A command has a token for each that it reached. */
const LONG_MS = [10_000, 60_000, 600_000, 3_600_000];

/** @returns the token of every command of this duration or longer; null: nearly all commands would match */
export function durationFacet(ms: number): string | null {
  const reached = LONG_MS.findLast((long) => long <= ms);
  return reached === undefined ? null : `l${reached}`;
}

export function actorFacet(by: HistoryRecord["by"]): string {
  return `b${by}`;
}

/** The indexed fields of a command, as in its row. */
export interface Indexed extends Pick<HistoryRecord, "exit_code" | "signal" | "by" | "duration_ms"> {
  readonly directory: number | null;
  readonly origin: number;
}

/** Removing a row from the index needs the same tokens again: the result for a row is constant while the row exists. */
export function facetsOf({ directory, origin, by, exit_code, signal, duration_ms }: Indexed): string {
  let facets = originFacet(origin);
  if (directory !== null) facets += ` ${directoryFacet(directory)}`;
  // Nearly every command is a person's: the index would not narrow those.
  if (by !== "person") facets += ` ${actorFacet(by)}`;
  const hasFailed = exit_code !== null && exit_code !== 0;
  if (signal !== null || hasFailed) facets += ` ${failedFacet}`;
  if (hasFailed) facets += ` ${exitFacet(exit_code)}`;
  for (const long of LONG_MS) if (duration_ms !== null && duration_ms >= long) facets += ` l${long}`;
  return facets;
}
