/** Cursor movements in copy mode. Pure: from one position in the text to another. */
import type { CopyModeAction } from "../../keys/copy-table.ts";
import { isSeparator } from "../../protocol/word-separators.ts";
import { type CopyModeText, type Point, textOf, wordCharacter } from "./text.ts";

/** The position this many rows below (negative: above), in a row's preferred column if the row has it. */
export function moveByRows(text: CopyModeText, from: Point, rows: number, preferredCol: number): Point {
  let { line } = from;
  let row = text.rowOf(from) + rows;
  while (row < 0 && line > text.first) row += text.starts(--line).length;
  for (let count = text.starts(line).length; row >= count && line < text.last; count = text.starts(line).length) {
    row -= count;
    line++;
  }
  const starts = text.starts(line);
  const at = Math.max(0, Math.min(row, starts.length - 1));
  const begin = starts[at] ?? 0;
  const end = starts[at + 1] ?? text.cells(line).length;
  return text.wholeCellAt({ line, col: Math.min(begin + preferredCol, Math.max(begin, end - 1)) });
}

/** The column of a position in its row, kept when moving up and down. */
export function columnOf(text: CopyModeText, point: Point): number {
  return point.col - (text.starts(point.line)[text.rowOf(point)] ?? 0);
}

/** The cell before or after a position, across the ends of lines. */
function neighbouringCell(text: CopyModeText, { line, col }: Point, forth: boolean): Point {
  const cells = text.cells(line);
  if (forth) {
    const next = col + (cells[col]?.width === 2 ? 2 : 1);
    if (next < cells.length) return { line, col: next };
    return line < text.last ? { line: line + 1, col: 0 } : { line, col };
  }
  if (col > 0) return text.wholeCellAt({ line, col: col - 1 });
  return line > text.first ? text.wholeCellAt({ line: line - 1, col: Number.MAX_SAFE_INTEGER }) : { line, col };
}

type CharClass = "blank" | "word" | "other";

function charClassAt(text: CopyModeText, { line, col }: Point): CharClass {
  const cell = text.cells(line)[col]?.text ?? " ";
  if (cell.trim() === "") return "blank";
  return (isSeparator(cell) ?? !wordCharacter.test(cell)) ? "other" : "word";
}

/** Cells that a move by a word may cross: a line of any length, and blank ones after it. */
const MAX_CROSSED = 100_000;

/** @param spaces words are separated only by blanks */
function moveByWord(text: CopyModeText, from: Point, to: "back" | "forth" | "end", spaces = false): Point {
  const classAt = (point: Point): CharClass => {
    const kind = charClassAt(text, point);
    return spaces && kind === "other" ? "word" : kind;
  };
  const forth = to !== "back";
  let position = from;
  const step = (): boolean => {
    const next = neighbouringCell(text, position, forth);
    const moved = next.line !== position.line || next.col !== position.col;
    position = next;
    return moved;
  };
  const isSame = (other: Point, kind: CharClass): boolean => other.line === position.line && classAt(position) === kind;
  let crossed = 0;
  if (to === "forth") {
    const kind = classAt(position);
    for (const start = position; kind !== "blank" && isSame(start, kind) && crossed < MAX_CROSSED; crossed++)
      if (!step()) return position;
    while (classAt(position) === "blank" && crossed++ < MAX_CROSSED) if (!step()) return position;
    return position;
  }
  if (!step()) return position;
  while (classAt(position) === "blank" && crossed++ < MAX_CROSSED) if (!step()) return position;
  const kind = classAt(position);
  for (; crossed < MAX_CROSSED; crossed++) {
    const next = neighbouringCell(text, position, forth);
    const isEdge = next.line !== position.line || next.col === position.col;
    if (isEdge || classAt(next) !== kind) return position;
    position = next;
  }
  return position;
}

/** The next blank line before or after a position, skipping adjacent ones. */
function moveByParagraph(text: CopyModeText, { line }: Point, forth: boolean): Point {
  const step = forth ? 1 : -1;
  const isInside = (at: number): boolean => at > text.first && at < text.last;
  let at = line + step;
  while (isInside(at) && text.cells(at).length === 0) at += step;
  while (isInside(at) && text.cells(at).length > 0) at += step;
  return { line: Math.max(text.first, Math.min(text.last, at)), col: 0 };
}

/** The line of the command before or after a line; the line itself if there is none. */
export function moveByCommand(text: CopyModeText, line: number, forth: boolean, count: number): number {
  const lines = text.source.commands().map(({ first }) => Math.max(text.first, first - 1));
  const inside = lines.filter((each) => each >= text.first && each <= text.last);
  const ahead = forth ? inside.filter((each) => each > line) : inside.filter((each) => each < line).toReversed();
  return ahead[Math.min(count, ahead.length) - 1] ?? line;
}

/** The first letter of a line. */
function firstLetter(text: CopyModeText, line: number): Point {
  const plain = textOf(text.cells(line));
  const blanks = plain.length - plain.trimStart().length;
  return text.wholeCellAt({ line, col: blanks });
}

interface CursorMove {
  readonly from: Point;
  readonly count: number;
  /** The column that is kept when moving up and down. */
  readonly preferredCol: number;
  /** The first position of a displayed row. */
  rowStart(row: number): Point;
}

/** The position after an action that only moves; null: another action. */
export function moveBy(
  action: CopyModeAction,
  text: CopyModeText,
  { from, count, preferredCol, rowStart }: CursorMove,
): Point | null {
  const { line } = from;
  const { rows } = text.source;
  const repeat = (move: (at: Point) => Point): Point => {
    let position = from;
    for (let done = 0; done < count; done++) {
      const next = move(position);
      if (next.line === position.line && next.col === position.col) break;
      position = next;
    }
    return position;
  };
  switch (action) {
    case "up":
      return moveByRows(text, from, -count, preferredCol);
    case "down":
      return moveByRows(text, from, count, preferredCol);
    case "left":
      return repeat((at) => neighbouringCell(text, at, false));
    case "right":
      return repeat((at) => neighbouringCell(text, at, true));
    case "word_back":
      return repeat((at) => moveByWord(text, at, "back"));
    case "word_forth":
      return repeat((at) => moveByWord(text, at, "forth"));
    case "word_end":
      return repeat((at) => moveByWord(text, at, "end"));
    case "space_back":
      return repeat((at) => moveByWord(text, at, "back", true));
    case "space_forth":
      return repeat((at) => moveByWord(text, at, "forth", true));
    case "space_end":
      return repeat((at) => moveByWord(text, at, "end", true));
    case "line_start":
      return { line, col: 0 };
    case "line_first":
      return firstLetter(text, line);
    case "line_end":
      return text.lastLetter(line);
    case "view_top":
      return rowStart(0);
    case "view_middle":
      return rowStart(Math.floor((rows - 1) / 2));
    case "view_bottom":
      return rowStart(rows - 1);
    case "paragraph_back":
      return repeat((at) => moveByParagraph(text, at, false));
    case "paragraph_forth":
      return repeat((at) => moveByParagraph(text, at, true));
    default:
      return null;
  }
}

/** Rows that an action pages, for the given number of displayed rows; 0: another action. */
export function rowsPerPage(action: CopyModeAction, rows: number): number {
  const page = Math.max(1, rows - 2);
  const half = Math.max(1, Math.floor(rows / 2));
  return { page_up: -page, page_down: page, half_up: -half, half_down: half }[action as "page_up"] ?? 0;
}
