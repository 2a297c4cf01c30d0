/** PNG, as far as images are made here: rows without a filter. Pure. Source: PNG specification, third edition. */
import { crc32, deflateSync } from "node:zlib";
import { type Pixels, PNG } from "./pixels.ts";

/** In place of a colour; always number 0. */
export const TRANSPARENT = -1;
const SIGNATURE = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
const PALETTE = 3;
const RGBA = 6;
/** Colours of a palette. */
const MAX_PALETTE = 256;
/** Of zlib: an image as large as a screen takes 40 ms; higher levels take longer for little. */
const LEVEL = 1;

interface Drawn {
  readonly width: number;
  readonly height: number;
  /** Numbers of colours, row by row. */
  readonly numbers: Uint16Array;
  /** 0xRRGGBB; the first is transparent. */
  readonly colors: readonly number[];
}

export function encodePng({ width, height, numbers, colors }: Drawn): Pixels {
  const isSmall = colors.length <= MAX_PALETTE;
  const size = isSmall ? 1 : 4;
  const raw = Buffer.alloc(height * (width * size + 1));
  let at = 0;
  for (let y = 0; y < height; y++) {
    at++;
    for (let x = 0; x < width; x++, at += size) {
      const number = numbers[y * width + x] ?? 0;
      if (isSmall) raw[at] = number;
      else if (number > 0) raw.writeUInt32BE((colors[number] ?? 0) * 256 + 255, at);
    }
  }
  const palette = Buffer.alloc(colors.length * 3);
  if (isSmall) for (const [n, color] of colors.entries()) palette.writeUIntBE(Math.max(0, color), n * 3, 3);
  const header = pngHeader(width, height, isSmall ? PALETTE : RGBA);
  const chunks = isSmall ? [chunk("PLTE", palette), chunk("tRNS", Buffer.of(0))] : [];
  return pixels(width, height, [header, ...chunks, chunk("IDAT", deflateSync(raw, { level: LEVEL }))]);
}

function pixels(width: number, height: number, chunks: readonly Buffer[]): Pixels {
  const bytes = Buffer.concat([SIGNATURE, ...chunks, chunk("IEND", Buffer.alloc(0))]);
  return { format: PNG, isCompressed: false, width, height, bytes };
}

function pngHeader(width: number, height: number, type: number): Buffer {
  const data = Buffer.alloc(13);
  data.writeUInt32BE(width, 0);
  data.writeUInt32BE(height, 4);
  data.set([8, type], 8);
  return chunk("IHDR", data);
}

function chunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const made = Buffer.alloc(typed.length + 8);
  made.writeUInt32BE(data.length, 0);
  typed.copy(made, 4);
  made.writeUInt32BE(crc32(typed), typed.length + 4);
  return made;
}
