/**
 * What a running command has printed so far: from the place where it began, lines are taken as history drops them,
 * and the rest is read from screen and history on request. A cleared screen restarts it. Bounded by bytes.
 */

import { HeadTail, type KeptLines, trimBlanks } from "./kept-lines.ts";
import type { RetiredLines, TerminalText, TextPosition } from "./text.ts";

export class RunningOutput {
  private readonly taken: HeadTail;
  /** Id of the next line to take. */
  private next: number;
  /** A line of which pieces have left history, while the rest may still come. */
  private open: { readonly id: number; readonly text: string } | null = null;

  /** @param budget bytes kept, half from the start and half from the end */
  constructor(
    private readonly text: TerminalText,
    private start: TextPosition,
    private readonly budget: number,
  ) {
    this.taken = new HeadTail(budget);
    this.next = start.line;
  }

  /** History drops lines. Runs per slice of a flood: lines that fall between head and tail are never read. */
  retired(lines: RetiredLines): void {
    if (lines.count === 0) return;
    const last = lines.count - 1;
    if (lines.id(last) < this.next) return;
    // Past the head whole lines are kept as they are, except the last, of which a piece may follow.
    if (lines.whole && lines.id(0) >= this.next && lines.id(0) > this.start.line && this.taken.isPastHead) {
      this.closeLine();
      this.taken.pushAll(lines, last);
      this.next = lines.id(last);
      this.open = { id: this.next, text: lines.text(last) };
      return;
    }
    for (let index = 0; index <= last; index++) this.take(lines.id(index), lines.begins(index), lines.text(index));
  }

  /** The normal screen was erased and is rewritten from line `top` on. */
  erased(top: number): void {
    if (this.open !== null && this.open.id < top) this.closeLine();
    this.open = null;
    this.start = { line: top, index: 0 };
    this.next = top;
  }

  /** Where the output begins. */
  get begin(): TextPosition {
    return this.start;
  }

  /** All output up to `end`: what was taken, and what is still on the screen. */
  collect(end: TextPosition): KeptLines {
    const all = new HeadTail(this.budget);
    const taken = this.taken.kept();
    for (const line of taken.head) all.push(line);
    all.skip(taken.omitted);
    for (const line of taken.tail) all.push(line);
    const { start, open } = this;
    // A line of which only pieces are left in history is longer than what is read here.
    const standing = this.text.lines(open?.id ?? this.next, end.line);
    if (open !== null && standing[0]?.id !== open.id && open.id < end.line) all.push(open.text);
    for (const { id, text } of standing) {
      const whole = id === open?.id && open.text.length > text.length ? open.text : text;
      const line = whole.slice(id === start.line ? start.index : 0, id === end.line ? end.index : undefined);
      if (id < end.line || line !== "") all.push(line);
    }
    return all.kept();
  }

  private take(id: number, begins: boolean, text: string): void {
    if (id < this.next) return;
    const { open } = this;
    if (open !== null && open.id === id && !begins) {
      this.open = { id, text: bounded(open.text + text, this.budget) };
      return;
    }
    this.closeLine();
    this.open = { id, text };
  }

  private closeLine(): void {
    const { open, start } = this;
    if (open === null) return;
    this.taken.push(trimBlanks(open.id === start.line ? open.text.slice(start.index) : open.text));
    this.next = open.id + 1;
    this.open = null;
  }
}

/** A line longer than a record keeps: its beginning and its end. */
function bounded(text: string, budget: number): string {
  return text.length <= budget ? text : text.slice(0, budget / 2) + text.slice(-budget / 4);
}
