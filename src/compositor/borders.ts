/**
 * The glyphs of the lines between panes: each arm of a cell is light or, around the active pane, heavy.
 *
 * Pure. Unicode has a glyph for every combination of light and heavy arms (U+2500 to U+257F). Where a terminal shows no
 * UTF-8, lines are ASCII.
 */

/** Arms up, right, down and left: 0 none, 1 light, 2 heavy. */
export type Arms = readonly [up: number, right: number, down: number, left: number];

const glyphs = new Map<string, string>();

/** Names the glyphs from a code point on by their arms. */
function defineGlyphs(first: number, ...arms: readonly string[]): void {
  for (const [at, each] of arms.entries()) glyphs.set(each, String.fromCodePoint(first + at));
}

defineGlyphs(0x2500, "0101", "0202", "1010", "2020");
defineGlyphs(0x250c, "0110", "0210", "0120", "0220", "0011", "0012", "0021", "0022");
defineGlyphs(0x2514, "1100", "1200", "2100", "2200", "1001", "1002", "2001", "2002");
defineGlyphs(0x251c, "1110", "1210", "2110", "1120", "2120", "2210", "1220", "2220");
defineGlyphs(0x2524, "1011", "1012", "2011", "1021", "2021", "2012", "1022", "2022");
defineGlyphs(0x252c, "0111", "0112", "0211", "0212", "0121", "0122", "0221", "0222");
defineGlyphs(0x2534, "1101", "1102", "1201", "1202", "2101", "2102", "2201", "2202");
defineGlyphs(0x253c, "1111", "1112", "1211", "1212", "2111", "1121", "2121", "2112", "2211", "1122", "1221");
defineGlyphs(0x2547, "2212", "1222", "2122", "2221", "2222");
defineGlyphs(0x257c, "0201", "1020", "0102", "2010");

/** Extends the arm of a single line's end to the other side, like lines at the window's edge. */
function extendEnds([up, right, down, left]: Arms): Arms {
  const vertical = Math.max(up, down);
  const horizontal = Math.max(left, right);
  if (horizontal === 0) return [up || vertical, 0, down || vertical, 0];
  if (vertical === 0) return [0, right || horizontal, 0, left || horizontal];
  return [up, right, down, left];
}

/** @param ascii for a terminal that shows no UTF-8 */
export function lineGlyph(arms: Arms, ascii: boolean): string {
  return ascii ? asciiGlyph(arms) : unicodeGlyph(arms);
}

function unicodeGlyph(arms: Arms): string {
  return glyphs.get(extendEnds(arms).join("")) ?? "┼";
}

function asciiGlyph([up, right, down, left]: Arms): string {
  const vertical = up + down > 0;
  const horizontal = left + right > 0;
  return vertical && horizontal ? "+" : vertical ? "|" : "-";
}
