/**
 * Bypassed lines: output of a flood of plain lines that the emulator has not parsed yet.
 *
 * Programs print faster than anyone reads, so most lines of a flood leave the screen and the hot window
 * unread. Plain ones (`plain-line.ts`) are kept here unparsed: the newest, enough to fill the screen and a
 * part of the hot window. Older ones go straight to history, after the emulator's own rows, which these lines
 * push out. The emulator parses the rest when a reader needs it or other output follows (`settle`). Its state
 * is then the same as if it had parsed them all, except for the oldest rows of its buffer, which are void.
 * Invariant: emulator, history and these lines together are the truth; a reader of any of them settles first.
 */
import type { Terminal } from "@xterm/headless";
import { HOT_ROWS, type HotWindow, ROWS_ABOVE } from "../history/hot-window.ts";
import { RawLines } from "../history/raw-lines.ts";
import type { Position } from "../marks.ts";
import type { ModeTracker } from "../modes.ts";
import { hasPlainPen, storedRow, usedCells } from "../rows/xterm-row.ts";
import { LineReader, MAX_LINE_BYTES, MAX_LINE_ROWS, rowCountOf, usedCellsOf } from "./plain-line.ts";

/** Least bytes of consecutive plain lines that count as a flood; below that the emulator is as quick. */
const MIN_RUN_BYTES = 2_048;
/** Fewer lines than this are packed one by one when they go to history. */
const MIN_RAW_LINES = 32;
/** Longer runs are split into several blocks: history reads and drops a block's lines one after another. */
const MAX_RAW_LINES = 512;

interface Batch {
  readonly bytes: Uint8Array;
  readonly starts: number[];
  readonly words: number[];
  readonly end: number;
  /** The oldest line that is not in history. */
  nextIndex: number;
}

const EMPTY = new Uint8Array(0);

export class BypassedLines {
  private readonly reader = new LineReader();
  private batches: Batch[] = [];
  /** The start of an unfinished line, and its cells. */
  private unfinishedLine: Uint8Array = EMPTY;
  private unfinishedCells = 0;
  /** The id of the first line taken, and how many were taken since. */
  private firstId = 0;
  private takenLines = 0;
  /** Rows of the lines in `batches`. */
  private rows = 0;
  /** Whether the rows in the emulator are already in history. */
  private areEmulatorRowsRetired = false;

  constructor(
    private readonly terminal: Terminal,
    private readonly modes: ModeTracker,
    private readonly hot: HotWindow,
    /** Feeds the emulator. */
    private readonly parse: (bytes: Uint8Array) => void,
  ) {}

  /** Whether the emulator has seen everything. */
  get isEmpty(): boolean {
    return this.takenLines === 0;
  }

  /** Position of the cursor; valid only while not empty. */
  get position(): Position {
    return { line: this.firstId + this.takenLines, col: this.unfinishedCells };
  }

  /** Takes plain lines that begin between `from` and `limit`; returns their end, or `from` if there are none. */
  takeLines(bytes: Uint8Array, from: number, limit: number): number {
    const fresh = this.isEmpty;
    if (fresh && (bytes.length - from < MIN_RUN_BYTES || !this.canBegin())) return from;
    let offset = from;
    if (this.unfinishedLine.length > 0) {
      offset = this.continueLine(bytes, from);
      if (this.unfinishedLine.length > 0 || offset === from) return offset;
    }
    const { reader } = this;
    const { cols } = this.terminal;
    const starts: number[] = [];
    const words: number[] = [];
    let rows = 0;
    while (offset < limit && reader.measure(bytes, offset, cols)) {
      starts.push(offset);
      words.push(reader.lineWord);
      rows += rowCountOf(reader.lineWord);
      offset = reader.end;
    }
    if (fresh) {
      if (offset - from < MIN_RUN_BYTES) return from;
      this.firstId = this.hot.position(this.terminal.buffer.normal.cursorY, 0).line;
    }
    if (starts.length > 0) this.addBatch({ bytes, starts, words, end: offset, nextIndex: 0 }, rows);
    if (offset < limit && reader.isUnfinished && reader.end > offset) {
      this.unfinishedLine = bytes.slice(offset, reader.end);
      this.unfinishedCells = reader.cells;
      offset = reader.end;
    }
    return offset;
  }

  /** Trims history to its limits as if the emulator had seen everything: call after every chunk. */
  trim(): void {
    if (this.isEmpty) this.hot.trim();
    else this.hot.trim(this.linesAbove());
  }

  /** Lines that begin above the screen and are not in history, once the emulator has seen everything. */
  private linesAbove(): number {
    const { terminal, batches } = this;
    let lines = 0;
    for (const { words, nextIndex } of batches) lines += words.length - nextIndex;
    // Rows of the screen available for the lines before the unfinished or next one.
    let left = terminal.rows - Math.max(1, Math.ceil(this.unfinishedCells / terminal.cols));
    for (let b = batches.length - 1; b >= 0 && left > 0; b--) {
      const { words, nextIndex } = batches[b] ?? { words: [], nextIndex: 0 };
      for (let index = words.length - 1; index >= nextIndex && left > 0; index--) {
        left -= rowCountOf(words[index] ?? 0);
        // If the screen's edge cuts a line, its first row is above it.
        if (left >= 0) lines--;
      }
    }
    if (this.areEmulatorRowsRetired) return lines;
    return lines + this.hot.linesBefore(terminal.buffer.normal.cursorY - Math.max(0, left));
  }

  /** Feeds the emulator the lines it has not parsed. */
  settle(): void {
    if (this.isEmpty) return;
    const { batches, unfinishedLine, areEmulatorRowsRetired, rows, capacity } = this;
    const [first] = batches;
    this.reset();
    if (areEmulatorRowsRetired && first !== undefined) {
      // Rows of the oldest line that the others push out.
      const over = rows - capacity;
      if (over > 0) this.retirePart(first, over * this.terminal.cols);
      for (const { bytes, starts, nextIndex, end } of batches) this.parse(bytes.subarray(starts[nextIndex], end));
      this.hot.markBypassed(capacity);
    } else {
      for (const batch of batches) this.parseLines(batch);
    }
    if (unfinishedLine.length > 0) {
      this.hot.prepare();
      this.parse(unfinishedLine);
    }
  }

  private reset(): void {
    this.batches = [];
    this.unfinishedLine = EMPTY;
    this.unfinishedCells = 0;
    this.takenLines = 0;
    this.rows = 0;
    this.areEmulatorRowsRetired = false;
  }

  /** Rows to retain above the cursor's row. A buffer that is not full must see every line that fills it. */
  private get capacity(): number {
    const { rows, buffer } = this.terminal;
    return rows - 1 + (buffer.normal.length < rows + HOT_ROWS ? HOT_ROWS : ROWS_ABOVE);
  }

  /** Whether plain lines only scroll the emulator: it is on the last row, which is empty, in its initial modes. */
  private canBegin(): boolean {
    const { terminal, modes } = this;
    const { active } = terminal.buffer;
    if (active.type !== "normal" || active.cursorX !== 0 || active.cursorY !== terminal.rows - 1) return false;
    if (!hasPlainPen(terminal) || !modes.isPlain) return false;
    const row = storedRow(active, active.baseY + active.cursorY);
    return !row.isWrapped && usedCells(row) === 0;
  }

  /** Continues the unfinished line; returns its end, or the end of its available part. */
  private continueLine(bytes: Uint8Array, from: number): number {
    const { unfinishedLine, reader } = this;
    const feed = bytes.indexOf(0x0a, from);
    const end = feed < 0 ? bytes.length : feed + 1;
    if (unfinishedLine.length + end - from > MAX_LINE_BYTES) return from;
    const line = Buffer.concat([unfinishedLine, bytes.subarray(from, end)]);
    if (reader.measure(line, 0, this.terminal.cols)) {
      const { lineWord } = reader;
      this.unfinishedLine = EMPTY;
      this.unfinishedCells = 0;
      this.addBatch(
        { bytes: line, starts: [0], words: [lineWord], end: line.length, nextIndex: 0 },
        rowCountOf(lineWord),
      );
      return end;
    }
    if (!reader.isUnfinished || reader.end <= unfinishedLine.length) return from;
    this.unfinishedLine = line.subarray(0, reader.end);
    this.unfinishedCells = reader.cells;
    return from + reader.end - unfinishedLine.length;
  }

  private addBatch(batch: Batch, rows: number): void {
    this.takenLines += batch.starts.length;
    this.rows += rows;
    this.batches.push(batch);
    this.retireBeyondCapacity();
    // A few lines must not keep the memory of a whole read.
    const { bytes, starts, words, end, nextIndex } = batch;
    const begin = starts[nextIndex] ?? end;
    if (this.batches.at(-1) !== batch || 2 * (end - begin) >= bytes.buffer.byteLength) return;
    const kept = starts.slice(nextIndex).map((start) => start - begin);
    this.batches[this.batches.length - 1] = {
      bytes: bytes.slice(begin, end),
      starts: kept,
      words: words.slice(nextIndex),
      end: end - begin,
      nextIndex: 0,
    };
  }

  /** Moves lines beyond the emulator's capacity to history. */
  private retireBeyondCapacity(): void {
    const { capacity } = this;
    for (let batch = this.batches[0]; batch !== undefined; batch = this.batches[0]) {
      const { words, nextIndex } = batch;
      let to = nextIndex;
      let rows = 0;
      for (; to < words.length; to++) {
        const height = rowCountOf(words[to] ?? 0);
        if (this.rows - rows - height < capacity) break;
        rows += height;
      }
      if (to > nextIndex && !this.areEmulatorRowsRetired) {
        this.hot.retireToCursor();
        this.areEmulatorRowsRetired = true;
      }
      this.rows -= rows;
      this.retire(batch, to);
      if (to < words.length) return;
      this.batches.shift();
    }
  }

  /** Moves the oldest lines of a batch, up to line `to`, into history. */
  private retire(batch: Batch, to: number): void {
    const { bytes, starts, words } = batch;
    const { cols } = this.terminal;
    for (let from = batch.nextIndex; from < to; from = batch.nextIndex) {
      if (to - from < MIN_RAW_LINES) {
        this.retirePart(batch, Number.POSITIVE_INFINITY);
        batch.nextIndex++;
        continue;
      }
      const until = Math.min(to, from + MAX_RAW_LINES);
      const kept = Uint32Array.from(words.slice(from, until));
      const end = starts[until] ?? batch.end;
      const lines = RawLines.copyFrom(
        this.hot.lastLine + 1,
        bytes,
        Uint32Array.from(starts.slice(from, until)),
        end,
        kept,
        cols,
      );
      this.hot.appendRaw(lines, usedCellsOf(words[until - 1] ?? 0));
      batch.nextIndex = until;
    }
  }

  /** Moves the first `cells` of the oldest line of a batch into history. */
  private retirePart({ bytes, starts, words, nextIndex }: Batch, cells: number): void {
    const count = Math.min(usedCellsOf(words[nextIndex] ?? 0), cells);
    this.hot.append(count, (builder) =>
      this.reader.pack(bytes, starts[nextIndex] ?? 0, this.terminal.cols, count, builder),
    );
  }

  /** In portions that have room: at most the rows of one line, within `MAX_SCROLL`. */
  private parseLines({ bytes, starts, words, end, nextIndex }: Batch): void {
    let from = starts[nextIndex] ?? end;
    let rows = 0;
    for (let index = nextIndex; index <= starts.length; index++) {
      const height = rowCountOf(words[index] ?? 0);
      const start = starts[index] ?? end;
      if (start === end || rows + height > MAX_LINE_ROWS) {
        this.hot.prepare();
        this.parse(bytes.subarray(from, start));
        from = start;
        rows = 0;
      }
      rows += height;
    }
  }
}
