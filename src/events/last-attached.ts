/** Finds the session that a terminal was attached to last, in the journal of events. */
import { readText } from "../platform/readable.ts";
import { segmentPath, segmentsIn } from "./segments.ts";

/** Segments to search, newest first: each takes some milliseconds. */
const SEGMENTS = 2;

/** @param among ids of sessions @returns one of them; null: the newest events name none */
export function lastAttached(directory: string, among: ReadonlySet<string>): string | null {
  for (const segment of segmentsIn(directory).slice(-SEGMENTS).reverse()) {
    const text = readText(segmentPath(directory, segment)) ?? "";
    // These precede any text of sessions and people in an event.
    const found = [
      ...text.matchAll(/^\{"event":"attached","at":\d+,"session":"(?:[^"\\]|\\.)*","session_id":"(@s\d+)"/gm),
    ];
    const last = found.findLast(([, id]) => among.has(id ?? ""));
    if (last?.[1] !== undefined) return last[1];
  }
  return null;
}
