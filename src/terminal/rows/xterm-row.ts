/**
 * How xterm stores a row and its cells.
 *
 * The only file that reads xterm's internals: rows are read as stored words, because the public cell view costs 5 to 10
 * times as much and knows neither hyperlinks nor underline styles. The layout belongs to the exact version of
 * @xterm/headless in package.json; `storedRow` throws on another layout, and a test compares every reading with the
 * public one. Nothing here writes except `setPenLink`, `markStale`, `placeCursor` and `cutRow`.
 */
import type { IBuffer, Terminal } from "@xterm/headless";

/** Words of a cell in `StoredRow._data`: content, foreground, background. */
export const CELL_WORDS = 3;

/** Content word: code point or last code point of a combination, "is a combination", width. */
const CODE_POINT = 0x1f_ffff;
const COMBINED = 0x20_0000;
export const HAS_CONTENT = 0x3f_ffff;
const WIDTH_SHIFT = 22;
/** Cells of width 1 without content, and with a space. */
export const UNWRITTEN = 1 << WIDTH_SHIFT;
const SPACE = UNWRITTEN | 32;

/** Colour words: 24 bits of colour, two of mode, six of flags. */
export const COLOR_VALUE = 0xff_ffff;
export const COLOR_MODE = 0x300_0000;
export const COLOR_PALETTE_16 = 0x100_0000;
export const COLOR_PALETTE_256 = 0x200_0000;
export const COLOR_RGB = 0x300_0000;
export const FG_INVERSE = 0x400_0000;
export const FG_BOLD = 0x800_0000;
export const FG_UNDERLINE = 0x1000_0000;
export const FG_BLINK = 0x2000_0000;
export const FG_INVISIBLE = 0x4000_0000;
export const FG_STRIKE = 0x8000_0000;
export const BG_ITALIC = 0x400_0000;
export const BG_FAINT = 0x800_0000;
export const BG_EXTENDED = 0x1000_0000;
export const BG_OVERLINE = 0x4000_0000;
/** A bit that xterm does not use: the cell predates the running command, see `markStale`. */
export const BG_STALE = 0x8000_0000;
/** Bits of the background word that describe a cell ("protected" does not). */
export const BG_KEPT = ~0x2000_0000;
/** Bits that change the cell's appearance. */
export const BG_VISIBLE = BG_KEPT & ~BG_STALE;

/** Cell attributes beyond the three words. */
export interface StoredExtended {
  /** Underline style (bits 26–28) and colour; the public `ext` says "dashed" for every link. */
  readonly _ext: number;
  readonly urlId: number;
}

export interface StoredRow {
  readonly _data: Uint32Array;
  readonly _combined: Readonly<Record<number, string | undefined>>;
  readonly _extendedAttrs: Readonly<Record<number, StoredExtended | undefined>>;
  readonly isWrapped: boolean;
  readonly length: number;
}

interface StoredBuffer extends IBuffer {
  readonly _buffer: { readonly lines: { get(y: number): StoredRow | undefined }; x: number; y: number };
}

let isLayoutVerified = false;

function isStoredBuffer(buffer: IBuffer): buffer is StoredBuffer {
  // Checks one row per process: the layout depends on the package alone.
  isLayoutVerified ||= "_buffer" in buffer && hasLines(buffer._buffer);
  return isLayoutVerified;
}

function hasLines(buffer: unknown): boolean {
  if (typeof buffer !== "object" || buffer === null || !("lines" in buffer)) return false;
  const { lines } = buffer;
  if (typeof lines !== "object" || lines === null || !("get" in lines) || typeof lines.get !== "function") return false;
  const row: unknown = lines.get(0);
  return (
    typeof row === "object" &&
    row !== null &&
    "_data" in row &&
    row._data instanceof Uint32Array &&
    "_combined" in row &&
    "_extendedAttrs" in row &&
    "isWrapped" in row
  );
}

/** Row `y` of a buffer as stored; valid until the next write. */
export function storedRow(buffer: IBuffer, y: number): StoredRow {
  if (!isStoredBuffer(buffer)) throw new TypeError("this version of @xterm/headless stores its rows in another way");
  const row = buffer._buffer.lines.get(y);
  if (row === undefined) throw new RangeError(`row ${y} of ${buffer.length} does not exist`);
  return row;
}

/**
 * Moves a buffer's cursor, whichever buffer is shown.
 * @param y row of the screen
 * @param x column; equal to the number of columns: the next character begins a row
 */
export function placeCursor(buffer: IBuffer, y: number, x: number): void {
  if (isStoredBuffer(buffer)) Object.assign(buffer._buffer, { x, y });
}

/** Cuts row `y` at `cols` cells. A later reflow treats it as a separate line. */
export function cutRow(buffer: IBuffer, y: number, cols: number): void {
  const row = storedRow(buffer, y);
  const end = cols > 0 && cellWidth(row._data[(cols - 1) * CELL_WORDS] ?? 0) === 2 ? cols - 1 : cols;
  for (let x = end; x < row.length; x++) row._data.set([UNWRITTEN, 0, 0], x * CELL_WORDS);
  Object.assign(row, { isWrapped: false });
}

/** The text of a cell: one grapheme, "" when nothing was written or the cell is the right half of a wide one. */
export function cellText(row: StoredRow, x: number): string {
  const content = row._data[x * CELL_WORDS] ?? 0;
  if ((content & COMBINED) !== 0) return row._combined[x] ?? "";
  const code = content & CODE_POINT;
  return code === 0 ? "" : String.fromCodePoint(code);
}

/** The code point of a cell that holds just one below `limit`, else -1; an unwritten cell counts as a space. */
export function simpleCode(content: number, limit: number): number {
  const code = content & (COMBINED | CODE_POINT);
  if (code === 0) return content >>> WIDTH_SHIFT === 0 ? -1 : 32;
  return code < limit ? code : -1;
}

export function cellWidth(content: number): 0 | 1 | 2 {
  const width = content >>> WIDTH_SHIFT;
  return width === 0 ? 0 : width === 1 ? 1 : 2;
}

/** Cells up to the last that shows something or is styled. */
export function usedCells(row: StoredRow): number {
  const data = row._data;
  let at = (row.length - 1) * CELL_WORDS;
  for (; at >= 0; at -= CELL_WORDS) {
    const content = data[at];
    // Erased cells have a background at most.
    if (content === UNWRITTEN ? data[at + 2] !== 0 : content !== SPACE || data[at + 1] !== 0 || data[at + 2] !== 0)
      break;
  }
  return at / CELL_WORDS + 1;
}

/**
 * Marks the cells from `from` on as older than the running command. A later write replaces a cell's words, and moved or
 * rewrapped cells keep the bit, so it marks old cells one by one.
 */
export function markStale(row: StoredRow, from: number): void {
  const data = row._data;
  const end = usedCells(row);
  for (let x = from; x < end; x++) data[x * CELL_WORDS + 2] = (data[x * CELL_WORDS + 2] ?? 0) | BG_STALE;
}

/** The style of the next drawn cells: the "pen". */
export interface Pen {
  fg: number;
  bg: number;
  extended: StoredExtended;
}

interface MutableExtended {
  urlId: number;
  clone(): MutableExtended;
}

interface Core {
  readonly _core: {
    readonly _inputHandler: {
      readonly _curAttrData: {
        readonly fg: number;
        readonly bg: number;
        extended: MutableExtended & StoredExtended;
        updateExtended(): void;
      };
    };
  };
}

function hasCore(terminal: Terminal): terminal is Terminal & Core {
  if (!("_core" in terminal)) return false;
  const core = terminal._core;
  if (typeof core !== "object" || core === null || !("_inputHandler" in core)) return false;
  const handler = core._inputHandler;
  if (typeof handler !== "object" || handler === null || !("_curAttrData" in handler)) return false;
  const pen = handler._curAttrData;
  return typeof pen === "object" && pen !== null && "extended" in pen && "updateExtended" in pen;
}

/** xterm's own pen, which has no public accessor. */
function currentPen(terminal: Terminal): Core["_core"]["_inputHandler"]["_curAttrData"] {
  if (!hasCore(terminal)) throw new TypeError("this version of @xterm/headless keeps its pen in another place");
  return terminal._core._inputHandler._curAttrData;
}

/** A copy of the pen. The serialize addon reads the same field. */
export function penOf(terminal: Terminal): Pen {
  const { fg, bg, extended } = currentPen(terminal);
  return { fg, bg, extended: { _ext: extended._ext, urlId: extended.urlId } };
}

/** Whether the pen has the default style, without a link or an underline colour. */
export function hasPlainPen(terminal: Terminal): boolean {
  const { fg, bg, extended } = currentPen(terminal);
  return fg === 0 && bg === 0 && extended._ext === 0;
}

/**
 * Gives the pen link `id` (0: none). xterm's own link service keeps a marker for every row of every link and compares
 * them all at every character: a link left open under a flood slowed parsing by a factor of hundreds.
 */
export function setPenLink(terminal: Terminal, id: number): void {
  const pen = currentPen(terminal);
  const extended = pen.extended.clone();
  extended.urlId = id;
  Object.assign(pen, { extended });
  pen.updateExtended();
}

/** Cells of a row that continues in the next: all, except a last one left empty before a wide character. */
export function wrappedCells(row: StoredRow, next: StoredRow): number {
  const last = row._data[(row.length - 1) * CELL_WORDS] ?? 0;
  const early = (last & HAS_CONTENT) === 0 && cellWidth(last) === 1 && cellWidth(next._data[0] ?? 0) === 2;
  return early ? row.length - 1 : row.length;
}
