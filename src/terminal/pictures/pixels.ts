/**
 * The data of one image, as a program sent it: never decoded here, except for a part of raw pixels. The size that a
 * terminal would need is computed before the data is sent to it, so that a few bytes cannot become gigabytes. Pure.
 */
import { inflateSync } from "node:zlib";

/** Longest side, as in kitty. */
const MAX_SIDE = 10_000;
/** Maximum pixels of one image: 100 MB in a terminal. */
const MAX_PIXELS = 25_000_000;
/** Maximum pixels of an image from which a part is cut here, which takes up to 10 ms. */
const MAX_CUT_PIXELS = 1_000_000;
export const PNG = 100;
const RGB = 24;
const RGBA = 32;
const PNG_BEGIN = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
/** Signature, and a chunk's length, type and first two words. */
const PNG_HEADER = 24;

export interface Pixels {
  readonly format: number;
  readonly isCompressed: boolean;
  readonly width: number;
  readonly height: number;
  readonly bytes: Buffer;
}

export interface ImageRect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** @returns the image, or the error in the protocol's form */
export function readPixels(
  bytes: Buffer,
  declared: { readonly format: number; readonly compression: string; readonly width: number; readonly height: number },
): Pixels | string {
  const format = declared.format === 0 ? RGBA : declared.format;
  const isCompressed = declared.compression === "z";
  if (format !== PNG && format !== RGB && format !== RGBA) return `EINVAL:unknown format ${format}`;
  if (declared.compression !== "" && !isCompressed) return "EINVAL:unknown compression";
  const size = format === PNG && !isCompressed ? pngSize(bytes) : declared;
  if (size === null) return "EBADPNG:not a PNG";
  const { width, height } = size;
  if (width === 0 || height === 0) return "EINVAL:zero width or height";
  if (width > MAX_SIDE || height > MAX_SIDE || width * height > MAX_PIXELS) return "EINVAL:image too large";
  const image = { format, isCompressed, width, height, bytes };
  // RFC 1950: the method is 8, and both bytes together are a multiple of 31.
  if (isCompressed) return isZlib(bytes) ? image : "EINVAL:not compressed by zlib";
  const byteCount = format === PNG ? 0 : (width * height * format) / 8;
  return bytes.length < byteCount ? `ENODATA:insufficient image data: ${bytes.length} < ${byteCount}` : image;
}

/** Null: it is not a PNG. */
function pngSize(bytes: Buffer): { readonly width: number; readonly height: number } | null {
  if (bytes.length < PNG_HEADER || !bytes.subarray(0, PNG_BEGIN.length).equals(PNG_BEGIN)) return null;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

function isZlib(bytes: Buffer): boolean {
  return bytes.length > 2 && ((bytes[0] ?? 0) & 0xf) === 8 && bytes.readUInt16BE(0) % 31 === 0;
}

/** A part of an image; for a PNG, or for an image too large to be cut here, the whole. */
export function cutPixels(image: Pixels, { x, y, width, height }: ImageRect): Pixels {
  const isWhole = x === 0 && y === 0 && width === image.width && height === image.height;
  if (isWhole || image.format === PNG || image.width * image.height > MAX_CUT_PIXELS) return image;
  const size = image.format / 8;
  const byteCount = image.width * image.height * size;
  let raw = image.bytes;
  if (image.isCompressed) {
    try {
      raw = inflateSync(raw, { maxOutputLength: byteCount });
    } catch {
      return image;
    }
    if (raw.length < byteCount) return image;
  }
  const bytes = Buffer.allocUnsafe(width * height * size);
  for (let row = 0; row < height; row++) {
    const from = ((y + row) * image.width + x) * size;
    raw.copy(bytes, row * width * size, from, from + width * size);
  }
  return { format: image.format, isCompressed: false, width, height, bytes };
}
