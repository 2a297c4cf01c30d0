/**
 * A running command's output so far. Lines are taken as history drops them; the rest is read from screen and history on
 * request. Memory is limited in bytes: lines between head and tail go to the overflow, except those printed while a
 * password was requested.
 */

import { trimSpaces } from "../../terminal/rows/row-text.ts";
import { OverprintDetector } from "./overprints.ts";
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
  private readonly takenLines: HeadTail;
  /** Id of the next line to take. */
  private nextLineId: number;
  /** A line of which pieces have left history, while the rest may still follow. */
  private openLine: { readonly id: number; readonly text: string } | null = null;

  /** Lines that are kept out of the overflow, by id. */
  private readonly withheldRanges: { readonly from: number; to: number }[] = [];
  private isPrivate = false;
  /** Output bytes parsed by the last chunk. */
  private parsedOffset: number;
  private cutLine = -1;
  private readonly overprints: OverprintDetector;
  /** Lines not taken when the end was reported, up to that end; null without a reported end. */
  private reportedEnd: { readonly end: TextPosition; readonly rest: readonly OpenLine[] } | null = null;

  /** @param budget bytes to retain, half from the start and half from the end */
  constructor(
    private readonly text: TerminalText,
    private start: TextPosition,
    private readonly budget: number,
    overflow: Overflow | null = null,
  ) {
    this.takenLines = new HeadTail(budget, overflow);
    this.overprints = new OverprintDetector(text, start.line);
    this.nextLineId = start.line;
    this.parsedOffset = text.offset;
  }

  /** History drops lines. Runs per slice of a flood: lines that fall between head and tail are never read. */
  noteRetired(lines: RetiredLines): void {
    if (lines.count === 0) return;
    const last = lines.count - 1;
    if (lines.lineId(last) < this.nextLineId) return;
    // Past the head, complete lines are stored unchanged, except the last, of which a piece may follow.
    const isPlain =
      lines.areWhole && this.reportedEnd === null && !this.isWithheld(lines.lineId(0), lines.lineId(last));
    if (
      isPlain &&
      lines.lineId(0) >= this.nextLineId &&
      lines.lineId(0) > this.start.line &&
      this.takenLines.isPastHead
    ) {
      this.closeLine();
      this.takenLines.pushAll(lines, last);
      this.nextLineId = lines.lineId(last);
      this.openLine = { id: this.nextLineId, text: lines.text(last) };
      return;
    }
    for (let index = 0; index <= last; index++)
      this.takeLine(lines.lineId(index), lines.beginsLine(index), lines.text(index));
  }

  /** The output begins again at line `top`: lines already taken stay. */
  restartAt(top: number): void {
    if (this.openLine !== null && this.openLine.id < top) this.closeLine();
    this.openLine = null;
    this.start = { line: top, index: 0 };
    this.nextLineId = top;
  }

  /** The cursor may move up, or lines may move. Runs while output is parsed. */
  noteDisplacing(): void {
    if (this.reportedEnd === null) this.overprints.noteDisplacing();
  }

  /** Whether its own lines, or lines above it, have changed since. */
  isOverprinted(): boolean {
    return this.overprints.checkOverprinted();
  }

  /** Where the output begins. */
  get startPosition(): TextPosition {
    return this.start;
  }

  /** A chunk was parsed. @param isSecret the terminal hides input */
  noteChunk(isSecret: boolean): void {
    const { text, parsedOffset, withheldRanges } = this;
    this.parsedOffset = text.offset;
    if (!isSecret && !this.isPrivate) return;
    const from = text.lineAt(parsedOffset) ?? text.screenTop();
    const to = text.cursorLine;
    const last = withheldRanges.at(-1);
    if (last !== undefined && (this.isPrivate || withheldRanges.length === MAX_PRIVATE))
      last.to = Math.max(last.to, to);
    else withheldRanges.push({ from, to });
    this.isPrivate = isSecret;
    this.gaps.isPrivate = true;
  }

  /** All output up to `end` that is not in the overflow: lines taken, and lines still on the screen. */
  collect(end: TextPosition): RetainedLines {
    const { head, tail, omitted } = this.takenLines.retainedWithPending();
    return { head, tail: [...tail, ...this.remainingLines(end).map(({ text }) => text)], omitted };
  }

  /** The command ends at `end`, unless a later end is reported: a prompt may overwrite the current text. */
  noteReportedEnd(end: TextPosition): void {
    this.reportedEnd = null;
    this.reportedEnd = { end, rest: this.untakenLines(end) };
  }

  /** The reported end, which is not final. */
  get frozenAt(): TextPosition | null {
    return this.reportedEnd?.end ?? null;
  }

  /** The complete lines above the cursor, or above the reported end, and the position after them. */
  completeLines(cursor: TextPosition): { readonly retained: RetainedLines; readonly end: TextPosition } {
    const { startPosition } = this;
    const { line } = this.frozenAt ?? cursor;
    if (line <= startPosition.line) return { retained: { head: [], tail: [], omitted: 0 }, end: startPosition };
    const end = { line, index: 0 };
    return { retained: this.collect(end), end };
  }

  /** The command has ended at `end`; returns the part retained in memory. The rest is in the overflow. */
  finish(end: TextPosition): RetainedLines {
    for (const { text, isWithheld } of this.remainingLines(end)) this.takenLines.push(text, isWithheld);
    return this.takenLines.close();
  }

  private remainingLines(end: TextPosition): readonly OpenLine[] {
    const { reportedEnd, nextLineId } = this;
    return reportedEnd === null ? this.untakenLines(end) : reportedEnd.rest.filter(({ id }) => id >= nextLineId);
  }

  /** Lines not taken so far. */
  private untakenLines(end: TextPosition): OpenLine[] {
    const rest: OpenLine[] = [];
    const add = (id: number, text: string): void => void rest.push({ id, text, isWithheld: this.isWithheld(id, id) });
    const { start, openLine } = this;
    // A line of which history has only pieces is longer than the lines read here.
    const standing = this.text.lines(openLine?.id ?? this.nextLineId, end.line);
    if (openLine !== null && standing[0]?.id !== openLine.id && openLine.id < end.line) add(openLine.id, openLine.text);
    for (const { id, text } of standing) {
      const whole = id === openLine?.id && openLine.text.length > text.length ? openLine.text : text;
      const line = whole.slice(id === start.line ? start.index : 0, id === end.line ? end.index : undefined);
      if (id < end.line || line !== "") add(id, line);
    }
    return rest;
  }

  private isWithheld(from: number, to: number): boolean {
    return this.withheldRanges.some((range) => from <= range.to && to >= range.from);
  }

  private takeLine(id: number, begins: boolean, text: string): void {
    // Text after the end belongs to a prompt.
    if (id < this.nextLineId || (this.reportedEnd !== null && id > this.reportedEnd.end.line)) return;
    const { openLine } = this;
    if (openLine !== null && openLine.id === id && !begins) {
      const whole = openLine.text + text;
      if (whole.length > this.budget && this.cutLine !== id) {
        this.gaps.cutLines++;
        this.cutLine = id;
      }
      this.openLine = { id, text: cutLongLine(whole, this.budget) };
      return;
    }
    this.closeLine();
    this.openLine = { id, text };
  }

  private closeLine(): void {
    const { openLine, start } = this;
    if (openLine === null) return;
    const text = openLine.id === start.line ? openLine.text.slice(start.index) : openLine.text;
    this.takenLines.push(trimSpaces(text), this.isWithheld(openLine.id, openLine.id));
    this.nextLineId = openLine.id + 1;
    this.openLine = null;
  }
}

/** Cuts a line much longer than a record to its beginning and end; not at every piece, since each cut copies it. */
function cutLongLine(text: string, budget: number): string {
  return text.length <= 2 * budget ? text : text.slice(0, budget / 2) + text.slice(-budget / 4);
}
