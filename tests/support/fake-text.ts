/** Rendered output without an emulator. */
import type { TerminalText, TextPosition } from "../../src/pane/text/text.ts";

/** Lines of text with a cursor at their end; history is dropped on request. */
export class FakeText implements TerminalText {
  offset = 0;
  readonly first = 0;
  readonly start = 0;
  alternate = false;
  readonly scrolledAway = 0;
  readonly replacedParts = 0;
  shown: string[] = [""];
  /** Lines before this one are dropped. */
  forgotten = 0;

  print(text: string): void {
    this.offset += text.length;
    for (const [n, line] of text.split("\n").entries()) {
      if (n > 0) this.shown.push("");
      this.shown[this.shown.length - 1] += line;
    }
  }

  position(): TextPosition {
    return { line: this.shown.length - 1, index: this.shown.at(-1)?.length ?? 0 };
  }

  get cursorLine(): number {
    return this.position().line;
  }

  get cursorCell(): number {
    return this.position().index;
  }

  lineAt(): null {
    return null;
  }

  settledText(_: number, from: number) {
    return { text: "", end: from };
  }

  screenTop(): number {
    return Math.max(0, this.shown.length - 24);
  }

  lastLine(): number {
    return this.shown.length - 1;
  }

  line(id: number): string | null {
    return this.lines(id, id)[0]?.text ?? null;
  }

  lineFrom(id: number, cell: number): string {
    return (this.line(id) ?? "").slice(cell);
  }

  lines(first: number, last: number) {
    return this.shown
      .map((text, id) => ({ id, text: text.trimEnd() }))
      .filter(({ id }) => id >= Math.max(first, this.forgotten) && id <= last);
  }

  alternateRows(): readonly string[] {
    return [];
  }

  positionAt(): TextPosition | null {
    return null;
  }

  issueCursor(): number {
    return this.offset;
  }

  issueCursorAt(): number {
    return this.offset;
  }

  screenAtCursor(): null {
    return null;
  }
}
