/**
 * Builds a segment from the rows of one logical line.
 *
 * Owns arrays that every segment reuses: a flood makes a million segments a second. Text is kept as bytes
 * while every cell is one Latin-1 character, and becomes UTF-16 with the first cell that is not. At most
 * `MAX_EXTRAS` different extras are kept for one segment; further ones lose link and underline, not their
 * text. Call `clear` or `finish` before the next line.
 */
import type { LinkTable } from "../rows/hyperlinks.ts";
import { extraAt } from "../rows/row-text.ts";
import { type CellExtra, sameExtra } from "../rows/styles.ts";
import {
  BG_EXTENDED,
  BG_KEPT,
  BG_VISIBLE,
  CELL_WORDS,
  cellText,
  type StoredRow,
  simpleCode,
} from "../rows/xterm-row.ts";
import { RUN_WORDS, runExtra, runWord, type Segment } from "./segment.ts";

/** Maximum extras of one segment: their number has 8 bits in a run, with 0 for none. */
const MAX_EXTRAS = 255;
/** Maximum UTF-16 units stored per cell. */
const MAX_UNITS = 255;

export class SegmentBuilder {
  cells = 0;
  /** UTF-16 units so far; stored as bytes while all are Latin-1 and one a cell. */
  private length = 0;
  private bytes = Buffer.allocUnsafe(512);
  /** Whether some cell is not one Latin-1 character. */
  isWide = false;
  private wideText = new Uint16Array(512);
  private wideBytes = Buffer.from(this.wideText.buffer);
  private units = new Uint8Array(0);
  private runs = new Uint32Array(64);
  private runWords = 0;
  private extras: CellExtra[] = [];

  /** Adds the first `count` cells of a row. */
  add(row: StoredRow, count: number, links: LinkTable): void {
    if (!this.isWide) {
      this.reserve(count);
      const { bytes, length } = this;
      const data = row._data;
      let x = 0;
      for (; x < count; x++) {
        const code = simpleCode(data[x * CELL_WORDS] ?? 0, 256);
        if (code < 0) break;
        bytes[length + x] = code;
      }
      if (x === count) this.length += count;
      else this.widen();
    }
    if (this.isWide) this.addWide(row, count);
    this.addRuns(row, count, links);
    this.cells += count;
  }

  /** Adds ASCII characters in one style: `count` of `bytes` from `from` on, none when not positive. */
  addText(bytes: Uint8Array, from: number, count: number, fg: number, bg: number): void {
    if (count <= 0) return;
    this.reserve(count);
    const { bytes: target, length } = this;
    for (let index = 0; index < count; index++) target[length + index] = bytes[from + index] ?? 0;
    this.addStyled(count, fg, bg);
  }

  /** Adds unwritten cells. */
  addBlanks(count: number): void {
    if (count <= 0) return;
    this.reserve(count);
    this.bytes.fill(32, this.length, this.length + count);
    this.addStyled(count, 0, 0);
  }

  private reserve(count: number): void {
    if (this.bytes.length < this.length + count) this.bytes = Buffer.concat([this.bytes], 2 * (this.length + count));
  }

  private addStyled(count: number, fg: number, bg: number): void {
    const before = this.cells;
    this.length += count;
    this.cells += count;
    if (this.runWords === 0) {
      if (fg === 0 && bg === 0) return;
      if (before > 0) this.addRun(before, 0, 0, 0);
    }
    this.addRun(this.cells, fg >>> 0, (bg & BG_VISIBLE) >>> 0, 0);
  }

  /** From now on cells are not one byte each. */
  private widen(): void {
    this.isWide = true;
    if (this.wideText.length < this.length) this.growWide();
    for (let i = 0; i < this.length; i++) this.wideText[i] = this.bytes[i] ?? 0;
    if (this.units.length < this.cells) this.units = new Uint8Array(2 * this.cells);
    this.units.fill(1, 0, this.cells);
  }

  private growWide(): void {
    const wide = new Uint16Array(2 * (this.length + MAX_UNITS));
    wide.set(this.wideText);
    this.wideText = wide;
    this.wideBytes = Buffer.from(wide.buffer);
  }

  private addWide(row: StoredRow, count: number): void {
    if (this.units.length < this.cells + count) {
      const units = new Uint8Array(2 * (this.cells + count));
      units.set(this.units.subarray(0, this.cells));
      this.units = units;
    }
    for (let x = 0; x < count; x++) {
      if (this.wideText.length < this.length + MAX_UNITS) this.growWide();
      const { wideText } = this;
      const content = row._data[x * CELL_WORDS] ?? 0;
      const code = simpleCode(content, 0xd800);
      if (code >= 0) {
        wideText[this.length++] = code;
        this.units[this.cells + x] = 1;
        continue;
      }
      // A cell with more units than a byte counts is a pile of combining marks; the pile is cut, not the line.
      const text = cellText(row, x);
      const units = Math.min(text.length, MAX_UNITS);
      for (let k = 0; k < units; k++) wideText[this.length++] = text.charCodeAt(k);
      this.units[this.cells + x] = units;
    }
  }

  private addRuns(row: StoredRow, count: number, links: LinkTable): void {
    const data = row._data;
    const end = count * CELL_WORDS;
    let offset = 0;
    if (this.runWords === 0) {
      while (offset < end && data[offset + 1] === 0 && data[offset + 2] === 0) offset += CELL_WORDS;
      if (offset >= end) return;
      const plain = this.cells + offset / CELL_WORDS;
      if (plain > 0) this.addRun(plain, 0, 0, 0);
    }
    while (offset < end) {
      const fg = data[offset + 1] ?? 0;
      const bg = data[offset + 2] ?? 0;
      const x = offset / CELL_WORDS;
      const extra = (bg & BG_EXTENDED) === 0 ? 0 : this.extraIndex(extraAt(row, x, bg, links));
      offset += CELL_WORDS;
      if (extra === 0) while (offset < end && data[offset + 1] === fg && data[offset + 2] === bg) offset += CELL_WORDS;
      this.addRun(this.cells + offset / CELL_WORDS, fg, (bg & BG_KEPT) >>> 0, extra);
    }
  }

  private addRun(end: number, fg: number, bg: number, extra: number): void {
    const { runs } = this;
    const last = this.runWords - RUN_WORDS;
    if (last >= 0 && runs[last + 1] === fg && runs[last + 2] === bg && runExtra(runs[last] ?? 0) === extra) {
      runs[last] = runWord(end, extra);
      return;
    }
    if (runs.length < this.runWords + RUN_WORDS) {
      this.runs = new Uint32Array(2 * runs.length);
      this.runs.set(runs);
    }
    this.runs[this.runWords] = runWord(end, extra);
    this.runs[this.runWords + 1] = fg;
    this.runs[this.runWords + 2] = bg;
    this.runWords += RUN_WORDS;
  }

  private extraIndex(extra: CellExtra | null): number {
    if (extra === null) return 0;
    const index = this.extras.findLastIndex((other) => sameExtra(other, extra));
    if (index >= 0) return index + 1;
    if (this.extras.length >= MAX_EXTRAS) return 0;
    return this.extras.push(extra);
  }

  /** Number of relevant words of `styleRuns`: none if everything has the default style. */
  get styleWords(): number {
    return this.runWords;
  }

  get styleRuns(): Uint32Array {
    return this.runs;
  }

  /** Writes the text as Latin-1; it must not be wide. */
  copyText(target: Buffer, at: number): void {
    this.bytes.copy(target, at, 0, this.length);
  }

  finishText(): string {
    const { isWide, length } = this;
    return isWide ? this.wideBytes.toString("utf16le", 0, 2 * length) : this.bytes.toString("latin1", 0, length);
  }

  finishUnits(): Uint8Array | null {
    return this.isWide ? this.units.slice(0, this.cells) : null;
  }

  /** Returns the extras to their new owner. */
  finishExtras(): readonly CellExtra[] | null {
    return this.extras.length === 0 ? null : this.extras;
  }

  finish(id: number, offset: number): Segment {
    const segment: Segment = {
      id,
      offset,
      cells: this.cells,
      text: this.finishText(),
      units: this.finishUnits(),
      runs: this.runWords === 0 ? null : this.runs.slice(0, this.runWords),
      extras: this.finishExtras(),
    };
    this.clear();
    return segment;
  }

  clear(): void {
    this.isWide = false;
    this.length = 0;
    this.cells = 0;
    this.runWords = 0;
    if (this.extras.length > 0) this.extras = [];
  }
}
