/**
 * Retained lines in the form for a reader: everything within a limit of bytes, or head and tail with a count of the
 * lines between. Pure functions; characters and lines stay whole wherever possible.
 */
import { lineCost, type RetainedLines } from "./retained-lines.ts";

export interface CutOutput {
  readonly text: string;
  /** Lines omitted between head and tail, or of which only the ends are shown. */
  readonly omittedLines: number;
}

/** The longest part of `text` from its start (or end) of at most `limit` UTF-8 bytes, in whole characters. */
function clip(text: string, limit: number, from: "start" | "end"): string {
  const bytes = Math.max(0, Math.floor(limit));
  if (Buffer.byteLength(text) <= bytes) return text;
  const all = Buffer.from(text);
  if (from === "start") {
    let end = bytes;
    while (end > 0 && ((all[end] ?? 0) & 0xc0) === 0x80) end--;
    return all.toString("utf8", 0, end);
  }
  let start = all.length - bytes;
  while (start < all.length && ((all[start] ?? 0) & 0xc0) === 0x80) start++;
  return all.toString("utf8", start);
}

/**
 * Lines as one text of at most `limit` UTF-8 bytes: everything when it fits, else whole lines from the start and from
 * the end, with a line between them that gives the number of missing ones (it is not counted in the limit).
 */
export function cutOutput(lines: RetainedLines, limit: number): CutOutput {
  const { omitted } = lines;
  const head = lines.head.map((line) => fitLine(line, limit));
  const tail = lines.tail.map((line) => fitLine(line, limit));
  const all = omitted === 0 ? [...head, ...tail] : null;
  if (all !== null) {
    const text = joinFitted(all);
    if (Buffer.byteLength(text) <= limit) return { text, omittedLines: countPartial(all) };
  }
  const front = takeLines(all ?? head, limit / 2, "start");
  const back = takeLines(all === null ? tail : all.slice(front.length), limit / 2, "end");
  const missing = head.length + tail.length + omitted - front.length - back.length;
  const omittedLines = missing + countPartial(front) + countPartial(back);
  if (front.length === 0 && back.length === 0) {
    // A line longer than the limit, or no limit at all: its two ends are still better than nothing.
    const lines = all ?? (tail.length > 0 ? tail : head);
    return { text: limit <= 0 || lines.length === 0 ? "" : clipEnds(joinFitted(lines), limit), omittedLines };
  }
  const mark = { text: `[${missing} lines omitted]`, isPartial: false };
  return { text: joinFitted([...front, mark, ...back]), omittedLines };
}

/** The newest whole lines of at most `limit` UTF-8 bytes, after a line that gives the number of missing ones. */
export function cutToEnd(lines: RetainedLines, limit: number): CutOutput {
  const { head, tail, omitted } = lines;
  const all = (omitted === 0 ? [...head, ...tail] : tail).map((line) => fitLine(line, limit));
  const shown = takeLines(all, limit, "end");
  const missing = head.length + tail.length + omitted - shown.length;
  const omittedLines = missing + countPartial(shown);
  if (missing === 0) return { text: joinFitted(shown), omittedLines };
  if (limit <= 0) return { text: "", omittedLines };
  const last = shown.length > 0 ? joinFitted(shown) : clip(all.at(-1)?.text ?? "", limit, "end");
  return { text: `[${missing} lines omitted]\n${last}`, omittedLines };
}

interface FittedLine {
  readonly text: string;
  /** Whether only its ends are included. */
  readonly isPartial: boolean;
}

/** Limits below this, in bytes, have no room for the ends of a line beside other lines. */
const SMALLEST_SHARED = 256;
/** Bytes of the text between the two ends of a line, at most. */
const MARK_BYTES = 48;

/** A line longer than the whole limit as its two ends, in half of the limit. */
export function fitLine(line: string, limit: number): FittedLine {
  if (limit < SMALLEST_SHARED || Buffer.byteLength(line) <= limit) return { text: line, isPartial: false };
  return { text: clipEnds(line, limit / 2 - MARK_BYTES), isPartial: true };
}

/** The beginning and the end of a text that is longer than the limit, in bytes, and how much is between them. */
export function clipEnds(text: string, limit: number): string {
  const [start, end] = [clip(text, limit / 2, "start"), clip(text, limit / 2, "end")];
  const omitted = Buffer.byteLength(text) - Buffer.byteLength(start) - Buffer.byteLength(end);
  return `${start} [… ${omitted} bytes omitted …] ${end}`;
}

function joinFitted(lines: readonly FittedLine[]): string {
  return lines.map(({ text }) => text).join("\n");
}

function countPartial(lines: readonly FittedLine[]): number {
  return lines.filter(({ isPartial }) => isPartial).length;
}

function takeLines(lines: readonly FittedLine[], bytes: number, from: "start" | "end"): FittedLine[] {
  const taken: FittedLine[] = [];
  let remaining = bytes;
  for (let n = 0; n < lines.length; n++) {
    const line = lines[from === "start" ? n : lines.length - 1 - n];
    remaining -= lineCost(line?.text ?? "");
    if (line === undefined || remaining < 0) break;
    taken.push(line);
  }
  return from === "start" ? taken : taken.reverse();
}
