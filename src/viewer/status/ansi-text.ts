/**
 * Output of a command as text with styles: colours and attributes (SGR, ECMA-48 8.3.117) are honoured, but for blinking
 * and invisible text; every other control sequence is removed. Pure.
 */
import { cleanText } from "../../compositor/graphemes.ts";
import { BOLD, FAINT, INVERSE, ITALIC, STRIKE, UNDERLINE } from "../../protocol/grid.ts";
import type { Color } from "../../protocol/screen.ts";
import type { StyleSpec } from "../../protocol/theme.ts";

export interface StyledText {
  readonly text: string;
  readonly look: StyleSpec;
}

const plain: StyleSpec = { fg: null, bg: null, flags: 0 };

/** Attributes that a code sets, and those that another one removes. */
const sets: Readonly<Record<number, number>> = {
  ...{ 1: BOLD, 2: FAINT, 3: ITALIC, 4: UNDERLINE, 7: INVERSE, 9: STRIKE, 21: UNDERLINE },
};
const clears: Readonly<Record<number, number>> = {
  ...{ 22: BOLD | FAINT, 23: ITALIC, 24: UNDERLINE, 27: INVERSE, 29: STRIKE },
};

/** The pieces of one line in different styles, clean. */
export function ansiText(line: string): StyledText[] {
  let look = plain;
  const pieces: StyledText[] = [];
  let from = 0;
  const add = (end: number): void => {
    const text = cleanText(line.slice(from, end).replaceAll("\t", " "));
    if (text !== "") pieces.push({ text, look });
  };
  for (const { 0: whole, 1: parameters = "", index } of line.matchAll(/\x1b\[([\d;:]*)m/g)) {
    add(index);
    look = changed(look, parameters);
    from = index + whole.length;
  }
  add(line.length);
  return pieces;
}

function changed(before: StyleSpec, parameters: string): StyleSpec {
  let look = before;
  const all = parameters.split(";");
  for (let at = 0; at < all.length; at++) {
    const [code = 0, ...own] = (all[at] ?? "").split(":").map(Number);
    if (code !== 38 && code !== 48) {
      look = simple(look, code, own[0] === 0);
      continue;
    }
    // With colons the colour is in the parameter itself, with semicolons in the next ones.
    const values = own.length > 0 ? own : all.slice(at + 1, at + 5).map(Number);
    const color = colorOf(values, own.length > 0);
    if (own.length === 0) at += values[0] === 2 ? 4 : 2;
    if (color !== null) look = code === 38 ? { ...look, fg: color } : { ...look, bg: color };
  }
  return look;
}

/** @param isNone `4:0`, no underline */
function simple(look: StyleSpec, code: number, isNone: boolean): StyleSpec {
  if (code === 0) return plain;
  if (code === 39) return { ...look, fg: null };
  if (code === 49) return { ...look, bg: null };
  const flag = sets[code];
  if (flag !== undefined) return { ...look, flags: isNone ? look.flags & ~flag : look.flags | flag };
  const gone = clears[code];
  if (gone !== undefined) return { ...look, flags: look.flags & ~gone };
  const [tens, units] = [Math.floor(code / 10), code % 10];
  if (units > 7) return look;
  if (tens === 3 || tens === 9) return { ...look, fg: { indexed: units + (tens === 9 ? 8 : 0) } };
  if (tens === 4 || tens === 10) return { ...look, bg: { indexed: units + (tens === 10 ? 8 : 0) } };
  return look;
}

/** @param hasSpace the form with colons may name a colour space before red: `2::R:G:B` */
function colorOf([kind, ...values]: readonly number[], hasSpace: boolean): Color | null {
  const isByte = (value: number | undefined): value is number =>
    value !== undefined && Number.isInteger(value) && value >= 0 && value <= 255;
  const [index] = values;
  if (kind === 5) return isByte(index) ? { indexed: index } : null;
  if (kind !== 2) return null;
  const [r, g, b] = hasSpace && values.length > 3 ? values.slice(1) : values;
  return isByte(r) && isByte(g) && isByte(b) ? { rgb: { r, g, b } } : null;
}
