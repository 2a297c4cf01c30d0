/**
 * xterm's default palette of 256 colours: sixteen basic ones, a 6×6×6 cube at 16–231, 24 greys at 232–255. A person's
 * terminal may show other colours for these numbers; the palette is the fallback for unknown ones, and maps a colour to
 * the nearest number. Pure.
 */

export interface Rgb {
  readonly r: number;
  readonly g: number;
  readonly b: number;
}

/** The basic colours, 0xRRGGBB. */
const basicColors: readonly Rgb[] = [
  0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5, 0x7f7f7f, 0xff0000, 0x00ff00,
  0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff,
].map((color) => ({ r: color >> 16, g: (color >> 8) & 0xff, b: color & 0xff }));
const FIRST_CUBE = 16;
/** Levels of each of the cube's axes. */
const cubeLevels: readonly number[] = [0, 95, 135, 175, 215, 255];
const FIRST_GREY = 232;
const LAST_GREY = 255;

/** @param index 0–255 */
export function xtermColor(index: number): Rgb {
  const basic = basicColors[index];
  if (basic !== undefined) return basic;
  if (index >= FIRST_GREY) return grey(index);
  const at = index - FIRST_CUBE;
  const level = (n: number): number => cubeLevels[n] ?? 0;
  return { r: level(Math.floor(at / 36)), g: level(Math.floor(at / 6) % 6), b: level(at % 6) };
}

/** Returns the number of the nearest basic colour. */
export function nearestBasic(color: Rgb): number {
  return nearest(basicColors, (basic) => distance(color, basic));
}

/** Returns the number of the nearest colour in the cube and the greys: the basic ones differ between terminals. */
export function nearestFixed(color: Rgb): number {
  const level = (value: number): number => nearest(cubeLevels, (step) => Math.abs(step - value));
  const inCube = FIRST_CUBE + 36 * level(color.r) + 6 * level(color.g) + level(color.b);
  const brightness = (color.r + color.g + color.b) / 3;
  const inGreys = Math.max(FIRST_GREY, Math.min(LAST_GREY, FIRST_GREY + Math.round((brightness - 8) / 10)));
  return distance(color, grey(inGreys)) < distance(color, xtermColor(inCube)) ? inGreys : inCube;
}

function grey(index: number): Rgb {
  const level = 8 + 10 * (index - FIRST_GREY);
  return { r: level, g: level, b: level };
}

/** Distance, weighted approximately like the eye's sensitivity to the three. */
function distance(a: Rgb, b: Rgb): number {
  return 2 * (a.r - b.r) ** 2 + 4 * (a.g - b.g) ** 2 + 3 * (a.b - b.b) ** 2;
}

/** Index of the first item with the smallest distance. */
function nearest<T>(items: readonly T[], distanceTo: (item: T) => number): number {
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  for (const [index, item] of items.entries()) {
    const away = distanceTo(item);
    if (away >= least) continue;
    best = index;
    least = away;
  }
  return best;
}
