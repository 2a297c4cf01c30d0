/**
 * Sixel graphics as an image: `DCS P1;P2;P3 q … ST` (VT330/VT340 manual, chapter 14; a later definition of a colour
 * does not change earlier pixels, as in xterm). Pixels that are not drawn are transparent whatever P2 says: the cells
 * beneath have the background. Pure.
 *
 * Time and memory are bounded by the room on the screen and by `MAX_WORK`: `!9999~` is six bytes for 60,000 pixels.
 */
import type { Pixels } from "./pixels.ts";
import { encodePng, MAX_PALETTE, TRANSPARENT } from "./png.ts";

/** Rows of pixels in a band: one character is a column of them. */
const BAND = 6;
/** Maximum pixels drawn by one image: four times a 4K screen; further ones are not drawn. */
const MAX_WORK = 4 * 3840 * 2160;
const FIRST_SIXEL = 0x3f;
const LAST_SIXEL = 0x7e;
const REPEAT = 0x21;
const RASTER = 0x22;
const COLOR = 0x23;
const RETURN = 0x24;
const NEXT = 0x2d;
/** Minus the digit 0. */
const SEMICOLON = 0x3b - 0x30;
const MAX_NUMBERS = 5;
const MAX_NUMBER = 0xffff;
/** Number of colour registers, as in xterm; higher numbers wrap around. */
const REGISTERS = 1024;
/** Maximum colours of one image, counting redefinitions: those that 16 bits can number. */
const MAX_COLORS = 0xffff;
/** The first sixteen registers of a VT340, in percent. */
const FIRST_COLORS =
  "0,0,0 20,20,80 80,13,13 20,80,20 80,20,80 20,80,80 80,80,20 53,53,53 26,26,26 33,33,60 60,26,26 33,60,33 60,33,60 33,60,60 60,60,33 80,80,80"
    .split(" ")
    .map((color) => color.split(",").map(Number));

interface SixelBounds {
  /** Maximum pixels, from its start to the edge of the screen, and to the last row that a picture may have. */
  readonly width: number;
  readonly height: number;
  /** Pixels of a cell: the image is padded to whole cells, so that no terminal scales it. */
  readonly cell: { readonly width: number; readonly height: number };
}

/** @param data after the `q` @returns null: nothing was drawn */
export function decodeSixel(data: string, room: SixelBounds): Pixels | null {
  const drawing = new Drawing(room);
  let repeat = 1;
  // A loop over codes: a regular expression for the commands takes four times as long.
  for (let offset = 0; offset < data.length && !drawing.isFull; ) {
    const code = data.charCodeAt(offset++);
    if (code >= FIRST_SIXEL && code <= LAST_SIXEL) {
      drawing.draw(code - FIRST_SIXEL, repeat);
      repeat = 1;
    } else if (code === RETURN) drawing.x = 0;
    else if (code === NEXT) drawing.nextBand();
    else if (code === REPEAT || code === COLOR || code === RASTER) {
      const numbers = [0];
      for (; offset < data.length; offset++) {
        const digit = data.charCodeAt(offset) - 0x30;
        if (digit >= 0 && digit <= 9)
          numbers[numbers.length - 1] = Math.min((numbers.at(-1) ?? 0) * 10 + digit, MAX_NUMBER);
        else if (digit === SEMICOLON && numbers.length < MAX_NUMBERS) numbers.push(0);
        else break;
      }
      if (code === REPEAT) repeat = Math.max(1, numbers[0] ?? 1);
      else if (code === COLOR) drawing.setColor(numbers);
      else drawing.reserve(numbers[2] ?? 0, numbers[3] ?? 0);
    }
  }
  return drawing.toPixels();
}

class Drawing {
  x = 0;
  private y = 0;
  private width = 0;
  private height = 0;
  private drawnPixels = 0;
  /** Numbers of colours, one array per band: the total size is not known in advance. */
  private readonly bands: Uint16Array[] = [];
  private readonly colors: number[] = [TRANSPARENT];
  private readonly registers = new Map<number, number>();
  private current: number;

  constructor(private readonly room: SixelBounds) {
    this.current = this.registerColor(0);
  }

  get isFull(): boolean {
    return this.y >= this.room.height || this.drawnPixels > MAX_WORK;
  }

  nextBand(): void {
    this.x = 0;
    this.y += BAND;
  }

  /** The size that the image declares. */
  reserve(width: number, height: number): void {
    this.width = Math.max(this.width, Math.min(width, this.room.width));
    this.height = Math.max(this.height, Math.min(height, this.room.height));
  }

  /** `#REGISTER`, or its definition: `;2;RED;GREEN;BLUE` in percent, `;1;HUE;LIGHTNESS;SATURATION`. */
  setColor([register = 0, system, a = 0, b = 0, c = 0]: readonly number[]): void {
    const at = register % REGISTERS;
    if (system === 2) this.registers.set(at, this.addColor(rgbFromPercent(a, b, c)));
    // Blue is at 0 degrees.
    else if (system === 1) this.registers.set(at, this.addColor(rgbFromHls(a + 240, b, c)));
    this.current = this.registerColor(at);
  }

  draw(bits: number, count: number): void {
    const from = this.x;
    const to = Math.min(from + count, this.room.width);
    this.x = Math.min(from + count, this.room.width);
    if (bits === 0 || to <= from || this.isFull) {
      this.reserve(to, 0);
      return;
    }
    this.reserve(to, this.y + 32 - Math.clz32(bits));
    const band = this.currentBand();
    for (let row = 0; row < BAND; row++) {
      if ((bits & (1 << row)) === 0) continue;
      const start = row * this.room.width;
      for (let x = from; x < to; x++) band[start + x] = this.current;
      this.drawnPixels += to - from;
    }
  }

  /** The image, padded to whole cells. */
  toPixels(): Pixels | null {
    const { cell } = this.room;
    const width = Math.ceil(this.width / cell.width) * cell.width;
    const height = Math.ceil(this.height / cell.height) * cell.height;
    if (width === 0 || height === 0) return null;
    const numbers = new Uint16Array(width * height);
    // Only used colours: with redefined ones there may be too many for a palette.
    const used = new Uint16Array(this.colors.length);
    const colors = [TRANSPARENT];
    for (let y = 0; y < this.height; y++) {
      const band = this.bands[Math.floor(y / BAND)];
      const start = (y % BAND) * this.room.width;
      for (let x = 0; band !== undefined && x < this.width; x++) {
        const number = band[start + x] ?? 0;
        if (number > 0) numbers[y * width + x] = used[number] ||= colors.push(this.colors[number] ?? 0) - 1;
      }
    }
    // Encoders use 256 colours; with transparency that is one more than a palette has.
    if (colors.length === MAX_PALETTE + 1) {
      const last = colors.length - 1;
      const nearest = nearestTo(colors.pop() ?? 0, colors);
      for (let at = numbers.indexOf(last); at >= 0; at = numbers.indexOf(last, at)) numbers[at] = nearest;
    }
    return encodePng({ width, height, numbers, colors });
  }

  private currentBand(): Uint16Array {
    const at = this.y / BAND;
    const existing = this.bands[at];
    if (existing !== undefined) return existing;
    const made = new Uint16Array(this.room.width * BAND);
    this.bands[at] = made;
    return made;
  }

  private registerColor(at: number): number {
    const color = this.registers.get(at);
    if (color !== undefined) return color;
    const [r = 0, g = 0, b = 0] = FIRST_COLORS[at % FIRST_COLORS.length] ?? [];
    const made = this.addColor(rgbFromPercent(r, g, b));
    this.registers.set(at, made);
    return made;
  }

  private addColor(color: number): number {
    if (this.colors.length > MAX_COLORS) return MAX_COLORS;
    return this.colors.push(color) - 1;
  }
}

/** Number of the most similar colour. */
function nearestTo(color: number, colors: readonly number[]): number {
  const distance = (other: number): number =>
    [16, 8, 0].reduce((sum, shift) => sum + (((color >> shift) & 0xff) - ((other >> shift) & 0xff)) ** 2, 0);
  let nearest = 1;
  for (let n = 2; n < colors.length; n++) {
    if (distance(colors[n] ?? 0) < distance(colors[nearest] ?? 0)) nearest = n;
  }
  return nearest;
}

/** From percent. @returns 0xRRGGBB */
function rgbFromPercent(...levels: readonly [number, number, number]): number {
  return levels.reduce((sum, level) => sum * 256 + Math.round((Math.min(level, 100) * 255) / 100), 0);
}

/** From a hue in degrees, red at 0, and percent. */
function rgbFromHls(hue: number, lightness: number, saturation: number): number {
  const light = Math.min(lightness, 100);
  const range = (Math.min(saturation, 100) / 100) * Math.min(light, 100 - light);
  const level = (n: number): number => {
    const k = (n + hue / 30) % 12;
    return light - range * Math.max(-1, Math.min(k - 3, 9 - k, 1));
  };
  return rgbFromPercent(level(0), level(8), level(4));
}
