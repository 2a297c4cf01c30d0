/**
 * Styles for the person's terminal: true colour, 256, 16 or none, with or without styled underlines.
 *
 * Pure. Invariant: a terminal never gets a form of colour or underline that it lacks. Runs once per change of style,
 * per frame.
 */
import type { Style } from "../../protocol/grid.ts";
import { UNDERLINE } from "../../protocol/grid.ts";
import { nearestBasic, nearestFixed, xtermColor } from "../../protocol/palette.ts";
import type { Color } from "../../protocol/screen.ts";
import { sgrParameters } from "../../protocol/sgr.ts";

export type ColorDepth = "none" | 16 | 256 | "truecolor";

/** The colour as this terminal can show it; null when it can show none. */
export function downConvert(color: Color | null, depth: ColorDepth): Color | null {
  if (color === null || depth === "none") return null;
  if ("rgb" in color) {
    if (depth === "truecolor") return color;
    return { indexed: depth === 256 ? nearestFixed(color.rgb) : nearestBasic(color.rgb) };
  }
  return depth === 16 && color.indexed > 15 ? { indexed: nearestBasic(xtermColor(color.indexed)) } : color;
}

/**
 * The SGR sequence that sets exactly this style, whatever was set before. The part of an underline beyond the plain one
 * is a separate sequence, which a terminal without it ignores.
 */
export function sgr(style: Style, depth: ColorDepth, fancyUnderlines: boolean): string {
  const fg = downConvert(style.fg, depth);
  const bg = downConvert(style.bg, depth);
  const parameters = sgrParameters(style.flags, fg, bg);
  const basicSgr = parameters === "" ? "\x1b[m" : `\x1b[0${parameters}m`;
  if (!fancyUnderlines || (style.flags & UNDERLINE) === 0) return basicSgr;
  const { underlineStyle = "single", underlineColor = null } = style;
  if (underlineStyle === "single" && underlineColor === null) return basicSgr;
  return `${basicSgr}\x1b[${sgrParameters(UNDERLINE, null, null, underlineStyle, downConvert(underlineColor, depth)).slice(1)}m`;
}
