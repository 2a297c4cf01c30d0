/**
 * Cells to lines: text and spans as the contract says them, cells as the compositor paints them, and the pieces that
 * history keeps. Pure readings of stored rows and segments; called per row of a snapshot and per row that leaves the
 * hot window, so plain Latin-1 rows take a loop without allocation.
 */

import type { Cell } from "../../protocol/grid.ts";
import type { Format, Line, Span } from "../../protocol/screen.ts";
import type { LinkTable } from "./hyperlinks.ts";
import { type Extra, extraOf, type StyleTable, sameExtra, spanOf } from "./styles.ts";
import {
  BG_EXTENDED,
  BG_KEPT,
  BG_STALE,
  BG_VISIBLE,
  CELL_WORDS,
  cellText,
  cellWidth,
  HAS_CONTENT,
  type StoredRow,
  simpleCode,
  usedCells,
} from "./xterm-row.ts";

/** Words of a run in `Segment.runs`: end (cells, 24 bits) and number of its extra (8 bits, 0 none), foreground, background. */
export const RUN_WORDS = 3;
const RUN_END = 0xff_ffff;
const RUN_EXTRA_SHIFT = 24;
const MAX_EXTRAS = 255;
/** UTF-16 units of one cell that a segment keeps. */
const MAX_UNITS = 255;

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

/** Text of cells that hold one Latin-1 character each, else null; what was never written is spaces. */
export function simpleText(row: StoredRow, from: number, to: number): string | null {
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
    spans.push(spanOf(rowText(row, x, end), fg, bg));
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

/**
 * Takes rows of one logical line, one after the other, into a segment. Works in arrays of its own, which are used again
 * for every segment: a flood makes a million segments a second.
 */
export class SegmentBuilder {
  cells = 0;
  /** UTF-16 units so far; as bytes while all are Latin-1 and one a cell. */
  private length = 0;
  private bytes = Buffer.allocUnsafe(512);
  /** Some cell is not one Latin-1 character. */
  isWide = false;
  private wide = new Uint16Array(512);
  private wideBytes = Buffer.from(this.wide.buffer);
  private units = new Uint8Array(0);
  private runs = new Uint32Array(64);
  private runWords = 0;
  private extras: Extra[] = [];

  /** Add the first `count` cells of a row. */
  add(row: StoredRow, count: number, links: LinkTable): void {
    if (!this.isWide) {
      this.reserve(count);
      const { bytes, length } = this;
      const data = row._data;
      let x = 0;
      for (; x < count; x++) {
        const code = simpleCode(data[x * CELL_WORDS] ?? 0, 256);
        if (code < 0) break;
        bytes[length + x] = code;
      }
      if (x === count) this.length += count;
      else this.widen();
    }
    if (this.isWide) this.addWide(row, count);
    this.addRuns(row, count, links);
    this.cells += count;
  }

  /** Add characters of ASCII in one style: `count` of `bytes` from `from` on, none when it is not positive. */
  addText(bytes: Uint8Array, from: number, count: number, fg: number, bg: number): void {
    if (count <= 0) return;
    this.reserve(count);
    const { bytes: target, length } = this;
    for (let at = 0; at < count; at++) target[length + at] = bytes[from + at] ?? 0;
    this.addStyled(count, fg, bg);
  }

  /** Add cells that nothing was written to. */
  addBlanks(count: number): void {
    if (count <= 0) return;
    this.reserve(count);
    this.bytes.fill(32, this.length, this.length + count);
    this.addStyled(count, 0, 0);
  }

  private reserve(count: number): void {
    if (this.bytes.length < this.length + count) this.bytes = Buffer.concat([this.bytes], 2 * (this.length + count));
  }

  private addStyled(count: number, fg: number, bg: number): void {
    const before = this.cells;
    this.length += count;
    this.cells += count;
    if (this.runWords === 0) {
      if (fg === 0 && bg === 0) return;
      if (before > 0) this.addRun(before, 0, 0, 0);
    }
    this.addRun(this.cells, fg >>> 0, (bg & BG_VISIBLE) >>> 0, 0);
  }

  /** From now on cells are not one byte each. */
  private widen(): void {
    this.isWide = true;
    if (this.wide.length < this.length) this.growWide();
    for (let i = 0; i < this.length; i++) this.wide[i] = this.bytes[i] ?? 0;
    if (this.units.length < this.cells) this.units = new Uint8Array(2 * this.cells);
    this.units.fill(1, 0, this.cells);
  }

  private growWide(): void {
    const wide = new Uint16Array(2 * (this.length + MAX_UNITS));
    wide.set(this.wide);
    this.wide = wide;
    this.wideBytes = Buffer.from(wide.buffer);
  }

  private addWide(row: StoredRow, count: number): void {
    if (this.units.length < this.cells + count) {
      const units = new Uint8Array(2 * (this.cells + count));
      units.set(this.units.subarray(0, this.cells));
      this.units = units;
    }
    for (let x = 0; x < count; x++) {
      if (this.wide.length < this.length + MAX_UNITS) this.growWide();
      const { wide } = this;
      const content = row._data[x * CELL_WORDS] ?? 0;
      const code = simpleCode(content, 0xd800);
      if (code >= 0) {
        wide[this.length++] = code;
        this.units[this.cells + x] = 1;
        continue;
      }
      // A cell of more units than a byte counts is a pile of combining marks; the pile is cut, not the line.
      const text = cellText(row, x);
      const units = Math.min(text.length, MAX_UNITS);
      for (let k = 0; k < units; k++) wide[this.length++] = text.charCodeAt(k);
      this.units[this.cells + x] = units;
    }
  }

  private addRuns(row: StoredRow, count: number, links: LinkTable): void {
    const data = row._data;
    const end = count * CELL_WORDS;
    let at = 0;
    if (this.runWords === 0) {
      while (at < end && data[at + 1] === 0 && data[at + 2] === 0) at += CELL_WORDS;
      if (at >= end) return;
      const plain = this.cells + at / CELL_WORDS;
      if (plain > 0) this.addRun(plain, 0, 0, 0);
    }
    while (at < end) {
      const fg = data[at + 1] ?? 0;
      const bg = data[at + 2] ?? 0;
      const x = at / CELL_WORDS;
      const extra = (bg & BG_EXTENDED) === 0 ? 0 : this.extra(extraAt(row, x, bg, links));
      at += CELL_WORDS;
      if (extra === 0) while (at < end && data[at + 1] === fg && data[at + 2] === bg) at += CELL_WORDS;
      this.addRun(this.cells + at / CELL_WORDS, fg, (bg & BG_KEPT) >>> 0, extra);
    }
  }

  private addRun(end: number, fg: number, bg: number, extra: number): void {
    const { runs } = this;
    const last = this.runWords - RUN_WORDS;
    if (last >= 0 && runs[last + 1] === fg && runs[last + 2] === bg && runExtra(runs[last] ?? 0) === extra) {
      runs[last] = runWord(end, extra);
      return;
    }
    if (runs.length < this.runWords + RUN_WORDS) {
      this.runs = new Uint32Array(2 * runs.length);
      this.runs.set(runs);
    }
    this.runs[this.runWords] = runWord(end, extra);
    this.runs[this.runWords + 1] = fg;
    this.runs[this.runWords + 2] = bg;
    this.runWords += RUN_WORDS;
  }

  private extra(extra: Extra | null): number {
    if (extra === null) return 0;
    const known = this.extras.findLastIndex((other) => sameExtra(other, extra));
    if (known >= 0) return known + 1;
    if (this.extras.length >= MAX_EXTRAS) return 0;
    return this.extras.push(extra);
  }

  /** Words of `styleRuns` that count: none when all has the default style. */
  get styleWords(): number {
    return this.runWords;
  }

  get styleRuns(): Uint32Array {
    return this.runs;
  }

  /** Writes the text, which must not be wide, as Latin-1. */
  copyText(target: Buffer, at: number): void {
    this.bytes.copy(target, at, 0, this.length);
  }

  finishText(): string {
    const { isWide, length } = this;
    return isWide ? this.wideBytes.toString("utf16le", 0, 2 * length) : this.bytes.toString("latin1", 0, length);
  }

  finishUnits(): Uint8Array | null {
    return this.isWide ? this.units.slice(0, this.cells) : null;
  }

  /** Theirs from now on. */
  finishExtras(): readonly Extra[] | null {
    return this.extras.length === 0 ? null : this.extras;
  }

  finish(id: number, offset: number): Segment {
    const segment: Segment = {
      id,
      offset,
      cells: this.cells,
      text: this.finishText(),
      units: this.finishUnits(),
      runs: this.runWords === 0 ? null : this.runs.slice(0, this.runWords),
      extras: this.finishExtras(),
    };
    this.clear();
    return segment;
  }

  clear(): void {
    this.isWide = false;
    this.length = 0;
    this.cells = 0;
    this.runWords = 0;
    if (this.extras.length > 0) this.extras = [];
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
  let unit = unitAt(segment, from);
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

/** Whether some of the runs from word `from` to `to` are of cells that a command has found there. */
export function hasStale(runs: Uint32Array, from: number, to: number): boolean {
  for (let at = from; at < to; at += RUN_WORDS) if (((runs[at + 2] ?? 0) & BG_STALE) !== 0) return true;
  return false;
}

/** A segment with blanks for the cells that stood there before the command that ran, as its output has it. */
export function freshSegment(segment: Segment): Segment {
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
    // A wide cell that does not fit goes to the next row whole: its right half has no units.
    const next = start + cols;
    start = segment.units[next] === 0 && next - 1 > start ? next - 1 : next;
    starts.push(start);
  }
  return starts;
}
