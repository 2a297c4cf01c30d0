/**
 * Styles as SGR for the terminal at hand: true colour, 256, 16 or none.
 *
 * Pure. What must stay true: only numbers reach the sequence, so no cell can smuggle one in; a terminal gets no colour
 * form that it has not. Runs once per change of style, per frame.
 */
import type { ViewStyle } from "../../protocol/frame.ts";
import { BLINK, BOLD, FAINT, INVERSE, INVISIBLE, ITALIC, OVERLINE, STRIKE, UNDERLINE } from "../../protocol/grid.ts";
import type { Color } from "../../protocol/screen.ts";

export type ColorDepth = "none" | 16 | 256 | "truecolor";

const flagCodes: readonly (readonly [number, number])[] = [
  [BOLD, 1],
  [FAINT, 2],
  [ITALIC, 3],
  [BLINK, 5],
  [INVERSE, 7],
  [INVISIBLE, 8],
  [STRIKE, 9],
  [OVERLINE, 53],
];
const underlineCodes = { single: 1, double: 2, curly: 3, dotted: 4, dashed: 5 } as const;

/** xterm's default palette, for finding the nearest; what a person's terminal makes of the numbers is theirs. */
const basic: readonly (readonly [number, number, number])[] = [
  [0, 0, 0],
  [205, 0, 0],
  [0, 205, 0],
  [205, 205, 0],
  [0, 0, 238],
  [205, 0, 205],
  [0, 205, 205],
  [229, 229, 229],
  [127, 127, 127],
  [255, 0, 0],
  [0, 255, 0],
  [255, 255, 0],
  [92, 92, 255],
  [255, 0, 255],
  [0, 255, 255],
  [255, 255, 255],
];
/** Steps of the 6×6×6 cube of the 256-colour palette. */
const steps = [0, 95, 135, 175, 215, 255] as const;

interface Rgb {
  readonly r: number;
  readonly g: number;
  readonly b: number;
}

function distance({ r, g, b }: Rgb, other: readonly [number, number, number]): number {
  // Weighted as the eye weighs them, roughly.
  return 2 * (r - other[0]) ** 2 + 4 * (g - other[1]) ** 2 + 3 * (b - other[2]) ** 2;
}

function nearestBasic(color: Rgb): number {
  let best = 0;
  for (const [index, candidate] of basic.entries()) {
    if (distance(color, candidate) < distance(color, basic[best] ?? candidate)) best = index;
  }
  return best;
}

function nearestStep(value: number): number {
  let best = 0;
  for (const [index, step] of steps.entries()) {
    if (Math.abs(step - value) < Math.abs((steps[best] ?? 0) - value)) best = index;
  }
  return best;
}

/** Nearest of the cube and of the greys. */
function nearest256(color: Rgb): number {
  const [r, g, b] = [nearestStep(color.r), nearestStep(color.g), nearestStep(color.b)];
  const grey = Math.max(0, Math.min(23, Math.round(((color.r + color.g + color.b) / 3 - 8) / 10)));
  const greyLevel = 8 + 10 * grey;
  const cubeDistance = distance(color, [steps[r] ?? 0, steps[g] ?? 0, steps[b] ?? 0]);
  const greyDistance = distance(color, [greyLevel, greyLevel, greyLevel]);
  return greyDistance < cubeDistance ? 232 + grey : 16 + 36 * r + 6 * g + b;
}

function paletteRgb(index: number): Rgb {
  if (index < 16) {
    const [r, g, b] = basic[index] ?? [0, 0, 0];
    return { r, g, b };
  }
  if (index >= 232) {
    const level = 8 + 10 * (index - 232);
    return { r: level, g: level, b: level };
  }
  const cube = index - 16;
  return {
    r: steps[Math.floor(cube / 36)] ?? 0,
    g: steps[Math.floor(cube / 6) % 6] ?? 0,
    b: steps[cube % 6] ?? 0,
  };
}

/** The colour as this terminal can say it; null when it can say none. */
export function downConvert(color: Color | null, depth: ColorDepth): Color | null {
  if (color === null || depth === "none") return null;
  if ("rgb" in color) {
    if (depth === "truecolor") return color;
    return { indexed: depth === 256 ? nearest256(color.rgb) : nearestBasic(color.rgb) };
  }
  return depth === 16 && color.indexed > 15 ? { indexed: nearestBasic(paletteRgb(color.indexed)) } : color;
}

function byte(value: number): number {
  return Math.max(0, Math.min(255, Math.trunc(value) || 0));
}

/** @param base 30 for the foreground, 40 for the background */
function colorCodes(color: Color | null, base: 30 | 40, depth: ColorDepth): string {
  const shown = downConvert(color, depth);
  if (shown === null) return "";
  if ("rgb" in shown) return `;${base + 8};2;${byte(shown.rgb.r)};${byte(shown.rgb.g)};${byte(shown.rgb.b)}`;
  const index = byte(shown.indexed);
  if (index < 8) return `;${base + index}`;
  return index < 16 ? `;${base + 60 + index - 8}` : `;${base + 8};5;${index}`;
}

function underlineCode(style: ViewStyle, depth: ColorDepth, fancy: boolean): string {
  if ((style.flags & UNDERLINE) === 0) return "";
  const kind = style.underlineStyle ?? "single";
  // Terminals without the colon forms would misread them, so they get the plain line.
  if (!fancy) return ";4";
  const color = downConvert(style.underlineColor ?? null, depth);
  const shape = kind === "single" ? ";4" : `;4:${underlineCodes[kind]}`;
  if (color === null) return shape;
  if ("indexed" in color) return `${shape};58:5:${byte(color.indexed)}`;
  return `${shape};58:2::${byte(color.rgb.r)}:${byte(color.rgb.g)}:${byte(color.rgb.b)}`;
}

/** The SGR sequence that sets exactly this style, whatever was set before. */
export function sgr(style: ViewStyle, depth: ColorDepth, fancyUnderlines: boolean): string {
  let codes = "";
  for (const [flag, code] of flagCodes) if ((style.flags & flag) !== 0) codes += `;${code}`;
  codes += underlineCode(style, depth, fancyUnderlines);
  codes += colorCodes(style.fg, 30, depth) + colorCodes(style.bg, 40, depth);
  return codes === "" ? "\x1b[m" : `\x1b[0${codes}m`;
}
