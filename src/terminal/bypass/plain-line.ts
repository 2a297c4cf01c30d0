/**
 * Reads lines that look the same on every terminal: printable ASCII, default tab stops, colours, and a line end: CR
 * LF, or CR CR LF, which a file with CR LF line ends produces on a terminal. They begin and end in the default style
 * at the left edge, so that a flood of them can be counted and stored without an emulator (`bypass.ts`).
 *
 * `measure` decides and counts, once per byte of a flood; `pack` reads a measured line, for the few that are requested.
 * Invariants: `measure` stops at anything it does not recognise, and the emulator takes over from there; the words of a
 * style are, bit for bit, those xterm would store (`InputHandler.charAttributes`).
 */

import type { SegmentBuilder } from "../history/segment-builder.ts";
import { TAB_WIDTH } from "../modes.ts";
import {
  BG_FAINT,
  BG_ITALIC,
  COLOR_MODE,
  COLOR_PALETTE_16,
  COLOR_PALETTE_256,
  COLOR_RGB,
  COLOR_VALUE,
  FG_BLINK,
  FG_BOLD,
  FG_INVERSE,
  FG_INVISIBLE,
  FG_STRIKE,
} from "../rows/xterm-row.ts";

/** Longest plain line, in bytes; longer ones are rare and left to the emulator, and history stores them in pieces. */
export const MAX_LINE_BYTES = 4_096;
/** Maximum rows of a plain line, so that one line never scrolls more than a slice may (`slice-scanner.ts`). */
export const MAX_LINE_ROWS = 256;
/** No known SGR parameter is larger. */
const MAX_PARAM = 255;
/** xterm ignores parameters of one sequence past this many. */
const MAX_PARAMS = 32;

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const ESC = 0x1b;
const SPACE = 0x20;
const DEL = 0x7f;
const BRACKET = 0x5b;
const SEMICOLON = 0x3b;
const ZERO = 0x30;
const NINE = 0x39;
const ERASE = 0x4b;
const SGR = 0x6d;
/** A palette colour keeps the upper bits of the previous one, as in xterm. */
const PALETTE_BITS = COLOR_MODE | 0xff;
const COLOR_BITS = COLOR_MODE | COLOR_VALUE;
const BRIGHT = 8;

/** Parts of a style that `measure` needs, one bit each; 0 is the default style. */
const FG = 0x01;
const BG = 0x02;
const BOLD = 0x04;
const FAINT = 0x08;
const ITALIC = 0x10;
const BLINK = 0x20;
const INVERSE = 0x40;
const INVISIBLE = 0x80;
const STRIKE = 0x100;
const ALL_STYLES = 0x1ff;
/** For each SGR parameter: bits it sets, bits it unsets (the same, shifted), whether it is known or takes a colour. */
const UNSETS = 9;
const KNOWN_PARAMETER = 1 << 18;
const WANTS_COLOR = 1 << 19;
const SGR_EFFECTS = buildSgrEffects();

function buildSgrEffects(): Uint32Array {
  const table = new Uint32Array(MAX_PARAM + 1);
  const range = (from: number, to: number, effect: number): void => {
    table.fill(effect | KNOWN_PARAMETER, from, to + 1);
  };
  range(0, 0, ALL_STYLES << UNSETS);
  range(30, 37, FG);
  range(90, 97, FG);
  range(40, 47, BG);
  range(100, 107, BG);
  range(38, 38, FG | WANTS_COLOR);
  range(48, 48, BG | WANTS_COLOR);
  range(39, 39, FG << UNSETS);
  range(49, 49, BG << UNSETS);
  const single = { 1: BOLD, 2: FAINT, 3: ITALIC, 5: BLINK, 7: INVERSE, 8: INVISIBLE, 9: STRIKE };
  for (const [param, effect] of Object.entries(single)) table[Number(param)] = effect | KNOWN_PARAMETER;
  // Underlines are never set here (xterm stores them elsewhere), so 24 unsets nothing.
  const off = { 22: BOLD | FAINT, 23: ITALIC, 24: 0, 25: BLINK, 27: INVERSE, 28: INVISIBLE, 29: STRIKE };
  for (const [param, effect] of Object.entries(off)) table[Number(param)] = (effect << UNSETS) | KNOWN_PARAMETER;
  return table;
}

/** Bits of a line's word: cells to keep, rows, and whether it is only characters in the default style. */
const USED_BITS = 13;
const ROW_BITS = 12;
const USED_MASK = (1 << USED_BITS) - 1;
const ROWS_MASK = (1 << ROW_BITS) - 1;
const SIMPLE_BIT = 1 << (USED_BITS + ROW_BITS);

/** Cells of a line up to the last that shows something; rows except the last count whole. */
export function usedCellsOf(word: number): number {
  return word & USED_MASK;
}

/** Rows that a line takes. */
export function rowCountOf(word: number): number {
  return (word >>> USED_BITS) & ROWS_MASK;
}

/** Whether a line is one run of characters in the default style. */
export function isSimpleLine(word: number): boolean {
  return (word & SIMPLE_BIT) !== 0;
}

export class LineReader {
  /** The measured line's word; see `usedCellsOf` and the like. */
  lineWord = 0;
  /** End of the last measurement: after the line, or before bytes that are not plain. */
  end = 0;
  /**
   * Whether the measurement stopped at the end of the input, or in a sequence that continues there; everything before
   * is plain.
   */
  isUnfinished = false;
  /** Cells from the line's start to the cursor, when it is a part. */
  cells = 0;
  private fg = 0;
  private bg = 0;

  /** Measures the line at `from`, on a terminal of `cols` columns; true if it is plain, including its end. */
  measure(bytes: Uint8Array, from: number, cols: number): boolean {
    const limit = Math.min(bytes.length, from + MAX_LINE_BYTES);
    let i = from;
    while (i < limit) {
      const c = bytes[i] ?? 0;
      if (c < SPACE || c >= DEL) break;
      i++;
    }
    const end = bytes[i] === CR && bytes[i + 1] === CR ? i + 1 : i;
    if (bytes[end] !== CR || bytes[end + 1] !== LF) return this.measureStyled(bytes, from, limit, cols);
    const cells = i - from;
    if (cells > MAX_LINE_ROWS * cols) return this.stopAt(from);
    let used = i;
    while (used > from && bytes[used - 1] === SPACE) used--;
    this.lineWord = makeLineWord(cells, used - from, cols) | SIMPLE_BIT;
    this.end = end + 2;
    return true;
  }

  private measureStyled(bytes: Uint8Array, from: number, limit: number, cols: number): boolean {
    let cells = 0;
    let used = 0;
    /** Column; `cols` when the next character wraps. */
    let x = 0;
    let style = 0;
    let i = from;
    const room = Math.min(USED_MASK, MAX_LINE_ROWS * cols);
    this.isUnfinished = false;
    for (; i < limit; i++) {
      const c = bytes[i] ?? 0;
      if (c >= SPACE && c < DEL) {
        if (x === cols) {
          // A row that begins in a colour has it throughout.
          if ((style & BG) !== 0) return false;
          x = 0;
        }
        x++;
        cells++;
        if (c !== SPACE || style !== 0) used = cells;
      } else if (c === ESC) {
        if (i + 1 < limit && bytes[i + 1] !== BRACKET) return false;
        let value = 0;
        let color = 0;
        let wanted = 0;
        let params = 1;
        let offset = i + 2;
        for (; offset < limit; offset++) {
          const d = bytes[offset] ?? 0;
          if (d >= ZERO && d <= NINE) {
            value = value * 10 + d - ZERO;
            if (value > MAX_PARAM) return false;
            continue;
          }
          if (d === ERASE) {
            // Cells right of the cursor in a new row are already empty, unless the erasure would colour them.
            if (value !== 0 || bytes[offset - 1] === SEMICOLON || x === cols || (style & BG) !== 0) return false;
            if (offset > i + 3) return false;
            break;
          }
          if (color === 0) {
            const effect = SGR_EFFECTS[value] ?? 0;
            if (effect === 0) return false;
            if ((effect & WANTS_COLOR) !== 0) {
              color = effect & ALL_STYLES;
              wanted = -1;
            } else style = (style & ~(effect >>> UNSETS)) | (effect & ALL_STYLES);
          } else if (wanted < 0) {
            // 38;5;N or 38;2;R;G;B
            if (value !== 5 && value !== 2) return false;
            wanted = value === 5 ? 1 : 3;
          } else if (--wanted === 0) {
            style |= color;
            color = 0;
          }
          value = 0;
          if (d === SEMICOLON && ++params <= MAX_PARAMS) continue;
          if (d !== SGR || color !== 0) return false;
          break;
        }
        if (offset >= limit) break;
        i = offset;
      } else if (c === TAB) {
        const stop = nextTabStop(x, cols);
        cells += stop - x;
        x = stop;
      } else {
        const end = c === CR && bytes[i + 1] === CR ? i + 1 : i;
        if (c !== CR || style !== 0 || (end + 1 < limit && bytes[end + 1] !== LF)) return false;
        if (cells > room) return false;
        if (end + 1 < limit) {
          this.lineWord = makeLineWord(cells, used, cols);
          this.end = end + 2;
          return true;
        }
        cells -= x;
        i = end;
      }
    }
    this.end = i;
    this.cells = cells;
    this.isUnfinished = limit === bytes.length && cells <= room;
    return false;
  }

  private stopAt(at: number): boolean {
    this.end = at;
    this.isUnfinished = false;
    return false;
  }

  /** Packs the first `count` cells of a line that was measured for a terminal of `cols` columns. */
  pack(bytes: Uint8Array, from: number, cols: number, count: number, into: SegmentBuilder): void {
    this.fg = 0;
    this.bg = 0;
    let cells = 0;
    let x = 0;
    for (let i = from; cells < count; ) {
      const c = bytes[i] ?? 0;
      if (c === ESC) i = this.applySequence(bytes, i);
      else if (c === TAB) {
        const stop = nextTabStop(x, cols);
        into.addBlanks(Math.min(stop - x, count - cells));
        cells += stop - x;
        x = stop;
        i++;
      } else {
        const began = i;
        while (i - began < count - cells && (bytes[i] ?? 0) >= SPACE) i++;
        const length = i - began;
        if (length === 0) return;
        into.addText(bytes, began, length, this.fg, this.bg);
        cells += length;
        x = ((x + length - 1) % cols) + 1;
      }
    }
  }

  /** Applies the sequence at `at`; returns its end. */
  private applySequence(bytes: Uint8Array, offset: number): number {
    const params: number[] = [];
    let value = 0;
    for (let i = offset + 2; ; i++) {
      const c = bytes[i] ?? 0;
      if (c >= ZERO && c <= NINE) value = value * 10 + c - ZERO;
      else {
        params.push(value);
        value = 0;
        if (c === SEMICOLON) continue;
        if (c === SGR) for (let p = 0; p < params.length; ) p += this.applyParameter(params, p);
        return i + 1;
      }
    }
  }

  /** Applies the parameter at `at`; returns how many parameters it takes, including its colour. */
  private applyParameter(params: readonly number[], offset: number): number {
    const p = params[offset] ?? 0;
    if (p === 38 || p === 48) {
      const byNumber = params[offset + 1] === 5;
      const first = params[offset + 2] ?? 0;
      const rgb = (first << 16) | ((params[offset + 3] ?? 0) << 8) | (params[offset + 4] ?? 0);
      const before = p === 38 ? this.fg : this.bg;
      const color = byNumber
        ? paletteWord(before, COLOR_PALETTE_256, first)
        : (before & ~COLOR_VALUE) | COLOR_RGB | rgb;
      if (p === 38) this.fg = color;
      else this.bg = color;
      return byNumber ? 3 : 5;
    }
    if (p === 0) {
      this.fg = 0;
      this.bg = 0;
    } else if (p >= 30 && p <= 37) this.fg = paletteWord(this.fg, COLOR_PALETTE_16, p - 30);
    else if (p >= 40 && p <= 47) this.bg = paletteWord(this.bg, COLOR_PALETTE_16, p - 40);
    else if (p >= 90 && p <= 97) this.fg = paletteWord(this.fg, COLOR_PALETTE_16, (p - 90) | BRIGHT);
    else if (p >= 100) this.bg = paletteWord(this.bg, COLOR_PALETTE_16, (p - 100) | BRIGHT);
    else {
      const [fg, bg, sets] = ATTRIBUTES[p] ?? [0, 0, true];
      this.fg = sets ? this.fg | fg : this.fg & ~fg;
      this.bg = sets ? this.bg | bg : this.bg & ~bg;
    }
    return 1;
  }
}

/** Bits of the two words that a parameter sets or unsets. */
const ATTRIBUTES: Readonly<Record<number, readonly [fg: number, bg: number, sets: boolean]>> = {
  1: [FG_BOLD, 0, true],
  2: [0, BG_FAINT, true],
  3: [0, BG_ITALIC, true],
  5: [FG_BLINK, 0, true],
  7: [FG_INVERSE, 0, true],
  8: [FG_INVISIBLE, 0, true],
  9: [FG_STRIKE, 0, true],
  22: [FG_BOLD, BG_FAINT, false],
  23: [0, BG_ITALIC, false],
  25: [FG_BLINK, 0, false],
  27: [FG_INVERSE, 0, false],
  28: [FG_INVISIBLE, 0, false],
  29: [FG_STRIKE, 0, false],
  39: [COLOR_BITS, 0, false],
  49: [0, COLOR_BITS, false],
};

function paletteWord(before: number, mode: number, color: number): number {
  return (before & ~PALETTE_BITS) | mode | color;
}

/** The column to which a tab moves; the same one when the next character wraps. */
function nextTabStop(x: number, cols: number): number {
  return x === cols ? x : Math.min(x - (x % TAB_WIDTH) + TAB_WIDTH, cols - 1);
}

/** Rows except the last are full, whatever they contain. */
function makeLineWord(cells: number, used: number, cols: number): number {
  if (cells <= cols) return used | (1 << USED_BITS);
  const rows = Math.ceil(cells / cols);
  return Math.max(used, (rows - 1) * cols) | (rows << USED_BITS);
}
