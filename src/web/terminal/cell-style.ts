/**
 * The style of cells as classes and CSS: attributes are classes (style/terminal.css), the sixteen colours are variables
 * of the theme, the others values. Pure, except for a cache per style object.
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
  type Style,
  UNDERLINE,
} from "../../protocol/grid.ts";
import { xtermColor } from "../../protocol/palette.ts";
import type { Color } from "../../protocol/screen.ts";

interface CellStyle {
  readonly className: string;
  readonly css: string;
}

const FIRST_FIXED_COLOR = 16;

const attributes: readonly (readonly [flag: number, name: string])[] = [
  [BOLD, "b"],
  [ITALIC, "i"],
  [FAINT, "f"],
  [BLINK, "k"],
  [INVISIBLE, "v"],
];
const lines: readonly (readonly [flag: number, name: string])[] = [
  [UNDERLINE, "underline"],
  [STRIKE, "line-through"],
  [OVERLINE, "overline"],
];
const underlines = { single: "solid", double: "double", curly: "wavy", dotted: "dotted", dashed: "dashed" } as const;

const styleCache = new WeakMap<Style, CellStyle>();

/** A colour as CSS; @param fallback name of the terminal's own colour */
export function cssColor(color: Color | null, fallback: string): string {
  if (color === null) return fallback;
  if ("indexed" in color) {
    if (color.indexed < FIRST_FIXED_COLOR) return `var(--color-${color.indexed})`;
    const { r, g, b } = xtermColor(color.indexed);
    return `rgb(${r},${g},${b})`;
  }
  const { r, g, b } = color.rgb;
  return `rgb(${r},${g},${b})`;
}

/** @param style may be one of many equal objects: each is computed once */
export function cellStyleOf(style: Style): CellStyle {
  const known = styleCache.get(style);
  if (known !== undefined) return known;
  const look = computeStyle(style);
  styleCache.set(style, look);
  return look;
}

function computeStyle({ fg, bg, flags, underlineStyle, underlineColor }: Style): CellStyle {
  const names = attributes.flatMap(([flag, name]) => ((flags & flag) === 0 ? [] : [name]));
  const css: string[] = [];
  const inverse = (flags & INVERSE) !== 0;
  const [text, ground] = inverse ? [bg, fg] : [fg, bg];
  if (inverse || text !== null) css.push(`color:${cssColor(text, inverse ? "var(--ground)" : "var(--text)")}`);
  if (inverse || ground !== null) css.push(`background-color:${cssColor(ground, "var(--text)")}`);
  const drawn = lines.flatMap(([flag, name]) => ((flags & flag) === 0 ? [] : [name]));
  if (drawn.length > 0) {
    css.push(`text-decoration-line:${drawn.join(" ")}`);
    if ((flags & UNDERLINE) !== 0) css.push(`text-decoration-style:${underlines[underlineStyle ?? "single"]}`);
    if (underlineColor !== undefined) css.push(`text-decoration-color:${cssColor(underlineColor, "currentcolor")}`);
  }
  // A background fills its cells, which are higher than the font's own boxes.
  if (inverse || ground !== null) names.push("g");
  return { className: names.join(" "), css: css.join(";") };
}
