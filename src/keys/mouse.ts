/**
 * Mouse events of the outer terminal, moved into the coordinates of the program below the panels.
 *
 * Pure. Knows the four encodings: X10 (`CSI M` and three bytes, also as UTF-8), urxvt and SGR. What must stay true: a
 * button that the program saw go down is also seen going up, so a release or a drag outside the program's area is
 * moved to its edge, while a press or a wheel turn outside of it is not the program's and gives null.
 */

/** Added to button and coordinates of X10 and urxvt reports, so that they are printable. */
const X10_BASE = 32;
/** Highest coordinate that one byte of an X10 report can say (255 less the base). */
const X10_HIGHEST = 223;
const MOTION = 32;
const WHEEL = 64;
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

/** A report, and what decides who wants it. */
export interface ReadMouse extends MouseReport {
  readonly motion: boolean;
  /** A button is down. */
  readonly held: boolean;
}

const latin1 = new TextDecoder("latin1");
const utf8 = new TextDecoder();
const utf8Encoder = new TextEncoder();

/** Reads one mouse event, with what decides whether a program asked for it. */
export function readReport(bytes: Uint8Array): ReadMouse | null {
  const report = parseMouse(bytes);
  if (report === null) return null;
  const motion = (report.button & MOTION) !== 0;
  const held = motion && (report.button & RELEASE) !== RELEASE;
  return { ...report, button: report.button, motion, held };
}

/** A report in another encoding; the older ones do not say which button was released. */
export function encodeReport(report: MouseReport): Uint8Array {
  const known = report.encoding === "sgr" || !report.release;
  return encodeMouse(known ? report : { ...report, button: (report.button & ~RELEASE) | RELEASE });
}

/** Reads one mouse event; null when the bytes are something else. */
export function parseMouse(bytes: Uint8Array): MouseReport | null {
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
  const wide = body.length > 3;
  const codes = wide ? Array.from(utf8.decode(body), (char) => char.codePointAt(0) ?? 0) : Array.from(body);
  const [button, col, row, ...more] = codes.map((code) => code - X10_BASE);
  if (button === undefined || col === undefined || row === undefined || more.length > 0) return null;
  return { button, col, row, release: isX10Release(button), encoding: wide ? "utf8" : "x10" };
}

function isX10Release(button: number): boolean {
  return (button & RELEASE) === RELEASE && (button & (MOTION | WHEEL)) === 0;
}

function encodeMouse({ button, col, row, release, encoding }: MouseReport): Uint8Array {
  if (encoding === "sgr") return utf8Encoder.encode(`\x1b[<${button};${col};${row}${release ? "m" : "M"}`);
  if (encoding === "urxvt") return utf8Encoder.encode(`\x1b[${button + X10_BASE};${col};${row}M`);
  const codes = [button, col, row].map((value) => value + X10_BASE);
  if (encoding === "utf8") return utf8Encoder.encode(`\x1b[M${String.fromCodePoint(...codes)}`);
  return Uint8Array.of(0x1b, 0x5b, 0x4d, ...codes.map((code) => Math.min(code, X10_HIGHEST + X10_BASE)));
}

/**
 * Moves one mouse event by what lies above (and left of) the program's area.
 * @param rowOffset rows of the outer terminal above the program's first
 * @param bounds size of the program's area in cells
 * Reports in pixels (mode 1016) look like SGR ones and must not come here.
 * @returns the event to send, or null when it is not the program's; bytes that are no mouse event come back unchanged
 */
export function translateMouse(
  bytes: Uint8Array,
  rowOffset: number,
  bounds: { readonly rows: number; readonly cols: number },
  colOffset = 0,
): Uint8Array | null {
  const report = parseMouse(bytes);
  if (report === null) return bytes;
  const row = report.row - rowOffset;
  const col = report.col - colOffset;
  const inside = row >= 1 && row <= bounds.rows && col >= 1 && col <= bounds.cols;
  if (inside && rowOffset === 0 && colOffset === 0) return bytes;
  const dragging = (report.button & MOTION) !== 0 && (report.button & RELEASE) !== RELEASE;
  if (!inside && !report.release && !dragging) return null;
  const clamp = (value: number, highest: number) => Math.min(Math.max(value, 1), highest);
  return encodeMouse({ ...report, row: clamp(row, bounds.rows), col: clamp(col, bounds.cols) });
}
