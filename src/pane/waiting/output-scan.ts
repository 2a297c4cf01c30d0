/**
 * Follows a pane's output for one condition on text: sees each line once it changes, from a position in the output on,
 * and never earlier text or echo of input.
 *
 * Lines that scroll past are seen once, in order; lines on the screen again whenever their text differs from the last
 * seen text, so a program that rewrites its screen is followed too. The alternate screen is compared row by row.
 */

import type { OverwrittenTexts } from "../output/overwritten.ts";
import { type Mask, unmaskedParts } from "../text/masks.ts";
import { currentScreen } from "../text/screen-before.ts";
import type { RenderedLine, RetiredLines, SearchRest, TerminalText, TextPosition } from "../text/text.ts";
import type { Budget, Finder, PatternMatch } from "./pattern.ts";

/**
 * Cells after which an unfinished line is no longer searched as a whole after each chunk, but only from this many cells
 * before its new part.
 */
const MAX_WHOLE_SEARCH_CELLS = 65_536;
/** Characters that may follow in a line: a letter, a digit, a blank, a sign. */
const CONTINUATIONS = ["x", "0", " ", "."];

export interface ScanMatch extends PatternMatch {
  /** The cursor at its end. */
  readonly cursor: number;
  /** Null on the alternate screen. */
  readonly line: number | null;
}

/** The output as a scan reads it; `masks` are the parts that are echo. */
interface ScanSource {
  readonly text: TerminalText;
  readonly overwritten: Pick<OverwrittenTexts, "newestNumber" | "textsAfter" | "textsSince">;
  masks(line: number, shown: string): readonly Mask[];
}

/** The start of the counted output, and the screen at that moment: fixed at once, even if the pattern loads later. */
interface ScanOrigin {
  readonly since: TextPosition;
  /** Lines of the screen at that moment. */
  readonly before: ReadonlyMap<number, string>;
  /** ScreenBefore's. */
  readonly standingLines: ReadonlyMap<number, string>;
  /** Rows of the alternate screen at that moment. */
  readonly alternateRows: readonly string[];
  readonly searchRest?: SearchRest | undefined;
}

/**
 * The place from which text counts, and what was there before: the known screen, else all text above that place.
 * @param alternateFrom last offset before which the alternate screen was entered
 */
export function scanOrigin(text: TerminalText, since: number, alternateFrom: number): ScanOrigin {
  const screen = since === text.offset ? currentScreen(text) : text.screenAtCursor(since);
  if (screen !== null) return { ...screen, since: screen.cursor, before: screen.lines };
  const position = text.positionAt(since) ?? { line: text.screenTop(), index: 0 };
  const above = text.lines(text.screenTop(), position.line - 1);
  const before = new Map(above.map((line) => [line.id, line.text]));
  return {
    since: position,
    before,
    standingLines: new Map(),
    alternateRows: since <= alternateFrom ? [] : text.alternateRows(),
  };
}

export class OutputScan {
  /** The last seen text of each line of the screen. */
  private readonly lastTexts: Map<number, string>;
  /** For lines that were there before: their text, without overprinted parts. */
  private readonly standing: Map<number, string>;
  private since: TextPosition;
  private alternateRows: readonly string[];
  /** Number of the last overwritten text searched, and how far the next one was searched. */
  private lastOverwritten: number;
  private searchedIndex = 0;
  /** How far a row of the alternate screen was searched whose rest is new. */
  private alternateRow: SearchRest["row"] = null;
  /** Whether a match exists that more text in the cursor's line may end or change. */
  isOpen = false;
  private isAtRest = false;
  /** Offset up to which the output was searched without a match. */
  private searchedOffset: number;
  /** Next line that has never been searched. */
  private nextLine: number;
  /** Whether the earlier part of the first line has been rewritten since. */
  private isFirstLineRewritten = false;
  /** How far the cursor's line was searched, in cells. */
  private searched = { line: -1, cell: 0 };

  constructor(
    private readonly source: ScanSource,
    origin: ScanOrigin,
    private readonly find: Finder,
    /** `since`: the offset at which output begins to count. */
    private readonly limits: { readonly budget: Budget | null; readonly since: number },
  ) {
    const { lastOverwritten, index, row } = origin.searchRest ?? {
      lastOverwritten: source.overwritten.textsSince(limits.since)[0]?.number ?? source.overwritten.newestNumber + 1,
      index: 0,
      row: null,
    };
    this.lastOverwritten = lastOverwritten - 1;
    this.searchedIndex = index;
    this.alternateRow = row;
    this.searchedOffset = limits.since;
    this.lastTexts = new Map(origin.before);
    this.standing = new Map(origin.standingLines);
    this.since = origin.since;
    this.alternateRows = origin.alternateRows;
    this.nextLine = origin.since.line;
  }

  /**
   * Searches new output. Called after each chunk of output.
   * @param isAtRest the cursor's line counts as ended
   */
  scan(isAtRest = false): ScanMatch | null {
    this.isAtRest = isAtRest;
    this.isOpen = false;
    const match = this.scanScreen() ?? this.scanAlternate();
    if (match === null && !this.isOpen) this.searchedOffset = this.source.text.offset;
    return match;
  }

  /** Searches overwritten texts in lines up to `last`. */
  private scanOverwritten(last: number): ScanMatch | null {
    const { overwritten } = this.source;
    if (overwritten.newestNumber === this.lastOverwritten) return null;
    for (const { number, line, text, startsWithStandingText } of overwritten.textsAfter(this.lastOverwritten)) {
      if (line > last) return null;
      const isOfFirst = startsWithStandingText && line === this.since.line;
      const start = Math.max(
        isOfFirst ? this.since.index : 0,
        number === this.lastOverwritten + 1 ? this.searchedIndex : 0,
      );
      for (const piece of unmaskedParts(
        text.length,
        start,
        startsWithStandingText ? this.source.masks(line, text) : [],
      )) {
        const match = this.findNew(line, text, piece.start, piece.end);
        if (match === null) continue;
        const at = line === this.since.line ? this.unseen : { line, index: 0 };
        this.lastOverwritten = number - 1;
        return this.matchAt(match, line, at, { index: endOf(match, text), row: null });
      }
      this.lastOverwritten = number;
      this.searchedIndex = 0;
    }
    return null;
  }

  /** Position where new text of the first line begins. */
  private get unseen(): TextPosition {
    const { line, index } = this.since;
    return { line, index: this.isFirstLineRewritten ? 0 : index };
  }

  /** Makes a match, with the cursor at its end. @param position the position of its end */
  private matchAt(
    match: PatternMatch,
    line: number | null,
    position: TextPosition,
    { index, row }: Omit<SearchRest, "lastOverwritten">,
  ) {
    const { text } = this.source;
    const lines = new Map([...this.lastTexts].sort(([one], [other]) => one - other));
    // The match is in a current prompt, as when a person looks at the screen.
    const isPrompt = line === text.cursorLine && text.cursorCell > 0;
    const standingLines = isPrompt ? new Map([...lines].filter(([id]) => id <= position.line)) : this.standing;
    const last = Math.max(position.line, ...lines.keys());
    const searchRest = { lastOverwritten: this.lastOverwritten + 1, index, row };
    const cursor = text.issueCursorAt(
      { cursor: position, lines, standingLines, last, alternateRows: this.alternateRows, searchRest },
      this.searchedOffset,
    );
    return { ...match, line, cursor };
  }

  /** A match in a line that was searched up to the match's end. */
  private foundIn(line: number, text: string, match: PatternMatch): ScanMatch {
    const index = endOf(match, text);
    this.lastTexts.set(line, text.slice(0, index));
    return this.matchAt(match, line, { line, index }, { index: this.searchedIndex, row: null });
  }

  /** Lines, or pieces of long ones, leave history: searched unless they were after an earlier chunk. */
  scanRetired(lines: RetiredLines): ScanMatch | null {
    for (let index = 0; index < lines.count; index++) {
      const id = lines.lineId(index);
      if (id < this.nextLine) continue;
      this.nextLine = id;
      const match = this.scanLine(id, lines.text(index), this.lastTexts.get(id));
      if (match !== null) return match;
    }
    return null;
  }

  /** The lines from `top` on were erased: text there is new now, even if it is the same as before. */
  noteErased(top: number): void {
    for (const id of this.lastTexts.keys()) if (id >= top) this.lastTexts.delete(id);
    if (this.since.line >= top) this.since = { line: top, index: 0 };
    this.nextLine = Math.min(this.nextLine, top);
  }

  private scanScreen(): ScanMatch | null {
    const { text } = this.source;
    const top = text.screenTop();
    const { cursorLine } = text;
    const isLong = text.cursorCell > MAX_WHOLE_SEARCH_CELLS;
    for (const id of this.lastTexts.keys()) if (id < top) this.lastTexts.delete(id);
    const first = Math.min(top, Math.max(this.since.line, this.nextLine));
    const shown = isLong
      ? [...text.lines(first, cursorLine - 1), ...text.lines(cursorLine + 1, text.lastLine())]
      : shownLines(text, first, text.lastLine(), text.position());
    for (const { id, text: line } of shown) {
      const earlier = this.scanOverwritten(id);
      if (earlier !== null) return earlier;
      const before = this.lastTexts.get(id);
      if (before === line) continue;
      this.lastTexts.set(id, line);
      const lineMatch = this.scanLine(id, line, before);
      if (lineMatch !== null) return lineMatch;
      if (!this.isOpen) continue;
      if (before === undefined) this.lastTexts.delete(id);
      else this.lastTexts.set(id, before);
      return null;
    }
    const last = this.scanOverwritten(Number.POSITIVE_INFINITY);
    if (last !== null) return last;
    const match = isLong ? this.scanEnd(cursorLine, text.cursorCell) : null;
    // The cursor's line and those below it may still grow.
    this.nextLine = Math.max(this.nextLine, cursorLine);
    return match;
  }

  /** Searches the new part of a long line. */
  private scanEnd(line: number, cell: number): ScanMatch | null {
    const searchedCells = this.searched.line === line ? Math.min(this.searched.cell, cell) : 0;
    const from = Math.max(0, searchedCells - MAX_WHOLE_SEARCH_CELLS);
    this.searched = { line, cell };
    const end = this.source.text.lineFrom(line, from);
    if (from === 0) return this.scanLine(line, end, this.lastTexts.get(line));
    const start = line === this.since.line && !this.isFirstLineRewritten ? this.since.index : 0;
    const endMatch = this.tryFind(end, Math.max(0, start - from), end.length);
    if (endMatch === null || this.mayChange(line, end, endMatch)) return null;
    // Where the end of a line matches, the whole line determines the match: `^` does not mean the start of that end.
    const whole = this.source.text.line(line) ?? end;
    const match = this.tryFind(whole, start, whole.length);
    return match === null || this.mayChange(line, whole, match) ? null : this.foundIn(line, whole, match);
  }

  private scanLine(id: number, line: string, before: string | undefined): ScanMatch | null {
    // In the first line of the output only the rest is new, unless all of it was rewritten.
    const { index } = this.since;
    const first = id === this.since.line;
    if (first && before !== undefined && !line.padEnd(index).startsWith(before.slice(0, index)))
      this.isFirstLineRewritten = true;
    const start = first && !this.isFirstLineRewritten ? index : 0;
    const stood = this.standing.get(id);
    if (stood !== undefined) this.standing.set(id, stillStanding(stood, line));
    for (const piece of unmaskedParts(line.length, start, this.source.masks(id, line))) {
      const match = this.findNew(id, line, piece.start, piece.end);
      if (match !== null) return this.mayChange(id, line, match) ? null : this.foundIn(id, line, match);
    }
    return null;
  }

  /** Whether a match at the cursor changes or vanishes as soon as its line continues: `$`, `\d+`. */
  private mayChange(id: number, line: string, { start, text }: PatternMatch): boolean {
    const end = start + text.length;
    if (this.isAtRest || id !== this.source.text.cursorLine || end !== line.length) return false;
    if (this.source.text.position().index !== end) return false;
    this.isOpen = CONTINUATIONS.some((next) => {
      const other = this.tryFind(line + next, start, end + next.length);
      return other?.start !== start || other.text !== text;
    });
    return this.isOpen;
  }

  private scanAlternate(): ScanMatch | null {
    const rows = this.source.text.alternateRows();
    const before = this.alternateRows;
    this.alternateRows = rows;
    const { y = -1, index = 0 } = this.alternateRow ?? {};
    this.alternateRow = null;
    for (const [n, row] of rows.entries()) {
      const isRest = n === y && row.startsWith((before[n] ?? "").slice(0, index));
      if (row === before[n] && !isRest) continue;
      const match = this.tryFind(row, isRest ? index : 0, row.length);
      if (match === null) continue;
      this.alternateRows = [...rows.slice(0, n + 1), ...before.slice(n + 1)];
      return this.matchAt(match, null, this.unseen, {
        index: this.searchedIndex,
        row: { y: n, index: endOf(match, row) },
      });
    }
    return null;
  }

  /** A match of text that was at the same position before, such as a redrawn prompt, is not new. */
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

/**
 * Position at which the search continues after a match; one further after an empty match, which would be found again.
 */
function endOf({ start, text }: PatternMatch, line: string): number {
  return Math.min(line.length, start + Math.max(1, text.length));
}

/** The remaining part of an earlier text in a line: blanks count as erased, and erased text may be drawn again. */
function stillStanding(stood: string, line: string): string {
  if (line.startsWith(stood)) return stood;
  let standing = "";
  for (let index = 0; index < stood.length; index++) {
    const shown = line[index] ?? " ";
    standing += shown === stood[index] || shown === " " ? stood[index] : "\0";
  }
  return standing;
}

/** Lines with the cursor's blanks, with which a prompt such as "Continue? " ends. */
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
