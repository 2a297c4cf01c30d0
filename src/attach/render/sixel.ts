/**
 * Pictures of programs on a terminal that supports only sixel graphics: they are pixels of its screen, and disappear
 * when text is written over them. So after each rendered frame, the parts on rows that may have been written are drawn
 * again.
 *
 * Owns the images, as the session process sends them to any terminal, and does not access the terminal. Cells of the
 * frames say which part they show (`numbered.ts`). Only images of programs' own sixel graphics are drawn: no others are
 * decoded here.
 */
import type { Frame } from "../../protocol/frame.ts";
import type { Row } from "../../protocol/grid.ts";
import { PLACEHOLDER, withoutPictures } from "../../protocol/placeholder.ts";
import { LinkedPictures } from "../../terminal/pictures/linked-pictures.ts";
import type { Pixels } from "../../terminal/pictures/pixels.ts";
import { decodePng, type PaletteImage } from "../../terminal/pictures/png.ts";

const BAND_ROWS = 6;
/** Images whose decoded form is kept: those on a screen. */
const MAX_DECODED = 8;

interface CellSize {
  readonly width: number;
  readonly height: number;
}

/** Adjacent cells of the screen that show adjacent parts of an image. */
interface PicturePart {
  readonly id: number;
  readonly y: number;
  readonly x: number;
  readonly cols: number;
  rows: number;
  readonly fromRow: number;
  readonly fromCol: number;
}

export class SixelPictures {
  private readonly images = new LinkedPictures();
  private readonly decodedImages = new Map<Pixels, PaletteImage | null>();

  constructor(private readonly cell: CellSize) {}

  /** Whether a picture was ever received. */
  get isUsed(): boolean {
    return this.images.version > 0;
  }

  /** @param commands in the form for a terminal with kitty's protocol */
  take(commands: Uint8Array): void {
    this.images.handleCommands(commands);
  }

  /**
   * The two frames as rendered: pictures are blanks, and cells that showed one are written again.
   * @param prev null: unknown contents
   */
  hidePictures(prev: Frame | null, next: Frame): readonly [Frame | null, Frame] {
    const lines = next.lines.map(withoutPictures);
    const before = prev?.lines.map((row, y) => (row === next.lines[y] ? (lines[y] ?? row) : row));
    return [prev === null || before === undefined ? null : { ...prev, lines: before }, { ...next, lines }];
  }

  /** Draws the parts on rows that differ; empty: nothing to draw. Leaves the cursor unchanged. */
  draw(prev: Frame | null, next: Frame): string {
    const isUpdate = prev !== null && prev.modes.alternate === next.modes.alternate && prev.rows === next.rows;
    const drawn = findParts(next.lines, (y) => !isUpdate || prev.lines[y] !== next.lines[y]).map((block) => {
      const pixels = this.encode(block, next.rows);
      return pixels === "" ? "" : `\x1b[${block.y + 1};${block.x + 1}H${pixels}`;
    });
    const all = drawn.join("");
    return all === "" ? "" : `\x1b7${all}\x1b8`;
  }

  private encode({ id, y, cols, rows, fromRow, fromCol }: PicturePart, screenRows: number): string {
    const picture = this.images.pictures.get(id);
    const [place] = picture?.places.values() ?? [];
    if (picture === undefined || place === undefined) return "";
    const image = this.decode(picture.pixels);
    if (image === null) return "";
    const { cell } = this;
    const width = cols * cell.width;
    const whole = rows * cell.height;
    // xterm scrolls when the screen has no room for a further band.
    const height = y + rows < screenRows ? whole : Math.max(0, Math.floor(whole / BAND_ROWS) - 1) * BAND_ROWS;
    const scale = Math.min((place.cols * cell.width) / image.width, (place.rows * cell.height) / image.height);
    const left = fromCol * cell.width - (place.cols * cell.width - image.width * scale) / 2;
    const top = fromRow * cell.height - (place.rows * cell.height - image.height * scale) / 2;
    const numbers = new Uint16Array(width * height);
    for (let py = 0; py < height; py++) {
      const sy = Math.floor((py + top) / scale);
      if (sy < 0 || sy >= image.height) continue;
      for (let px = 0; px < width; px++) {
        const sx = Math.floor((px + left) / scale);
        if (sx >= 0 && sx < image.width) numbers[py * width + px] = image.numbers[sy * image.width + sx] ?? 0;
      }
    }
    return encodeSixel({ width, height, numbers, colors: image.colors });
  }

  private decode(pixels: Pixels): PaletteImage | null {
    const cached = this.decodedImages.get(pixels);
    if (cached !== undefined) return cached;
    const [oldest] = this.decodedImages.keys();
    if (this.decodedImages.size >= MAX_DECODED && oldest !== undefined) this.decodedImages.delete(oldest);
    const image = decodePng(pixels);
    this.decodedImages.set(pixels, image);
    return image;
  }
}

/** The parts in these rows, from top to bottom. */
function findParts(lines: readonly Row[], isWanted: (y: number) => boolean): PicturePart[] {
  const all: PicturePart[] = [];
  let above: PicturePart[] = [];
  for (const [y, row] of lines.entries()) {
    const partsInRow = isWanted(y) ? findPartsInRow(row, y) : [];
    above = partsInRow.map((block) => {
      const upperPart = above.find(
        (each) =>
          each.id === block.id &&
          each.x === block.x &&
          each.cols === block.cols &&
          each.fromCol === block.fromCol &&
          each.fromRow + each.rows === block.fromRow,
      );
      if (upperPart === undefined) all.push(block);
      else upperPart.rows++;
      return upperPart ?? block;
    });
  }
  return all;
}

function findPartsInRow(row: Row, y: number): PicturePart[] {
  const found: PicturePart[] = [];
  for (let x = 0; x < row.length; ) {
    const first = parsePartCell(row, x);
    let cols = 1;
    if (first !== null) {
      const [id, fromRow, fromCol] = first;
      for (; x + cols < row.length; cols++) {
        const next = parsePartCell(row, x + cols);
        if (next === null || next[0] !== id || next[1] !== fromRow || next[2] !== fromCol + cols) break;
      }
      found.push({ id, y, x, cols, rows: 1, fromRow, fromCol });
    }
    x += cols;
  }
  return found;
}

function parsePartCell(row: Row, x: number): readonly [id: number, row: number, col: number] | null {
  const text = row[x]?.text ?? "";
  if (!text.startsWith(PLACEHOLDER)) return null;
  const [id = 0, line = 0, col = 0] = text.slice(PLACEHOLDER.length).split(",").map(Number);
  return [id, line, col];
}

/** Encodes sixel graphics; transparent pixels leave the screen unchanged. @returns empty: nothing to draw */
export function encodeSixel({ width, height, numbers, colors }: PaletteImage): string {
  let palette = "";
  const registers = new Map<number, number>();
  let bands = "";
  for (let y = 0; y < height; y += BAND_ROWS) {
    const used = new Map<number, Uint8Array>();
    for (let row = 0; row < BAND_ROWS && y + row < height; row++) {
      for (let x = 0; x < width; x++) {
        const number = numbers[(y + row) * width + x] ?? 0;
        if (number === 0) continue;
        const bits = used.get(number) ?? new Uint8Array(width);
        bits[x] = (bits[x] ?? 0) | (1 << row);
        used.set(number, bits);
      }
    }
    for (const [number, bits] of used) {
      const register = registers.get(number) ?? registers.size;
      if (register === registers.size) palette += defineColor(register, colors[number] ?? 0);
      registers.set(number, register);
      bands += `#${register}${encodeRuns(bits)}$`;
    }
    bands += "-";
  }
  return palette === "" ? "" : `\x1bP0;1q"1;1;${width};${height}${palette}${bands.replace(/[$-]+$/, "")}\x1b\\`;
}

/** Colour components, in percent. */
function defineColor(register: number, color: number): string {
  const levels = [16, 8, 0].map((shift) => Math.round((((color >> shift) & 0xff) * 100) / 255));
  return `#${register};2;${levels.join(";")}`;
}

function encodeRuns(bits: Uint8Array): string {
  let text = "";
  let end = bits.length;
  while (end > 0 && bits[end - 1] === 0) end--;
  for (let x = 0; x < end; ) {
    let count = 1;
    while (x + count < end && bits[x + count] === bits[x]) count++;
    const sixel = String.fromCharCode(0x3f + (bits[x] ?? 0));
    text += count > 3 ? `!${count}${sixel}` : sixel.repeat(count);
    x += count;
  }
  return text;
}
