/**
 * Operations on lines: pages of rows by position, and the search. Lines keep their ids, so a search proceeds in slices,
 * each reading the terminal between two chunks; later output follows the last line of the search.
 */
import type { OperationOutput, ParsedInput } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import { encodeRows } from "../../protocol/frame-codec.ts";
import { compilePattern } from "../../protocol/pattern.ts";
import { finder, foldsCase } from "../../session/copy-mode/search.ts";
import { cellsOfUnits, positionOf, rowsBefore, rowsFrom, unitsBeforeCell } from "../../terminal/history/line-rows.ts";
import { segmentCells } from "../../terminal/history/segment.ts";
import type { Position } from "../../terminal/marks.ts";
import type { TerminalModel } from "../../terminal/model.ts";
import { StyleTable } from "../../terminal/rows/styles.ts";
import type { PaneHandlers } from "./context.ts";

/** Longest time for which a search delays output and keys at once, in ms. */
const SLICE_MS = 8;
/** Amount of text after which the clock is checked, in UTF-16 units: less than a millisecond. */
const SLICE_UNITS = 64 * 1024;

export const lineHandlers: Pick<PaneHandlers, "lines.get" | "lines.search"> = {
  "lines.get": ({ terminal }, input) => readLines(terminal, input),
  "lines.search": ({ terminal }, input, { signal }) => searchLines(terminal, input, signal),
};

/** @throws WshError invalid_request */
export async function readLines(
  terminal: TerminalModel,
  input: ParsedInput<"lines.get">,
): Promise<OperationOutput<"lines.get">> {
  const { from, before } = positionsOf(input);
  return terminal.whenAtRest(() => {
    const { firstLine: first, lastLine: last, cols, storedSource } = terminal;
    const page =
      from === null
        ? rowsBefore(storedSource, { first, last }, before ?? { line: last + 1, col: 0 }, input.limit, cols)
        : rowsFrom(storedSource, { first, last }, from, input.limit, cols);
    const styleTable = new StyleTable();
    const { styles, lines } = encodeRows(
      page.rows.map(({ segment, from, to }) => segmentCells(segment, from, to, to - from, styleTable)),
    );
    return {
      epoch: terminal.epoch,
      cols,
      alternate_active: terminal.alternate,
      first_line: first,
      last_line: last,
      screen: terminal.screenTop,
      styles,
      rows: page.rows.map((row, index) => ({
        ...positionOf(row),
        ...(row.wrapped ? { wrapped: true as const } : {}),
        runs: lines[index] ?? [],
      })),
      more_above: page.moreAbove,
      next: page.next,
    };
  });
}

/** @throws WshError invalid_request, cancelled */
export async function searchLines(
  terminal: TerminalModel,
  input: ParsedInput<"lines.search">,
  signal: AbortSignal,
): Promise<OperationOutput<"lines.search">> {
  const { query, regex, case_sensitive: caseSensitive = !foldsCase(query) } = input;
  const { from, before } = positionsOf(input);
  const compiled = regex ? await compilePattern(query, caseSensitive ? "" : "i") : null;
  const find = finder(query, compiled, caseSensitive);
  const unitPosition = (place: Position | null): UnitPosition | null =>
    place === null ? null : { line: place.line, unit: unitsBeforeCell(terminal.storedSource, place) };
  const page = await terminal.whenAtRest(() => new MatchPage(unitPosition(from), unitPosition(before), input.limit));
  const last = await terminal.whenAtRest(() => terminal.lastLine);
  for (let next = 0; ; ) {
    const answer = await terminal.whenAtRest(() => {
      next = searchSlice(terminal, Math.max(next, terminal.firstLine), last, find, page);
      return next > last ? page.answer(terminal) : null;
    });
    if (answer !== null) return { first_line: terminal.firstLine, last_line: last, ...answer };
    // Lets keys and output be handled.
    await Bun.sleep(0);
    if (signal.aborted) throw new WshError("cancelled", "the search was cancelled");
  }
}

function positionsOf(input: Pick<ParsedInput<"lines.get">, "from_line" | "from_col" | "before_line" | "before_col">): {
  readonly from: Position | null;
  readonly before: Position | null;
} {
  const { from_line, from_col, before_line, before_col } = input;
  return {
    from: from_line === undefined ? null : { line: from_line, col: from_col },
    before: before_line === undefined ? null : { line: before_line, col: before_col },
  };
}

/** @returns the line at which the next slice begins */
function searchSlice(
  terminal: TerminalModel,
  from: number,
  last: number,
  find: ReturnType<typeof finder>,
  page: MatchPage,
): number {
  const end = performance.now() + SLICE_MS;
  let units = 0;
  for (const { id, text } of terminal.lineTexts(from, last)) {
    for (const [start, stop] of find(text)) page.add({ line: id, start, stop });
    units += text.length + 1;
    if (units < SLICE_UNITS) continue;
    units = 0;
    if (performance.now() >= end) return id + 1;
  }
  return last + 1;
}

interface UnitPosition {
  readonly line: number;
  /** UTF-16 units of the line before the match. */
  readonly unit: number;
}

interface FoundMatch {
  readonly line: number;
  readonly start: number;
  readonly stop: number;
}

/** Counts all matches, and stores those of one page; in units, since only the page's matches need their cells. */
class MatchPage {
  private total = 0;
  /** Number of matches before the stored ones. */
  private firstIndex = 0;
  private storedMatches: FoundMatch[] = [];

  constructor(
    private readonly from: UnitPosition | null,
    private readonly before: UnitPosition | null,
    private readonly limit: number,
  ) {}

  /** In the order of the text. */
  add(match: FoundMatch): void {
    this.total++;
    if (this.from !== null) {
      if (isBefore(match, this.from)) this.firstIndex++;
      else if (this.storedMatches.length < this.limit) this.storedMatches.push(match);
      return;
    }
    if (this.before !== null && !isBefore(match, this.before)) return;
    this.storedMatches.push(match);
    if (this.storedMatches.length >= 2 * this.limit) this.drop(this.storedMatches.length - this.limit);
  }

  answer({ storedSource, firstLine }: TerminalModel): {
    readonly total: number;
    readonly first: number;
    readonly matches: { readonly line: number; readonly col: number; readonly length: number }[];
  } {
    if (this.from === null) this.drop(Math.max(0, this.storedMatches.length - this.limit));
    // Lines that were dropped while others were searched.
    const gone = this.storedMatches.findIndex(({ line }) => line >= firstLine);
    this.drop(gone < 0 ? this.storedMatches.length : gone);
    const matches = this.storedMatches.map(({ line, start, stop }) => {
      const [col = 0, end = col] = cellsOfUnits(storedSource, line, [start, stop]);
      return { line, col, length: end - col };
    });
    return { total: this.total, first: this.firstIndex, matches };
  }

  private drop(count: number): void {
    this.storedMatches.splice(0, count);
    this.firstIndex += count;
  }
}

function isBefore({ line, start }: FoundMatch, place: UnitPosition): boolean {
  return line < place.line || (line === place.line && start < place.unit);
}
