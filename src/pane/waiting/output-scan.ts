/**
 * Follows a pane's output for one condition on text: sees each line once it changes, from a position in the output on,
 * and never earlier text or echo of input.
 *
 * Lines that scroll past are seen once, in order; lines on the screen again whenever their text differs from the last
 * seen text, so a program that rewrites its screen is followed too. The alternate screen is compared row by row.
 */

import type { Overwritten } from "../output/overwritten.ts";
import { type Mask, openPieces } from "../text/masks.ts";
import type { RenderedLine, RetiredLines, ScreenBefore, TerminalText, TextPosition } from "../text/text.ts";
import type { Budget, Finder, PatternMatch } from "./pattern.ts";

/**
 * Cells after which an unfinished line is no longer searched as a whole after each chunk, but only from this many cells
 * before its new part.
 */
const LONG_LINE = 65_536;

export interface ScanMatch extends PatternMatch {
  /** Null on the alternate screen. */
  readonly line: number | null;
}

/** The output as a scan reads it; `masks` are the places that are echo. */
export interface ScanSource {
  readonly text: TerminalText;
  readonly overwritten: Pick<Overwritten, "newest" | "after" | "since">;
  masks(line: number, shown: string): readonly Mask[];
}

/** Where output starts to count, and how the screen looked there: fixed at once, even if the pattern loads later. */
export interface ScanOrigin {
  readonly since: TextPosition;
  /** Lines of the screen that were there before. */
  readonly before: ReadonlyMap<number, string>;
  /** ScreenBefore's. */
  readonly stood: ReadonlyMap<number, string>;
  /** Rows of the alternate screen that were there before. */
  readonly rows: readonly string[];
}

/** Everything after a known screen: every later change of it, above the cursor too. */
export function originAt({ at, lines, stood, rows }: ScreenBefore): ScanOrigin {
  return { since: at, before: lines, stood, rows };
}

/**
 * For an unknown screen: text above the cursor's position counts as seen.
 * @param since position at which the counted output begins
 * @param alternateCounts whether the alternate screen, if shown, was drawn after `since`
 */
export function scanOrigin(text: TerminalText, since: TextPosition, alternateCounts: boolean): ScanOrigin {
  const shown = text.lines(text.screenTop(), since.line - 1);
  const before = new Map(shown.map((line) => [line.id, line.text]));
  return { since, before, stood: new Map(), rows: alternateCounts ? [] : text.alternateRows() };
}

export class OutputScan {
  /** The last seen text of each line of the screen. */
  private readonly seen: Map<number, string>;
  /** Of lines that stood there before: their text, without what something else was printed over. */
  private readonly standing: Map<number, string>;
  private since: TextPosition;
  private rows: readonly string[];
  /** Number of the last text that was looked at of those written over. */
  private overwritten: number;
  /** Next line that has never been searched. */
  private next: number;
  /** Whether the earlier part of the first line has been rewritten since. */
  private rewritten = false;
  /** How far the cursor's line was searched, in cells. */
  private searched = { line: -1, cell: 0 };

  constructor(
    private readonly source: ScanSource,
    origin: ScanOrigin,
    private readonly find: Finder,
    /** `since`: the offset at which output begins to count. */
    private readonly limits: { readonly budget: Budget | null; readonly since: number },
  ) {
    this.overwritten = (source.overwritten.since(limits.since)[0]?.number ?? source.overwritten.newest + 1) - 1;
    this.seen = new Map(origin.before);
    this.standing = new Map(origin.stood);
    this.since = origin.since;
    this.rows = origin.rows;
    this.next = origin.since.line;
  }

  /** Searches new output. Called after each chunk of output. */
  scan(): ScanMatch | null {
    return this.scanOverwritten() ?? this.scanScreen() ?? this.scanAlternate();
  }

  private scanOverwritten(): ScanMatch | null {
    const { overwritten } = this.source;
    if (overwritten.newest === this.overwritten) return null;
    for (const { number, line, text, isStanding } of overwritten.after(this.overwritten)) {
      this.overwritten = number;
      const start = isStanding && line === this.since.line ? this.since.index : 0;
      for (const piece of openPieces(text.length, start, isStanding ? this.source.masks(line, text) : [])) {
        const match = this.findNew(line, text, piece.start, piece.end);
        if (match !== null) return { ...match, line };
      }
    }
    return null;
  }

  /** Lines, or pieces of long ones, leave history: searched unless they were after an earlier chunk. */
  scanRetired(lines: RetiredLines): ScanMatch | null {
    for (let index = 0; index < lines.count; index++) {
      const id = lines.id(index);
      if (id < this.next) continue;
      this.next = id;
      const match = this.scanLine(id, lines.text(index), this.seen.get(id));
      if (match !== null) return match;
    }
    return null;
  }

  /** The lines from `top` on were erased: text there is new now, even if it is the same as before. */
  erased(top: number): void {
    for (const id of this.seen.keys()) if (id >= top) this.seen.delete(id);
    if (this.since.line >= top) this.since = { line: top, index: 0 };
    this.next = Math.min(this.next, top);
  }

  private scanScreen(): ScanMatch | null {
    const { text } = this.source;
    const top = text.screenTop();
    const { cursorLine } = text;
    const isLong = text.cursorCell > LONG_LINE;
    for (const id of this.seen.keys()) if (id < top) this.seen.delete(id);
    const first = Math.min(top, Math.max(this.since.line, this.next));
    const shown = isLong
      ? [...text.lines(first, cursorLine - 1), ...text.lines(cursorLine + 1, text.lastLine())]
      : shownLines(text, first, text.lastLine(), text.position());
    for (const { id, text: line } of shown) {
      const before = this.seen.get(id);
      if (before === line) continue;
      this.seen.set(id, line);
      const match = this.scanLine(id, line, before);
      if (match !== null) return match;
    }
    const match = isLong ? this.scanEnd(cursorLine, text.cursorCell) : null;
    // The cursor's line and those below it may still grow.
    this.next = Math.max(this.next, cursorLine);
    return match;
  }

  /** Searches the new part of a long line. */
  private scanEnd(line: number, cell: number): ScanMatch | null {
    const known = this.searched.line === line ? Math.min(this.searched.cell, cell) : 0;
    const from = Math.max(0, known - LONG_LINE);
    this.searched = { line, cell };
    const end = this.source.text.lineFrom(line, from);
    if (from === 0) return this.scanLine(line, end, this.seen.get(line));
    const start = line === this.since.line && !this.rewritten ? Math.max(0, this.since.index - from) : 0;
    const match = this.tryFind(end, Math.min(start, end.length), end.length);
    return match === null ? null : { ...match, line };
  }

  private scanLine(id: number, line: string, before: string | undefined): ScanMatch | null {
    // In the first line of the output only the rest is new, unless all of it was rewritten.
    const { index } = this.since;
    const first = id === this.since.line;
    if (first && before !== undefined && !line.padEnd(index).startsWith(before.slice(0, index))) this.rewritten = true;
    const start = first && !this.rewritten ? index : 0;
    const stood = this.standing.get(id);
    if (stood !== undefined) this.standing.set(id, stillStanding(stood, line));
    for (const piece of openPieces(line.length, start, this.source.masks(id, line))) {
      const match = this.findNew(id, line, piece.start, piece.end);
      if (match !== null) return { ...match, line: id };
    }
    return null;
  }

  private scanAlternate(): ScanMatch | null {
    const rows = this.source.text.alternateRows();
    const before = this.rows;
    this.rows = rows;
    for (const [n, row] of rows.entries()) {
      if (row === before[n]) continue;
      const match = this.tryFind(row, 0, row.length);
      if (match !== null) return { ...match, line: null };
    }
    return null;
  }

  /** A match of text that stood at the same place before, such as a prompt that is drawn again, is not new. */
  private findNew(id: number, line: string, from: number, to: number): PatternMatch | null {
    const stood = this.standing.get(id);
    for (let start = from; ; ) {
      const match = this.tryFind(line, start, to);
      if (match === null || match.text === "" || stood?.startsWith(match.text, match.start) !== true) return match;
      start = match.start + match.text.length;
    }
  }

  private tryFind(line: string, from: number, to: number): PatternMatch | null {
    const { budget } = this.limits;
    return budget === null ? this.find(line, from, to) : budget.spend(() => this.find(line, from, to));
  }
}

/** What a line still shows of an earlier text: blanks count as erased, and what is erased may be drawn again. */
function stillStanding(stood: string, line: string): string {
  if (line.startsWith(stood)) return stood;
  let standing = "";
  for (let at = 0; at < stood.length; at++) {
    const shown = line[at] ?? " ";
    standing += shown === stood[at] || shown === " " ? stood[at] : "\0";
  }
  return standing;
}

/** Lines, the cursor's with the blanks before it, with which a prompt such as "Continue? " ends. */
function shownLines(
  text: TerminalText,
  first: number,
  last: number,
  cursor: TextPosition | null,
): readonly RenderedLine[] {
  return text
    .lines(first, last)
    .map((line) => (line.id === cursor?.line ? { id: line.id, text: line.text.padEnd(cursor.index) } : line));
}
