/**
 * A terminal without a window: receives a program's bytes, and provides screens, lines, marks and answers.
 *
 * The interface for other folders, and readings of the emulator. The clock is `offset`, the number of output bytes
 * parsed. Output is taken in chunks that end at rest and are parsed at once, so code outside of the sink's callbacks,
 * or in `chunk`, sees a state that belongs to `offset`. The other callbacks run while a chunk is being parsed: they may
 * read only `position`, `title` and the like; the rest waits with `whenAtRest`.
 */
import type { Grid, Row } from "../protocol/grid.ts";
import type { LastingChange } from "../protocol/lasting-changes.ts";
import type { Format, Screen, Scrollback } from "../protocol/screen.ts";
import { Damage } from "./damage.ts";
import { Emulator } from "./emulator.ts";
import { segmentLine } from "./history/segment.ts";
import { type LineTest, type TextLine, type TextRange, Transcript } from "./history/transcript.ts";
import type { Position } from "./marks.ts";
import type { ModeTracker, TerminalModes } from "./modes.ts";
import type { TerminalOptions, TerminalSink } from "./options.ts";
import type { PictureSource } from "./pictures/picture.ts";
import type { TerminalProfile } from "./profile.ts";
import { rowCells, rowLine } from "./rows/row-text.ts";
import { countAbove, newestRows } from "./rows/rows-above.ts";
import { StyleTable } from "./rows/styles.ts";
import { markStale, type StoredRow, storedRow } from "./rows/xterm-row.ts";
import { hasDefaultTabs, serialize } from "./serialize.ts";
import type { StoredSource } from "./stored-text.ts";
import { classifier } from "./stream/client-filter.ts";
import { Intake } from "./stream/intake.ts";
import { LastingChanges } from "./stream/outer-state.ts";

export type { Attention } from "./attention.ts";
export type { ResetReason } from "./emulator.ts";
export { containing } from "./history/transcript.ts";
export type { Mark, Position } from "./marks.ts";
export type { TerminalSink } from "./options.ts";
export type { Chunk } from "./stream/intake.ts";

/** Rows that one scrollback query returns. */
const MAX_SCROLLBACK_LIMIT = 10_000;
/** xterm's smallest size. */
const MIN_COLS = 2;
const MIN_ROWS = 1;

interface GrepOptions {
  readonly from?: number;
  readonly to?: number;
  /** Maximum matches: the newest. */
  readonly limit: number;
  readonly format: Format;
}

const encoder = new TextEncoder();
const ERASE_ALL = encoder.encode("\x1b[2J\x1b[3J\x1b[H");

export class TerminalModel {
  /** Changes by programs to attached terminals that resetting modes does not undo. */
  readonly lastingChanges = new LastingChanges();
  private readonly emulator: Emulator;
  readonly intake: Intake;
  /** Reads lines of megabytes in parts. */
  readonly transcript: Transcript;
  private readonly styles = new StyleTable();
  private readonly damage = new Damage();
  private readonly hideTitles: boolean;
  private rowCache: { epoch: number; cells: Row }[] = [];
  private currentEpoch = 1;
  private isDisposed = false;

  constructor(
    options: TerminalOptions,
    private readonly sink: TerminalSink,
  ) {
    const [rows, cols] = [Math.max(MIN_ROWS, options.rows), Math.max(MIN_COLS, options.cols)];
    this.emulator = new Emulator({ ...options, rows, cols }, sink);
    this.transcript = new Transcript(this.emulator);
    this.hideTitles = options.hideTitles === true;
    const classify = classifier({
      ...options,
      hideClipboard: options.hideClipboard === true,
      hideTitles: this.hideTitles,
      changed: (change) => this.lastingChanges.note(change),
      effect: (effect) => sink.effect?.(effect),
    });
    const begin = { cols, firstOffset: options.firstOffset ?? 0 };
    this.intake = new Intake(classify, begin, {
      bypassLines: (bytes, from, limit) => this.emulator.bypassLines(bytes, from, limit),
      parse: (slice, end) => this.emulator.parse(slice, end),
      wantsRaw: () => this.sink.wantsRaw?.() === true,
      shift: (set) => this.emulator.modes.selectCharset(set),
      convertPicture: (text) => this.emulator.pictures.convert(text),
      chunk: (chunk) => {
        this.emulator.trim();
        this.currentEpoch++;
        this.sink.chunk(chunk);
      },
      crashed: (error) => this.sink.crashed?.(error),
    });
  }

  get rows(): number {
    return this.emulator.rows;
  }

  get cols(): number {
    return this.emulator.cols;
  }

  /** Output bytes parsed since the session began, counted from `firstOffset`. */
  get offset(): number {
    return this.intake.offset;
  }

  /** Changes whenever screen, cursor or size may have changed. */
  get epoch(): number {
    return this.currentEpoch;
  }

  get title(): string {
    return this.emulator.title;
  }

  get cwd(): string | null {
    return this.emulator.cwd;
  }

  get alternate(): boolean {
    return this.emulator.alternate;
  }

  /** Rows that have left a scroll region since the session began and are not in history. */
  get scrolledAway(): number {
    return this.emulator.scrolledAway;
  }

  /** Cursor of the displayed screen. */
  get cursor(): Screen["cursor"] {
    const { cursorX, cursorY } = this.emulator.terminal.buffer.active;
    return { row: cursorY, col: cursorX, visible: this.emulator.modes.cursorVisible };
  }

  get modes(): TerminalModes {
    return this.emulator.modes.modes;
  }

  /** Margins, tab stops and the cursor behind the alternate screen. */
  get screenGeometry(): ModeTracker["screenGeometry"] {
    return this.emulator.modes.screenGeometry;
  }

  /** Estimated bytes of history. */
  get historyBytes(): number {
    return this.emulator.history.bytes;
  }

  get profile(): TerminalProfile {
    return this.emulator.profile;
  }

  /** Null while its program has no pictures. */
  get pictures(): PictureSource | null {
    return this.emulator.pictures.source;
  }

  /** From now on answers describe another client's terminal. */
  setProfile(profile: TerminalProfile): void {
    this.emulator.setProfile(profile);
  }

  /**
   * Takes output. Up to 32 KB with nothing pending are parsed before this returns; the promise resolves when all is
   * parsed. The terminal owns the bytes from now on: it may change them, and chunks may share their memory.
   */
  write(bytes: Uint8Array): Promise<void> {
    return this.intake.write(bytes);
  }

  /** Runs `fn` between chunks: at once, unless a chunk is being parsed or an overlong sequence is open. */
  whenAtRest<T>(fn: () => T): Promise<T> {
    return this.intake.whenAtRest(fn);
  }

  /**
   * Loads saved lines into history, before any output.
   * @param lines styled text, each ended by CR LF
   * @param first number of the first line
   */
  loadLines(lines: Uint8Array, first: number): void {
    this.emulator.loadLines(lines, first);
    this.currentEpoch++;
  }

  /**
   * Changes the size; soft-wrapped lines of the normal screen are rewrapped.
   * @param redraws whether the program redraws the cursor's line, which is not rewrapped then
   */
  resize(rows: number, cols: number, redraws = false): Promise<void> {
    const height = Math.max(MIN_ROWS, rows);
    const width = Math.max(MIN_COLS, cols);
    return this.whenAtRest(() => {
      if (this.isDisposed || (height === this.rows && width === this.cols)) return;
      this.emulator.resize(height, width, redraws);
      this.intake.resize(width);
      this.currentEpoch++;
      this.sink.reset("resize");
    });
  }

  screen(format: Format): Screen {
    const { rows, cols } = this;
    const total = this.totalLines;
    return {
      epoch: this.currentEpoch,
      first_line_index: total - rows,
      total_lines: total,
      lines: Array.from({ length: rows }, (_, y) => rowLine(this.screenRow(y), format)),
      cursor: this.cursor,
      cols,
      rows,
      alternate_active: this.alternate,
    };
  }

  /** Rows of history and screen together, or of the alternate screen alone. */
  get totalLines(): number {
    return this.alternate ? this.rows : this.emulator.history.rows + this.emulator.hot.rows;
  }

  /** A part of history and screen (docs/protocol.md, Terminal data). A negative offset counts from the end. */
  scrollback(query: { readonly offset: number; readonly limit: number; readonly format: Format }): Scrollback {
    const { history, hot } = this.emulator;
    const total = this.totalLines;
    const offset = query.offset < 0 ? Math.max(0, total + query.offset) : query.offset;
    const end = Math.min(total, offset + Math.min(Math.max(0, query.limit), MAX_SCROLLBACK_LIMIT));
    const lines: Scrollback["lines"] = [];
    const packed = this.alternate ? 0 : history.rows;
    if (offset < packed) {
      for (const { segment, from, to } of history.rowsBetween(offset, Math.min(end, packed))) {
        lines.push(segmentLine(segment, from, to, query.format));
      }
    }
    for (let at = Math.max(offset, packed); at < end; at++) {
      lines.push(rowLine(this.alternate ? this.screenRow(at) : hot.row(at - packed), query.format));
    }
    return { epoch: this.currentEpoch, lines, total_lines: total, offset, first_line_id: this.firstLine };
  }

  /**
   * Switches off modes that programs left on, here and for clients. Call from the sink's `mark` between two
   * commands of the shell; it takes effect right after that mark.
   */
  resetModesAfterMark(): void {
    this.emulator.resetModesAfterSlice();
  }

  /** The shell runs a command: text from the cursor on, on the normal screen, is not its output. Call from `mark`. */
  markCommandStart(): void {
    const { emulator, rows } = this;
    emulator.modes.noteCommandStart();
    const { normal } = emulator.terminal.buffer;
    for (let y = normal.cursorY; y < rows; y++) {
      markStale(storedRow(normal, normal.baseY + y), y === normal.cursorY ? normal.cursorX : 0);
    }
  }

  /** Position of the cursor on the normal screen. */
  position(): Position {
    return this.emulator.position();
  }

  /** The oldest retained logical line. */
  get firstLine(): number {
    return this.transcript.firstLine;
  }

  /** The last logical line printed, or the cursor's if that is lower. */
  get lastLine(): number {
    const { normal } = this.emulator.terminal.buffer;
    let y = this.rows - 1;
    while (y > normal.cursorY && rowLine(storedRow(normal, normal.baseY + y), "plain") === "") y--;
    return this.emulator.hot.position(y, 0).line;
  }

  /** Logical lines from one position to another (exclusive) or to the end. */
  text(from: Position, to?: Position, format: Format = "plain"): TextRange {
    return this.transcript.range(from, to ?? { line: this.lastLine, col: Number.POSITIVE_INFINITY }, format);
  }

  /** The source for `storedLines` and `storedAlternate`. */
  get storedSource(): StoredSource {
    return this.emulator;
  }

  /** Text of a logical line, trailing blanks cut; null when the line is not retained. */
  lineText(id: number): string | null {
    return this.transcript.text(id);
  }

  /** The text of logical lines as displayed, oldest first. */
  lineTexts(from: number, to: number): Iterable<{ readonly id: number; readonly text: string }> {
    return this.transcript.texts(from, to);
  }

  /** The same as cells to paint. */
  lineCells(from: number, to: number): Iterable<{ readonly id: number; readonly cells: Row }> {
    return this.transcript.cells(from, to, this.styles);
  }

  /** UTF-16 units of its line before a position; cells past the written ones count as blanks. */
  unitsBefore(position: Position): number {
    return this.transcript.unitsBefore(position);
  }

  /** Start of the normal screen. */
  get screenTop(): Position {
    return this.emulator.hot.position(0, 0);
  }

  /** The newest logical lines that pass `test`, oldest first. `containing` creates a test for plain text. */
  grep(test: LineTest, { from, to, limit, format }: GrepOptions): TextLine[] {
    return this.transcript.search(test, from ?? 0, to ?? this.lastLine, limit, format);
  }

  /** The epoch at which a row of the screen was found changed; compare with the epoch last painted. */
  rowEpoch(row: number): number {
    this.damage.refresh(this.currentEpoch, this.rows, this.cols, (y) => this.screenRow(y));
    return this.damage.rowEpoch(row);
  }

  /** Rows of the screen that have changed after epoch `since`. */
  changedRows(since: number): number[] {
    const rows: number[] = [];
    for (let y = 0; y < this.rows; y++) if (this.rowEpoch(y) > since) rows.push(y);
    return rows;
  }

  /** A row of the screen to paint; the same object until the row changes. */
  cells(row: number): Row {
    const epoch = this.rowEpoch(row);
    const cached = this.rowCache[row];
    if (cached !== undefined && cached.epoch === epoch && cached.cells.length === this.cols) return cached.cells;
    const cells = rowCells(this.screenRow(row), this.cols, this.styles, this.emulator.links);
    this.rowCache[row] = { epoch, cells };
    return cells;
  }

  /** Rows from a former top of the normal screen to its top now, oldest first: the newest `limit`. */
  rowsAbove(since: Position, limit: number): Row[] {
    return this.newestRows(this.countAbove(since, limit));
  }

  /** The number of those rows. */
  countAbove(since: Position, limit: number): number {
    return countAbove(this.emulator, since, limit);
  }

  /** The newest `limit` rows above the normal screen, as they would be painted, oldest first. */
  newestRows(limit: number): Row[] {
    return newestRows(this.emulator, { limit, cols: this.cols, styles: this.styles });
  }

  grid(): Grid {
    const { rows, cols } = this;
    const { cursorX, cursorY } = this.emulator.terminal.buffer.active;
    const { cursorVisible: visible, cursorShape: shape, cursorBlink: blink } = this.modes;
    this.rowCache.length = Math.min(this.rowCache.length, rows);
    return {
      rows,
      cols,
      lines: Array.from({ length: rows }, (_, y) => this.cells(y)),
      cursor: { row: cursorY, col: Math.min(cursorX, cols - 1), visible, shape, blink },
    };
  }

  /** Changes made by `serialize` that survive a reset of all modes. */
  get serializedChanges(): readonly LastingChange[] {
    const { queries, modes, alternate, cols } = this.emulator;
    const { tabStops } = modes.bufferState(alternate ? "alternate" : "normal");
    return [
      ...(queries.colorSequences() === "" ? [] : (["colors"] as const)),
      ...(hasDefaultTabs(tabStops, cols) ? [] : (["tabs"] as const)),
    ];
  }

  /** Output that brings a freshly reset terminal of this size, cursor at home, to this state, after `history` rows. */
  serialize(options: { readonly history: number }): Uint8Array {
    const title = this.hideTitles ? "" : this.title;
    return encoder.encode(serialize(this.emulator, { historyRows: options.history, title }));
  }

  /**
   * Erases history and screen; modes are kept. On the alternate screen, the normal one and the rows just above it are
   * kept.
   */
  clear(): Promise<void> {
    return this.whenAtRest(() => {
      if (this.isDisposed) return;
      this.emulator.parse(ERASE_ALL, this.offset);
      this.emulator.history.clear();
      this.currentEpoch++;
    });
  }

  /** Modes that make the screen wrong if no program needs them. Read between chunks. */
  get disruptiveModes(): string[] {
    return this.emulator.disruptiveModes;
  }

  /**
   * Switches off modes that programs left on; call at rest.
   * @returns output for other terminals; null: nothing was left on
   */
  resetDisruptiveModes(isEditing: boolean): Uint8Array | null {
    const bytes = this.emulator.resetDisruptiveModes(isEditing);
    if (bytes !== null) this.currentEpoch++;
    return bytes;
  }

  dispose(): void {
    if (this.isDisposed) return;
    this.isDisposed = true;
    this.intake.dispose();
    this.emulator.dispose();
  }

  private screenRow(y: number): StoredRow {
    const buffer = this.emulator.terminal.buffer.active;
    return storedRow(buffer, buffer.baseY + y);
  }
}
