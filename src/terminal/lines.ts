/**
 * Cells to lines: text and spans as the contract says them, cells as the compositor paints them, and the pieces that
 * history keeps. Pure readings of stored rows and segments; called per row of a snapshot and per row that leaves the
 * hot window, so plain Latin-1 rows take a loop without allocation.
 */
import type { Format, Line, Span } from "../protocol/screen.ts";
import {
  BG_EXTENDED,
  BG_VISIBLE,
  CELL_WORDS,
  cellText,
  cellWidth,
  HAS_CONTENT,
  type StoredRow,
  simpleCode,
  usedCells,
} from "./cells.ts";
import type { Cell } from "./grid.ts";
import type { LinkTable } from "./links.ts";
import { type Extra, extraOf, type StyleTable, sameExtra, spanStyle } from "./styles.ts";

/** Words of a run in `Segment.runs`: end (cells, 24 bits) and number of its extra (8 bits, 0 none), foreground, background. */
export const RUN_WORDS = 3;
const RUN_END = 0xff_ffff;
const RUN_EXTRA_SHIFT = 24;
const MAX_EXTRAS = 255;

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
  /** Null when it has the default style throughout. */
  readonly runs: Uint32Array | null;
  readonly extras: readonly Extra[] | null;
}

let scratch = Buffer.allocUnsafe(1_024);

/** Text of cells that hold one Latin-1 character each, else null. */
function simpleText(row: StoredRow, from: number, to: number): string | null {
  if (scratch.length < to - from) scratch = Buffer.allocUnsafe(to - from);
  const data = row._data;
  for (let x = from; x < to; x++) {
    const code = simpleCode(data[x * CELL_WORDS] ?? 0, 256);
    if (code < 0) return null;
    scratch[x - from] = code;
  }
  return scratch.toString("latin1", 0, to - from);
}

/** The text of the cells from `from` to `to`; what was never written is spaces. */
export function rowText(row: StoredRow, from: number, to: number): string {
  const simple = simpleText(row, from, to);
  if (simple !== null) return simple;
  let text = "";
  for (let x = from; x < to; x++) {
    const content = row._data[x * CELL_WORDS] ?? 0;
    if ((content & HAS_CONTENT) !== 0) text += cellText(row, x);
    else if (cellWidth(content) !== 0) text += " ";
  }
  return text;
}

export function trimSpaces(text: string): string {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === 32) end--;
  return end === text.length ? text : text.slice(0, end);
}

/** One row as a line; soft-wrapped rows are lines of their own. */
export function rowLine(row: StoredRow, format: Format): Line {
  const used = usedCells(row);
  if (format === "plain") return trimSpaces(rowText(row, 0, used));
  const data = row._data;
  const spans: Span[] = [];
  for (let x = 0; x < used; ) {
    const fg = data[x * CELL_WORDS + 1] ?? 0;
    const bg = (data[x * CELL_WORDS + 2] ?? 0) & SPAN_BG;
    let end = x + 1;
    while (end < used && data[end * CELL_WORDS + 1] === fg && ((data[end * CELL_WORDS + 2] ?? 0) & SPAN_BG) === bg)
      end++;
    spans.push({ text: rowText(row, x, end), ...spanStyle(fg, bg) });
    x = end;
  }
  return finishSpans(spans);
}

/** Bits of a background word that a span can say. */
const SPAN_BG = BG_VISIBLE & ~BG_EXTENDED & ~0x4000_0000;

/** Join spans that look alike and drop trailing spaces of the default style. */
function finishSpans(spans: Span[]): Span[] {
  const last = spans.at(-1);
  if (last === undefined || Object.keys(last).length > 1) return spans;
  const text = trimSpaces(last.text);
  if (text === "") spans.pop();
  else if (text !== last.text) spans[spans.length - 1] = { text };
  return spans;
}

/** The row as cells to paint. */
export function rowCells(row: StoredRow, cols: number, styles: StyleTable, links: LinkTable): Cell[] {
  const cells: Cell[] = [];
  const data = row._data;
  for (let x = 0; x < cols; x++) {
    const at = x * CELL_WORDS;
    const content = data[at] ?? 0;
    const bg = data[at + 2] ?? 0;
    styles.select(data[at + 1] ?? 0, bg & BG_VISIBLE, extraAt(row, x, bg, links));
    const code = simpleCode(content, 128);
    const width = cellWidth(content);
    if (code >= 0) cells.push(styles.ascii(code));
    // The last column cannot hold a wide cell's left half alone.
    else cells.push(width === 2 && x === cols - 1 ? styles.ascii(32) : styles.cell(cellText(row, x), width));
  }
  return cells;
}

export function extraAt(row: StoredRow, x: number, bg: number, links: LinkTable): Extra | null {
  if ((bg & BG_EXTENDED) === 0) return null;
  const extended = row._extendedAttrs[x];
  return extended === undefined ? null : extraOf(extended, links.target(extended.urlId));
}

/** Takes rows of one logical line, one after the other, into a segment. */
export class SegmentBuilder {
  private text = "";
  private units: number[] | null = null;
  private runs: number[] = [];
  private extras: Extra[] = [];
  private styled = false;
  cells = 0;

  /** Add the first `count` cells of a row. */
  add(row: StoredRow, count: number, links: LinkTable): void {
    const simple = simpleText(row, 0, count);
    if (simple !== null) {
      this.text = this.text === "" ? simple : this.text + simple;
      if (this.units !== null) for (let x = 0; x < count; x++) this.units.push(1);
    } else this.addText(row, count);
    this.addRuns(row, count, links);
    this.cells += count;
  }

  private addText(row: StoredRow, count: number): void {
    this.units ??= new Array<number>(this.cells).fill(1);
    for (let x = 0; x < count; x++) {
      const content = row._data[x * CELL_WORDS] ?? 0;
      const right = cellWidth(content) === 0 && (content & HAS_CONTENT) === 0;
      // A cell of more units than a byte counts is a pile of combining marks; the pile is cut, not the line.
      const text = right ? "" : cutUnits(cellText(row, x) || " ");
      this.text += text;
      this.units.push(text.length);
    }
  }

  private addRuns(row: StoredRow, count: number, links: LinkTable): void {
    const data = row._data;
    let any = 0;
    for (let x = 0; x < count; x++) any |= (data[x * CELL_WORDS + 1] ?? 0) | (data[x * CELL_WORDS + 2] ?? 0);
    if (any === 0 && !this.styled) return;
    if (!this.styled) {
      this.styled = true;
      if (this.cells > 0) this.runs.push(this.cells, 0, 0);
    }
    for (let x = 0; x < count; x++) {
      const fg = data[x * CELL_WORDS + 1] ?? 0;
      const bg = (data[x * CELL_WORDS + 2] ?? 0) & BG_VISIBLE;
      this.addRun(this.cells + x + 1, fg, bg >>> 0, this.extra(extraAt(row, x, bg, links)));
    }
  }

  private addRun(end: number, fg: number, bg: number, extra: number): void {
    const last = this.runs.length - RUN_WORDS;
    const same =
      last >= 0 && this.runs[last + 1] === fg && this.runs[last + 2] === bg && runExtra(this.runs[last] ?? 0) === extra;
    if (same) this.runs[last] = runWord(end, extra);
    else this.runs.push(runWord(end, extra), fg, bg);
  }

  private extra(extra: Extra | null): number {
    if (extra === null) return 0;
    const known = this.extras.findLastIndex((other) => sameExtra(other, extra));
    if (known >= 0) return known + 1;
    if (this.extras.length >= MAX_EXTRAS) return 0;
    return this.extras.push(extra);
  }

  finish(id: number, offset: number): Segment {
    const segment: Segment = {
      id,
      offset,
      cells: this.cells,
      text: this.text,
      units: this.units === null ? null : Uint8Array.from(this.units),
      runs: this.styled ? Uint32Array.from(this.runs) : null,
      extras: this.extras.length === 0 ? null : this.extras,
    };
    this.text = "";
    this.units = null;
    this.runs = [];
    if (this.extras.length > 0) this.extras = [];
    this.styled = false;
    this.cells = 0;
    return segment;
  }
}

function runWord(end: number, extra: number): number {
  return (end | (extra << RUN_EXTRA_SHIFT)) >>> 0;
}

export function runEnd(word: number): number {
  return word & RUN_END;
}

export function runExtra(word: number): number {
  return word >>> RUN_EXTRA_SHIFT;
}

function cutUnits(text: string): string {
  return text.length > 255 ? text.slice(0, 255) : text;
}

/** Where cell `cell` begins in the segment's text. */
export function unitAt(segment: Segment, cell: number): number {
  if (segment.units === null) return Math.min(cell, segment.text.length);
  let unit = 0;
  const end = Math.min(cell, segment.cells);
  for (let x = 0; x < end; x++) unit += segment.units[x] ?? 0;
  return unit;
}

/** The cells from `from` to `to` of a segment as a line, trailing blanks kept. */
export function segmentSpans(segment: Segment, from: number, to: number): Span[] {
  const spans: Span[] = [];
  const runs = segment.runs;
  const end = Math.min(to, segment.cells);
  if (from >= end) return spans;
  if (runs === null) return [{ text: segment.text.slice(unitAt(segment, from), unitAt(segment, end)) }];
  let start = 0;
  let lastFg = -1;
  let lastBg = -1;
  for (let at = 0; at < runs.length && start < end; at += RUN_WORDS) {
    const stop = runEnd(runs[at] ?? 0);
    if (stop > from) {
      const fg = runs[at + 1] ?? 0;
      const bg = (runs[at + 2] ?? 0) & SPAN_BG;
      const text = segment.text.slice(unitAt(segment, Math.max(start, from)), unitAt(segment, Math.min(stop, end)));
      const previous = spans.at(-1);
      if (previous !== undefined && fg === lastFg && bg === lastBg) previous.text += text;
      else spans.push({ text, ...spanStyle(fg, bg) });
      lastFg = fg;
      lastBg = bg;
    }
    start = stop;
  }
  return spans;
}

export function segmentLine(segment: Segment, from: number, to: number, format: Format): Line {
  if (format === "styled") return finishSpans(segmentSpans(segment, from, to));
  return trimSpaces(segment.text.slice(unitAt(segment, from), unitAt(segment, to)));
}

/** Join pieces of one logical line. */
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
    // A wide cell that does not fit goes to the next row whole: its right half has no units.
    const next = start + cols;
    start = segment.units[next] === 0 && next - 1 > start ? next - 1 : next;
    starts.push(start);
  }
  return starts;
}
