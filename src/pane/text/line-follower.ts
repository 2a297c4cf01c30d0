/**
 * Follows a command's whole output, for a reader of every line: rendered text, each line once and complete, in order,
 * even if history drops it soon. Lines are passed on when the cursor has left them, or when they leave history within
 * their chunk; the rest follows at the command's end, up to the mark that the shell set there. It remembers only its
 * position and a line that is still being written.
 */

import { trimSpaces } from "../../terminal/rows/row-text.ts";
import type { RetiredLines, TerminalText, TextPosition } from "./text.ts";

/** Characters of one line that wait for its end; a longer line is passed on in pieces. */
const MAX_PENDING_LINE = 65_536;

interface FollowerPosition {
  readonly nextLine: number;
  readonly passedIndex: number;
  readonly settledCells: number;
  readonly droppedPieces: string;
  readonly isLineBegun: boolean;
}

export class OutputFollower {
  private readonly text: TerminalText;
  private readonly print: (text: string) => void;
  /** The next line, and the index up to which it was passed on. */
  private nextLine: number;
  private passedIndex: number;
  /** Cells of that line that were passed on as pieces while it was being written. */
  private settledCells = 0;
  /** Pieces of that line that history has dropped. */
  private droppedPieces = "";
  /** Whether part of the line was passed on: it gets a newline, however it ends. */
  private isLineBegun = false;
  private pendingText = "";
  /** The rest to print if the output ends at the last reported end, and the state to continue from otherwise. */
  private heldRest: { readonly text: string; readonly from: FollowerPosition } | null = null;

  /** @param print receives text in whole lines, except a line that is too long to wait for */
  constructor(text: TerminalText, start: TextPosition, print: (text: string) => void) {
    this.text = text;
    this.nextLine = start.line;
    this.passedIndex = start.index;
    this.print = print;
  }

  /** History drops lines in the middle of a chunk. */
  noteRetired(lines: RetiredLines): void {
    if (this.heldRest !== null || lines.count === 0 || lines.lineId(lines.count - 1) < this.nextLine) return;
    for (let index = 0; index < lines.count; index++) {
      const id = lines.lineId(index);
      if (id < this.nextLine) continue;
      if (id > this.nextLine) this.moveToLine(id);
      const piece = lines.text(index);
      this.droppedPieces += piece.slice(this.passedIndex);
      this.passedIndex = Math.max(0, this.passedIndex - piece.length);
      this.isLineBegun = true;
      if (this.droppedPieces.length > MAX_PENDING_LINE) {
        this.pendingText += this.droppedPieces;
        this.droppedPieces = "";
      }
    }
    this.flush();
  }

  /** A chunk has been parsed. */
  noteChunk(): void {
    if (this.heldRest !== null) return;
    const line = this.text.cursorLine;
    if (line > this.nextLine) this.takeUntil(line);
    else if (line === this.nextLine && this.text.cursorCell - this.settledCells > MAX_PENDING_LINE) this.takeSettled();
    this.flush();
  }

  /** The part of an unfinished line that has left the screen. */
  private takeSettled(): void {
    const isFirst = this.settledCells === 0;
    const { text, end } = this.text.settledText(this.nextLine, this.settledCells);
    if (end === this.settledCells) return;
    this.settledCells = end;
    this.pendingText += this.droppedPieces + (isFirst ? text.slice(this.passedIndex) : text);
    this.droppedPieces = "";
    this.isLineBegun = true;
    this.passedIndex = isFirst ? Math.max(this.passedIndex, text.length) : this.passedIndex + text.length;
  }

  /** The command ends at this position, unless another end follows: later text may be a prompt. */
  freeze(end: TextPosition): void {
    if (this.heldRest !== null) Object.assign(this, this.heldRest.from);
    const { nextLine, passedIndex, settledCells, droppedPieces, isLineBegun } = this;
    this.takeTo(end);
    this.heldRest = {
      text: this.pendingText,
      from: { nextLine, passedIndex, settledCells, droppedPieces, isLineBegun },
    };
    this.pendingText = "";
  }

  /** The command has ended at this position. */
  finish(end: TextPosition): void {
    if (this.heldRest === null) this.takeTo(end);
    else this.pendingText = this.heldRest.text;
    this.flush();
  }

  private takeTo(end: TextPosition): void {
    this.takeUntil(end.line);
    if (end.line === this.nextLine) {
      const left = this.text.lines(end.line, end.line).find(({ id }) => id === end.line);
      const rest = left?.text.slice(this.passedIndex, end.index) ?? "";
      this.droppedPieces += rest;
      this.isLineBegun ||= rest !== "";
    }
    this.moveToLine(end.line + 1);
  }

  private takeUntil(line: number): void {
    for (const { id, text } of this.text.lines(this.nextLine, line - 1)) {
      if (id > this.nextLine) this.moveToLine(id);
      this.droppedPieces += text.slice(this.passedIndex);
      this.isLineBegun = true;
    }
    if (line > this.nextLine) this.moveToLine(line);
  }

  /** The next output is in another line. */
  private moveToLine(line: number): void {
    if (this.isLineBegun) this.pendingText += `${trimSpaces(this.droppedPieces)}\n`;
    this.droppedPieces = "";
    this.isLineBegun = false;
    this.nextLine = line;
    this.passedIndex = 0;
    this.settledCells = 0;
  }

  private flush(): void {
    if (this.pendingText === "") return;
    const { pendingText } = this;
    this.pendingText = "";
    this.print(pendingText);
  }
}
