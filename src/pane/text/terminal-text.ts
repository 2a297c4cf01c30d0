/**
 * The terminal's output as the command domain reads it: logical lines of text, and the terminal's cursor position at a
 * given output cursor. Positions are stored for the newest chunks and marks, as cells of a logical line, which no
 * reflow changes.
 */

import type { Format } from "../../protocol/screen.ts";
import type { TextRange } from "../../terminal/history/transcript.ts";
import type { Position, TerminalModel } from "../../terminal/model.ts";
import { IssuedCursors, isNewText, newPart } from "./screen-before.ts";
import type { CursorPlace, ScreenBefore, TerminalText, TextPosition } from "./text.ts";

/** Chunk ends and marks whose cursor is remembered: 64 MB of a flood, hours of typing; 48 KB. */
const MAX_REMEMBERED = 2_048;
/** Positions in a checkpoint: those of some forty commands; 4 KB before compression. */
const MAX_CHECKPOINT_POSITIONS = 128;

export class PaneText implements TerminalText {
  private readonly offsets = new Float64Array(MAX_REMEMBERED);
  private readonly lineIds = new Float64Array(MAX_REMEMBERED);
  private readonly cols = new Float64Array(MAX_REMEMBERED);
  /** Chunk ends noted so far; the newest is at (notedCount - 1) modulo MAX_REMEMBERED. */
  private notedCount = 0;
  /** The cursor's last computed position; null while a chunk with marks is parsed. */
  private cachedCursor: { readonly epoch: number; readonly cell: Position; readonly place: TextPosition } | null = null;

  private readonly issuedCursors = new IssuedCursors(this);

  readonly first: number;
  readonly start: number;

  /** @param before data of the lost pane: its lowest cursor, and some positions from then, in order */
  constructor(
    private readonly terminal: TerminalModel,
    before: { readonly first: number; readonly places: readonly CursorPlace[] } | null = null,
  ) {
    this.start = terminal.offset;
    this.first = before?.first ?? this.start;
    for (const [offset, line, col] of before?.places ?? []) this.notePosition(offset, { line, col });
  }

  get offset(): number {
    return this.terminal.offset;
  }

  get alternate(): boolean {
    return this.terminal.alternate;
  }

  get scrolledAway(): number {
    return this.terminal.scrolledAway;
  }

  get replacedParts(): number {
    return this.terminal.intake.invalidParts;
  }

  /** A chunk has been parsed. Runs per chunk. */
  noteChunk(): void {
    this.notePosition(this.terminal.offset, this.terminal.position());
  }

  /** Notes the cursor's position inside the chunk being parsed, such as at a mark; in order. */
  notePosition(offset: number, { line, col }: Position): void {
    const at = this.notedCount % MAX_REMEMBERED;
    this.offsets[at] = offset;
    this.lineIds[at] = line;
    this.cols[at] = col;
    this.notedCount++;
    this.cachedCursor = null;
  }

  /** Counting characters costs 30 µs (measured), and every key asks twice: before it, and after its echo. */
  position(): TextPosition {
    const { cachedCursor } = this;
    const { epoch } = this.terminal;
    const cell = this.terminal.position();
    if (cachedCursor?.epoch === epoch && cachedCursor.cell.line === cell.line && cachedCursor.cell.col === cell.col)
      return cachedCursor.place;
    const place = this.textPosition(cell);
    this.cachedCursor = { epoch, cell, place };
    return place;
  }

  get cursorLine(): number {
    return this.terminal.position().line;
  }

  get cursorCell(): number {
    return this.terminal.position().col;
  }

  textPosition(position: Position): TextPosition {
    return { line: position.line, index: this.terminal.unitsBefore(position) };
  }

  screenTop(): number {
    return this.terminal.screenTop.line;
  }

  lastLine(): number {
    return this.terminal.lastLine;
  }

  line(id: number): string | null {
    return this.terminal.lineText(id);
  }

  lineFrom(id: number, cell: number): string {
    return this.terminal.transcript.lineFrom(id, cell);
  }

  lines(first: number, last: number): readonly { readonly id: number; readonly text: string }[] {
    const { lines } = this.terminal.text({ line: first, col: 0 }, { line: last, col: Number.POSITIVE_INFINITY });
    return lines.map(({ id, line }) => ({ id, text: typeof line === "string" ? line : "" }));
  }

  settledText(line: number, from: number): { readonly text: string; readonly end: number } {
    return this.terminal.transcript.settledText(line, from);
  }

  alternateRows(): readonly string[] {
    if (!this.terminal.alternate) return [];
    return this.terminal.screen("plain").lines.filter((line) => typeof line === "string");
  }

  positionAt(offset: number): TextPosition | null {
    const place = this.cellPositionAt(offset);
    return place === null ? null : this.textPosition(place);
  }

  lineAt(offset: number): number | null {
    return this.cellPositionAt(offset)?.line ?? null;
  }

  screenAtCursor(offset: number): ScreenBefore | null {
    return this.issuedCursors.screenAt(offset);
  }

  issueCursor(): number {
    return this.issuedCursors.issueCursor();
  }

  issueCursorAt(screen: Omit<ScreenBefore, "offset">, after: number): number {
    const offset = this.noteWithin(screen.cursor, after);
    this.issuedCursors.storeScreen({ ...screen, offset });
    return offset;
  }

  /** The remembered positions for a checkpoint: the newest, where output first reached a line, and its end. */
  positionsForCheckpoint(): CursorPlace[] {
    const { line, col } = this.terminal.position();
    const places: CursorPlace[] = [[this.offset, line, col]];
    for (
      let noted = this.notedCount - 1;
      noted >= this.oldestNoted && places.length < MAX_CHECKPOINT_POSITIONS;
      noted--
    ) {
      const at = noted % MAX_REMEMBERED;
      const place: CursorPlace = [this.offsets[at] ?? 0, this.lineIds[at] ?? 0, this.cols[at] ?? 0];
      const isSameLine = places.length > 1 && places.at(-1)?.[1] === place[1];
      places.splice(isSameLine ? -1 : places.length, 1, place);
    }
    return places.reverse();
  }

  /** Lines from `top` on were erased and are printed again. */
  noteErased(top: number): void {
    this.issuedCursors.noteErased(top);
  }

  /**
   * Logical lines of the normal screen since an output cursor; lines no longer stored count as dropped. If the screen
   * at that cursor is known, its lines count if they have changed.
   */
  textSince(cursor: number, format: Format): TextRange {
    const { terminal } = this;
    const before = this.screenAtCursor(cursor);
    const from = this.cellPositionAt(cursor);
    if (before === null || from === null) {
      return terminal.text(from ?? { line: terminal.firstLine, col: 0 }, undefined, format);
    }
    const { cursor: index, last } = before;
    const top = Math.min(before.lines.keys().next().value ?? index.line, index.line);
    const fresh = new Set(this.lines(top, last).flatMap((line) => (isNewText(before, line) ? [line.id] : [])));
    const shown = this.line(index.line) ?? "";
    const isAppended =
      fresh.has(index.line) && index.line === from.line && newPart(before, index.line, shown) !== shown;
    const rest = isAppended ? terminal.text(from, { line: from.line + 1, col: 0 }, format).lines[0] : undefined;
    const all = terminal.text({ line: top, col: 0 }, undefined, format);
    const lines = all.lines.flatMap((line) => {
      if (line.id <= last && !fresh.has(line.id)) return [];
      return line.id === from.line && rest !== undefined ? [rest] : [line];
    });
    return { lines, dropped: all.dropped };
  }

  private get oldestNoted(): number {
    return Math.max(0, this.notedCount - MAX_REMEMBERED);
  }

  /** Like positionAt, in cells. */
  cellPositionAt(offset: number): Position | null {
    if (offset >= this.offset) return this.terminal.position();
    const after = this.firstAfter(offset);
    if (after === this.oldestNoted) return this.notedCount <= MAX_REMEMBERED ? { line: 0, col: 0 } : null;
    return this.notedPosition(after - 1);
  }

  private notedPosition(noted: number): Position {
    const at = noted % MAX_REMEMBERED;
    return { line: this.lineIds[at] ?? 0, col: this.cols[at] ?? 0 };
  }

  /** The first noted offset past this one. */
  private firstAfter(offset: number): number {
    let low = this.oldestNoted;
    let high = this.notedCount;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.offsets[middle % MAX_REMEMBERED] ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * Notes a place inside a chunk that was parsed, after a cursor. Its offset is unknown; one byte after the
   * place noted before it is never too late, since the text between them took at least one.
   */
  noteWithin({ line, index }: TextPosition, after: number): number {
    const place = { line, col: this.terminal.transcript.cellAt(line, index) };
    let at = this.firstAfter(after);
    while (at < this.notedCount && isBefore(this.notedPosition(at), place)) at++;
    const begin = Math.max(after, at > this.oldestNoted ? (this.offsets[(at - 1) % MAX_REMEMBERED] ?? 0) : 0);
    const end = at < this.notedCount ? (this.offsets[at % MAX_REMEMBERED] ?? 0) : this.offset;
    if (begin + 1 >= end) return end;
    for (let to = this.notedCount; to > at; to--) {
      for (const places of [this.offsets, this.lineIds, this.cols]) {
        places[to % MAX_REMEMBERED] = places[(to - 1) % MAX_REMEMBERED] ?? 0;
      }
    }
    this.offsets[at % MAX_REMEMBERED] = begin + 1;
    this.lineIds[at % MAX_REMEMBERED] = place.line;
    this.cols[at % MAX_REMEMBERED] = place.col;
    this.notedCount++;
    return begin + 1;
  }
}

function isBefore(place: Position, other: Position): boolean {
  return place.line < other.line || (place.line === other.line && place.col < other.col);
}
