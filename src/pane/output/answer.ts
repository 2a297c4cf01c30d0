/**
 * Collects the lines that answer a query about an output: the first ones up to the limit of bytes, and a queue of the
 * last. It never holds more than twice the limit and one line.
 */

import type { OutputQuery } from "../../protocol/output-filter.ts";
import { clipEnds, fitLine } from "../text/cut-output.ts";
import { lineCost } from "../text/retained-lines.ts";
import type { LineRange } from "./stored-output.ts";

export interface AnswerText {
  readonly text: string;
  /** Requested lines or matches that are omitted, and their bytes where read. */
  readonly omittedLines: number;
  readonly omittedBytes: number;
  /** Number of lines that match; null without a pattern. */
  readonly matches: number | null;
}

/** A requested line, and the lines around it. */
interface Hit {
  /** Number of its first line. */
  readonly first: number;
  /** Index of the matching line among its lines. */
  readonly matchIndex: number;
  readonly lines: string[];
  bytes: number;
}

/** A matching line longer than this fraction of the limit (a quarter) is shown only around its match. */
const LONG_SHARE = 4;
/** Characters of that line shown before and after the match's start. */
const EXCERPT_BEFORE = 150;
const EXCERPT_AFTER = 250;

/** Past this many dropped hits, the queue is moved down. */
const MAX_DROPPED_HITS = 1_024;

export class AnswerCollector {
  private readonly frontHits: Hit[] = [];
  private frontBytes = 0;
  private isFrontOpen: boolean;
  /** A queue: hits before `backStart` have been dropped. */
  private backHits: Hit[] = [];
  private backStart = 0;
  private backBytes = 0;
  private droppedBytes = 0;
  /** Bytes omitted from lines shown in part. */
  private excerptBytes = 0;
  /** Number of lines without a pattern of which only the ends are shown. */
  private partialLines = 0;
  private hitCount = 0;
  /** The last hit, while following lines are its context. */
  private openHit: Hit | null = null;
  /** Lines that may become context before the next hit. */
  private linesBefore: string[] = [];

  /** @param limit UTF-8 bytes of the text */
  constructor(
    private readonly query: OutputQuery,
    private readonly limit: number,
  ) {
    this.isFrontOpen = query.test === null || query.head !== null || query.tail === null;
  }

  /** Adds the next line read. */
  add(number: number, line: string): void {
    const { test, context } = this.query;
    if (test === null) {
      const { text, isPartial } = fitLine(line, this.limit);
      if (isPartial) this.partialLines++;
      this.excerptBytes += Buffer.byteLength(line) - Buffer.byteLength(text);
      this.addHit({ first: number, matchIndex: 0, lines: [text], bytes: this.lineCost(number, text) });
    } else if (test(line)) {
      const lines = [...this.linesBefore, this.excerpt(line)];
      const first = number - this.linesBefore.length;
      this.linesBefore = [];
      this.addHit({
        first,
        matchIndex: lines.length - 1,
        lines,
        bytes: lines.reduce((sum, text) => sum + this.lineCost(number, text), 0),
      });
    } else if (context > 0) this.addContext(number, line);
  }

  /** @param ranges the ranges read */
  result(ranges: readonly LineRange[]): AnswerText {
    const { query, limit } = this;
    const all = [...this.frontHits, ...this.backHits.slice(this.backStart)];
    const bytes = this.frontBytes + this.backBytes;
    const isWhole = this.droppedBytes === 0 && bytes - 1 <= limit;
    const front = isWhole ? all : firstWithin(all, limit / 2);
    const back = isWhole ? [] : firstWithin(all.slice(front.length).reverse(), limit / 2).reverse();
    const shown = [...front, ...back];
    const omittedLines = Math.max(0, this.requestedCount(ranges) - shown.length) + this.partialLines;
    const left = bytes + this.droppedBytes - shown.reduce((sum, hit) => sum + hit.bytes, 0);
    const matches = query.test === null ? null : this.hitCount;
    const [first] = all;
    if (shown.length === 0 && first !== undefined && limit > 0) {
      // A line longer than the limit: its two ends are still better than nothing.
      const text = clipEnds(this.linesOf(first).join("\n"), limit);
      return { text, omittedLines, omittedBytes: Math.max(0, left - Buffer.byteLength(text)), matches };
    }
    const text = limit === 0 ? "" : this.joinHits(front, back, omittedLines, ranges);
    return { text, omittedLines, omittedBytes: left + this.excerptBytes, matches };
  }

  /** Number of lines of the answer without a limit: matches, or all. */
  private requestedCount(ranges: readonly LineRange[]): number {
    const { test, head, tail } = this.query;
    if (test === null) return ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0);
    return head === null && tail === null ? this.hitCount : Math.min(this.hitCount, (head ?? 0) + (tail ?? 0));
  }

  private addHit(hit: Hit): void {
    const { test, head, tail } = this.query;
    this.hitCount++;
    this.openHit = null;
    const isPastHead = test !== null && head !== null && this.hitCount > head;
    if (isPastHead && tail === null) return;
    this.openHit = hit;
    if (this.isFrontOpen && !isPastHead && this.frontBytes + hit.bytes <= this.limit + 1) {
      this.frontHits.push(hit);
      this.frontBytes += hit.bytes;
      return;
    }
    this.isFrontOpen = false;
    this.backHits.push(hit);
    this.backBytes += hit.bytes;
    this.trim();
  }

  /** A long line around its match, with the number of omitted bytes: `range` shows all of it. */
  private excerpt(line: string): string {
    const isLong = this.query.start !== null && this.limit > 0 && line.length * LONG_SHARE > this.limit;
    if (!isLong || line.length <= 2 * (EXCERPT_BEFORE + EXCERPT_AFTER)) return line;
    const at = Math.max(0, this.query.start?.(line) ?? 0);
    const from = Math.max(0, at - EXCERPT_BEFORE);
    const to = Math.min(line.length, at + EXCERPT_AFTER);
    this.excerptBytes += Buffer.byteLength(line) - Buffer.byteLength(line.slice(from, to));
    const before = from === 0 ? "" : `[… ${from} characters] `;
    return `${before}${line.slice(from, to)}${to === line.length ? "" : ` [${line.length - to} characters …]`}`;
  }

  /** A line that does not match. */
  private addContext(number: number, line: string): void {
    const { openHit } = this;
    const { context } = this.query;
    if (openHit === null || number > openHit.first + openHit.matchIndex + context || openHit.bytes > this.limit) {
      this.linesBefore.push(line);
      if (this.linesBefore.length > context) this.linesBefore.shift();
      return;
    }
    const bytes = this.lineCost(number, line);
    openHit.lines.push(line);
    openHit.bytes += bytes;
    if (this.isFrontOpen) this.frontBytes += bytes;
    else if (openHit === this.backHits.at(-1)) this.backBytes += bytes;
    else this.frontBytes += bytes;
    this.trim();
  }

  private trim(): void {
    const { test, tail } = this.query;
    for (;;) {
      const held = this.backHits.length - this.backStart;
      const oldest = this.backHits[this.backStart];
      if (oldest === undefined || held <= 1) break;
      const isUnasked = test !== null && tail !== null && held > tail;
      if (!isUnasked && this.backBytes <= this.limit + 1) break;
      this.backStart++;
      this.backBytes -= oldest.bytes;
      if (!isUnasked) this.droppedBytes += oldest.bytes;
    }
    if (this.backStart < MAX_DROPPED_HITS || this.backStart < this.backHits.length / 2) return;
    this.backHits = this.backHits.slice(this.backStart);
    this.backStart = 0;
  }

  private joinHits(front: readonly Hit[], back: readonly Hit[], omitted: number, ranges: readonly LineRange[]): string {
    const { test, context } = this.query;
    const lines: string[] = [];
    const mark = (count: number): void => {
      if (count > 0) lines.push(`[${count} lines omitted]`);
    };
    let next = ranges[0]?.from ?? 1;
    for (const [at, hit] of [...front, ...back].entries()) {
      if (test === null) mark(hit.first - next);
      else if (at === front.length) mark(omitted);
      else if (at > 0 && context > 0 && hit.first > next) lines.push("--");
      lines.push(...this.linesOf(hit));
      next = hit.first + hit.lines.length;
    }
    if (test === null) mark((ranges.at(-1)?.to ?? 0) + 1 - next);
    else if (back.length === 0) mark(omitted);
    return lines.join("\n");
  }

  private linesOf({ first, matchIndex, lines }: Hit): string[] {
    if (!this.query.numbers) return lines;
    return lines.map((line, n) => `${first + n}${n === matchIndex ? ":" : "-"}${line}`);
  }

  /** Bytes of a line of the text. */
  private lineCost(number: number, line: string): number {
    return lineCost(line) + (this.query.numbers ? String(number).length + 1 : 0);
  }
}

/** The first hits within this many bytes. */
function firstWithin(hits: readonly Hit[], bytes: number): Hit[] {
  const taken: Hit[] = [];
  let remaining = bytes;
  for (const hit of hits) {
    remaining -= hit.bytes;
    if (remaining < 0) break;
    taken.push(hit);
  }
  return taken;
}
