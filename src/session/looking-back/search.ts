/**
 * Finds a text, or an RE2 pattern, in the lines that a person looks back at, and counts how often it stands there. Small
 * letters mean capitals, too, until the pattern has a capital itself. Linear in the text.
 *
 * Owns the lines that matched last, with their text as far as it is short enough to keep: a pattern that got longer is
 * looked for among them alone.
 */
import type { RE2JS } from "re2js";
import type { Row } from "../../protocol/grid.ts";
import { isBefore, type LookText, type Point, textOf } from "./text.ts";

/** Characters of matching lines that are kept for the next key. */
const MAX_KEPT = 4 * 1024 * 1024;

interface Matched {
  readonly id: number;
  readonly count: number;
  readonly text: string;
}

export interface Match {
  readonly line: number;
  readonly col: number;
  /** Exclusive. */
  readonly end: number;
}

type Range = readonly [number, number];

export class Search {
  private matched: readonly Matched[] = [];
  /** Matches in the lines before each of them. */
  private before: number[] = [];
  private isWhole = false;
  total = 0;

  private constructor(
    readonly pattern: string,
    readonly compiled: RE2JS | null,
  ) {}

  /**
   * Searches the whole text.
   * @param compiled of the pattern, where it is one; null: the pattern is plain text
   * @param known an earlier search, of the same text
   */
  static run(text: LookText, pattern: string, compiled: RE2JS | null, known: Search | null = null): Search {
    const search = new Search(pattern, compiled);
    const narrows = compiled === null && known !== null && known.compiled === null && known.isWhole;
    const lines = narrows && narrower(known.pattern, pattern) ? known.matched : text.texts();
    search.scan(lines);
    return search;
  }

  private scan(lines: Iterable<{ readonly id: number; readonly text: string }>): void {
    const matched: Matched[] = [];
    let kept = 0;
    let total = 0;
    if (this.pattern !== "") {
      const count = this.counter();
      for (const { id, text } of lines) {
        const found = count(text);
        if (found === 0) continue;
        kept += text.length;
        matched.push({ id, count: found, text: kept > MAX_KEPT ? "" : text });
        this.before.push(total);
        total += found;
      }
    }
    this.matched = matched;
    this.total = total;
    this.isWhole = kept <= MAX_KEPT;
  }

  private counter(): (text: string) => number {
    if (this.compiled !== null) return (text) => this.ranges(text).length;
    const isFolded = foldsCase(this.pattern);
    const { pattern } = this;
    const { length } = pattern;
    return (text) => {
      const line = isFolded ? folded(text) : text;
      let count = 0;
      for (let at = line.indexOf(pattern); at >= 0; at = line.indexOf(pattern, at + length)) count++;
      return count;
    };
  }

  /** UTF-16 units of the matches in a line. */
  private ranges(text: string): Range[] {
    const ranges: Range[] = [];
    if (this.pattern === "") return ranges;
    if (this.compiled === null) {
      const line = foldsCase(this.pattern) ? folded(text) : text;
      const { length } = this.pattern;
      for (let at = line.indexOf(this.pattern); at >= 0; at = line.indexOf(this.pattern, at + length))
        ranges.push([at, at + length]);
      return ranges;
    }
    const matcher = this.compiled.matcher(text);
    while (matcher.find()) if (matcher.end() > matcher.start()) ranges.push([matcher.start(), matcher.end()]);
    return ranges;
  }

  /** The cells of the matches in a line. */
  cellsIn(cells: Row): Range[] {
    const units: number[] = [];
    for (const [index, { text }] of cells.entries()) for (let unit = 0; unit < text.length; unit++) units.push(index);
    return this.ranges(textOf(cells)).map(([from, to]) => {
      const last = units[to - 1] ?? 0;
      return [units[from] ?? 0, last + (cells[last]?.width === 2 ? 2 : 1)];
    });
  }

  /**
   * The next match from a place, around the end of the text.
   * @param here a match at the place itself counts
   */
  next(text: LookText, from: Point, forth: boolean, here = false): Match | null {
    const { matched } = this;
    if (matched.length === 0) return null;
    const isPast = (point: Point): boolean =>
      (here && point.line === from.line && point.col === from.col) ||
      (forth ? isBefore(from, point) : isBefore(point, from));
    const start = forth
      ? matched.findIndex(({ id }) => id >= from.line)
      : matched.findLastIndex(({ id }) => id <= from.line);
    const first = start < 0 ? (forth ? 0 : matched.length - 1) : start;
    // Once around, and the line of the place twice: the match may stand on its other side.
    for (let step = 0; step <= matched.length; step++) {
      const at = (first + (forth ? step : -step) + 2 * matched.length) % matched.length;
      const line = matched[at]?.id ?? 0;
      const ranges = this.cellsIn(text.cells(line)).map(([col, end]) => ({ line, col, end }));
      const isAround = start < 0 || step > 0;
      const found = forth
        ? ranges.find((each) => isAround || isPast(each))
        : ranges.findLast((each) => isAround || isPast(each));
      if (found !== undefined) return found;
    }
    return null;
  }

  /** Which of the matches stands at a place, from 1; 0 for none. */
  indexAt(text: LookText, { line, col }: Point): number {
    const at = this.matched.findIndex(({ id }) => id === line);
    if (at < 0) return 0;
    const own = this.cellsIn(text.cells(line)).findIndex(([from]) => from === col);
    return own < 0 ? 0 : (this.before[at] ?? 0) + own + 1;
  }
}

/** Small letters mean both. */
export function foldsCase(pattern: string): boolean {
  return pattern === pattern.toLowerCase();
}

/** Small letters for capitals, each as long as before. */
function folded(text: string): string {
  const lower = text.toLowerCase();
  if (lower.length === text.length) return lower;
  return Array.from(text, (char) => (char.toLowerCase().length === char.length ? char.toLowerCase() : char)).join("");
}

/** Whether every line with one pattern has the other. */
function narrower(known: string, pattern: string): boolean {
  return known !== "" && pattern.includes(known) && foldsCase(known) === foldsCase(pattern);
}
