/**
 * A pen on the outer terminal: it tracks the cursor and the style, and writes the difference.
 *
 * Owns the bytes of one frame's rows. Invariant: position and style are tracked only while they are certain, and set
 * absolutely otherwise; every character is printable. Runs per changed cell, per frame.
 */

import { hasAgreedWidth } from "../../protocol/agreed-width.ts";
import { MAX_GRAPHEME } from "../../protocol/frame.ts";
import { type Cell, plainStyle, type Style, sameStyle } from "../../protocol/grid.ts";
import { fitToWidths } from "../width-probe.ts";
import { sgr } from "./color-depth.ts";
import type { OuterCaps } from "./modes.ts";

/** Longest link target that terminals accept, in bytes. */
const MAX_LINK_BYTES = 2083;

/** Begins with a mark or a vowel that needs a base: shown on a blank. A spacing mark follows its base. */
const needsBase = /^(?:\p{Mn}|\p{Me}|[\u1160-\u11ff\ud7b0-\ud7ff])/u;
/** Invisible, and without a cell in most terminals. */
const invisible = /^\p{Cf}+$/u;
const unprintable = /[\p{Cc}\p{Cs}\u2028-\u202e\u2066-\u2069]/u;

export class Pen {
  #bytes = "";
  #row: number;
  #col: number;
  #moves = 0;
  /** Plain between frames: `finish` leaves it so. */
  #style: Style = plainStyle;
  #link: string | null = null;

  constructor(
    readonly rows: number,
    readonly cols: number,
    readonly caps: OuterCaps,
    /** The terminal's cursor; null: unknown. */
    start: { readonly row: number; readonly col: number } | null,
  ) {
    this.#row = start?.row ?? -1;
    this.#col = start?.col ?? -1;
  }

  /** How many times the cursor was moved. */
  get moves(): number {
    return this.#moves;
  }

  /** Whether the terminal's cursor is certainly there. */
  isAt(row: number, col: number): boolean {
    return this.#row === row && this.#col === col;
  }

  put(row: number, col: number, cell: Cell): void {
    if (cell.width === 0) return;
    const isCertain = hasAgreedWidth(cell.text, this.caps.widths.eastAsian);
    // A move keeps terminals from joining it to the preceding character.
    if (!isCertain) this.#col = -1;
    this.#moveTo(row, col);
    this.#setStyle(cell.style);
    if (!isCertain) {
      // A terminal that draws it narrower than we expect would leave a cell unchanged.
      this.#bytes += " ".repeat(cell.width);
      this.#col = -1;
      this.#moveTo(row, col);
    }
    this.#bytes += isCertain ? cell.text : fitToWidths(printable(cell.text, cell.width), this.caps.widths);
    this.#col = isCertain && col + cell.width < this.cols ? col + cell.width : -1;
  }

  /** Whether erasing produces cells of this style. */
  canErase(style: Style): boolean {
    if (this.caps.writesBlanks === true) return false;
    return style.bg === null || this.caps.bce || this.caps.colors === "none";
  }

  /** Blanks from a column to the end of the row. */
  eraseFrom(row: number, col: number, style: Style): void {
    this.#moveTo(row, col);
    this.#setStyle(style);
    this.#bytes += "\x1b[K";
  }

  /** Scrolls the whole screen up, its first lines into the scrollback. */
  scroll(lines: number): void {
    this.#setStyle(plainStyle);
    this.#moveTo(this.rows - 1, 0);
    this.#bytes += "\n".repeat(lines);
  }

  /** Returns the bytes written, with attributes and link reset. */
  finish(): string {
    if (this.#bytes === "") return "";
    if (this.#link !== null) this.#setLink(null);
    if (!sameStyle(this.#style, plainStyle)) this.#bytes += "\x1b[m";
    this.#style = plainStyle;
    return this.#bytes;
  }

  #moveTo(row: number, col: number): void {
    if (this.#row === row && this.#col === col) return;
    this.#moves++;
    if (this.#row === row) this.#bytes += col === 0 ? "\r" : `\x1b[${col + 1}G`;
    else if (this.#row + 1 === row && this.#row >= 0 && col === 0) this.#bytes += "\r\n";
    else if (col === 0) this.#bytes += row === 0 ? "\x1b[H" : `\x1b[${row + 1}H`;
    else this.#bytes += `\x1b[${row + 1};${col + 1}H`;
    this.#row = row;
    this.#col = col;
  }

  #setStyle(style: Style): void {
    if (this.#style === style) return;
    const link = this.caps.hyperlinks ? style.link : null;
    if (!sameStyle({ ...this.#style, link: null }, { ...style, link: null })) {
      this.#bytes += sgr(style, this.caps.colors, this.caps.underlineStyles);
    }
    if (link !== this.#link) this.#setLink(link);
    this.#style = style;
  }

  #setLink(link: string | null): void {
    const isHarmless = link !== null && link.length <= MAX_LINK_BYTES && /^[\x21-\x7e]*$/.test(link);
    this.#bytes += `\x1b]8;;${isHarmless ? link : ""}\x1b\\`;
    this.#link = link;
  }
}

/** The text of a cell in writable form: never a control character, never without a base. */
function printable(text: string, width: number): string {
  if (text === "" || unprintable.test(text) || invisible.test(text)) return " ".repeat(width);
  const shown = text.length > MAX_GRAPHEME ? text.slice(0, MAX_GRAPHEME) : text;
  return needsBase.test(shown) ? ` ${shown}` : shown;
}
