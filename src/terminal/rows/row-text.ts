/**
 * One row of the emulator as text, as spans (docs/protocol.md, Terminal data) and as cells to paint.
 *
 * Pure readings of stored rows. They run per row of a snapshot and per row that leaves the hot window, so a
 * plain Latin-1 row takes a loop without allocation. Cells that were never written read as spaces; trailing
 * spaces of the default style belong to no line.
 */

import { blankRow, type Cell, plainBlank, type Row } from "../../protocol/grid.ts";
import { PLACEHOLDER } from "../../protocol/placeholder.ts";
import type { Format, Line, Span } from "../../protocol/screen.ts";
import type { LinkTable } from "./hyperlinks.ts";
import { type CellExtra, extraOf, type StyleTable, spanOf } from "./styles.ts";
import {
  BG_EXTENDED,
  BG_OVERLINE,
  BG_VISIBLE,
  CELL_WORDS,
  cellText,
  cellWidth,
  HAS_CONTENT,
  type StoredRow,
  simpleCode,
  usedCells,
} from "./xterm-row.ts";

let scratch = Buffer.allocUnsafe(1_024);

/** Text of cells that hold one Latin-1 character each, else null; unwritten cells are spaces. */
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

/** A part of a picture reads as a blank. */
function blankPicture(text: string): string {
  return text.startsWith(PLACEHOLDER) ? " " : text;
}

/** The text of the cells from `from` to `to`; unwritten cells are spaces. */
function rowText(row: StoredRow, from: number, to: number): string {
  const simple = simpleText(row, from, to);
  if (simple !== null) return simple;
  let text = "";
  for (let x = from; x < to; x++) {
    const content = row._data[x * CELL_WORDS] ?? 0;
    if ((content & HAS_CONTENT) !== 0) text += blankPicture(cellText(row, x));
    else if (cellWidth(content) !== 0) text += " ";
  }
  return text;
}

export function trimSpaces(text: string): string {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === 32) end--;
  return end === text.length ? text : text.slice(0, end);
}

/** One row as a line; soft-wrapped rows are separate lines. */
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

/** Bits of a background word that a span can express. */
export const SPAN_BG = BG_VISIBLE & ~BG_EXTENDED & ~BG_OVERLINE;

/** Joins spans of one style and drops trailing spaces of the default style. */
export function finishSpans(spans: Span[]): Span[] {
  const last = spans.at(-1);
  if (last === undefined || Object.keys(last).length > 1) return spans;
  const text = trimSpaces(last.text);
  if (text === "") spans.pop();
  else if (text !== last.text) spans[spans.length - 1] = { text };
  return spans;
}

/** The row as cells to paint. */
export function rowCells(row: StoredRow, cols: number, styles: StyleTable, links: LinkTable): Row {
  const used = Math.min(cols, usedCells(row));
  if (used === 0) return blankRow(cols);
  const cells: Cell[] = [];
  const data = row._data;
  for (let x = 0; x < used; x++) {
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
  for (let x = used; x < cols; x++) cells.push(plainBlank);
  return cells;
}

export function extraAt(row: StoredRow, x: number, bg: number, links: LinkTable): CellExtra | null {
  if ((bg & BG_EXTENDED) === 0) return null;
  const extended = row._extendedAttrs[x];
  return extended === undefined ? null : extraOf(extended, links.target(extended.urlId));
}
