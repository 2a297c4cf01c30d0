/**
 * The terminal model as the command domain reads it: cells become places in a line's text, and places that callers were
 * given (output cursors) are remembered, so that they can come back with them. Bounded: old places are thinned out.
 */
import type { Mark, Position, TerminalModel } from "../terminal/model.ts";
import type { RenderedLine, RetiredText, ShellMark, TerminalText, TextPosition } from "./exec-port.ts";

/** Places kept; when full, every other one of the older half goes. */
const MAX_PLACES = 4_096;
/** Bytes of output between two places that are noted without having been given to anybody. */
const NOTE_BYTES = 32_768;

type Model = Pick<
  TerminalModel,
  "offset" | "alternate" | "rows" | "firstLine" | "lastLine" | "position" | "text" | "screen"
>;

interface Place {
  readonly offset: number;
  readonly position: TextPosition;
}

export class ModelText implements TerminalText {
  /** Ascending. */
  private places: Place[] = [];

  /** @param nonce what the session's own marks are signed with; null without integration */
  constructor(
    private readonly model: () => Model,
    private readonly nonce: string | null,
  ) {}

  get offset(): number {
    return this.model().offset;
  }

  get alternate(): boolean {
    return this.model().alternate;
  }

  position(): TextPosition {
    return this.place(this.model().position());
  }

  screenTop(): number {
    const model = this.model();
    return Math.max(model.firstLine, model.position().line - model.rows + 1);
  }

  lastLine(): number {
    return this.model().lastLine;
  }

  lines(first: number, last: number): readonly RenderedLine[] {
    const { lines } = this.model().text({ line: first, col: 0 }, { line: last, col: Number.POSITIVE_INFINITY });
    return lines.map(({ id, line }) => ({ id, text: plain(line) }));
  }

  alternateRows(): readonly string[] {
    const model = this.model();
    return model.alternate ? model.screen("plain").lines.map(plain) : [];
  }

  positionAt(offset: number): TextPosition | null {
    let low = 0;
    let high = this.places.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.places[middle]?.offset ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return this.places[low - 1]?.position ?? null;
  }

  /** Notes where the output stands now and returns its offset: what callers get as their cursor. */
  cursor(): number {
    this.note(this.offset, this.position());
    return this.offset;
  }

  /** A chunk has been parsed. */
  chunk(): void {
    if (this.offset - (this.places.at(-1)?.offset ?? -NOTE_BYTES) >= NOTE_BYTES) this.cursor();
  }

  /** A mark as the domain takes it. Call while it is being parsed: the text before it is read. */
  mark(mark: Mark): ShellMark {
    const position = this.place(mark.position);
    this.note(mark.offset, position);
    return {
      kind: mark.kind,
      verified: this.nonce !== null && mark.nonce === this.nonce,
      exitCode: mark.exitCode,
      commandLine: mark.commandLine ?? null,
      offset: mark.offset,
      position,
    };
  }

  /** Text that leaves the hot window as the domain takes it. */
  retired(piece: { readonly id: number; readonly col: number; readonly text: string }): RetiredText {
    return { id: piece.id, begins: piece.col === 0, text: piece.text };
  }

  /** Where a cell of a line is in the line's text. Blanks at the end of what precedes it are counted by width. */
  private place({ line, col }: Position): TextPosition {
    if (col === 0) return { line, index: 0 };
    const before = this.model().text({ line, col: 0 }, { line, col }).lines[0];
    const text = before === undefined ? "" : plain(before.line);
    return { line, index: text.length + Math.max(0, col - Bun.stringWidth(text)) };
  }

  private note(offset: number, position: TextPosition): void {
    const last = this.places.at(-1);
    if (last !== undefined && offset < last.offset) return;
    if (last?.offset === offset) this.places.pop();
    this.places.push({ offset, position });
    if (this.places.length <= MAX_PLACES) return;
    const half = this.places.length >> 1;
    this.places = this.places.filter((_, n) => n >= half || n % 2 === 0);
  }
}

function plain(line: string | readonly { readonly text: string }[]): string {
  return typeof line === "string" ? line : line.map((span) => span.text).join("");
}
