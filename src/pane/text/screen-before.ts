/**
 * The normal screen at one moment, so that later changes are found by comparing text: a line that was overwritten from
 * its start is new from its start, wherever the cursor was.
 *
 * Screens of the cursors last issued to callers are stored, so a `since` counts exactly. Limited: the newest few, each
 * of limited size; an older cursor is only a position.
 */

import { trimBlanks } from "./retained-lines.ts";
import type { RenderedLine, ScreenBefore, TerminalText } from "./text.ts";

/** Cursors with stored screens: callers pass back the newest, and some store one for each thing they follow. */
const MAX_GIVEN = 16;
/** Characters of a stored screen: 50 rows of 160 columns. A larger one is not stored. */
const MAX_CHARACTERS = 8_192;

/** The present screen. Call between chunks. */
export function screenNow(text: TerminalText): ScreenBefore {
  const at = text.position();
  const last = Math.max(at.line, text.lastLine());
  const lines = new Map<number, string>();
  for (const line of text.lines(text.screenTop(), last)) {
    lines.set(line.id, line.id === at.line ? line.text.padEnd(at.index) : line.text);
  }
  const stood = at.index === 0 ? new Map<number, string>() : lines;
  return { offset: text.offset, at, lines, stood, last, rows: text.alternateRows() };
}

/** Whether a line shows something else than before. */
export function isNew(before: ScreenBefore, { id, text }: RenderedLine): boolean {
  const was = before.lines.get(id);
  return was === undefined || trimBlanks(was) !== text;
}

/** The new part of a line: text added after the former cursor, or all of a rewritten line. */
export function newPart(before: ScreenBefore, id: number, text: string): string {
  const was = before.lines.get(id);
  const { line, index } = before.at;
  if (id !== line || was === undefined) return text;
  return text.padEnd(index).startsWith(was.slice(0, index)) ? text.slice(index) : text;
}

/** Screens at the cursors that were given to callers. */
export class GivenCursors {
  private readonly given: ScreenBefore[] = [];

  constructor(private readonly text: TerminalText) {}

  /** The output so far, as a cursor for a caller. Call between chunks. */
  give(): number {
    const { given, text } = this;
    const { offset } = text;
    if (given.at(-1)?.offset === offset) return offset;
    const screen = screenNow(text);
    let size = 0;
    for (const line of screen.lines.values()) size += line.length;
    for (const row of screen.rows) size += row.length;
    if (size > MAX_CHARACTERS) return offset;
    given.push(screen);
    if (given.length > MAX_GIVEN) given.shift();
    return offset;
  }

  /** The screen when this cursor was given; null when it is not known. */
  at(offset: number): ScreenBefore | null {
    return this.given.findLast((screen) => screen.offset === offset) ?? null;
  }

  /** The lines from `top` on were erased: all text there is new now. */
  erased(top: number): void {
    for (const [n, screen] of this.given.entries()) this.given[n] = withoutLines(screen, top);
  }
}

export function withoutLines(screen: ScreenBefore, top: number): ScreenBefore {
  if (screen.last < top) return screen;
  const lines = new Map([...screen.lines].filter(([id]) => id < top));
  const at = screen.at.line < top ? screen.at : { line: top, index: 0 };
  return { ...screen, lines, last: top - 1, at };
}
