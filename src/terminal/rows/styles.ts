/**
 * Styles of cells, as stored words and as the data that leaves the terminal.
 *
 * Owns the translation in both directions: words to `Style` and `Span`, words to SGR. Equal styles are
 * one object, so that the compositor compares by identity; the tables are bounded and cleared when full.
 */

import {
  BLINK,
  BOLD,
  type Cell,
  FAINT,
  INVERSE,
  INVISIBLE,
  ITALIC,
  OVERLINE,
  plainStyle,
  STRIKE,
  type Style,
  UNDERLINE,
  type UnderlineStyle,
} from "../../protocol/grid.ts";
import type { Color, Span } from "../../protocol/screen.ts";
import { sgrParameters } from "../../protocol/sgr.ts";
import {
  BG_EXTENDED,
  BG_FAINT,
  BG_ITALIC,
  BG_OVERLINE,
  COLOR_MODE,
  COLOR_RGB,
  COLOR_VALUE,
  FG_BLINK,
  FG_BOLD,
  FG_INVERSE,
  FG_INVISIBLE,
  FG_STRIKE,
  FG_UNDERLINE,
  type StoredExtended,
} from "./xterm-row.ts";

/** Parts of a cell's style beyond its two words; equal ones need not be one object. */
export interface CellExtra {
  readonly link: string | null;
  /** 0 none, 1 single, 2 double, 3 curly, 4 dotted, 5 dashed. */
  readonly underline: number;
  /** A colour word; 0 is the text's colour. */
  readonly underlineColor: number;
}

const UNDERLINE_SHIFT = 26;
const UNDERLINE_BITS = 0x7;
const UNDERLINES: readonly (UnderlineStyle | undefined)[] = [
  undefined,
  "single",
  "double",
  "curly",
  "dotted",
  "dashed",
];
/** Maximum number of styles; a stream of 24-bit colours makes new ones without end. */
const MAX_STYLES = 4_096;

export function extraOf(extended: StoredExtended, link: string | null): CellExtra {
  return {
    link,
    underline: (extended._ext >> UNDERLINE_SHIFT) & UNDERLINE_BITS,
    underlineColor: extended._ext & (COLOR_MODE | COLOR_VALUE),
  };
}

export function sameExtra(a: CellExtra | null, b: CellExtra | null): boolean {
  if (a === b) return true;
  if (a === null || b === null) return false;
  return a.link === b.link && a.underline === b.underline && a.underlineColor === b.underlineColor;
}

function colorOf(word: number): Color | null {
  const mode = word & COLOR_MODE;
  if (mode === 0) return null;
  if (mode === COLOR_RGB) return { rgb: { r: (word >> 16) & 0xff, g: (word >> 8) & 0xff, b: word & 0xff } };
  return { indexed: word & 0xff };
}

/** Whether text of this style looks like unstyled text, as far as a span can express it. */
function isPlain(fg: number, bg: number): boolean {
  return (fg & ~FG_INVISIBLE) === 0 && (bg & (COLOR_MODE | COLOR_VALUE | BG_ITALIC | BG_FAINT)) === 0;
}

/** A span; keys are set one by one because a styled screen has hundreds of them. */
export function spanOf(text: string, fg: number, bg: number): Span {
  const span: Span = { text };
  if (isPlain(fg, bg)) return span;
  const foreground = colorOf(fg);
  const background = colorOf(bg);
  if (foreground !== null) span.fg = foreground;
  if (background !== null) span.bg = background;
  if ((fg & FG_BOLD) !== 0) span.bold = true;
  if ((bg & BG_FAINT) !== 0) span.faint = true;
  if ((bg & BG_ITALIC) !== 0) span.italic = true;
  if ((fg & FG_UNDERLINE) !== 0) span.underline = true;
  if ((fg & FG_STRIKE) !== 0) span.strikethrough = true;
  if ((fg & FG_BLINK) !== 0) span.blink = true;
  if ((fg & FG_INVERSE) !== 0) span.inverse = true;
  return span;
}

function flagsOf(fg: number, bg: number): number {
  return (
    ((fg & FG_BOLD) !== 0 ? BOLD : 0) |
    ((bg & BG_FAINT) !== 0 ? FAINT : 0) |
    ((bg & BG_ITALIC) !== 0 ? ITALIC : 0) |
    ((fg & FG_UNDERLINE) !== 0 ? UNDERLINE : 0) |
    ((fg & FG_BLINK) !== 0 ? BLINK : 0) |
    ((fg & FG_INVERSE) !== 0 ? INVERSE : 0) |
    ((fg & FG_INVISIBLE) !== 0 ? INVISIBLE : 0) |
    ((fg & FG_STRIKE) !== 0 ? STRIKE : 0) |
    ((bg & BG_OVERLINE) !== 0 ? OVERLINE : 0)
  );
}

/** SGR that sets this style, whatever was set before. */
export function sgrOf(fg: number, bg: number, extra: CellExtra | null): string {
  const flags = flagsOf(fg, bg);
  const parameters =
    extra === null
      ? sgrParameters(flags, colorOf(fg), colorOf(bg))
      : sgrParameters(flags, colorOf(fg), colorOf(bg), UNDERLINES[extra.underline], colorOf(extra.underlineColor));
  return `\x1b[0${parameters}m`;
}

interface StyleEntry {
  readonly style: Style;
  /** Cells of one ASCII character each. */
  readonly cells: (Cell | undefined)[];
}

/** One object per style and per ASCII cell of it. */
export class StyleTable {
  private readonly entries = new Map<string, StyleEntry>();
  private lastEntry: StyleEntry | null = null;
  private lastFg = -1;
  private lastBg = -1;

  /** Selects the style of the cells requested next. */
  select(fg: number, bg: number, extra: CellExtra | null): void {
    if (fg === this.lastFg && bg === this.lastBg && extra === null && (bg & BG_EXTENDED) === 0) return;
    const key = extra === null ? `${fg},${bg}` : `${fg},${bg},${extra.underline},${extra.underlineColor},${extra.link}`;
    let entry = this.entries.get(key);
    if (entry === undefined) {
      if (this.entries.size >= MAX_STYLES) this.entries.clear();
      entry = { style: fg === 0 && bg === 0 && extra === null ? plainStyle : makeStyle(fg, bg, extra), cells: [] };
      this.entries.set(key, entry);
    }
    this.lastEntry = entry;
    this.lastFg = extra === null ? fg : -1;
    this.lastBg = bg;
  }

  ascii(code: number): Cell {
    const entry = this.selected();
    let cell = entry.cells[code];
    if (cell === undefined) {
      cell = { text: String.fromCharCode(code), width: 1, style: entry.style };
      entry.cells[code] = cell;
    }
    return cell;
  }

  cell(text: string, width: 0 | 1 | 2): Cell {
    return { text, width, style: this.selected().style };
  }

  private selected(): StyleEntry {
    if (this.lastEntry === null) this.select(0, 0, null);
    return this.lastEntry ?? { style: makeStyle(0, 0, null), cells: [] };
  }
}

function makeStyle(fg: number, bg: number, extra: CellExtra | null): Style {
  const underlineStyle = extra === null ? undefined : UNDERLINES[extra.underline];
  const underlineColor = extra === null ? null : colorOf(extra.underlineColor);
  return {
    fg: colorOf(fg),
    bg: colorOf(bg),
    flags: flagsOf(fg, bg),
    link: extra?.link ?? null,
    ...(underlineStyle !== undefined && { underlineStyle }),
    ...(underlineColor !== null && { underlineColor }),
  };
}
