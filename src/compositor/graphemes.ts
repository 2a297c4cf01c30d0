/**
 * Makes the text of elements harmless and measures it: lines of graphemes with their widths in cells.
 *
 * Pure. Invariants: no control character, escape sequence or bidirectional override of an element's text gets past
 * `cleanText`; widths and joining equal the emulator's for a program that asks for clusters, since both use the same
 * provider (registered by the graphemes addon; nothing else of it is used here).
 */
import { byCluster } from "../terminal/widths.ts";

/** A grapheme and its width in cells. */
export interface Cluster {
  readonly text: string;
  readonly width: 1 | 2;
}

const TAB_STOP = 8;

/** Escape sequences, whole, with the strings of OSC, DCS, SOS, PM and APC, in their 7-bit and 8-bit forms. */
const sequences = new RegExp(
  [
    // String sequences end with ST, BEL or the end of the text.
    "(?:\\x1b[\\]PX^_]|[\\x90\\x98\\x9d\\x9e\\x9f])[^\\x07\\x1b\\x9c]*(?:\\x07|\\x1b\\\\|\\x9c|$)?",
    "(?:\\x1b\\[|\\x9b)[\\x30-\\x3f]*[\\x20-\\x2f]*[\\x40-\\x7e]?",
    "\\x1b[\\x20-\\x2f]*[\\x30-\\x7e]?",
  ].join("|"),
  "gu",
);
/** C0 except newline and tab, DEL, C1, line separators, bidirectional controls, and unpaired surrogates. */
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\p{Cs}]/gu;

/** Removes every character that could do more than show. Newlines and tabs stay. */
export function cleanText(text: string): string {
  if (/^[\x20-\x7e\n]*$/.test(text)) return text;
  return text.replace(/\r\n/g, "\n").replace(sequences, "").replace(controls, "");
}

/** The graphemes of one clean line, as the emulator would put them into cells; tab stops are every eight cells. */
export function clusters(line: string): Cluster[] {
  const result: { text: string; width: 1 | 2 }[] = [];
  let column = 0;
  let preceding = 0;
  for (const char of line) {
    if (char === "\t") {
      const spaces = TAB_STOP - (column % TAB_STOP);
      for (let i = 0; i < spaces; i++) result.push({ text: " ", width: 1 });
      column += spaces;
      preceding = 0;
      continue;
    }
    const properties = byCluster.charProperties(char.codePointAt(0) ?? 0, preceding);
    preceding = properties;
    const width = ((properties >> 1) & 3) === 2 ? 2 : 1;
    const last = result.at(-1);
    if ((properties & 1) === 1 && last !== undefined) {
      column += width - last.width;
      last.text += char;
      last.width = width;
    } else {
      result.push({ text: char, width });
      column += width;
    }
  }
  return result;
}

export function cellWidth(text: readonly Cluster[]): number {
  return text.reduce((sum, { width }) => sum + width, 0);
}

export function clusterText(line: readonly Cluster[]): string {
  return line.map(({ text }) => text).join("");
}

/** Text of at most this many cells, with an ellipsis at a cut. */
export function cutToWidth(cells: number, text: readonly Cluster[]): readonly Cluster[] {
  if (cellWidth(text) <= cells) return text;
  let width = 0;
  const end = text.findIndex((cluster) => {
    width += cluster.width;
    return width > cells - 1;
  });
  return [...text.slice(0, end), { text: "…", width: 1 }];
}
