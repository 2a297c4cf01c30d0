/**
 * The encoder of styles as SGR parameters (ECMA-48 8.3.117, xterm's colours, underline styles with colons).
 *
 * Pure. Invariant: only numbers reach the sequence, so no cell can inject one. The caller decides what precedes the
 * parameters (a reset or nothing) and which colours its terminal has. Runs once per change of style.
 */
import {
  BLINK,
  BOLD,
  FAINT,
  INVERSE,
  INVISIBLE,
  ITALIC,
  OVERLINE,
  STRIKE,
  UNDERLINE,
  type UnderlineStyle,
} from "./grid.ts";
import type { Color } from "./screen.ts";

const attributes: readonly (readonly [flag: number, code: string])[] = [
  [BOLD, ";1"],
  [FAINT, ";2"],
  [ITALIC, ";3"],
  [BLINK, ";5"],
  [INVERSE, ";7"],
  [INVISIBLE, ";8"],
  [STRIKE, ";9"],
  [OVERLINE, ";53"],
];
const OTHERS = attributes.reduce((all, [flag]) => all | flag, 0);
/** Parameters of every set of attributes but the underline, by its bits: at most 512 short strings, made on demand. */
const ofFlags: (string | undefined)[] = [];
const underlines = { single: ";4", double: ";4:2", curly: ";4:3", dotted: ";4:4", dashed: ";4:5" } as const;

/**
 * Returns the parameters that add this style to a plain one, each after a semicolon; "" for a plain style.
 * @param flags the bits of protocol/grid.ts
 * @param underlineColor null is the text's colour
 */
export function sgrParameters(
  flags: number,
  fg: Color | null,
  bg: Color | null,
  underline: UnderlineStyle = "single",
  underlineColor: Color | null = null,
): string {
  let codes = flags === 0 ? "" : attributeParameters(flags & OTHERS);
  if ((flags & UNDERLINE) !== 0) codes += underlines[underline];
  if (fg !== null) codes += colorParameters(fg, 30);
  if (bg !== null) codes += colorParameters(bg, 40);
  if (underlineColor !== null) codes += underlineParameters(underlineColor);
  return codes;
}

function attributeParameters(flags: number): string {
  const cached = ofFlags[flags];
  if (cached !== undefined) return cached;
  const codes = attributes.map(([flag, code]) => ((flags & flag) === 0 ? "" : code)).join("");
  ofFlags[flags] = codes;
  return codes;
}

/** @param base 30 for the text, 40 for its background */
function colorParameters(color: Color, base: 30 | 40): string {
  if ("rgb" in color) return `;${base + 8};2;${byte(color.rgb.r)};${byte(color.rgb.g)};${byte(color.rgb.b)}`;
  const index = byte(color.indexed);
  if (index < 8) return `;${base + index}`;
  return index < 16 ? `;${base + 60 + index - 8}` : `;${base + 8};5;${index}`;
}

function underlineParameters(color: Color): string {
  if ("indexed" in color) return `;58:5:${byte(color.indexed)}`;
  return `;58:2::${byte(color.rgb.r)}:${byte(color.rgb.g)}:${byte(color.rgb.b)}`;
}

function byte(value: number): number {
  return Math.max(0, Math.min(255, Math.trunc(value) || 0));
}
