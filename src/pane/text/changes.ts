/**
 * A program's changes on the normal screen since one moment, and its output below: lines that differ now, and every
 * line after them. Lines that history drops meanwhile are stored first. A line is new completely, or from the cursor's
 * former position; never from a column that merely looked empty.
 */

import { trimSpaces } from "../../terminal/rows/row-text.ts";
import { HeadTail, type RetainedLines } from "./retained-lines.ts";
import { RunningOutput } from "./running-output.ts";
import { newPart, withoutLines } from "./screen-before.ts";
import type { RetiredLines, ScreenBefore, TerminalText, TextPosition } from "./text.ts";

interface NewLines {
  readonly retained: RetainedLines;
  /** Index of the line that continues the cursor's line; null when none does. */
  readonly cursor: number | null;
}

export class ScreenChanges {
  private before: ScreenBefore;
  /** Lines that were not there before. */
  private readonly linesBelow: RunningOutput;
  /** Lines that were there before and have left history. */
  private readonly droppedLines = new Map<number, string>();

  /** @param budget bytes to retain, half from the start and half from the end */
  constructor(
    private readonly text: TerminalText,
    before: ScreenBefore,
    private readonly budget: number,
  ) {
    this.before = before;
    this.linesBelow = new RunningOutput(text, { line: before.last + 1, index: 0 }, budget);
  }

  /** History drops lines. */
  noteRetired(lines: RetiredLines): void {
    const { last } = this.before;
    for (let index = 0; index < lines.count && lines.lineId(index) <= last; index++) {
      const id = lines.lineId(index);
      const begun = lines.beginsLine(index) ? "" : (this.droppedLines.get(id) ?? "");
      this.droppedLines.set(id, (begun + lines.text(index)).slice(0, this.budget));
    }
    this.linesBelow.noteRetired(lines);
  }

  /** Lines from `top` on were erased and will be printed again; later lines are read from their place. */
  noteErasedBelow(top: number): void {
    if (top > this.before.last) return;
    this.before = withoutLines(this.before, top);
    this.linesBelow.restartAt(top);
  }

  collect(end: TextPosition): NewLines {
    const all = new HeadTail(this.budget);
    const { lines, cursor } = this.changedLines(end);
    for (const line of lines) all.push(line);
    if (end.line > this.before.last) {
      const { head, tail, omitted } = this.linesBelow.collect(end);
      for (const line of head) all.push(line);
      all.skip(omitted);
      for (const line of tail) all.push(line);
    }
    return { retained: all.retained(), cursor };
  }

  /** Lines of the earlier screen that differ. A line that was only erased is a blank between others, else ignored. */
  private changedLines(end: TextPosition): { lines: string[]; cursor: number | null } {
    const { before, text, droppedLines: gone } = this;
    const [first] = before.lines.keys();
    if (first === undefined) return { lines: [], cursor: null };
    const standing = text.lines(first, Math.min(before.last, end.line));
    const now = new Map([...gone, ...standing.map((line): [number, string] => [line.id, line.text])]);
    const found: { id: number; part: string; appended: boolean }[] = [];
    for (const [id, was] of before.lines) {
      const line = now.get(id);
      if (line === undefined || id > end.line) continue;
      const cut = id === end.line ? trimSpaces(line.slice(0, end.index)) : line;
      if (cut === trimSpaces(was) || (cut === "" && id === end.line)) continue;
      const part = newPart(before, id, cut);
      found.push({ id, part, appended: part.length < cut.length || before.cursor.index === 0 });
    }
    const from = found.findIndex(({ part }) => part !== "");
    if (from === -1) return { lines: [], cursor: null };
    const shown = found.slice(from, found.findLastIndex(({ part }) => part !== "") + 1);
    const cursor = shown.findIndex(({ id, appended }) => appended && id === before.cursor.line);
    return { lines: shown.map(({ part }) => part), cursor: cursor === -1 ? null : cursor };
  }
}
