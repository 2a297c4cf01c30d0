/**
 * Colours as X11 writes them (XParseColor), which terminals accept and report. Pure. Forms that depend on measured
 * properties of a screen (CIEXYZ, CIELab, TekHVC and the like) are not parsed: no known program sends them.
 */
import type { Rgb } from "../protocol/palette.ts";

/** Names with different colours in X11 and CSS, 0xRRGGBB. */
const X11_NAMES: ReadonlyMap<string, number> = new Map([
  ["gray", 0xbebebe],
  ["grey", 0xbebebe],
  ["green", 0x00ff00],
  ["maroon", 0xb03060],
  ["purple", 0xa020f0],
]);
/** Letters of the longest name. */
const MAX_NAME = 24;

/** With 16 bits a channel, the form that every program reads. */
export function colorSpec({ r, g, b }: Rgb): string {
  const channel = (value: number): string => value.toString(16).padStart(2, "0").repeat(2);
  return `rgb:${channel(r)}/${channel(g)}/${channel(b)}`;
}

/** `#RGB` to `#RRRRGGGGBBBB`, `rgb:R/G/B`, `rgbi:R/G/B` or a name; null for anything else. */
export function parseColorSpec(text: string): Rgb | null {
  const hash = /^#([0-9a-fA-F]{3,12})$/.exec(text)?.[1];
  if (hash !== undefined) return hash.length % 3 === 0 ? parseHash(hash) : null;
  const hex = /^rgb:([0-9a-f]{1,4})\/([0-9a-f]{1,4})\/([0-9a-f]{1,4})$/i.exec(text)?.slice(1);
  if (hex !== undefined) return rgbOf(hex.map((digits) => parseInt(digits, 16) / (16 ** digits.length - 1)));
  if (/^rgbi:/i.test(text)) return parseIntensities(text.slice(5).split("/"));
  return parseName(text);
}

/** The digits are the highest bits of a channel: `#fff` is a light grey. */
function parseHash(hash: string): Rgb {
  const digits = hash.length / 3;
  const channel = (at: number): number => {
    const bits = hash.slice(at * digits, (at + 1) * digits);
    return parseInt(bits.padEnd(2, "0").slice(0, 2), 16);
  };
  return { r: channel(0), g: channel(1), b: channel(2) };
}

/** Intensities of light, 0 to 1, by the transfer function of sRGB (IEC 61966-2-1). */
function parseIntensities(parts: readonly string[]): Rgb | null {
  const values = parts.map((part) => (/^\d*\.?\d+(?:e[+-]?\d+)?$/i.test(part) ? Number(part) : Number.NaN));
  if (values.length !== 3 || !values.every((value) => value >= 0 && value <= 1)) return null;
  return rgbOf(values.map((v) => (v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055)));
}

/** Ignores blanks and case. */
function parseName(text: string): Rgb | null {
  const name = text.replaceAll(" ", "").toLowerCase();
  if (name.length > MAX_NAME || !/^[a-z]+$/.test(name) || name === "transparent") return null;
  const number = X11_NAMES.get(name) ?? Bun.color(name, "number");
  // `Bun.color` returns CSS keywords that are not colours unchanged, as strings.
  return typeof number !== "number" ? null : { r: (number >> 16) & 0xff, g: (number >> 8) & 0xff, b: number & 0xff };
}

/** @param parts red, green and blue, 0 to 1 */
function rgbOf([r = 0, g = 0, b = 0]: readonly number[]): Rgb {
  return { r: Math.round(r * 255), g: Math.round(g * 255), b: Math.round(b * 255) };
}
