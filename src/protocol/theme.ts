/**
 * The styles of wsh's own elements: roles, and their values in the settings (`[theme]`). A style is attributes and
 * colours, such as `bold black on green`; unnamed parts are the terminal's own. Pure.
 *
 * Invariant: the default styles are readable on dark and on light backgrounds.
 */
import { BOLD, FAINT, INVERSE, ITALIC, UNDERLINE } from "./grid.ts";
import type { Color } from "./screen.ts";

/**
 * Each role with its default style and its use. Colours are from the fixed part of the palette: the first sixteen
 * differ between terminals, and some are invisible on some backgrounds.
 */
export const themeRoles = {
  border: ["244", "lines between panes"],
  border_active: ["29", "the same around the active pane"],
  border_synchronized: ["196", "the same while input goes to every pane"],
  title: ["default", "titles in these lines"],
  status: ["16 on 34", "the status line"],
  status_current: ["bold", "the current window in the status line"],
  status_alert: ["bold underline", "windows that need you, in the status line"],
  dialog: ["default", "dialogs and lists"],
  dialog_bar: ["inverse", "their titles and hints"],
  dialog_choice: ["inverse", "the selected entry"],
  dialog_strong: ["bold", "keys, questions and typed text"],
  dialog_hint: ["faint", "secondary text"],
  message: ["inverse", "messages"],
  selection: ["inverse", "the selection in copy mode"],
  match: ["bold underline", "search matches"],
  match_current: ["bold underline inverse", "the current match"],
} as const satisfies Readonly<Record<string, readonly [look: string, of: string]>>;
export type ThemeRole = keyof typeof themeRoles;

export function isThemeRole(name: string): name is ThemeRole {
  return Object.hasOwn(themeRoles, name);
}

export const themeRoleNames: readonly ThemeRole[] = Object.keys(themeRoles).filter(isThemeRole);

/** Null is the terminal's own colour. */
export interface StyleSpec {
  readonly fg: Color | null;
  readonly bg: Color | null;
  readonly flags: number;
}

const attributes: Readonly<Record<string, number>> = {
  bold: BOLD,
  faint: FAINT,
  dim: FAINT,
  italic: ITALIC,
  underline: UNDERLINE,
  inverse: INVERSE,
  reverse: INVERSE,
};
const names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
/** The form of a style, for messages. */
export const styleExpected = 'attributes and colours such as "bold", "black on green", "160" or "#ffffff on #303030"';

/** @returns null: an invalid style */
export function parseStyle(text: string): StyleSpec | null {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const on = words.indexOf("on");
  const front = on < 0 ? words : words.slice(0, on);
  const bg = on < 0 ? null : colorOf(words[on + 1] ?? "");
  if (words.length === 0 || bg === undefined || (on >= 0 && words.length !== on + 2)) return null;
  let flags = 0;
  let fg: Color | null | undefined;
  for (const word of front) {
    const flag = attributes[word];
    if (flag !== undefined) flags |= flag;
    else if (fg === undefined) {
      fg = colorOf(word);
      if (fg === undefined) return null;
    } else return null;
  }
  return { fg: fg ?? null, bg, flags };
}

/** @returns null: the terminal's own; undefined: no colour */
function colorOf(word: string): Color | null | undefined {
  if (word === "default") return null;
  const [, bright, name = word] = /^(bright-)?(.+)$/.exec(word) ?? [];
  const index = names.indexOf(name);
  if (index >= 0) return { indexed: bright === undefined ? index : index + names.length };
  if (/^\d{1,3}$/.test(word)) return Number(word) <= 255 ? { indexed: Number(word) } : undefined;
  const hex = /^#([0-9a-f]{6})$/.exec(word)?.[1];
  if (hex === undefined) return undefined;
  const value = Number.parseInt(hex, 16);
  return { rgb: { r: value >> 16, g: (value >> 8) & 0xff, b: value & 0xff } };
}
