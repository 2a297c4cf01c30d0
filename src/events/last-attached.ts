/** Which session a terminal was attached to last, by the journal of events. */
import fs from "node:fs";
import { segmentPath, segmentsIn } from "./segments.ts";

/** Segments that are looked through, the newest first: one takes some milliseconds. */
const SEGMENTS = 2;

/** @param among ids of sessions @returns one of them; null: none was within the newest events */
export function lastAttached(directory: string, among: ReadonlySet<string>): string | null {
  for (const segment of segmentsIn(directory).slice(-SEGMENTS).reverse()) {
    let text: string;
    try {
      text = fs.readFileSync(segmentPath(directory, segment), "utf8");
    } catch {
      continue;
    }
    // In front of what sessions and people have written into an event.
    const found = [
      ...text.matchAll(/^\{"event":"attached","at":\d+,"session":"(?:[^"\\]|\\.)*","session_id":"(@s\d+)"/gm),
    ];
    const last = found.findLast(([, id]) => among.has(id ?? ""));
    if (last?.[1] !== undefined) return last[1];
  }
  return null;
}
