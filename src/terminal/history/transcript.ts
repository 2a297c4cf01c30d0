/**
 * History and hot window read as one text of logical lines. Owns nothing: every call reads both again, so a result
 * describes the moment between two chunks at which it was requested. Lines are read as output: cells from before the
 * newest command that were not rewritten are blanks, except for `search`, which reads the visible text.
 */
import type { Cell } from "../../protocol/grid.ts";
import type { Format, Line } from "../../protocol/screen.ts";
import type { Position } from "../marks.ts";
import { simpleText, trimSpaces } from "../rows/row-text.ts";
import type { StyleTable } from "../rows/styles.ts";
import { BG_STALE, CELL_WORDS, type StoredRow, usedCells } from "../rows/xterm-row.ts";
import type { History } from "./history.ts";
import type { HotWindow } from "./hot-window.ts";
import {
  joinLine,
  type Segment,
  segmentCells,
  segmentSpans,
  unitOffset,
  withoutPictures,
  withoutStaleCells,
} from "./segment.ts";

export interface TextLine {
  readonly id: number;
  readonly line: Line;
}

export interface TextRange {
  readonly lines: readonly TextLine[];
  /** Lines of the range that history has dropped, including a first one whose start is gone. */
  readonly dropped: number;
}

/** Whether a line matches; see `containing` for plain text, and pass a linear-time matcher for patterns. */
export type LineTest = (text: string) => boolean;

/** A test for plain text, in time linear in the line. */
export function containing(text: string, ignoreCase = false): LineTest {
  if (!ignoreCase) return (line) => line.includes(text);
  const wanted = text.toLowerCase();
  return (line) => line.toLowerCase().includes(wanted);
}

export class Transcript {
  constructor(private readonly source: { readonly history: History; readonly hot: HotWindow }) {}

  /** The oldest retained line. */
  get firstLine(): number {
    const { history, hot } = this.source;
    return history.firstId ?? hot.position(-hot.above, 0).line;
  }

  /** Lines from one position to another (exclusive), soft-wrapped rows joined, trailing blanks cut. */
  range(from: Position, to: Position, format: Format): TextRange {
    const lines: TextLine[] = [];
    let dropped = Math.max(0, Math.min(this.firstLine, to.line + 1) - from.line);
    for (const { id, segments } of this.lines(from.line, to.line)) {
      const start = id === from.line ? from.col : 0;
      const end = id === to.line ? to.col : Number.POSITIVE_INFINITY;
      if (end === 0) break;
      if (lines.length === 0 && id === from.line && (segments[0]?.offset ?? 0) > start) dropped++;
      lines.push({ id, line: cutLine(segments, start, end, format) });
    }
    return { lines, dropped };
  }

  /** A line's text, trailing blanks cut; null when the line is not retained. */
  text(id: number): string | null {
    const sole = this.source.hot.soleRow(id);
    const simple = sole === null ? null : simpleFreshText(sole, usedCells(sole));
    if (simple !== null) return trimSpaces(simple);
    for (const { segments } of this.lines(id, id))
      return cutLine(segments, 0, Number.POSITIVE_INFINITY, "plain") as string;
    return null;
  }

  /** UTF-16 units of a line before a cell; cells past the written ones count as blanks. */
  unitsBefore({ line, col }: Position): number {
    const sole = this.source.hot.soleRow(line);
    if (sole !== null && simpleFreshText(sole, Math.min(col, usedCells(sole))) !== null) return col;
    let units = 0;
    let cells = 0;
    for (const { segments } of this.lines(line, line)) {
      for (const segment of segments) {
        const end = Math.min(segment.cells, Math.max(0, col - segment.offset));
        units += unitOffset(segment, end);
        cells = segment.offset + end;
      }
    }
    return units + Math.max(0, col - cells);
  }

  /** The inverse: the cell before which a line has this many units. */
  cellAt(line: number, index: number): number {
    const sole = this.source.hot.soleRow(line);
    if (sole !== null && simpleFreshText(sole, usedCells(sole)) !== null) return index;
    let left = index;
    let cells = 0;
    for (const { segments } of this.lines(line, line)) {
      for (const segment of segments) {
        let offset = 0;
        if (left >= segment.text.length) offset = segment.cells;
        else if (segment.units === null) offset = left;
        else for (let unit = 0; unit < left; offset++) unit += segment.units[offset] ?? 0;
        cells = segment.offset + offset;
        left -= unitOffset(segment, offset);
        if (left <= 0) return cells;
      }
    }
    return cells + Math.max(0, left);
  }

  /** Text of a line from a cell on, trailing blanks cut. The cost depends on the text, not on the line's length. */
  lineFrom(id: number, cell: number): string {
    const { history, hot } = this.source;
    const segments = [...history.segments(id, id, cell), ...hot.segments(id, id)].map(withoutStaleCells);
    return cutLine(segments, cell, Number.POSITIVE_INFINITY, "plain") as string;
  }

  /** The part of a line that has left the screen, and thus no longer changes, from the end of an earlier result. */
  settledText(id: number, from: number): { readonly text: string; readonly end: number } {
    let text = "";
    let end = from;
    for (const segment of this.source.history.segments(id, id, from)) {
      text += withoutStaleCells(segment).text;
      end = segment.offset + segment.cells;
    }
    return { text, end };
  }

  /** The newest `limit` lines of a range that match, oldest first. */
  search(test: LineTest, fromId: number, toId: number, limit: number, format: Format): TextLine[] {
    const found: TextLine[] = [];
    for (const { id, segments } of this.lines(fromId, toId, withoutPictures)) {
      const text = segments.length === 1 ? (segments[0]?.text ?? "") : segments.map((segment) => segment.text).join("");
      if (!test(trimSpaces(text))) continue;
      found.push({ id, line: cutLine(segments, 0, Number.POSITIVE_INFINITY, format) });
      if (found.length > 2 * limit) found.splice(0, found.length - limit);
    }
    return found.length > limit ? found.slice(-limit) : found;
  }

  /** Lines as displayed: blanks at the end of a row are kept. */
  *texts(fromId: number, toId: number): Generator<{ readonly id: number; readonly text: string }> {
    for (const { id, segments } of this.lines(fromId, toId, withoutPictures)) {
      yield { id, text: segments.length === 1 ? (segments[0]?.text ?? "") : segments.map(({ text }) => text).join("") };
    }
  }

  /** Lines as cells to paint. */
  *cells(fromId: number, toId: number, styles: StyleTable): Generator<{ readonly id: number; readonly cells: Cell[] }> {
    for (const { id, segments } of this.lines(fromId, toId, (segment) => segment)) {
      yield { id, cells: segments.flatMap((each) => segmentCells(each, 0, each.cells, each.cells, styles)) };
    }
  }

  /** Logical lines with their segments. */
  private *lines(
    fromId: number,
    toId: number,
    read = withoutStaleCells,
  ): Generator<{ id: number; segments: Segment[] }> {
    let segments: Segment[] = [];
    for (const source of [this.source.history, this.source.hot]) {
      for (const segment of source.segments(fromId, toId)) {
        const id = segments[0]?.id;
        if (id !== undefined && id !== segment.id) {
          yield { id, segments };
          segments = [];
        }
        segments.push(read(segment));
      }
    }
    const id = segments[0]?.id;
    if (id !== undefined) yield { id, segments };
  }
}

/** The first cells of a row if all are simple and none predates the command, else null. */
function simpleFreshText(row: StoredRow, cells: number): string | null {
  for (let x = 0; x < cells; x++) if (((row._data[x * CELL_WORDS + 2] ?? 0) & BG_STALE) !== 0) return null;
  return simpleText(row, 0, cells);
}

/** The cells from `start` to `end` of a logical line. */
function cutLine(segments: readonly Segment[], start: number, end: number, format: Format): Line {
  if (format === "styled") {
    return joinLine(
      segments.map((segment) => segmentSpans(segment, Math.max(0, start - segment.offset), end - segment.offset)),
    );
  }
  let text = "";
  for (const segment of segments) {
    const from = Math.max(0, start - segment.offset);
    const to = Math.min(end - segment.offset, segment.cells);
    if (to > from) text += segment.text.slice(unitOffset(segment, from), unitOffset(segment, to));
  }
  return trimSpaces(text);
}
