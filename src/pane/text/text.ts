/**
 * The rendered output of a pane as its commands and waits read it; the pane implements it over its emulator, tests over
 * plain data.
 *
 * Text is counted in logical lines (soft wraps joined) whose ids only grow, and in UTF-16 units within a line's text:
 * both are unchanged by a reflow. `offset` counts parsed output bytes and is the one clock.
 */

/** An output cursor with its position: a logical line, and a cell of it. */
export type CursorPlace = readonly [offset: number, line: number, col: number];

/** A position in the rendered output: the character at `index` of line `line`, or the place of the next one. */
export interface TextPosition {
  readonly line: number;
  readonly index: number;
}

export interface RenderedLine {
  readonly id: number;
  /** Without trailing blanks. */
  readonly text: string;
}

/** The normal screen at one moment. */
export interface ScreenBefore {
  /** Output parsed by then. */
  readonly offset: number;
  readonly cursor: TextPosition;
  /** Lines of the normal screen by id; the cursor's with the blanks before it. */
  readonly lines: ReadonlyMap<number, string>;
  /**
   * The same lines, including erased ones, if there was text before the cursor, for example a prompt: a
   * redrawn prompt is not new. Empty otherwise: a menu redrawn above an empty line is new.
   */
  readonly standingLines: ReadonlyMap<number, string>;
  /** The last of those lines: everything after it is new. */
  readonly last: number;
  /** Rows of the alternate screen; none while it was not shown. */
  readonly alternateRows: readonly string[];
  /** For a match's end: text of searched lines with which the next search begins. */
  readonly searchRest?: SearchRest;
}

export interface SearchRest {
  /** Number of the last overwritten text searched, and how far it was searched. */
  readonly lastOverwritten: number;
  readonly index: number;
  /** How far a row of the alternate screen was searched, if the match was there. */
  readonly row: { readonly y: number; readonly index: number } | null;
}

/**
 * The rendered output, read between chunks and at marks. Reading several lines walks the emulator's hot
 * window (~30 µs), so request them together.
 */
export interface TerminalText {
  /** Output bytes parsed since the pane began, counted from `start`. */
  readonly offset: number;
  /** The pane's lowest cursor: lower ones belong to another pane, except 0, which means the same. */
  readonly first: number;
  /** The offset before any output of this process: lower cursors were issued before the pane was lost. */
  readonly start: number;
  /** Whether the alternate screen is shown. */
  readonly alternate: boolean;
  /** Rows that have left a scroll region and are in no history; only grows. */
  readonly scrolledAway: number;
  /** Invalid UTF-8 parts of the output, shown as U+FFFD. */
  readonly replacedParts: number;
  /** Cursor on the normal screen (to which it returns from the alternate one). */
  position(): TextPosition;
  /** Line of the cursor, at no cost: `position` counts the characters before it, of which there may be megabytes. */
  readonly cursorLine: number;
  /** Cells of its line before the cursor, at no cost. */
  readonly cursorCell: number;
  /** Id of a line at or shortly above the top of the normal screen: older lines no longer change. */
  screenTop(): number;
  /** Id of the last line of the normal screen that was written, or the cursor's if that is lower. */
  lastLine(): number;
  /** Text of one logical line, trailing blanks cut; null when the line is not stored. Cheap for the cursor's. */
  line(id: number): string | null;
  /** The same from a cell on: the cost depends on the result. */
  lineFrom(id: number, cell: number): string;
  /** Logical lines of normal screen and history, from one id to another inclusive; the stored ones, in order. */
  lines(first: number, last: number): readonly RenderedLine[];
  /**
   * The part of a line that has left the screen and no longer changes: from a cell on, 0 or the end of an earlier
   * answer. Time and memory grow with the answer.
   */
  settledText(line: number, from: number): { readonly text: string; readonly end: number };
  /** Rows of the alternate screen from the top, soft wraps not joined; empty while the normal screen is shown. */
  alternateRows(): readonly string[];
  /** Cursor's place when `offset` bytes had been parsed, or the nearest earlier one known; null when too long ago. */
  positionAt(offset: number): TextPosition | null;
  /** Like positionAt, the line only. */
  lineAt(offset: number): number | null;
  /** The output so far as a cursor for a caller: the screen is stored for its `since`. Call between chunks. */
  issueCursor(): number;
  /** A cursor at a match's end, after another one: text after the match in the same piece of output is since it. */
  issueCursorAt(screen: Omit<ScreenBefore, "offset">, after: number): number;
  /** The screen at an issued cursor; null when it is not known. */
  screenAtCursor(offset: number): ScreenBefore | null;
}

/** Lines that history drops, in order: whole, or pieces of long ones. Texts are made on request. */
export interface RetiredLines {
  /** Lines and pieces; the indexes below count them from 0. */
  readonly count: number;
  /** Whether each of them begins its line. */
  readonly areWhole: boolean;
  lineId(index: number): number;
  /** Whether it begins its line; a piece that does not follows the one reported before. */
  beginsLine(index: number): boolean;
  text(index: number): string;
  /** Total characters of those from `from` to `to` (exclusive). */
  length(from: number, to: number): number;
  /** Those lines as UTF-8, each ended by CR LF or LF, when stored in that form; else null. */
  bytes(from: number, to: number): Uint8Array | null;
}
