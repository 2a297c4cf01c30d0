/** What a program is told about the terminal it runs in: probed from the newest client before its first byte, else from settings. */

export interface Rgb {
  readonly r: number;
  readonly g: number;
  readonly b: number;
}

export interface TerminalProfile {
  /** Answer to XTVERSION, such as "wsh 0.1.0". */
  readonly version: string;
  readonly scheme: "dark" | "light";
  readonly foreground: Rgb;
  readonly background: Rgb;
  readonly cursor: Rgb;
  /** Colours of the palette that are known; xterm's stand in for the rest. */
  readonly palette?: readonly (Rgb | undefined)[];
  /** Pixels of one cell; absent means that pixel sizes are not reported. */
  readonly cell?: { readonly width: number; readonly height: number };
}

export const defaultProfile: TerminalProfile = {
  version: "wsh",
  scheme: "dark",
  foreground: { r: 0xd0, g: 0xd0, b: 0xd0 },
  background: { r: 0x10, g: 0x10, b: 0x10 },
  cursor: { r: 0xd0, g: 0xd0, b: 0xd0 },
};

/** The profile with colours that a terminal told; a light background makes the scheme light. */
export function withColors(
  profile: TerminalProfile,
  told: { readonly [K in "foreground" | "background" | "cursor"]?: Rgb | undefined },
): TerminalProfile {
  const background = told.background ?? profile.background;
  return {
    ...profile,
    scheme: isLight(background) ? "light" : "dark",
    foreground: told.foreground ?? profile.foreground,
    background,
    cursor: told.cursor ?? told.foreground ?? profile.cursor,
  };
}

/** By luma (ITU-R BT.601), as programs judge it that ask for the background's colour. */
function isLight({ r, g, b }: Rgb): boolean {
  return 0.299 * r + 0.587 * g + 0.114 * b > 127;
}

/** xterm's first sixteen colours, 0xRRGGBB. */
const BASE_COLORS = [
  0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5, 0x7f7f7f, 0xff0000, 0x00ff00,
  0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff,
] as const;
/** Levels of the 6×6×6 cube at 16–231. */
const CUBE = [0, 95, 135, 175, 215, 255] as const;

/** Palette colour `index` (0–255) as the profile or xterm has it. */
export function paletteColor(profile: TerminalProfile, index: number): Rgb {
  const known = profile.palette?.[index];
  if (known !== undefined) return known;
  const base = BASE_COLORS[index];
  if (base !== undefined) return { r: base >> 16, g: (base >> 8) & 0xff, b: base & 0xff };
  if (index >= 232) {
    const level = 8 + 10 * (index - 232);
    return { r: level, g: level, b: level };
  }
  const at = index - 16;
  const level = (n: number): number => CUBE[n] ?? 0;
  return { r: level(Math.floor(at / 36)), g: level(Math.floor(at / 6) % 6), b: level(at % 6) };
}
