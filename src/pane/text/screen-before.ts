/**
 * The normal screen at one moment, so that later changes are found by comparing text: a line that was overwritten from
 * its start is new from its start, wherever the cursor was.
 *
 * Screens of the cursors last issued to callers are stored, so a `since` counts exactly. Limited: the newest few, each
 * of limited size; an older cursor is only a position.
 */

import { trimSpaces } from "../../terminal/rows/row-text.ts";
import type { RenderedLine, ScreenBefore, TerminalText } from "./text.ts";

/** Cursors with stored screens: callers pass back the newest, and some store one for each thing they follow. */
const MAX_ISSUED = 16;
/**
 * Characters of the stored screens: each 50 rows of 160 columns, or fewer larger ones; none with a line of megabytes.
 */
const MAX_CHARACTERS = 131_072;

/** The current screen. Call between chunks. */
export function currentScreen(text: TerminalText): ScreenBefore {
  const position = text.position();
  const last = Math.max(position.line, text.lastLine());
  const lines = new Map<number, string>();
  for (const line of text.lines(text.screenTop(), last)) {
    lines.set(line.id, line.id === position.line ? line.text.padEnd(position.index) : line.text);
  }
  const standingLines = position.index === 0 ? new Map<number, string>() : lines;
  return { offset: text.offset, cursor: position, lines, standingLines, last, alternateRows: text.alternateRows() };
}

/** Whether a line's text differs from before. */
export function isNewText(before: ScreenBefore, { id, text }: RenderedLine): boolean {
  const was = before.lines.get(id);
  return was === undefined || trimSpaces(was) !== text;
}

/** The new part of a line: text added after the former cursor, or all of a rewritten line. */
export function newPart(before: ScreenBefore, id: number, text: string): string {
  const was = before.lines.get(id);
  const { line, index } = before.cursor;
  if (id !== line || was === undefined) return text;
  return text.padEnd(index).startsWith(was.slice(0, index)) ? text.slice(index) : text;
}

/** Screens at the cursors that were given to callers. */
export class IssuedCursors {
  private readonly screens: ScreenBefore[] = [];
  /** Total characters of these screens. */
  private storedChars = 0;

  constructor(private readonly text: TerminalText) {}

  /** The output so far, as a cursor for a caller. Call between chunks. */
  issueCursor(): number {
    const { screens: given, text } = this;
    const { offset } = text;
    const newest = given.at(-1);
    if (newest?.offset !== offset || newest.searchRest !== undefined) this.storeScreen(currentScreen(text));
    return offset;
  }

  storeScreen(screen: ScreenBefore): void {
    const { screens: given } = this;
    if (sizeOf(screen) > MAX_CHARACTERS) return;
    given.push(screen);
    this.storedChars += sizeOf(screen);
    while (given.length > MAX_ISSUED || this.storedChars > MAX_CHARACTERS) {
      for (const oldest of given.splice(0, 1)) this.storedChars -= sizeOf(oldest);
    }
  }

  /** The screen at this cursor; null when it is not known. */
  screenAt(offset: number): ScreenBefore | null {
    return this.screens.findLast((screen) => screen.offset === offset) ?? null;
  }

  /** The lines from `top` on were erased: all text there is new now. */
  noteErased(top: number): void {
    for (const [n, screen] of this.screens.entries()) this.screens[n] = withoutLines(screen, top);
    this.storedChars = this.screens.reduce((size, screen) => size + sizeOf(screen), 0);
  }
}

function sizeOf({ lines, alternateRows }: ScreenBefore): number {
  let size = 0;
  for (const line of lines.values()) size += line.length;
  for (const row of alternateRows) size += row.length;
  return size;
}

export function withoutLines(screen: ScreenBefore, top: number): ScreenBefore {
  if (screen.last < top) return screen;
  const lines = new Map([...screen.lines].filter(([id]) => id < top));
  const cursor = screen.cursor.line < top ? screen.cursor : { line: top, index: 0 };
  return { ...screen, lines, last: top - 1, cursor };
}
