/**
 * A screen as cells, each with its text, width and style.
 *
 * Owns the types, the style bits, and the comparison of styles. A grid is plain data: the terminal model and the panes'
 * layout make it, the compositor reads it. Invariants: a row has exactly `cols` cells, and a wide cell (width 2) is
 * always followed by one of width 0 with empty text.
 */
import type { Color } from "./screen.ts";

export const BOLD = 1 << 0;
export const FAINT = 1 << 1;
export const ITALIC = 1 << 2;
export const UNDERLINE = 1 << 3;
export const BLINK = 1 << 4;
export const INVERSE = 1 << 5;
export const INVISIBLE = 1 << 6;
export const STRIKE = 1 << 7;
export const OVERLINE = 1 << 8;

/** How an underline is drawn; absent means a single line. */
export const underlineStyles = ["single", "double", "curly", "dotted", "dashed"] as const;
export type UnderlineStyle = (typeof underlineStyles)[number];

/** The style of a cell; `null` is the terminal's default colour. Equal styles may be one shared object. */
export interface Style {
  readonly fg: Color | null;
  readonly bg: Color | null;
  /** Bit set of the flags above. */
  readonly flags: number;
  /** The target of a hyperlink (OSC 8). */
  readonly link: string | null;
  readonly underlineStyle?: UnderlineStyle;
  readonly underlineColor?: Color;
}

export interface Cell {
  /** One grapheme; a space for a blank cell, "" for the right half of a wide one. */
  readonly text: string;
  readonly width: 0 | 1 | 2;
  readonly style: Style;
}

/** Exactly `cols` cells. */
export type Row = readonly Cell[];

export type CursorShape = "block" | "underline" | "bar";

export interface GridCursor {
  readonly row: number;
  readonly col: number;
  readonly visible: boolean;
  readonly shape: CursorShape;
  readonly blink: boolean;
}

export interface Grid {
  readonly rows: number;
  readonly cols: number;
  readonly lines: readonly Row[];
  readonly cursor: GridCursor;
}

export const plainStyle: Style = { fg: null, bg: null, flags: 0, link: null };

/** The blank of the plain style: one object, so that two blanks are compared quickly. */
export const plainBlank: Cell = { text: " ", width: 1, style: plainStyle };

/** Widths whose blank row is kept: more than the panes of a window have. */
const KEPT_WIDTHS = 64;
const blankRows = new Map<number, Row>();

/** A row of plain blanks: one object per width. */
export function blankRow(cols: number): Row {
  const known = blankRows.get(cols);
  if (known !== undefined) return known;
  if (blankRows.size >= KEPT_WIDTHS) blankRows.clear();
  const row = new Array<Cell>(cols).fill(plainBlank);
  blankRows.set(cols, row);
  return row;
}

/** Whether two cells look the same. */
export function sameCell(a: Cell, b: Cell | undefined): boolean {
  if (a === b) return true;
  return b !== undefined && a.text === b.text && a.width === b.width && sameStyle(a.style, b.style);
}

/** Whether two rows look the same. */
export function sameRow(a: Row, b: Row): boolean {
  return a === b || (a.length === b.length && a.every((cell, col) => sameCell(cell, b[col])));
}

/** Whether two styles look the same. */
export function sameStyle(a: Style, b: Style): boolean {
  if (a === b) return true;
  if (a.flags !== b.flags || a.link !== b.link || a.underlineStyle !== b.underlineStyle) return false;
  return (
    sameColor(a.fg, b.fg) && sameColor(a.bg, b.bg) && sameColor(a.underlineColor ?? null, b.underlineColor ?? null)
  );
}

function sameColor(a: Color | null, b: Color | null): boolean {
  if (a === b) return true;
  if (a === null || b === null) return false;
  if ("indexed" in a) return "indexed" in b && a.indexed === b.indexed;
  return "rgb" in b && a.rgb.r === b.rgb.r && a.rgb.g === b.rgb.g && a.rgb.b === b.rgb.b;
}
