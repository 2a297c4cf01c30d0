/**
 * Placeholders in the cells of a screen: writes those of a picture, finds them, and completes those that programs
 * wrote. Every cell contains its row and column, since its left neighbour may be covered or redrawn. Pure, except for
 * reading the screen.
 */
import { PLACEHOLDER } from "../../protocol/placeholder.ts";
import {
  CELL_WORDS,
  COLOR_MODE,
  COLOR_RGB,
  COLOR_VALUE,
  cellText,
  type StoredRow,
  simpleCode,
} from "../rows/xterm-row.ts";
import { diacritic, numberOf } from "./diacritics.ts";

const CODE = 0x10_eeee;

/** The style of cells that encodes the lower three bytes of an id. */
export function idStyle(id: number): string {
  return `38;2;${(id >> 16) & 0xff};${(id >> 8) & 0xff};${id & 0xff}`;
}

/** The cells of one row of a picture. */
export function pictureRow(row: number, cols: number): string {
  let text = "";
  for (let col = 0; col < cols; col++) text += PLACEHOLDER + diacritic(row) + diacritic(col);
  return text;
}

interface Placeholder {
  readonly row: number;
  readonly col: number;
  readonly highest: number;
}

/** The part of a picture in a cell; null: it has none. */
export function placeholderAt(row: StoredRow, x: number): Placeholder | null {
  const content = row._data[x * CELL_WORDS] ?? 0;
  if (simpleCode(content, CODE) >= 0) return null;
  const text = cellText(row, x);
  if (!text.startsWith(PLACEHOLDER)) return null;
  const [line, col, highest] = [...text.slice(PLACEHOLDER.length)].map(numberOf);
  return { row: line ?? 0, col: col ?? 0, highest: highest ?? 0 };
}

/** The id of the picture in a cell; 0: there is none. */
export function pictureAt(row: StoredRow, x: number): number {
  const placeholder = placeholderAt(row, x);
  if (placeholder === null) return 0;
  return colorId(row._data[x * CELL_WORDS + 1] ?? 0) + placeholder.highest * 0x100_0000;
}

/** The lower bytes of an id from a foreground word. */
export function colorId(fg: number): number {
  return (fg & COLOR_MODE) === COLOR_RGB ? fg & COLOR_VALUE : (fg & COLOR_MODE) === 0 ? 0 : fg & 0xff;
}

/**
 * A program's placeholders with all omitted numbers.
 * @param before the cell left of the first one, in the same style
 */
export function completePlaceholders(
  text: string,
  before: Placeholder | null,
): { readonly text: string; readonly highest: number } {
  let made = "";
  let last = before;
  let highest = 0;
  for (const [index, cell] of text.split(PLACEHOLDER).entries()) {
    if (index === 0) {
      made += cell;
      continue;
    }
    const numbers: number[] = [];
    let rest = "";
    for (const character of cell) {
      const number = rest === "" && numbers.length < 3 ? numberOf(character) : null;
      if (number === null) rest += character;
      else numbers.push(number);
    }
    const [row = last?.row ?? 0, given, top] = numbers;
    const follows = last !== null && last.row === row;
    const col = given ?? (follows ? (last?.col ?? -1) + 1 : 0);
    highest = top ?? (follows && last?.col === col - 1 ? (last?.highest ?? 0) : 0);
    last = { row, col, highest };
    made += PLACEHOLDER + diacritic(row) + diacritic(col) + (highest === 0 ? "" : diacritic(highest)) + rest;
    if (rest !== "") last = null;
  }
  return { text: made, highest };
}
