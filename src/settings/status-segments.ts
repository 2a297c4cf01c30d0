/** The setting `status_segments`: its check, which finds the wrong entry. Pure. */
import * as v from "valibot";
import { isRecord } from "../protocol/json.ts";
import {
  isSegmentName,
  MAX_SEGMENTS,
  type StatusSegment,
  segmentNames,
  segmentSchema,
} from "../protocol/status-segments.ts";
import { faultOf } from "./hooks.ts";
import type { EntryFault, Setting } from "./kinds.ts";

/** More would leave a part without a side. */
const MAX_GAPS = 2;
const names = segmentNames.join(", ");

export function statusSegments(doc: string): Setting<readonly StatusSegment[]> {
  const isValid = (value: unknown): value is readonly StatusSegment[] =>
    Array.isArray(value) && value.length <= MAX_SEGMENTS && faultIn(value) === null;
  const expected = `a list of at most ${MAX_SEGMENTS}: names out of ${names}, and tables`;
  return { kind: "list", doc, expected, default: [], isValid, faultIn };
}

function faultIn(value: unknown): EntryFault | null {
  if (!Array.isArray(value)) return null;
  let gaps = 0;
  const all: readonly unknown[] = value;
  for (const [entry, given] of all.entries()) {
    const fault = faultOfEntry(given);
    if (fault !== null) return { entry, ...fault };
    if (given === "gap" || (isRecord(given) && given.segment === "gap")) gaps++;
    if (gaps > MAX_GAPS) return { entry, text: `a line has at most ${MAX_GAPS} gaps: left, middle and right` };
  }
  return null;
}

function faultOfEntry(given: unknown): Omit<EntryFault, "entry"> | null {
  if (typeof given === "string" && isSegmentName(given)) return null;
  if (!isRecord(given))
    return { text: `${JSON.stringify(given)}, expected one of ${names}, or a table such as { text = "…" }` };
  const result = v.safeParse(segmentSchema(), given, { abortPipeEarly: true });
  if (result.success) return null;
  const [issue] = result.issues;
  const key = issue.path?.[0]?.key;
  return { text: faultOf(issue), ...(typeof key === "string" ? { key } : {}) };
}
