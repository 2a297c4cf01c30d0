/**
 * A terminal without a window: bytes of a program in, screens, lines, marks and answers out.
 *
 * Owns the emulator and all that is read from it. The clock is `offset`, the output bytes parsed. Output is taken in
 * chunks that end at rest (`rest.ts`), parsed at once, so whatever is called between two callbacks of the sink sees a
 * state that belongs to `offset`. Long output is parsed in portions of a few milliseconds with the event loop in
 * between; writes queue behind each other. Parsing is synchronous: the sink must not read the screen from `mark`,
 * `reset` and the like, which come while a chunk is being parsed, but from `chunk` or `atRest`.
 * At the limit: an unfinished sequence waits up to 64 KiB, history forgets its oldest lines.
 */
import { UnicodeGraphemesAddon } from "@xterm/addon-unicode-graphemes";
import { Terminal } from "@xterm/headless";
import type { Format, Screen, Scrollback } from "../protocol/screen.ts";
import { type StoredRow, setPenLink, storedRow } from "./cells.ts";
import { Damage } from "./damage.ts";
import type { Grid, Row } from "./grid.ts";
import { History } from "./history.ts";
import { HOT_ROWS, HotWindow, type RetiredPiece } from "./hot.ts";
import { rowCells, rowLine, segmentLine } from "./lines.ts";
import { LinkTable } from "./links.ts";
import { type Mark, type MarkText, type Position, parseCommandMark, parseCwd, parsePromptMark } from "./marks.ts";
import { ModeTracker, type TerminalModes } from "./modes.ts";
import type { TerminalProfile } from "./profile.ts";
import { QueryResponder } from "./queries.ts";
import { RestScanner } from "./rest.ts";
import { classifier } from "./sequences.ts";
import { serialize } from "./serialize.ts";
import { StyleTable } from "./styles.ts";
import { type LineTest, type TextLine, type TextRange, Transcript } from "./transcript.ts";

export type { Mark, Position } from "./marks.ts";
export { containing } from "./transcript.ts";

/** An unfinished sequence that is longer than this is passed on as it is. */
const MAX_TAIL = 65_536;
/** A chunk is not longer than this, so that clients and the event loop get their turn: about 1.5 ms of parsing. */
const MAX_CHUNK = 32_768;
/** Parsing goes on for so long before the event loop runs. */
const PORTION_MS = 4;
/** Characters of a title. */
const MAX_TITLE = 4_096;
/** Characters of base64 that a program may put into the clipboard: 768 KiB of text. */
const MAX_CLIPBOARD = 1_048_576;
/** Rows that one scrollback query returns. */
const MAX_SCROLLBACK_LIMIT = 10_000;
/** xterm's smallest size. */
const MIN_COLS = 2;

export type ResetReason =
  | "alternate_screen_enter"
  | "alternate_screen_exit"
  | "resize"
  | "clear_screen"
  | "clear_scrollback"
  | "hard_reset";

export interface Chunk {
  /** Output bytes parsed so far. */
  readonly offset: number;
  /** What clients get: without queries and marks of ours. May share memory with what was written. */
  readonly bytes: Uint8Array;
}

export interface TerminalSink {
  /** Answers to queries, to be written to the PTY. */
  reply(bytes: Uint8Array): void;
  /** A chunk has been parsed. The terminal may be read. */
  chunk(chunk: Chunk): void;
  mark(mark: Mark): void;
  bell(): void;
  title(title: string): void;
  cwd(path: string): void;
  alternate(active: boolean): void;
  clipboard(selection: string, base64: string): void;
  reset(reason: ResetReason): void;
  /** Text has left the hot window for history; long lines come in pieces, with the cells before each. */
  retired?(piece: RetiredPiece): void;
  /** The normal screen was erased; what follows is printed at or after this position again. */
  erased?(top: Position): void;
}

export interface TerminalOptions {
  readonly rows: number;
  readonly cols: number;
  /** Rows kept above the screen. */
  readonly historyLines: number;
  readonly historyBytes: number;
  /** What our shell integration signs its marks with. */
  readonly nonce: string | null;
  readonly profile: TerminalProfile;
  /** Keep clipboard writes (OSC 52) from clients; they are reported to the sink all the same. */
  readonly hideClipboard?: boolean;
}

export interface GrepOptions {
  readonly from?: number;
  readonly to?: number;
  /** Matches kept, the newest. */
  readonly limit: number;
  readonly format: Format;
}

interface Waiting {
  readonly bytes: Uint8Array;
  readonly done: () => void;
}

const encoder = new TextEncoder();
const EMPTY = new Uint8Array(0);
const CANCEL = Uint8Array.of(0x18);

export class TerminalModel {
  private readonly terminal: Terminal;
  private readonly tracker: ModeTracker;
  private readonly queries: QueryResponder;
  private readonly links = new LinkTable();
  private readonly styles = new StyleTable();
  private readonly damage = new Damage();
  private readonly history: History;
  private readonly hot: HotWindow;
  private readonly transcript: Transcript;
  private readonly scanner: RestScanner;
  private rowCache: { epoch: number; cells: Row }[] = [];
  private profileNow: TerminalProfile;
  private tail: Uint8Array = EMPTY;
  private waiting: Waiting[] = [];
  private restWaiters: (() => void)[] = [];
  private running = false;
  private parsing = false;
  private muted = false;
  private disposed = false;
  private onAlternate = false;
  private parsed = 0;
  private markOffset = 0;
  private epochNow = 1;
  private titleNow = "";
  private cwdNow: string | null = null;

  constructor(
    options: TerminalOptions,
    private readonly sink: TerminalSink,
  ) {
    const { rows, cols } = options;
    this.profileNow = options.profile;
    this.terminal = new Terminal({
      rows: Math.max(1, rows),
      cols: Math.max(MIN_COLS, cols),
      scrollback: HOT_ROWS,
      allowProposedApi: true,
      logLevel: "off",
      windowOptions: {
        getWinSizePixels: true,
        getCellSizePixels: true,
        getWinSizeChars: true,
        pushTitle: true,
        popTitle: true,
      },
    });
    // Switches to Unicode 15 with grapheme clusters by itself.
    this.terminal.loadAddon(new UnicodeGraphemesAddon());
    this.history = new History(this.terminal.cols);
    this.hot = new HotWindow(
      this.terminal,
      this.history,
      this.links,
      { rows: options.historyLines, bytes: options.historyBytes },
      (piece) => this.sink.retired?.(piece),
    );
    this.transcript = new Transcript(this.history, this.hot);
    this.scanner = new RestScanner(
      classifier({ nonce: options.nonce, hideClipboard: options.hideClipboard === true }),
      this.terminal.cols,
    );
    this.tracker = new ModeTracker(this.terminal);
    const say = (text: string): void => this.sink.reply(encoder.encode(text));
    this.queries = new QueryResponder(this.terminal, this.tracker, () => this.profileNow, say);
    this.listen(say);
  }

  get rows(): number {
    return this.terminal.rows;
  }

  get cols(): number {
    return this.terminal.cols;
  }

  /** Output bytes parsed since the session began. */
  get offset(): number {
    return this.parsed;
  }

  /** Grows whenever screen, cursor or size may have changed. */
  get epoch(): number {
    return this.epochNow;
  }

  get title(): string {
    return this.titleNow;
  }

  /** As the shell last said (OSC 7). */
  get cwd(): string | null {
    return this.cwdNow;
  }

  get alternate(): boolean {
    return this.terminal.buffer.active.type === "alternate";
  }

  get modes(): TerminalModes {
    return this.tracker.modes;
  }

  /** Bytes that history holds, by estimate. */
  get historyBytes(): number {
    return this.history.bytes;
  }

  /** Answers from now on are those of another client's terminal. */
  setProfile(profile: TerminalProfile): void {
    this.profileNow = profile;
  }

  /**
   * Take output. Small writes are parsed before this returns; the promise resolves when all is.
   * The bytes are the terminal's from now on: they may be changed, and chunks may share their memory.
   */
  write(bytes: Uint8Array): Promise<void> {
    if (this.disposed) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.waiting.push({ bytes, done: resolve });
    if (!this.running) void this.run();
    return promise;
  }

  /** Run `fn` between chunks: at once, unless a chunk is being parsed or an overlong sequence is open. */
  atRest<T>(fn: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const run = (): void => {
      try {
        resolve(fn());
      } catch (error) {
        reject(error);
      }
    };
    if (this.parsing || this.scanner.inside) this.restWaiters.push(run);
    else run();
    return promise;
  }

  /** Change the size; soft-wrapped lines of the normal screen are wrapped anew. */
  resize(rows: number, cols: number): Promise<void> {
    const height = Math.max(1, rows);
    const width = Math.max(MIN_COLS, cols);
    return this.atRest(() => {
      if (this.disposed || (height === this.rows && width === this.cols)) return;
      this.hot.resize(width, height);
      this.tracker.resized();
      this.scanner.resize(width);
      this.epochNow++;
      this.sink.reset("resize");
    });
  }

  screen(format: Format): Screen {
    const { rows, cols } = this;
    const buffer = this.terminal.buffer.active;
    const total = this.totalLines;
    const lines = Array.from({ length: rows }, (_, y) => rowLine(this.screenRow(y), format));
    return {
      epoch: this.epochNow,
      first_line_index: total - rows,
      total_lines: total,
      lines,
      cursor: { row: buffer.cursorY, col: buffer.cursorX, visible: this.tracker.cursorVisible },
      cols,
      rows,
      alternate_active: this.alternate,
    };
  }

  /** Rows of history and screen together, or of the alternate screen alone. */
  get totalLines(): number {
    return this.alternate ? this.rows : this.history.rows + this.hot.rows;
  }

  /** Contract §5.4. A negative offset counts from the end. */
  scrollback(query: { readonly offset: number; readonly limit: number; readonly format: Format }): Scrollback {
    const total = this.totalLines;
    const offset = query.offset < 0 ? Math.max(0, total + query.offset) : query.offset;
    const end = Math.min(total, offset + Math.min(Math.max(0, query.limit), MAX_SCROLLBACK_LIMIT));
    const lines: Scrollback["lines"] = [];
    const packed = this.alternate ? 0 : this.history.rows;
    if (offset < packed) {
      for (const { segment, from, to } of this.history.rowsBetween(offset, Math.min(end, packed))) {
        lines.push(segmentLine(segment, from, to, query.format));
      }
    }
    for (let at = Math.max(offset, packed); at < end; at++) {
      lines.push(rowLine(this.alternate ? this.screenRow(at) : this.hot.row(at - packed), query.format));
    }
    return { epoch: this.epochNow, lines, total_lines: total, offset, first_line_id: this.firstLine };
  }

  /** Where the cursor is, on the normal screen. */
  position(): Position {
    const { cursorX, cursorY } = this.terminal.buffer.normal;
    return this.hot.position(cursorY, cursorX);
  }

  /** The oldest logical line that is left. */
  get firstLine(): number {
    return this.transcript.firstLine;
  }

  /** The logical line at the bottom of what was printed, or the cursor's if that is lower. */
  get lastLine(): number {
    const { normal } = this.terminal.buffer;
    let y = this.rows - 1;
    while (y > normal.cursorY && rowLine(storedRow(normal, normal.baseY + y), "plain") === "") y--;
    return this.hot.position(y, 0).line;
  }

  /** Logical lines from one position to another (exclusive) or to the end. */
  text(from: Position, to?: Position, format: Format = "plain"): TextRange {
    return this.transcript.range(from, to ?? { line: this.lastLine, col: Number.POSITIVE_INFINITY }, format);
  }

  /** Text of a logical line, trailing blanks cut; null when it is not kept. */
  line(id: number): string | null {
    return this.transcript.text(id);
  }

  /** UTF-16 units of its line before a position; cells past what was written count as blanks. */
  unitsBefore(position: Position): number {
    return this.transcript.unitsBefore(position);
  }

  /** The logical line at the top of the normal screen. */
  get screenTop(): number {
    return this.hot.position(0, 0).line;
  }

  /** The newest logical lines that pass `test`, oldest first. `containing` makes a test for plain text. */
  grep(test: LineTest, { from, to, limit, format }: GrepOptions): TextLine[] {
    return this.transcript.search(test, from ?? 0, to ?? this.lastLine, limit, format);
  }

  /** The epoch at which a row of the screen was found changed; compare with the epoch last painted. */
  rowEpoch(row: number): number {
    this.damage.refresh(this.epochNow, this.rows, this.cols, (y) => this.screenRow(y));
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
    const cells = rowCells(this.screenRow(row), this.cols, this.styles, this.links);
    this.rowCache[row] = { epoch, cells };
    return cells;
  }

  /** Where the screen begins on the normal screen. */
  get top(): Position {
    return this.hot.position(0, 0);
  }

  /** The newest rows between a place that was the top and the top of the normal screen now, oldest first, at most `limit`. */
  rowsAbove(since: Position, limit: number): Row[] {
    const { normal } = this.terminal.buffer;
    const rows: Row[] = [];
    for (let y = -1; rows.length < limit && y >= -this.hot.above; y--) {
      const at = this.hot.position(y, 0);
      if (at.line < since.line || (at.line === since.line && at.col < since.col)) break;
      rows.push(rowCells(storedRow(normal, normal.baseY + y), this.cols, this.styles, this.links));
    }
    return rows.reverse();
  }

  grid(): Grid {
    const { rows, cols } = this;
    const { cursorX, cursorY } = this.terminal.buffer.active;
    const { cursorVisible, cursorShape, cursorBlink } = this.tracker.modes;
    this.rowCache.length = Math.min(this.rowCache.length, rows);
    return {
      rows,
      cols,
      lines: Array.from({ length: rows }, (_, y) => this.cells(y)),
      cursor: {
        row: cursorY,
        col: Math.min(cursorX, cols - 1),
        visible: cursorVisible,
        shape: cursorShape,
        blink: cursorBlink,
      },
    };
  }

  /** Output that puts a freshly reset terminal of this size, its cursor at home, into this state, after `history` rows. */
  serialize(options: { readonly history: number }): Uint8Array {
    const { terminal, history, hot, links, tracker } = this;
    const source = { terminal, history, hot, links, modes: tracker, title: this.titleNow };
    return encoder.encode(serialize({ ...source, colors: this.queries.colorSequences() }, options.history));
  }

  /** Erase history and screen; modes stay. While the alternate screen is up, the normal one and what is just above it stay. */
  clear(): Promise<void> {
    return this.atRest(() => {
      if (this.disposed) return;
      this.feed(encoder.encode("\x1b[2J\x1b[3J\x1b[H"));
      this.history.clear();
      this.epochNow++;
    });
  }

  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    this.tracker.dispose();
    this.queries.dispose();
    this.terminal.dispose();
    for (const { done } of this.waiting.splice(0)) done();
    for (const waiter of this.restWaiters.splice(0)) waiter();
  }

  private screenRow(y: number): StoredRow {
    const buffer = this.terminal.buffer.active;
    return storedRow(buffer, buffer.baseY + y);
  }

  /** Parse what waits; runs synchronously until a portion is used up. */
  private async run(): Promise<void> {
    this.running = true;
    let began = performance.now();
    for (let next = this.waiting.shift(); next !== undefined; next = this.waiting.shift()) {
      const bytes = this.tail.length === 0 ? next.bytes : Buffer.concat([this.tail, next.bytes]);
      this.tail = EMPTY;
      for (let at = 0; at < bytes.length && !this.disposed; ) {
        const end = this.chunk(bytes, at);
        if (end === at) break;
        at = end;
        if (at < bytes.length && performance.now() - began > PORTION_MS) {
          await new Promise((resolve) => setImmediate(resolve));
          began = performance.now();
        }
      }
      next.done();
    }
    this.running = false;
  }

  /** Parse one chunk from `from` and report it; returns where it ended, `from` when it only left a tail. */
  private chunk(bytes: Uint8Array, from: number): number {
    this.parsing = true;
    const cuts: number[] = [];
    let at = from;
    while (at < bytes.length && at - from < MAX_CHUNK) {
      let slice = this.scanner.next(bytes, at);
      if (slice.end === at) {
        if (!slice.unfinished || bytes.length - at <= MAX_TAIL) {
          this.tail = bytes.subarray(at);
          break;
        }
        slice = this.scanner.force(bytes, at);
      }
      cuts.push(...slice.cuts);
      this.markOffset = this.parsed + (slice.end - from);
      this.parse(bytes.subarray(at, slice.end));
      if (slice.shift !== null) this.tracker.shiftTo(slice.shift);
      at = slice.end;
    }
    this.parsing = false;
    if (at === from) return bytes.length;
    this.hot.trim();
    this.parsed += at - from;
    this.epochNow++;
    this.sink.chunk({ offset: this.parsed, bytes: without(bytes, from, at, cuts) });
    if (!this.scanner.inside) for (const waiter of this.restWaiters.splice(0)) waiter();
    return this.tail.length > 0 ? bytes.length : at;
  }

  private parse(bytes: Uint8Array): void {
    const { inside, excessive } = this.scanner;
    if (this.muted) {
      this.muted = inside;
      return;
    }
    if (excessive) {
      this.muted = true;
      this.feed(CANCEL);
      return;
    }
    this.feed(bytes);
  }

  /**
   * The emulator parses at once what is written after input: with nothing queued before, `write` is synchronous.
   * Otherwise it would wait for a timer, 1 ms a write.
   */
  private feed(bytes: Uint8Array): void {
    this.hot.prepare();
    this.terminal.input("", true);
    this.terminal.write(bytes);
  }

  private listen(say: (text: string) => void): void {
    const { terminal, sink } = this;
    const { parser } = terminal;
    terminal.onData((data) => {
      if (data !== "") say(data);
    });
    terminal.onBell(() => sink.bell());
    terminal.onTitleChange((title) => this.setTitle(title));
    terminal.buffer.onBufferChange((buffer) => {
      const entered = buffer.type === "alternate";
      // RIS reports a change to the normal buffer even when it was active.
      if (!entered) this.hot.activated();
      if (entered === this.onAlternate) return;
      this.onAlternate = entered;
      if (!entered) this.tracker.leftAlternate();
      sink.alternate(entered);
      sink.reset(entered ? "alternate_screen_enter" : "alternate_screen_exit");
    });
    // The emulator would keep ten long titles on its stack.
    for (const number of [0, 1, 2]) {
      parser.registerOscHandler(number, (data) => {
        if (data.length <= MAX_TITLE) return false;
        if (number !== 1) this.setTitle(data);
        return true;
      });
    }
    parser.registerOscHandler(7, (data) => {
      const path = parseCwd(data);
      if (path !== null) {
        this.cwdNow = path;
        sink.cwd(path);
      }
      return true;
    });
    parser.registerOscHandler(8, (data) => this.hyperlink(data));
    parser.registerOscHandler(52, (data) => this.clipboard(data));
    parser.registerOscHandler(133, (data) => this.marked(parsePromptMark(data)));
    parser.registerOscHandler(633, (data) => this.marked(parseCommandMark(data)));
    parser.registerCsiHandler({ final: "J" }, (params) => this.erasing(params[0]));
    parser.registerEscHandler({ final: "c" }, () => {
      sink.erased?.(this.hot.position(0, 0));
      this.hot.retireAll();
      this.queries.reset();
      sink.reset("hard_reset");
      return false;
    });
  }

  private setTitle(title: string): void {
    const clean = title.slice(0, MAX_TITLE).replace(/\p{Cc}/gu, "");
    if (clean === this.titleNow) return;
    this.titleNow = clean;
    this.sink.title(clean);
  }

  private marked(text: MarkText | null): boolean {
    if (text !== null) this.sink.mark({ ...text, offset: this.markOffset, position: this.position() });
    return true;
  }

  /** `OSC 8 ; params ; target`: an empty target ends the link. */
  private hyperlink(data: string): boolean {
    const separator = data.indexOf(";");
    if (separator >= 0) {
      const target = data.slice(separator + 1).replace(/\p{Cc}/gu, "");
      setPenLink(this.terminal, target === "" ? 0 : this.links.add(target));
    }
    return true;
  }

  private clipboard(data: string): boolean {
    const separator = data.indexOf(";");
    const base64 = data.slice(separator + 1);
    if (separator >= 0 && base64 !== "?" && base64.length <= MAX_CLIPBOARD && /^[A-Za-z0-9+/=]*$/.test(base64)) {
      this.sink.clipboard(data.slice(0, separator).slice(0, 16), base64);
    }
    return true;
  }

  /** ED, before the emulator obeys it. */
  private erasing(what: number | number[] | undefined): boolean {
    const { active, normal } = this.terminal.buffer;
    const onNormal = active.type === "normal";
    const all = what === 2 || (what === 0 && onNormal && active.cursorX === 0 && active.cursorY === 0);
    if (all) {
      if (onNormal) this.sink.erased?.(this.hot.position(0, 0));
      this.sink.reset("clear_screen");
    }
    if (what === 3 && onNormal) {
      if (normal.baseY > 0) this.hot.retireAll();
      this.history.clear();
      this.sink.reset("clear_scrollback");
    }
    return false;
  }
}

/** The bytes from `from` to `to` without the ranges in `cuts` (pairs, ascending). */
function without(bytes: Uint8Array, from: number, to: number, cuts: readonly number[]): Uint8Array {
  if (cuts.length === 0) return bytes.subarray(from, to);
  const kept: Uint8Array[] = [];
  let at = from;
  for (let i = 0; i < cuts.length; i += 2) {
    const start = cuts[i] ?? to;
    if (start > at) kept.push(bytes.subarray(at, start));
    at = cuts[i + 1] ?? to;
  }
  if (at < to) kept.push(bytes.subarray(at, to));
  return kept.length === 1 ? (kept[0] ?? EMPTY) : Buffer.concat(kept);
}
