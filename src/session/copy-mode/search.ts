/**
 * Finds a text, or an RE2 pattern, in the lines of copy mode, and counts its matches. Lower case matches both cases,
 * unless the pattern contains a capital. Linear in the text.
 */
import type { RE2JS } from "re2js";
import type { Row } from "../../protocol/grid.ts";
import { withoutPictures } from "../../protocol/placeholder.ts";
import { type CopyModeText, isBefore, type Point, textOf, wordCharacter } from "./text.ts";

/**
 * All lines as one text, so that each key of a search causes one pass over it. Created once per copy mode with a
 * search.
 */
export class SearchedText {
  readonly fullText: string;
  readonly ids: readonly number[];
  /** Start of each line, and of a line after the last one. */
  readonly starts: readonly number[];
  private foldedText: string | null = null;

  constructor(text: CopyModeText) {
    const lines: string[] = [];
    const ids: number[] = [];
    const starts: number[] = [];
    let length = 0;
    for (const { id, text: line } of text.texts()) {
      lines.push(line);
      ids.push(id);
      starts.push(length);
      length += line.length + 1;
    }
    this.fullText = lines.join("\n");
    this.ids = ids;
    this.starts = [...starts, length];
  }

  get folded(): string {
    this.foldedText ??= foldCase(this.fullText);
    return this.foldedText;
  }
}

interface SearchMatch {
  readonly line: number;
  readonly col: number;
  /** Exclusive. */
  readonly end: number;
}

type Range = readonly [number, number];

/**
 * Returns a function that finds the UTF-16 units of all matches in a line.
 * @param compiled the compiled pattern, which itself decides about case; null: plain text
 */
export function finder(
  pattern: string,
  compiled: RE2JS | null,
  caseSensitive: boolean,
): (line: string) => Generator<Range> {
  const wanted = caseSensitive ? pattern : foldCase(pattern);
  return function* ranges(line) {
    if (pattern === "") return;
    if (compiled === null) {
      const text = caseSensitive ? line : foldCase(line);
      for (let index = text.indexOf(wanted); index >= 0; index = text.indexOf(wanted, index + wanted.length))
        yield [index, index + wanted.length];
      return;
    }
    const matcher = compiled.matcher(line);
    while (matcher.find()) if (matcher.end() > matcher.start()) yield [matcher.start(), matcher.end()];
  };
}

export class Search {
  /** Lines with matches, and the number of matches before each of them. */
  private readonly matchedLines: number[] = [];
  private readonly matchesBefore: number[] = [];
  total = 0;
  private readonly find;

  /**
   * Searches the whole text.
   * @param compiled the compiled pattern; null: the pattern is plain text
   */
  constructor(
    searched: SearchedText,
    readonly pattern: string,
    readonly compiled: RE2JS | null = null,
  ) {
    this.find = finder(pattern, compiled, !foldsCase(pattern));
    if (pattern === "") return;
    if (compiled === null) this.scan(searched);
    else this.countMatches(searched);
  }

  /** Runs per key of a search: one pass that creates no object per line. */
  private scan(searched: SearchedText): void {
    const { pattern } = this;
    const { ids, starts } = searched;
    const text = foldsCase(pattern) ? searched.folded : searched.fullText;
    let line = 0;
    let counted = -1;
    for (let index = text.indexOf(pattern); index >= 0; index = text.indexOf(pattern, index + pattern.length)) {
      while ((starts[line + 1] ?? Number.POSITIVE_INFINITY) <= index) line++;
      if (line !== counted) this.addMatch(ids[line] ?? 0);
      counted = line;
      this.total++;
    }
  }

  private countMatches({ fullText, ids, starts }: SearchedText): void {
    for (const [index, id] of ids.entries()) {
      const count = this.ranges(fullText.slice(starts[index], (starts[index + 1] ?? 0) - 1)).length;
      if (count === 0) continue;
      this.addMatch(id);
      this.total += count;
    }
  }

  private addMatch(line: number): void {
    this.matchedLines.push(line);
    this.matchesBefore.push(this.total);
  }

  private ranges(text: string): Range[] {
    return [...this.find(text)];
  }

  /** The cells of the matches in a line. */
  cellsIn(row: Row): Range[] {
    const cells = withoutPictures(row);
    const units: number[] = [];
    for (const [index, { text }] of cells.entries()) for (let unit = 0; unit < text.length; unit++) units.push(index);
    return this.ranges(textOf(cells)).map(([from, to]) => {
      const last = units[to - 1] ?? 0;
      return [units[from] ?? 0, last + (cells[last]?.width === 2 ? 2 : 1)];
    });
  }

  /**
   * The next match from a position, wrapping around the end of the text.
   * @param isHereIncluded a match at the position itself counts
   */
  nextMatch(text: CopyModeText, from: Point, forth: boolean, isHereIncluded = false): SearchMatch | null {
    const { matchedLines } = this;
    if (matchedLines.length === 0) return null;
    const isPast = (point: Point): boolean =>
      (isHereIncluded && point.line === from.line && point.col === from.col) ||
      (forth ? isBefore(from, point) : isBefore(point, from));
    const start = forth
      ? matchedLines.findIndex((id) => id >= from.line)
      : matchedLines.findLastIndex((id) => id <= from.line);
    const first = start < 0 ? (forth ? 0 : matchedLines.length - 1) : start;
    // Once around, visiting the starting line twice: the match may be on its other side.
    for (let step = 0; step <= matchedLines.length; step++) {
      const at = (first + (forth ? step : -step) + 2 * matchedLines.length) % matchedLines.length;
      const line = matchedLines[at] ?? 0;
      const ranges = this.cellsIn(text.cells(line)).map(([col, end]) => ({ line, col, end }));
      const isAround = start < 0 || step > 0;
      const range = forth
        ? ranges.find((each) => isAround || isPast(each))
        : ranges.findLast((each) => isAround || isPast(each));
      if (range !== undefined) return range;
    }
    return null;
  }

  /** Index of the match at a position, from 1; 0: none. */
  indexAt(text: CopyModeText, { line, col }: Point): number {
    const index = this.matchedLines.indexOf(line);
    if (index < 0) return 0;
    const own = this.cellsIn(text.cells(line)).findIndex(([from]) => from === col);
    return own < 0 ? 0 : (this.matchesBefore[index] ?? 0) + own + 1;
  }
}

/** The word under the cursor, or the next one in its line, as a pattern; empty: none. */
export function searchedWord(text: CopyModeText, { line, col }: Point): string {
  const cells = text.cells(line);
  const isInWord = (at: number): boolean => wordCharacter.test(cells[at]?.text ?? "");
  let from = col;
  while (from < cells.length && !isInWord(from)) from++;
  while (from > 0 && isInWord(from - 1)) from--;
  let to = from;
  while (to < cells.length && isInWord(to)) to++;
  return textOf(cells, from, to);
}

/** Whether a pattern ignores case: it has no capital letter. */
export function foldsCase(pattern: string): boolean {
  return pattern === pattern.toLowerCase();
}

/** The text in lower case, with each letter's length unchanged. */
function foldCase(text: string): string {
  const lower = text.toLowerCase();
  if (lower.length === text.length) return lower;
  return Array.from(text, (char) => (char.toLowerCase().length === char.length ? char.toLowerCase() : char)).join("");
}
