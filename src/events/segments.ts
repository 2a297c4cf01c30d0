/**
 * The files of the journal of events: segments with ascending numbers, of which the newest few are kept. A line counts
 * if it begins within SEGMENT_BYTES; after that, readers continue with the next segment. So every event has one
 * position, whichever process wrote it, and a cursor is that position: `3-18231`.
 */
import fs from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import type { Instance } from "../instance/paths.ts";
import { placeDigest } from "../instance/place-digest.ts";
import { namesIn, readText } from "../platform/readable.ts";
import { WshError } from "../protocol/errors.ts";

/** Bytes within which the lines of a segment begin: some 6,000 events. */
export const SEGMENT_BYTES = 2 * 1024 * 1024;
/** Segments that are kept; the oldest goes when a new one begins. */
export const KEPT_SEGMENTS = 8;
const SUFFIX = ".jsonl";

/** A position between two events. */
export interface JournalCursor {
  readonly segment: number;
  readonly offset: number;
}

/** Directory of the journal: one for each user of a state directory, so that all its writers are on one machine. */
export function eventsDir({ stateDir, fileName, runtimeDir }: Instance): string {
  return join(stateDir, `${fileName}.${placeDigest(runtimeDir)}.events`);
}

export function segmentPath(directory: string, segment: number): string {
  return join(directory, `${segment}${SUFFIX}`);
}

/** Numbers of the existing segments, oldest first. */
export function segmentsIn(directory: string): number[] {
  return namesIn(directory)
    .flatMap((name) => (/^[1-9]\d{0,11}\.jsonl$/.test(name) ? [Number.parseInt(name, 10)] : []))
    .sort((a, b) => a - b);
}

export function formatCursor({ segment, offset }: JournalCursor): string {
  return `${segment}-${offset}`;
}

/** @throws WshError invalid_request */
export function parseCursor(text: string): JournalCursor {
  const [, segment, offset] = /^([1-9]\d{0,11})-(\d{1,12})$/.exec(text) ?? [];
  if (segment !== undefined && offset !== undefined) return { segment: Number(segment), offset: Number(offset) };
  throw new WshError("invalid_request", `since: '${text.slice(0, 64)}' is not a cursor of an event, start or now`, {
    field: "since",
  });
}

/** After the newest event. */
export function endOf(directory: string): JournalCursor {
  const segment = segmentsIn(directory).at(-1) ?? 1;
  const size = fs.statSync(segmentPath(directory, segment), { throwIfNoEntry: false })?.size ?? 0;
  return size < SEGMENT_BYTES ? { segment, offset: size } : { segment: segment + 1, offset: 0 };
}

const LastEventSchema = v.object({
  event: v.string(),
  reason: v.optional(v.string()),
  session: v.string(),
  tags: v.array(v.string()),
  private: v.optional(v.boolean()),
});
type LastEvent = v.InferOutput<typeof LastEventSchema>;

/** The last event of a session in the newest segments; null: none. @param among number of segments to search */
export function lastEventOf(directory: string, session: string, among = 2): LastEvent | null {
  for (const segment of segmentsIn(directory).slice(-among).reverse()) {
    // The oldest may be deleted meanwhile.
    const text = readText(segmentPath(directory, segment));
    if (text === null) continue;
    const index = text.lastIndexOf(`"session_id":"${session}"`);
    if (index === -1) continue;
    const [line = ""] = text.slice(text.lastIndexOf("\n", index) + 1).split("\n", 1);
    const last = v.safeParse(v.pipe(v.string(), v.parseJson(), LastEventSchema), line);
    if (last.success) return last.output;
  }
  return null;
}

/** Before the oldest event. */
export function startOf(directory: string): JournalCursor {
  return { segment: segmentsIn(directory)[0] ?? 1, offset: 0 };
}
