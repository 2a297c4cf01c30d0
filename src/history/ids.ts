/** Ids of commands: they grow with the time at which a command began. Pure. */

/** Ids per ms of time: more commands than begin in one. An id stays an exact number until the year 2109. */
const IDS_PER_MS = 2048;

/** Upper limit of times in ids, in ms of Unix time; a later time, from a wrong clock, is replaced by it. */
export const LAST_MS = Date.UTC(2100, 0);

/** First id of commands that began at a time. @param ms Unix time */
export function idAt(ms: number): number {
  return Math.min(LAST_MS, Math.max(0, Math.floor(ms))) * IDS_PER_MS;
}
