/**
 * A piece of a logical line as history keeps it: text, widths and styles, detached from the emulator.
 *
 * `SegmentBuilder` makes segments, `packed-block.ts` stores them, and this file reads them: as text, spans, cells to
 * paint, and rows of a given width. A segment never changes. The last run reaches to its last cell; readers stop at
 * `cells`, whatever a run's length.
 */
import type { Cell } from "../../protocol/grid.ts";
import { PLACEHOLDER } from "../../protocol/placeholder.ts";
import type { Format, Line, Span } from "../../protocol/screen.ts";
import { finishSpans, SPAN_BG, trimSpaces } from "../rows/row-text.ts";
import { type CellExtra, type StyleTable, spanOf } from "../rows/styles.ts";
import { BG_STALE, BG_VISIBLE } from "../rows/xterm-row.ts";

/** Words of a run in `Segment.runs`: end (cells, 24 bits) and index of its extra (8 bits, 0 none), fg, bg. */
export const RUN_WORDS = 3;
const RUN_END = 0xff_ffff;
const RUN_EXTRA_SHIFT = 24;

/** A piece of a logical line, detached from the emulator. */
export interface Segment {
  /** The logical line that it belongs to. */
  readonly id: number;
  /** Cells of that line before it. */
  readonly offset: number;
  readonly cells: number;
  readonly text: string;
  /** UTF-16 units of each cell; null when every cell is one. */
  readonly units: Uint8Array | null;
  /** Null if it has the default style throughout. */
  readonly runs: Uint32Array | null;
  readonly extras: readonly CellExtra[] | null;
}

export function runWord(end: number, extra: number): number {
  return (end | (extra << RUN_EXTRA_SHIFT)) >>> 0;
}

export function runEnd(word: number): number {
  return word & RUN_END;
}

export function runExtra(word: number): number {
  return word >>> RUN_EXTRA_SHIFT;
}

/** Start of cell `cell` in the segment's text. */
export function unitOffset(segment: Segment, cell: number): number {
  if (segment.units === null) return Math.min(cell, segment.text.length);
  let unit = 0;
  const end = Math.min(cell, segment.cells);
  for (let x = 0; x < end; x++) unit += segment.units[x] ?? 0;
  return unit;
}

/** The cells from `from` to `to` of a segment as a line, including trailing blanks. */
export function segmentSpans(segment: Segment, from: number, to: number): Span[] {
  const spans: Span[] = [];
  const runs = segment.runs;
  const end = Math.min(to, segment.cells);
  if (from >= end) return spans;
  if (runs === null) return [{ text: segment.text.slice(unitOffset(segment, from), unitOffset(segment, end)) }];
  let start = 0;
  let lastFg = -1;
  let lastBg = -1;
  for (let index = 0; index < runs.length && start < end; index += RUN_WORDS) {
    const stop = runEnd(runs[index] ?? 0);
    if (stop > from) {
      const fg = runs[index + 1] ?? 0;
      const bg = (runs[index + 2] ?? 0) & SPAN_BG;
      const text = segment.text.slice(
        unitOffset(segment, Math.max(start, from)),
        unitOffset(segment, Math.min(stop, end)),
      );
      const previous = spans.at(-1);
      if (previous !== undefined && fg === lastFg && bg === lastBg) previous.text += text;
      else spans.push(spanOf(text, fg, bg));
      lastFg = fg;
      lastBg = bg;
    }
    start = stop;
  }
  return spans;
}

/** A row of a segment, the cells from `from` to `to`, as cells to paint. */
export function segmentCells(segment: Segment, from: number, to: number, cols: number, styles: StyleTable): Cell[] {
  const { text, units, runs, extras } = segment;
  const cells: Cell[] = [];
  const end = Math.min(to, from + cols, segment.cells);
  let unit = unitOffset(segment, from);
  let run = 0;
  for (let x = from; x < end; x++) {
    while (runs !== null && run < runs.length && runEnd(runs[run] ?? 0) <= x) run += RUN_WORDS;
    const extra = extras?.[runExtra(runs?.[run] ?? 0) - 1] ?? null;
    styles.select(runs?.[run + 1] ?? 0, (runs?.[run + 2] ?? 0) & BG_VISIBLE, extra);
    const length = units === null ? 1 : (units[x] ?? 0);
    const code = length === 1 ? text.charCodeAt(unit) : 128;
    if (code < 128) cells.push(styles.ascii(code));
    else {
      // The right half of a wide cell has no units.
      const isWide = length > 0 && units?.[x + 1] === 0 && x + 1 < end;
      cells.push(styles.cell(text.slice(unit, unit + length), length === 0 ? 0 : isWide ? 2 : 1));
    }
    unit += length;
  }
  styles.select(0, 0, null);
  while (cells.length < cols) cells.push(styles.ascii(32));
  return cells;
}

export function segmentLine(found: Segment, from: number, to: number, format: Format): Line {
  const segment = withoutPictures(found);
  if (format === "styled") return finishSpans(segmentSpans(segment, from, to));
  return trimSpaces(segment.text.slice(unitOffset(segment, from), unitOffset(segment, to)));
}

/** Joins pieces of one logical line. */
export function joinLine(pieces: readonly (readonly Span[])[]): Span[] {
  const spans: Span[] = [];
  for (const piece of pieces) {
    for (const span of piece) {
      const last = spans.at(-1);
      if (last !== undefined && sameSpanStyle(last, span)) last.text += span.text;
      else spans.push({ ...span });
    }
  }
  return finishSpans(spans);
}

function sameSpanStyle(a: Span, b: Span): boolean {
  const { text: _a, ...left } = a;
  const { text: _b, ...right } = b;
  return Bun.deepEquals(left, right);
}

/** Whether some runs from word `from` to `to` contain cells from before the command. */
export function hasStale(runs: Uint32Array, from: number, to: number): boolean {
  for (let index = from; index < to; index += RUN_WORDS) if (((runs[index + 2] ?? 0) & BG_STALE) !== 0) return true;
  return false;
}

/** The segment with blanks in place of pictures; the same object if it has none. */
export function withoutPictures(segment: Segment): Segment {
  if (segment.units === null || !segment.text.includes(PLACEHOLDER)) return segment;
  const units = segment.units.slice();
  let text = "";
  let unit = 0;
  for (const [x, length] of segment.units.entries()) {
    const cell = segment.text.slice(unit, unit + length);
    const isPicture = cell.startsWith(PLACEHOLDER);
    if (isPicture) units[x] = 1;
    text += isPicture ? " " : cell;
    unit += length;
  }
  return { ...segment, text, units };
}

/** The segment as output: blanks replace pictures and cells from before the running command. */
export function withoutStaleCells(found: Segment): Segment {
  const segment = withoutPictures(found);
  const { runs } = segment;
  if (runs === null || !hasStale(runs, 0, runs.length)) return segment;
  const units = new Uint8Array(segment.cells);
  let text = "";
  let run = 0;
  let unit = 0;
  for (let x = 0; x < segment.cells; x++) {
    while (run + RUN_WORDS < runs.length && runEnd(runs[run] ?? 0) <= x) run += RUN_WORDS;
    const length = segment.units === null ? 1 : (segment.units[x] ?? 0);
    const isStale = x < runEnd(runs[run] ?? 0) && ((runs[run + 2] ?? 0) & BG_STALE) !== 0;
    units[x] = isStale ? 1 : length;
    text += isStale ? " " : segment.text.slice(unit, unit + length);
    unit += length;
  }
  return { ...segment, text, units };
}

/** Cell offsets at which the rows of a segment begin when it is wrapped at `cols`; always at least one. */
export function rowStarts(segment: Segment, cols: number): number[] {
  const starts = [0];
  if (segment.cells <= cols) return starts;
  if (segment.units === null) {
    for (let x = cols; x < segment.cells; x += cols) starts.push(x);
    return starts;
  }
  let start = 0;
  while (segment.cells - start > cols) {
    // A wide cell that does not fit moves to the next row: its right half has no units.
    const next = start + cols;
    start = segment.units[next] === 0 && next - 1 > start ? next - 1 : next;
    starts.push(start);
  }
  return starts;
}
