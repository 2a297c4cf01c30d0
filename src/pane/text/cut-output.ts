/**
 * Kept lines as a reader receives them: everything within a limit of bytes, or head and tail with a count of the lines
 * between. Pure functions; characters and lines stay whole wherever possible.
 */
import { cost, type KeptLines } from "./kept-lines.ts";

export interface CutOutput {
  readonly text: string;
  /** Lines left out between head and tail. */
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
export function cutOutput(lines: KeptLines, limit: number): CutOutput {
  const { head, tail, omitted } = lines;
  if (omitted === 0) {
    const text = [...head, ...tail].join("\n");
    if (Buffer.byteLength(text) <= limit) return { text, omittedLines: 0 };
  }
  const all = omitted === 0 ? [...head, ...tail] : null;
  const front = takeLines(all ?? head, limit / 2, "start");
  const back = takeLines(all === null ? tail : all.slice(front.length), limit / 2, "end");
  const total = head.length + tail.length + omitted;
  const omittedLines = total - front.length - back.length;
  if (front.length === 0 && back.length === 0) {
    // A line longer than the limit, or no limit at all: its two ends are still better than nothing.
    const lines = all ?? (tail.length > 0 ? tail : head);
    return { text: limit <= 0 || lines.length === 0 ? "" : clipEnds(lines, limit), omittedLines };
  }
  return { text: [...front, `[${omittedLines} lines omitted]`, ...back].join("\n"), omittedLines };
}

/** The newest whole lines of at most `limit` UTF-8 bytes, after a line that gives the number of missing ones. */
export function cutToEnd(lines: KeptLines, limit: number): CutOutput {
  const { head, tail, omitted } = lines;
  const all = omitted === 0 ? [...head, ...tail] : tail;
  const shown = takeLines(all, limit, "end");
  const omittedLines = head.length + tail.length + omitted - shown.length;
  if (omittedLines === 0) return { text: shown.join("\n"), omittedLines };
  if (limit <= 0) return { text: "", omittedLines };
  const last = shown.length > 0 ? shown : [clip(all.at(-1) ?? "", limit, "end")];
  return { text: [`[${omittedLines} lines omitted]`, ...last].join("\n"), omittedLines };
}

/** The beginning and the end of lines that are longer than the limit, in bytes. */
export function clipEnds(lines: readonly string[], limit: number): string {
  const text = lines.join("\n");
  return `${clip(text, limit / 2, "start")} … ${clip(text, limit / 2, "end")}`;
}

function takeLines(lines: readonly string[], bytes: number, from: "start" | "end"): string[] {
  const taken: string[] = [];
  let left = bytes;
  for (let n = 0; n < lines.length; n++) {
    const line = lines[from === "start" ? n : lines.length - 1 - n] ?? "";
    left -= cost(line);
    if (left < 0) break;
    taken.push(line);
  }
  return from === "start" ? taken : taken.reverse();
}
