/** PNG encoding for images created here: rows without a filter. Pure. Source: PNG specification, third edition. */
import { crc32, deflateSync, inflateSync } from "node:zlib";
import { type Pixels, PNG } from "./pixels.ts";

/** Entry for transparency instead of a colour; always number 0. */
export const TRANSPARENT = -1;
const SIGNATURE = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
const PALETTE = 3;
const RGBA = 6;
/** Maximum colours of a palette. */
export const MAX_PALETTE = 256;
/**
 * Maximum distinct colours; further ones are reduced to three bits of red and green and two of blue: 1,024 in
 * all, as in xterm.
 */
const MAX_EXACT = 768;
const COARSE = 0xe0_e0_c0;
/** Compression level of zlib: half the bytes of level 1 in about its time. */
const LEVEL = 3;

export interface PaletteImage {
  readonly width: number;
  readonly height: number;
  /** Numbers of colours, row by row. */
  readonly numbers: Uint16Array;
  /** 0xRRGGBB; the first is transparent. */
  readonly colors: readonly number[];
}

export function encodePng({ width, height, numbers, colors }: PaletteImage): Pixels {
  const isSmall = colors.length <= MAX_PALETTE;
  const size = isSmall ? 1 : 4;
  const raw = Buffer.alloc(height * (width * size + 1));
  let offset = 0;
  for (let y = 0; y < height; y++) {
    offset++;
    for (let x = 0; x < width; x++, offset += size) {
      const number = numbers[y * width + x] ?? 0;
      if (isSmall) raw[offset] = number;
      else if (number > 0) raw.writeUInt32BE((colors[number] ?? 0) * 256 + 255, offset);
    }
  }
  const palette = Buffer.alloc(colors.length * 3);
  if (isSmall) for (const [n, color] of colors.entries()) palette.writeUIntBE(Math.max(0, color), n * 3, 3);
  const header = pngHeader(width, height, isSmall ? PALETTE : RGBA);
  const chunks = isSmall ? [pngChunk("PLTE", palette), pngChunk("tRNS", Buffer.of(0))] : [];
  return pngPixels(width, height, [header, ...chunks, pngChunk("IDAT", deflateSync(raw, { level: LEVEL }))]);
}

/** Decodes an image that was created here; null: it was not. */
export function decodePng({ format, isCompressed, width, height, bytes }: Pixels): PaletteImage | null {
  if (format !== PNG || isCompressed) return null;
  const chunks = new Map<string, Buffer>();
  for (let at = SIGNATURE.length; at + 12 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString("latin1", at + 4, at + 8);
    if (chunks.has(type)) return null;
    chunks.set(type, bytes.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const [palette, data] = [chunks.get("PLTE"), chunks.get("IDAT")];
  const type = chunks.get("IHDR")?.subarray(8).toString("hex");
  const size = type === "0803000000" && palette !== undefined ? 1 : type === "0806000000" ? 4 : 0;
  const stride = width * size + 1;
  if (size === 0 || data === undefined) return null;
  let raw: Buffer;
  try {
    raw = inflateSync(data, { maxOutputLength: height * stride });
  } catch {
    return null;
  }
  if (raw.length !== height * stride) return null;
  const numbers = new Uint16Array(width * height);
  const colors = [TRANSPARENT];
  if (size === 1 && palette !== undefined) {
    for (let n = 1; n * 3 < palette.length; n++) colors.push(palette.readUIntBE(n * 3, 3));
  }
  const known = new Map<number, number>();
  const numberOf = (color: number): number => {
    const exact = known.get(color);
    if (exact !== undefined) return exact;
    const coarse = color & COARSE;
    const isFull = colors.length > MAX_EXACT && coarse !== color;
    const number = isFull ? numberOf(coarse) : colors.push(color) - 1;
    known.set(color, number);
    return number;
  };
  for (let y = 0; y < height; y++) {
    if (raw[y * stride] !== 0) return null;
    for (let x = 0, at = y * stride + 1; x < width; x++, at += size) {
      const isDrawn = size === 1 || raw[at + 3] === 255;
      const value = size === 1 ? (raw[at] ?? 0) : isDrawn ? numberOf(raw.readUIntBE(at, 3)) : 0;
      numbers[y * width + x] = value;
    }
  }
  return { width, height, numbers, colors };
}

function pngPixels(width: number, height: number, chunks: readonly Buffer[]): Pixels {
  const bytes = Buffer.concat([SIGNATURE, ...chunks, pngChunk("IEND", Buffer.alloc(0))]);
  return { format: PNG, isCompressed: false, width, height, bytes };
}

function pngHeader(width: number, height: number, type: number): Buffer {
  const data = Buffer.alloc(13);
  data.writeUInt32BE(width, 0);
  data.writeUInt32BE(height, 4);
  data.set([8, type], 8);
  return pngChunk("IHDR", data);
}

function pngChunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const made = Buffer.alloc(typed.length + 8);
  made.writeUInt32BE(data.length, 0);
  typed.copy(made, 4);
  made.writeUInt32BE(crc32(typed), typed.length + 4);
  return made;
}
