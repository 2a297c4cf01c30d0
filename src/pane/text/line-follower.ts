/**
 * Follows a command's whole output, for a reader of every line: rendered text, each line once and complete, in order,
 * even if history drops it soon. Lines are passed on when the cursor has left them, or when they leave history within
 * their chunk; the rest follows at the command's end, up to the mark that the shell set there. It remembers only its
 * position and a line that is still being written.
 */

import { trimSpaces } from "../../terminal/rows/row-text.ts";
import type { RetiredLines, TerminalText, TextPosition } from "./text.ts";

/** Characters of one line that wait for its end; a longer line is passed on in pieces. */
const LONGEST_LINE = 65_536;

interface Reached {
  readonly line: number;
  readonly index: number;
  readonly settled: number;
  readonly pieces: string;
  readonly begun: boolean;
}

export class OutputFollower {
  private readonly text: TerminalText;
  private readonly print: (text: string) => void;
  /** The next line, and the index up to which it was passed on. */
  private line: number;
  private index: number;
  /** Cells of that line that were passed on as pieces while it was being written. */
  private settled = 0;
  /** Pieces of that line that history has dropped. */
  private pieces = "";
  /** Whether part of the line was passed on: it gets a newline, however it ends. */
  private begun = false;
  private out = "";
  /** The rest to print if the output ends at the last reported end, and the state to continue from otherwise. */
  private heldRest: { readonly text: string; readonly from: Reached } | null = null;

  /** @param print receives text in whole lines, except a line that is too long to wait for */
  constructor(text: TerminalText, start: TextPosition, print: (text: string) => void) {
    this.text = text;
    this.line = start.line;
    this.index = start.index;
    this.print = print;
  }

  /** History drops lines in the middle of a chunk. */
  retired(lines: RetiredLines): void {
    if (this.heldRest !== null || lines.count === 0 || lines.lineId(lines.count - 1) < this.line) return;
    for (let index = 0; index < lines.count; index++) {
      const id = lines.lineId(index);
      if (id < this.line) continue;
      if (id > this.line) this.turnTo(id);
      const piece = lines.text(index);
      this.pieces += piece.slice(this.index);
      this.index = Math.max(0, this.index - piece.length);
      this.begun = true;
      if (this.pieces.length > LONGEST_LINE) {
        this.out += this.pieces;
        this.pieces = "";
      }
    }
    this.flush();
  }

  /** A chunk has been parsed. */
  chunk(): void {
    if (this.heldRest !== null) return;
    const line = this.text.cursorLine;
    if (line > this.line) this.takeUntil(line);
    else if (line === this.line && this.text.cursorCell - this.settled > LONGEST_LINE) this.takeSettled();
    this.flush();
  }

  /** The part of an unfinished line that has left the screen. */
  private takeSettled(): void {
    const isFirst = this.settled === 0;
    const { text, end } = this.text.settled(this.line, this.settled);
    if (end === this.settled) return;
    this.settled = end;
    this.out += this.pieces + (isFirst ? text.slice(this.index) : text);
    this.pieces = "";
    this.begun = true;
    this.index = isFirst ? Math.max(this.index, text.length) : this.index + text.length;
  }

  /** The command ends at this position, unless another end follows: later text may be a prompt. */
  freeze(end: TextPosition): void {
    if (this.heldRest !== null) Object.assign(this, this.heldRest.from);
    const { line, index, settled, pieces, begun } = this;
    this.takeTo(end);
    this.heldRest = { text: this.out, from: { line, index, settled, pieces, begun } };
    this.out = "";
  }

  /** The command has ended at this position. */
  finish(end: TextPosition): void {
    if (this.heldRest === null) this.takeTo(end);
    else this.out = this.heldRest.text;
    this.flush();
  }

  private takeTo(end: TextPosition): void {
    this.takeUntil(end.line);
    if (end.line === this.line) {
      const left = this.text.lines(end.line, end.line).find(({ id }) => id === end.line);
      const rest = left?.text.slice(this.index, end.index) ?? "";
      this.pieces += rest;
      this.begun ||= rest !== "";
    }
    this.turnTo(end.line + 1);
  }

  private takeUntil(line: number): void {
    for (const { id, text } of this.text.lines(this.line, line - 1)) {
      if (id > this.line) this.turnTo(id);
      this.pieces += text.slice(this.index);
      this.begun = true;
    }
    if (line > this.line) this.turnTo(line);
  }

  /** The next output is in another line. */
  private turnTo(line: number): void {
    if (this.begun) this.out += `${trimSpaces(this.pieces)}\n`;
    this.pieces = "";
    this.begun = false;
    this.line = line;
    this.index = 0;
    this.settled = 0;
  }

  private flush(): void {
    if (this.out === "") return;
    const { out } = this;
    this.out = "";
    this.print(out);
  }
}
