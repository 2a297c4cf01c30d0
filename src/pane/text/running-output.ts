/**
 * A running command's output so far. Lines are taken as history drops them; the rest is read from screen and history on
 * request. Memory is limited in bytes: lines between head and tail go to the overflow, except those printed while a
 * password was requested.
 */

import { trimSpaces } from "../../terminal/rows/row-text.ts";
import { Overprints } from "./overprints.ts";
import { HeadTail, type Overflow, type RetainedLines } from "./retained-lines.ts";
import type { RetiredLines, TerminalText, TextPosition } from "./text.ts";

/** Most times that a command asks for a password; after the last, everything counts as private. */
const MAX_PRIVATE = 64;

interface OpenLine {
  readonly id: number;
  readonly text: string;
  readonly isWithheld: boolean;
}

/** Output stored nowhere; also for readers, once the command has ended. */
export interface OutputGaps {
  /** Number of lines too long to be stored completely. */
  cutLines: number;
  /** Whether lines were printed while a password was requested. */
  isPrivate: boolean;
}

export class RunningOutput {
  readonly gaps: OutputGaps = { cutLines: 0, isPrivate: false };
  private readonly taken: HeadTail;
  /** Id of the next line to take. */
  private next: number;
  /** A line of which pieces have left history, while the rest may still follow. */
  private open: { readonly id: number; readonly text: string } | null = null;

  /** Lines that are kept out of the overflow, by id. */
  private readonly withheld: { readonly from: number; to: number }[] = [];
  private isPrivate = false;
  /** Output bytes parsed by the last chunk. */
  private parsed: number;
  private cutLine = -1;
  private readonly overprints: Overprints;
  /** Lines not taken when the end was reported, up to that end; null without a reported end. */
  private frozen: { readonly end: TextPosition; readonly rest: readonly OpenLine[] } | null = null;

  /** @param budget bytes to retain, half from the start and half from the end */
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
    if (lines.lineId(last) < this.next) return;
    // Past the head, complete lines are stored unchanged, except the last, of which a piece may follow.
    const isPlain = lines.areWhole && this.frozen === null && !this.isWithheld(lines.lineId(0), lines.lineId(last));
    if (isPlain && lines.lineId(0) >= this.next && lines.lineId(0) > this.start.line && this.taken.isPastHead) {
      this.closeLine();
      this.taken.pushAll(lines, last);
      this.next = lines.lineId(last);
      this.open = { id: this.next, text: lines.text(last) };
      return;
    }
    for (let index = 0; index <= last; index++)
      this.take(lines.lineId(index), lines.beginsLine(index), lines.text(index));
  }

  /** The output begins again at line `top`: lines already taken stay. */
  beginAt(top: number): void {
    if (this.open !== null && this.open.id < top) this.closeLine();
    this.open = null;
    this.start = { line: top, index: 0 };
    this.next = top;
  }

  /** The cursor may move up, or lines may move. Runs while output is parsed. */
  displacing(): void {
    if (this.frozen === null) this.overprints.displacing();
  }

  /** Whether its own lines, or lines above it, have changed since. */
  isPrintedOver(): boolean {
    return this.overprints.look();
  }

  /** Where the output begins. */
  get begin(): TextPosition {
    return this.start;
  }

  /** A chunk was parsed. @param isSecret the terminal hides input */
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

  /** All output up to `end` that is not in the overflow: lines taken, and lines still on the screen. */
  collect(end: TextPosition): RetainedLines {
    const { head, tail, omitted } = this.taken.all();
    return { head, tail: [...tail, ...this.remainingLines(end).map(({ text }) => text)], omitted };
  }

  /** The command ends at `end`, unless a later end is reported: a prompt may overwrite the current text. */
  freeze(end: TextPosition): void {
    this.frozen = null;
    this.frozen = { end, rest: this.rest(end) };
  }

  /** The reported end, which is not final. */
  get frozenAt(): TextPosition | null {
    return this.frozen?.end ?? null;
  }

  /** The complete lines above the cursor, or above the reported end, and the position after them. */
  completeLines(cursor: TextPosition): { readonly retained: RetainedLines; readonly end: TextPosition } {
    const { begin } = this;
    const { line } = this.frozenAt ?? cursor;
    if (line <= begin.line) return { retained: { head: [], tail: [], omitted: 0 }, end: begin };
    const end = { line, index: 0 };
    return { retained: this.collect(end), end };
  }

  /** The command has ended at `end`; returns the part retained in memory. The rest is in the overflow. */
  finish(end: TextPosition): RetainedLines {
    for (const { text, isWithheld } of this.remainingLines(end)) this.taken.push(text, isWithheld);
    return this.taken.close();
  }

  private remainingLines(end: TextPosition): readonly OpenLine[] {
    const { frozen, next } = this;
    return frozen === null ? this.rest(end) : frozen.rest.filter(({ id }) => id >= next);
  }

  /** Lines not taken so far. */
  private rest(end: TextPosition): OpenLine[] {
    const rest: OpenLine[] = [];
    const add = (id: number, text: string): void => void rest.push({ id, text, isWithheld: this.isWithheld(id, id) });
    const { start, open } = this;
    // A line of which history has only pieces is longer than the lines read here.
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
    // Text after the end belongs to a prompt.
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
    this.taken.push(trimSpaces(text), this.isWithheld(open.id, open.id));
    this.next = open.id + 1;
    this.open = null;
  }
}

/** Cuts a line much longer than a record to its beginning and end; not at every piece, since each cut copies it. */
function bounded(text: string, budget: number): string {
  return text.length <= 2 * budget ? text : text.slice(0, budget / 2) + text.slice(-budget / 4);
}
