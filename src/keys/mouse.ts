/**
 * Mouse reports of terminals: reading and writing them in the four encodings, X10 (`CSI M` and three bytes, also as
 * UTF-8), urxvt and SGR. Pure.
 */

/** Added to button and coordinates of X10 and urxvt reports, so that they are printable. */
const X10_BASE = 32;
/** Highest coordinate in one byte of an X10 report (255 less the base). */
const X10_HIGHEST = 223;
export const MOTION = 32;
/** Buttons of the wheel, turned up and down. */
export const WHEEL_UP = 64;
export const WHEEL_DOWN = 65;
const RELEASE = 3;

export interface MouseReport {
  /** Button bits as the encodings have them, without X10's 32. */
  readonly button: number;
  /** 1-based. */
  readonly col: number;
  readonly row: number;
  readonly release: boolean;
  readonly encoding: "x10" | "utf8" | "urxvt" | "sgr";
}

/** A report, and the properties that decide its receiver. */
export interface DecodedMouse extends MouseReport {
  readonly motion: boolean;
  /** A button is down. */
  readonly held: boolean;
}

const latin1 = new TextDecoder("latin1");
const utf8 = new TextDecoder();
const utf8Encoder = new TextEncoder();

/** Reads one mouse event with the properties that decide whether a program requested it. */
export function decodeMouse(bytes: Uint8Array): DecodedMouse | null {
  const report = parseMouseReport(bytes);
  if (report === null) return null;
  const motion = (report.button & MOTION) !== 0;
  const held = motion && (report.button & RELEASE) !== RELEASE;
  return { ...report, button: report.button, motion, held };
}

/** A report in another encoding; the older ones do not name the released button. */
export function encodeReport(report: MouseReport): Uint8Array {
  const isEncodable = report.encoding === "sgr" || !report.release;
  return encodeMouse(isEncodable ? report : { ...report, button: (report.button & ~RELEASE) | RELEASE });
}

/** Reads one mouse event; null when the bytes are something else. */
export function parseMouseReport(bytes: Uint8Array): MouseReport | null {
  const text = latin1.decode(bytes);
  if (text.startsWith("\x1b[M")) return parseX10(bytes.subarray(3));
  const match = /^\x1b\[(<?)(\d{1,9});(\d{1,9});(\d{1,9})([Mm])$/.exec(text);
  if (match === null) return null;
  const sgr = match[1] === "<";
  if (!sgr && match[5] === "m") return null;
  const button = Number(match[2]) - (sgr ? 0 : X10_BASE);
  const release = sgr ? match[5] === "m" : isX10Release(button);
  return { button, col: Number(match[3]), row: Number(match[4]), release, encoding: sgr ? "sgr" : "urxvt" };
}

function parseX10(body: Uint8Array): MouseReport | null {
  const isUtf8 = body.length > 3;
  const codes = isUtf8 ? Array.from(utf8.decode(body), (char) => char.codePointAt(0) ?? 0) : Array.from(body);
  const [button, col, row, ...more] = codes.map((code) => code - X10_BASE);
  if (button === undefined || col === undefined || row === undefined || more.length > 0) return null;
  return { button, col, row, release: isX10Release(button), encoding: isUtf8 ? "utf8" : "x10" };
}

function isX10Release(button: number): boolean {
  return (button & RELEASE) === RELEASE && (button & (MOTION | WHEEL_UP)) === 0;
}

function encodeMouse({ button, col, row, release, encoding }: MouseReport): Uint8Array {
  if (encoding === "sgr") return utf8Encoder.encode(`\x1b[<${button};${col};${row}${release ? "m" : "M"}`);
  if (encoding === "urxvt") return utf8Encoder.encode(`\x1b[${button + X10_BASE};${col};${row}M`);
  const codes = [button, col, row].map((value) => value + X10_BASE);
  if (encoding === "utf8") return utf8Encoder.encode(`\x1b[M${String.fromCodePoint(...codes)}`);
  return Uint8Array.of(0x1b, 0x5b, 0x4d, ...codes.map((code) => Math.min(code, X10_HIGHEST + X10_BASE)));
}
