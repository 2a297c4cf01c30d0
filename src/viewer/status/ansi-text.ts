/**
 * Output of a command as text with styles: colours and attributes (SGR, ECMA-48 8.3.117) are honoured, but for blinking
 * and invisible text; every other control sequence is removed. Pure.
 */
import { cleanText } from "../../compositor/graphemes.ts";
import { BOLD, FAINT, INVERSE, ITALIC, STRIKE, UNDERLINE } from "../../protocol/grid.ts";
import type { Color } from "../../protocol/screen.ts";
import type { StyleSpec } from "../../protocol/theme.ts";

interface StyledText {
  readonly text: string;
  readonly style: StyleSpec;
}

const plain: StyleSpec = { fg: null, bg: null, flags: 0 };

/** Attributes that a code sets, and those that another one removes. */
const flagsSet: Readonly<Record<number, number>> = {
  ...{ 1: BOLD, 2: FAINT, 3: ITALIC, 4: UNDERLINE, 7: INVERSE, 9: STRIKE, 21: UNDERLINE },
};
const flagsCleared: Readonly<Record<number, number>> = {
  ...{ 22: BOLD | FAINT, 23: ITALIC, 24: UNDERLINE, 27: INVERSE, 29: STRIKE },
};

/** The pieces of one line in different styles, clean. */
export function parseAnsiText(line: string): StyledText[] {
  let style = plain;
  const pieces: StyledText[] = [];
  let from = 0;
  const add = (end: number): void => {
    const text = cleanText(line.slice(from, end).replaceAll("\t", " "));
    if (text !== "") pieces.push({ text, style });
  };
  for (const { 0: whole, 1: parameters = "", index } of line.matchAll(/\x1b\[([\d;:]*)m/g)) {
    add(index);
    style = applySgr(style, parameters);
    from = index + whole.length;
  }
  add(line.length);
  return pieces;
}

function applySgr(before: StyleSpec, parameters: string): StyleSpec {
  let style = before;
  const list = parameters.split(";");
  for (let index = 0; index < list.length; index++) {
    const [code = 0, ...subparameters] = (list[index] ?? "").split(":").map(Number);
    if (code !== 38 && code !== 48) {
      style = applyCode(style, code, subparameters[0] === 0);
      continue;
    }
    // With colons the colour is in the parameter itself, with semicolons in the next ones.
    const values = subparameters.length > 0 ? subparameters : list.slice(index + 1, index + 5).map(Number);
    const color = parseColor(values, subparameters.length > 0);
    if (subparameters.length === 0) index += values[0] === 2 ? 4 : 2;
    if (color !== null) style = code === 38 ? { ...style, fg: color } : { ...style, bg: color };
  }
  return style;
}

/** @param isUnderlineOff `4:0`, no underline */
function applyCode(style: StyleSpec, code: number, isUnderlineOff: boolean): StyleSpec {
  if (code === 0) return plain;
  if (code === 39) return { ...style, fg: null };
  if (code === 49) return { ...style, bg: null };
  const flag = flagsSet[code];
  if (flag !== undefined) return { ...style, flags: isUnderlineOff ? style.flags & ~flag : style.flags | flag };
  const cleared = flagsCleared[code];
  if (cleared !== undefined) return { ...style, flags: style.flags & ~cleared };
  const [tens, units] = [Math.floor(code / 10), code % 10];
  if (units > 7) return style;
  if (tens === 3 || tens === 9) return { ...style, fg: { indexed: units + (tens === 9 ? 8 : 0) } };
  if (tens === 4 || tens === 10) return { ...style, bg: { indexed: units + (tens === 10 ? 8 : 0) } };
  return style;
}

/** @param mayNameSpace the form with colons may name a colour space before red: `2::R:G:B` */
function parseColor([kind, ...values]: readonly number[], mayNameSpace: boolean): Color | null {
  const isByte = (value: number | undefined): value is number =>
    value !== undefined && Number.isInteger(value) && value >= 0 && value <= 255;
  const [index] = values;
  if (kind === 5) return isByte(index) ? { indexed: index } : null;
  if (kind !== 2) return null;
  const [r, g, b] = mayNameSpace && values.length > 3 ? values.slice(1) : values;
  return isByte(r) && isByte(g) && isByte(b) ? { rgb: { r, g, b } } : null;
}
