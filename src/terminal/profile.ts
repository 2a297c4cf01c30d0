/** The terminal that programs see: from the newest client's answers before the first output, else from settings. */

import { type Rgb, xtermColor } from "../protocol/palette.ts";

export interface TerminalProfile {
  /** Answer to XTVERSION, such as "wsh 0.1.0". */
  readonly version: string;
  readonly scheme: "dark" | "light";
  readonly foreground: Rgb;
  readonly background: Rgb;
  readonly cursor: Rgb;
  /** Known colours of the palette; the others are xterm's. */
  readonly palette?: readonly (Rgb | undefined)[];
  /** Pixels of one cell. */
  readonly cell?: { readonly width: number; readonly height: number };
  /** Whether the person's terminal supports kitty's keyboard protocol. */
  readonly kitty?: boolean;
}

export const defaultProfile: TerminalProfile = {
  version: "wsh",
  scheme: "dark",
  foreground: { r: 0xd0, g: 0xd0, b: 0xd0 },
  background: { r: 0x10, g: 0x10, b: 0x10 },
  cursor: { r: 0xd0, g: 0xd0, b: 0xd0 },
  // A common default, not a measured size: programs use it for the ratio of rows to columns.
  cell: { width: 8, height: 16 },
};

/** The profile with what a terminal reported of itself; a light background makes the scheme light. */
export function withColors(
  profile: TerminalProfile,
  outer: { readonly [K in "foreground" | "background" | "cursor"]?: Rgb | undefined } & {
    readonly kitty?: boolean | undefined;
    readonly cell?: TerminalProfile["cell"] | undefined;
  },
): TerminalProfile {
  const background = outer.background ?? profile.background;
  return {
    ...profile,
    kitty: outer.kitty ?? false,
    ...(outer.cell === undefined ? {} : { cell: outer.cell }),
    scheme: isLight(background) ? "light" : "dark",
    foreground: outer.foreground ?? profile.foreground,
    background,
    cursor: outer.cursor ?? outer.foreground ?? profile.cursor,
  };
}

/** By luma (ITU-R BT.601), as programs that request the background's colour judge it. */
function isLight({ r, g, b }: Rgb): boolean {
  return 0.299 * r + 0.587 * g + 0.114 * b > 127;
}

/** Palette colour `index` (0–255) of the profile, else xterm's. */
export function paletteColor(profile: TerminalProfile, index: number): Rgb {
  return profile.palette?.[index] ?? xtermColor(index);
}
