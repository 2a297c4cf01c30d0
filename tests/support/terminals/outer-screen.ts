/**
 * An emulator in place of the person's terminal, read through its public interface only: cells, colours,
 * cursor and scrollback, to compare with the rendered frame.
 */
import { UnicodeGraphemesAddon } from "@xterm/addon-unicode-graphemes";
import { type IBufferCell, Terminal } from "@xterm/headless";
import type { Row } from "../../../src/protocol/grid.ts";
import {
  BLINK,
  BOLD,
  type Cell,
  FAINT,
  type Grid,
  INVERSE,
  INVISIBLE,
  ITALIC,
  OVERLINE,
  STRIKE,
  type Style,
  UNDERLINE,
} from "../../../src/protocol/grid.ts";
import type { Color } from "../../../src/protocol/screen.ts";

export class OuterScreen {
  readonly terminal: Terminal;
  /** The beginning of a character: xterm loses some that are cut by two writes (U+200D), as no terminal should. */
  private begun: Uint8Array = new Uint8Array(0);

  constructor(rows: number, cols: number, scrollback = 5000) {
    this.terminal = new Terminal({ rows, cols, scrollback, allowProposedApi: true, logLevel: "off" });
    this.terminal.loadAddon(new UnicodeGraphemesAddon());
  }

  write(bytes: Uint8Array | string): Promise<void> {
    return new Promise((done) => this.terminal.write(typeof bytes === "string" ? bytes : this.whole(bytes), done));
  }

  /** The complete characters. */
  private whole(bytes: Uint8Array): Uint8Array {
    const all = Buffer.concat([this.begun, bytes]);
    let end = all.length;
    for (let back = 1; back <= Math.min(3, all.length); back++) {
      const byte = all[all.length - back] ?? 0;
      const length = byte < 0xc2 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : byte < 0xf5 ? 4 : 1;
      if (length > back) end = all.length - back;
      if (byte < 0x80 || byte > 0xbf) break;
    }
    this.begun = all.subarray(end);
    return new Uint8Array(all.subarray(0, end));
  }

  /** Lines above the screen, as text. */
  scrollback(): string[] {
    const { normal } = this.terminal.buffer;
    return Array.from({ length: normal.baseY }, (_, y) => normal.getLine(y)?.translateToString(true) ?? "");
  }

  text(): string[] {
    return this.grid().lines.map((row) =>
      row
        .map((cell) => cell.text)
        .join("")
        .trimEnd(),
    );
  }

  /** The screen as a grid. Cursor shape and visibility are not in the public interface. */
  grid(): Grid {
    const buffer = this.terminal.buffer.active;
    const { rows, cols } = this.terminal;
    const lines = Array.from({ length: rows }, (_, row) => {
      const line = buffer.getLine(buffer.baseY + row);
      return Array.from({ length: cols }, (_, col) => readCell(line?.getCell(col)));
    });
    const cursor = { row: buffer.cursorY, col: buffer.cursorX, visible: true, shape: "block", blink: false } as const;
    return { rows, cols, lines, cursor };
  }

  [Symbol.dispose](): void {
    this.terminal.dispose();
  }
}

function readCell(cell: IBufferCell | undefined): Cell {
  if (cell === undefined) throw new Error("the row is shorter than the terminal");
  const width = cell.getWidth();
  const text = cell.getChars();
  return {
    text: width === 0 ? "" : text === "" ? " " : text,
    width: width === 0 ? 0 : width === 2 ? 2 : 1,
    style: readStyle(cell),
  };
}

function readStyle(cell: IBufferCell): Style {
  const flags =
    (cell.isBold() ? BOLD : 0) |
    (cell.isDim() ? FAINT : 0) |
    (cell.isItalic() ? ITALIC : 0) |
    (cell.isUnderline() ? UNDERLINE : 0) |
    (cell.isBlink() ? BLINK : 0) |
    (cell.isInverse() ? INVERSE : 0) |
    (cell.isInvisible() ? INVISIBLE : 0) |
    (cell.isStrikethrough() ? STRIKE : 0) |
    (cell.isOverline() ? OVERLINE : 0);
  const fg = readColor(cell.isFgDefault(), cell.isFgRGB(), cell.getFgColor());
  return { fg, bg: readColor(cell.isBgDefault(), cell.isBgRGB(), cell.getBgColor()), flags, link: null };
}

function readColor(isDefault: boolean, isRgb: boolean, value: number): Color | null {
  if (isDefault) return null;
  return isRgb ? { rgb: { r: value >> 16, g: (value >> 8) & 0xff, b: value & 0xff } } : { indexed: value };
}

/** Rows in a form that a failing test prints readably: text, and the styles by runs. */
export function describeRows(lines: readonly Row[]): string[] {
  return lines.map((row) => {
    let styles = "";
    let before = "";
    row.forEach((cell, col) => {
      const { fg, bg, flags } = cell.style;
      const style = JSON.stringify([fg, bg, flags]);
      if (style !== before) styles += ` ${col}:${style}`;
      before = style;
    });
    // A mark without a base is rendered on a blank; a part that is not visible, as one.
    const shown = row.map(({ text }) => (/^\p{Cf}$/u.test(text) ? " " : /^\p{M}/u.test(text) ? ` ${text}` : text));
    const text = shown.join("|");
    return `${text}${styles}`;
  });
}

/** Numbers from 0 up to 1, the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
