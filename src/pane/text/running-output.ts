/**
 * What a running command has printed so far: from the place where it began, lines are taken as history drops them,
 * and the rest is read from screen and history on request. Bounded by bytes; what falls
 * out between head and tail goes to the overflow, but for lines that were printed while a password was asked for.
 */

import { HeadTail, type KeptLines, type Overflow, trimBlanks } from "./kept-lines.ts";
import { Overprints } from "./overprints.ts";
import type { RetiredLines, TerminalText, TextPosition } from "./text.ts";

/** Times that a command asks for a password; after the last, everything counts as private. */
const MAX_PRIVATE = 64;

interface Line {
  readonly id: number;
  readonly text: string;
  readonly isWithheld: boolean;
}

/** What is kept nowhere; also for readers, once the command has ended. */
export interface OutputGaps {
  /** Lines that were too long to be kept whole. */
  cutLines: number;
  /** Lines were printed while a password was asked for. */
  isPrivate: boolean;
}

export class RunningOutput {
  readonly gaps: OutputGaps = { cutLines: 0, isPrivate: false };
  private readonly taken: HeadTail;
  /** Id of the next line to take. */
  private next: number;
  /** A line of which pieces have left history, while the rest may still come. */
  private open: { readonly id: number; readonly text: string } | null = null;

  /** Lines that do not go to the overflow, by id. */
  private readonly withheld: { readonly from: number; to: number }[] = [];
  private isPrivate = false;
  /** Output bytes parsed by the last chunk. */
  private parsed: number;
  private cutLine = -1;
  private readonly overprints: Overprints;
  /** What had not been taken at the place where the output ends, as it was then; null while no end was told. */
  private frozen: { readonly end: TextPosition; readonly rest: readonly Line[] } | null = null;

  /** @param budget bytes kept, half from the start and half from the end */
  constructor(
    private readonly text: TerminalText,
    private start: TextPosition,
    private readonly budget: number,
    overflow: Overflow | null = null,
  ) {
    this.taken = new HeadTail(budget, overflow);
    this.overprints = new Overprints(text, start.line);
    this.next = start.line;
    this.parsed = text.offset;
  }

  /** History drops lines. Runs per slice of a flood: lines that fall between head and tail are never read. */
  retired(lines: RetiredLines): void {
    if (lines.count === 0) return;
    const last = lines.count - 1;
    if (lines.id(last) < this.next) return;
    // Past the head whole lines are kept as they are, except the last, of which a piece may follow.
    const isPlain = lines.whole && this.frozen === null && !this.isWithheld(lines.id(0), lines.id(last));
    if (isPlain && lines.id(0) >= this.next && lines.id(0) > this.start.line && this.taken.isPastHead) {
      this.closeLine();
      this.taken.pushAll(lines, last);
      this.next = lines.id(last);
      this.open = { id: this.next, text: lines.text(last) };
      return;
    }
    for (let index = 0; index <= last; index++) this.take(lines.id(index), lines.begins(index), lines.text(index));
  }

  /** The output begins anew at line `top`: what was taken stays. */
  beginAt(top: number): void {
    if (this.open !== null && this.open.id < top) this.closeLine();
    this.open = null;
    this.start = { line: top, index: 0 };
    this.next = top;
  }

  /** The cursor may move up, or lines be moved. Runs while output is parsed. */
  displacing(): void {
    if (this.frozen === null) this.overprints.displacing();
  }

  /** Whether lines that it had printed, or that stood above it, were changed since. */
  isPrintedOver(): boolean {
    return this.overprints.look();
  }

  /** Where the output begins. */
  get begin(): TextPosition {
    return this.start;
  }

  /** A chunk was parsed. @param isSecret the terminal hides what is typed */
  chunk(isSecret: boolean): void {
    const { text, parsed, withheld } = this;
    this.parsed = text.offset;
    if (!isSecret && !this.isPrivate) return;
    const from = text.lineAt(parsed) ?? text.screenTop();
    const to = text.cursorLine;
    const last = withheld.at(-1);
    if (last !== undefined && (this.isPrivate || withheld.length === MAX_PRIVATE)) last.to = Math.max(last.to, to);
    else withheld.push({ from, to });
    this.isPrivate = isSecret;
    this.gaps.isPrivate = true;
  }

  /** All output up to `end` that is not in the overflow: what was taken, and what is still on the screen. */
  collect(end: TextPosition): KeptLines {
    const { head, tail, omitted } = this.taken.all();
    return { head, tail: [...tail, ...this.left(end).map(({ text }) => text)], omitted };
  }

  /** The command ends at `end`, unless it goes on to another: a prompt may be drawn over what stands now. */
  freeze(end: TextPosition): void {
    this.frozen = null;
    this.frozen = { end, rest: this.rest(end) };
  }

  /** Where it ends, unless it goes on. */
  get frozenAt(): TextPosition | null {
    return this.frozen?.end ?? null;
  }

  /** The complete lines above the cursor, or above the end that was told, and the place after them. */
  completeLines(cursor: TextPosition): { readonly kept: KeptLines; readonly end: TextPosition } {
    const { begin } = this;
    const { line } = this.frozenAt ?? cursor;
    if (line <= begin.line) return { kept: { head: [], tail: [], omitted: 0 }, end: begin };
    const end = { line, index: 0 };
    return { kept: this.collect(end), end };
  }

  /** The command has ended at `end`: what is kept of it in memory. The rest is in the overflow. */
  finish(end: TextPosition): KeptLines {
    for (const { text, isWithheld } of this.left(end)) this.taken.push(text, isWithheld);
    return this.taken.close();
  }

  private left(end: TextPosition): readonly Line[] {
    const { frozen, next } = this;
    return frozen === null ? this.rest(end) : frozen.rest.filter(({ id }) => id >= next);
  }

  /** What was not taken. */
  private rest(end: TextPosition): Line[] {
    const rest: Line[] = [];
    const add = (id: number, text: string): void => void rest.push({ id, text, isWithheld: this.isWithheld(id, id) });
    const { start, open } = this;
    // A line of which only pieces are left in history is longer than what is read here.
    const standing = this.text.lines(open?.id ?? this.next, end.line);
    if (open !== null && standing[0]?.id !== open.id && open.id < end.line) add(open.id, open.text);
    for (const { id, text } of standing) {
      const whole = id === open?.id && open.text.length > text.length ? open.text : text;
      const line = whole.slice(id === start.line ? start.index : 0, id === end.line ? end.index : undefined);
      if (id < end.line || line !== "") add(id, line);
    }
    return rest;
  }

  private isWithheld(from: number, to: number): boolean {
    return this.withheld.some((range) => from <= range.to && to >= range.from);
  }

  private take(id: number, begins: boolean, text: string): void {
    // What follows the end is a prompt's.
    if (id < this.next || (this.frozen !== null && id > this.frozen.end.line)) return;
    const { open } = this;
    if (open !== null && open.id === id && !begins) {
      const whole = open.text + text;
      if (whole.length > this.budget && this.cutLine !== id) {
        this.gaps.cutLines++;
        this.cutLine = id;
      }
      this.open = { id, text: bounded(whole, this.budget) };
      return;
    }
    this.closeLine();
    this.open = { id, text };
  }

  private closeLine(): void {
    const { open, start } = this;
    if (open === null) return;
    const text = open.id === start.line ? open.text.slice(start.index) : open.text;
    this.taken.push(trimBlanks(text), this.isWithheld(open.id, open.id));
    this.next = open.id + 1;
    this.open = null;
  }
}

/** A line much longer than a record keeps: its beginning and its end. Not at every piece: each copies all. */
function bounded(text: string, budget: number): string {
  return text.length <= 2 * budget ? text : text.slice(0, budget / 2) + text.slice(-budget / 4);
}
