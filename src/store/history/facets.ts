/**
 * What the full-text index holds of a command besides its words, as tokens of their own: the directory, the session with
 * its pane, how it ended and who ran it. A rare directory among many commands is so found as quickly as a rare word. The
 * first letter says what a token is. Pure.
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

export function actorFacet(by: HistoryRecord["by"]): string {
  return `b${by}`;
}

/** What the index holds of a command, as it is in its row. */
export interface Indexed extends Pick<HistoryRecord, "exit_code" | "signal" | "by"> {
  readonly directory: number | null;
  readonly origin: number;
}

/** What leaves the index is told to it again: for one row this says the same as long as the row is there. */
export function facetsOf({ directory, origin, by, exit_code, signal }: Indexed): string {
  let facets = originFacet(origin);
  if (directory !== null) facets += ` ${directoryFacet(directory)}`;
  // Nearly every command is a person's: nobody looks for those by the index.
  if (by !== "person") facets += ` ${actorFacet(by)}`;
  if (signal !== null || (exit_code !== null && exit_code !== 0)) facets += ` ${failedFacet}`;
  return facets;
}
