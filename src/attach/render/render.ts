/**
 * Converts frames to bytes for the outer terminal: only the changes.
 *
 * Pure. Invariant: written to a terminal that shows `prev`, the bytes make it show `next`, cell and colour (within the
 * terminal's colours). Only printable text and sequences made here are ever written, whatever the cells, the title or a
 * link contain. After a character that terminals measure differently the cursor is moved explicitly. The caller writes
 * all bytes or treats the terminal as unknown and passes null next time. Runs once per frame; the work is in the rows
 * that are not the same objects as before.
 */

import { hasAgreedWidth } from "../../protocol/agreed-width.ts";
import type { Frame, FrameEvents } from "../../protocol/frame.ts";
import type { Cell, Row, Style } from "../../protocol/grid.ts";
import { blankRow, plainBlank, plainStyle, sameCell, sameStyle } from "../../protocol/grid.ts";
import { cursorStyle, type OuterCaps, renderingReset, switchModes } from "./modes.ts";
import { Pen } from "./pen.ts";

/** Unchanged cells between two changed ones up to which rewriting is cheaper than a jump. */
const MAX_GAP = 6;
/** Characters of a title; terminals cut or ignore longer ones. */
const MAX_TITLE_CHARS = 256;
/** Longest clipboard in base64, as OSC 52 allows (xterm's own limit). */
const MAX_CLIPBOARD_CHARS = 100_000;

const utf8 = new TextEncoder();

/**
 * @param prev the terminal's contents, rendered by this function; null when unknown: at the start, after
 *   pass-through, and after a failed write
 * @returns nothing to write when nothing changed
 */
export function render(prev: Frame | null, next: Frame, events: FrameEvents, caps: OuterCaps): Uint8Array {
  const hasSwitched = prev !== null && prev.modes.alternate !== next.modes.alternate;
  const isSameSize = prev !== null && prev.rows === next.rows && prev.cols === next.cols;
  let shown: readonly (Row | null)[] = isSameSize && !hasSwitched ? prev.lines : next.lines.map(() => null);
  const pen = new Pen(next.rows, next.cols, caps, isSameSize && !hasSwitched ? cursorPosition(prev) : null);
  // The switch may restore saved attributes and modes, so those are set afterwards.
  const screen = caps.altScreen ? "" : next.modes.alternate ? "\x1b[?1049h" : "\x1b[?1049l";
  const before = prev === null || hasSwitched ? screen + renderingReset : "";
  const scrolls = events.scrolled.length > 0 && !next.modes.alternate && !caps.altScreen;
  const blank = blankRow(next.cols);
  if (scrolls) shown = pushScrolled(pen, shown, events.scrolled, { rows: next.rows, blank });
  for (let row = 0; row < next.rows; row++) renderRow(pen, row, shown[row] ?? null, next.lines[row] ?? [], blank);
  const rendered = pen.finish();
  const drawn = before + rendered;
  // Usually typed text: written at the cursor, which ends after it.
  const isInPlace =
    before === "" && pen.moves === 0 && pen.isAt(next.cursor.row, Math.min(next.cursor.col, next.cols - 1));
  const hidesCursor = drawn !== "" && !isInPlace;
  const after = renderState(prev, next, events, caps, { hidesCursor, isInPlace: isInPlace && drawn !== "" });
  if (drawn === "" && after === "") return new Uint8Array(0);
  const hidden = hidesCursor && (prev === null || prev.cursor.visible) ? "\x1b[?25l" : "";
  const bytes = hidden + drawn + after;
  return utf8.encode(caps.synchronized && hidesCursor ? `\x1b[?2026h${bytes}\x1b[?2026l` : bytes);
}

/** Where the last frame left the cursor. */
function cursorPosition({ cursor, cols }: Frame): { readonly row: number; readonly col: number } {
  return { row: cursor.row, col: Math.min(cursor.col, cols - 1) };
}

/** Modes, title, bell, clipboard and, last, the cursor. */
function renderState(
  prev: Frame | null,
  next: Frame,
  events: FrameEvents,
  caps: OuterCaps,
  /** `hidesCursor`: rows were rendered with the cursor hidden; `isInPlace`: only cells that left it in its place. */
  { hidesCursor, isInPlace }: { readonly hidesCursor: boolean; readonly isInPlace: boolean },
): string {
  let bytes = switchModes(prev?.modes ?? null, next.modes, caps);
  if (next.title !== null && next.title !== prev?.title) bytes += `\x1b]2;${cleanTitle(next.title)}\x1b\\`;
  if (events.bell) bytes += "\x07";
  if (events.clipboard !== null) bytes += clipboardSequence(events.clipboard);
  const chosen = next.modes.cursorChosen;
  const style = cursorStyle(next.cursor, chosen);
  const before = prev === null ? (chosen ? "" : style) : cursorStyle(prev.cursor, prev.modes.cursorChosen);
  if (style !== before) bytes += style;
  const { row, col, visible } = next.cursor;
  const moved = prev === null || hidesCursor || prev.cursor.row !== row || prev.cursor.col !== col;
  if (moved && !isInPlace) bytes += `\x1b[${row + 1};${Math.min(col, next.cols - 1) + 1}H`;
  const wasVisible = prev?.cursor.visible === true && !hidesCursor;
  if (visible && !wasVisible) bytes += "\x1b[?25h";
  if (!visible && prev?.cursor.visible === true && !hidesCursor) bytes += "\x1b[?25l";
  return bytes;
}

/**
 * Pushes lines out of the top of the screen into the outer terminal's scrollback, a screen at a time: each portion is
 * written at the top, unless it is there already, and pushed out by line feeds on the last row.
 * @returns the screen's contents afterwards
 */
function pushScrolled(
  pen: Pen,
  before: readonly (Row | null)[],
  scrolled: readonly Row[],
  { rows, blank }: { readonly rows: number; readonly blank: Row },
): readonly (Row | null)[] {
  let shown = before;
  for (let index = 0; index < scrolled.length; index += rows) {
    const portion = scrolled.slice(index, index + rows);
    for (const [row, line] of portion.entries()) renderRow(pen, row, shown[row] ?? null, line, blank);
    pen.scroll(portion.length);
    shown = [...shown.slice(portion.length), ...portion.map(() => blank)];
  }
  return shown;
}

/**
 * @param before null when the row's content is unknown: the row is erased, and only its contents are written
 * @param blank a row of plain blanks
 */
function renderRow(pen: Pen, row: number, before: Row | null, line: Row, blank: Row): void {
  if (before === line) return;
  const erases = before === null && pen.canErase(plainStyle);
  if (erases) pen.eraseFrom(row, 0, plainStyle);
  const shown = erases ? blank : before;
  const end = findBlankTail(line);
  const changed = (col: number) => shown === null || !sameCell(line[col] ?? plainBlank, shown[col]);
  let col = 0;
  while (col < line.length) {
    if (line[col] === shown?.[col] || !changed(col)) {
      col++;
      continue;
    }
    const [from, to] = findChangedSpan(line, shown, col, changed, pen.caps.widths.eastAsian);
    // Blanks up to the row's end are erased, not written, so that they are not copied from the terminal.
    const erase = to > end && pen.canErase(line[end]?.style ?? plainStyle);
    const last = erase ? Math.max(from, end) : to;
    for (let index = from; index < last; index++) pen.put(row, index, line[index] ?? plainBlank);
    if (erase) {
      pen.eraseFrom(row, last, line[end]?.style ?? plainStyle);
      return;
    }
    col = to;
  }
}

/** The changed cells around a column, extended to whole characters on both sides and over short unchanged gaps. */
function findChangedSpan(
  line: Row,
  shown: Row | null,
  col: number,
  changed: (col: number) => boolean,
  eastAsian: boolean,
): readonly [number, number] {
  let from = col;
  while (from > 0 && (line[from]?.width === 0 || shown?.[from]?.width === 0)) from--;
  let to = col + 1;
  let gap = 0;
  let isDisputed = false;
  for (let index = from; index < line.length; index++) {
    if (index < to || changed(index)) {
      // This character may have been drawn too wide or too narrow: the cells right of it may be wrong.
      isDisputed ||= hasDisputedWidth(line[index], eastAsian) || hasDisputedWidth(shown?.[index], eastAsian);
      to = Math.max(to, index + 1);
      gap = 0;
    } else if (!isDisputed && ++gap > MAX_GAP) break;
    if (isDisputed) return [from, line.length];
  }
  while (to < line.length && (line[to]?.width === 0 || shown?.[to]?.width === 0)) to++;
  return [from, to];
}

function hasDisputedWidth(cell: Cell | undefined, eastAsian: boolean): boolean {
  return cell !== undefined && !hasAgreedWidth(cell.text, eastAsian);
}

/** First column from which the row is blank in one style that erasing can produce. */
function findBlankTail(line: Row): number {
  const last = line.at(-1);
  if (last === undefined) return 0;
  const { style } = last;
  // Erasing keeps the background alone.
  if (last.text !== " " || style.fg !== null || style.flags !== 0 || style.link !== null) return line.length;
  let at = line.length;
  while (at > 0 && (line[at - 1] === last || isBlankIn(line[at - 1], style))) at--;
  return at;
}

function isBlankIn(cell: Cell | undefined, style: Style): boolean {
  return cell !== undefined && cell.text === " " && sameStyle(cell.style, style);
}

function cleanTitle(title: string): string {
  return title.replace(/[\p{Cc}\p{Cs}\u2028-\u202e\u2066-\u2069]/gu, "").slice(0, MAX_TITLE_CHARS);
}

function clipboardSequence({ selection, base64 }: { readonly selection: string; readonly base64: string }): string {
  const isValid = /^[cpqs0-7]{0,8}$/.test(selection) && /^[A-Za-z0-9+/]*={0,2}$/.test(base64);
  return isValid && base64.length <= MAX_CLIPBOARD_CHARS ? `\x1b]52;${selection};${base64}\x1b\\` : "";
}
