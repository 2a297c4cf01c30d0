/**
 * A frame in transit from a session process to a rendering client: only the changes, as runs of equal style.
 *
 * Owns the wire form, its schema, and both directions. Invariants: applying the update made from (a, b) to `a` gives
 * `b`; unchanged rows stay the same objects, so a renderer compares by identity; a client needs no width tables, since
 * runs carry the cell width of their characters. Runs once per frame and client.
 */
import * as v from "valibot";
import { defined } from "./defined.ts";
import { integerBetween, integerFrom } from "./fields.ts";
import {
  ClipboardCopySchema,
  type Frame,
  type FrameEvents,
  type FrameModes,
  FrameModesSchema,
  type FramePlaces,
  FramePlacesSchema,
  initialFrameModes,
  MAX_GRAPHEME,
  MAX_SCROLLED,
  noEvents,
} from "./frame.ts";
import {
  blankRow,
  type Cell,
  plainBlank,
  plainStyle,
  type Row,
  type Style,
  sameCell,
  sameRow,
  underlineStyles,
} from "./grid.ts";
import { ColorSchema } from "./screen.ts";
import { MAX_SIDE } from "./size.ts";

const SizeSchema = integerBetween(1, MAX_SIDE);

const IndexSchema = integerFrom(0);

/**
 * Cells of one style. A text has one character per code point, whose width in cells is the third entry (default 1); an
 * array has one grapheme per entry. The second entry is the index of the style; text alone is plain.
 */
const RunSchema = v.union([
  v.string(),
  v.strictTuple([v.union([v.string(), v.array(v.string())]), IndexSchema]),
  v.strictTuple([v.union([v.string(), v.array(v.string())]), IndexSchema, v.literal(2)]),
]);

export type StyleRun = v.InferOutput<typeof RunSchema>;

/** A row, without trailing plain blanks. */
export const WireLineSchema = v.array(RunSchema);

/** Keys are absent when unset. */
export const WireStyleSchema = v.object({
  fg: v.optional(ColorSchema),
  bg: v.optional(ColorSchema),
  flags: v.optional(IndexSchema),
  link: v.optional(v.string()),
  ul: v.optional(v.picklist(underlineStyles)),
  ulColor: v.optional(ColorSchema),
});

export type WireStyle = v.InferOutput<typeof WireStyleSchema>;

export const FrameUpdateSchema = v.object({
  rows: SizeSchema,
  cols: SizeSchema,
  /** Whether the update has every row and replaces the client's last frame. */
  full: v.boolean(),
  /** Index 0 is the plain style, which is not listed. */
  styles: v.array(WireStyleSchema),
  /** Row number and its runs, without trailing plain blanks. */
  lines: v.array(v.tuple([IndexSchema, WireLineSchema])),
  cursor: v.object({
    row: IndexSchema,
    col: IndexSchema,
    visible: v.boolean(),
    shape: v.picklist(["block", "underline", "bar"]),
    blink: v.boolean(),
  }),
  /** Absent when unchanged. */
  modes: v.optional(FrameModesSchema),
  title: v.optional(v.nullable(v.string())),
  /** Positions of panes, for a client that requested them; absent when unchanged. */
  places: v.optional(FramePlacesSchema),
  /** Absent when empty. */
  scrolled: v.optional(v.array(WireLineSchema)),
  bell: v.optional(v.literal(true)),
  clipboard: v.optional(ClipboardCopySchema),
  /**
   * Set if the session process has written to the terminal: the terminal already shows this frame (true), or its
   * content is unknown (false) and it is rendered completely. Absent if the terminal shows the client's last picture.
   */
  shown: v.optional(v.boolean()),
});

export type FrameUpdate = v.InferOutput<typeof FrameUpdateSchema>;

function isPlain({ fg, bg, flags, link }: Style): boolean {
  return fg === null && bg === null && flags === 0 && link === null;
}

/** Numbers the styles of one update: equal styles share a number, the plain one is 0. */
class StyleNumbers {
  readonly styles: WireStyle[] = [];
  readonly #byObject = new Map<Style, number>();
  readonly #byText = new Map<string, number>();

  indexOf(style: Style): number {
    const existing = this.#byObject.get(style);
    if (existing !== undefined) return existing;
    const index = isPlain(style) ? 0 : this.#add(style);
    this.#byObject.set(style, index);
    return index;
  }

  #add(style: Style): number {
    const wire: WireStyle = {
      ...(style.fg === null ? {} : { fg: style.fg }),
      ...(style.bg === null ? {} : { bg: style.bg }),
      ...(style.flags === 0 ? {} : { flags: style.flags }),
      ...(style.link === null ? {} : { link: style.link }),
      ...defined({ ul: style.underlineStyle, ulColor: style.underlineColor }),
    };
    const key = JSON.stringify(wire);
    const index = this.#byText.get(key);
    if (index !== undefined) return index;
    this.styles.push(wire);
    this.#byText.set(key, this.styles.length);
    return this.styles.length;
  }
}

function isPlainBlank(cell: Cell | undefined): boolean {
  return cell === plainBlank || (cell !== undefined && cell.text === " " && isPlain(cell.style));
}

function isSingle(text: string): boolean {
  return text.length === 1 || (text.length === 2 && (text.codePointAt(0) ?? 0) > 0xffff);
}

function encodeLine(row: Row, table: StyleNumbers): StyleRun[] {
  let end = row.length;
  while (end > 0 && isPlainBlank(row[end - 1])) end--;
  const runs: StyleRun[] = [];
  for (let index = 0; index < end; ) {
    const cell = row[index] ?? plainBlank;
    const style = table.indexOf(cell.style);
    const wide = cell.width === 2;
    const single = isSingle(cell.text);
    const texts: string[] = [];
    let last: Cell | null = null;
    let text = "";
    for (; index < end; index++) {
      const next = row[index] ?? plainBlank;
      // Most cells are the object before them: blanks and lines.
      if (next !== last) {
        if (next.width === 0) continue;
        const same = next.style === cell.style || table.indexOf(next.style) === style;
        if (!same || (next.width === 2) !== wide || isSingle(next.text) !== single) break;
        text = next.text.length > MAX_GRAPHEME ? next.text.slice(0, MAX_GRAPHEME) : next.text;
        last = next;
      }
      texts.push(text);
    }
    if (texts.length === 0) continue;
    const run = single ? texts.join("") : texts;
    if (wide) runs.push([run, style, 2]);
    else if (style === 0 && typeof run === "string") runs.push(run);
    else runs.push([run, style]);
  }
  return runs;
}

function decodeLine(runs: readonly StyleRun[], styles: readonly Style[], cols: number): Row {
  if (runs.length === 0) return blankRow(cols);
  const cells: Cell[] = [];
  for (const run of runs) {
    const [texts, index, width] = typeof run === "string" ? [run, 0, undefined] : run;
    const style = styles[index] ?? plainStyle;
    let last: Cell | null = style === plainStyle ? plainBlank : null;
    for (const text of texts) {
      if (cells.length >= cols) break;
      // A wide character without room for its right half would break the row.
      if (width !== 2) {
        if (last?.text !== text) last = { text, width: 1, style };
        cells.push(last);
      } else if (cells.length + 2 > cols) cells.push({ text: " ", width: 1, style });
      else cells.push({ text, width: 2, style }, { text: "", width: 0, style });
    }
  }
  while (cells.length < cols) cells.push(plainBlank);
  return cells;
}

/** Encodes and decodes rows outside of a frame, in the same form. */
export function encodeRows(rows: readonly Row[]): { readonly styles: WireStyle[]; readonly lines: StyleRun[][] } {
  const table = new StyleNumbers();
  const lines = rows.map((row) => encodeLine(row, table));
  return { styles: table.styles, lines };
}

export function decodeRows(styles: readonly WireStyle[], lines: readonly (readonly StyleRun[])[], cols: number): Row[] {
  const looks = [plainStyle, ...styles.map(toStyle)];
  return lines.map((runs) => decodeLine(runs, looks, cols));
}

/**
 * Returns the update that takes a client from `prev` to `next`.
 * @param prev null for a client that has no frame, or whose terminal was drawn on by others
 */
export function encodeFrame(prev: Frame | null, next: Frame, events: FrameEvents = noEvents): FrameUpdate {
  const full = prev === null || prev.rows !== next.rows || prev.cols !== next.cols;
  const table = new StyleNumbers();
  const lines: FrameUpdate["lines"] = [];
  for (const [row, line] of next.lines.entries()) {
    const before = full ? undefined : prev.lines[row];
    if (before === undefined || !sameRow(before, line)) lines.push([row, encodeLine(line, table)]);
  }
  const scrolled = events.scrolled.slice(-MAX_SCROLLED).map((line) => encodeLine(line, table));
  const { row, col, visible, shape, blink } = next.cursor;
  return {
    rows: next.rows,
    cols: next.cols,
    full,
    styles: table.styles,
    lines,
    cursor: { row, col, visible, shape, blink },
    ...(prev !== null && sameModes(prev.modes, next.modes) ? {} : { modes: next.modes }),
    ...(prev !== null && prev.title === next.title ? {} : { title: next.title }),
    ...(next.places === undefined || samePlaces(prev?.places, next.places) ? {} : { places: next.places }),
    ...(scrolled.length === 0 ? {} : { scrolled }),
    ...(events.bell ? { bell: true as const } : {}),
    ...(events.clipboard === null ? {} : { clipboard: events.clipboard }),
  };
}

/**
 * Returns the typed text when nothing else has changed: printable ASCII in the plain style between the old and the new
 * cursor, which a terminal that shows the previous frame reproduces when it receives just these characters. Returns ""
 * for any other change.
 * @param update made from the two frames, without events
 */
export function typedInPlace(prev: Frame | null, next: Frame, update: FrameUpdate): string {
  if (prev === null || update.full || update.modes !== undefined || update.title !== undefined) return "";
  const { row, col, visible, shape, blink } = next.cursor;
  const { cursor: from } = prev;
  // A blank changes no row but moves the cursor.
  if (update.lines.length > 1 || (update.lines[0]?.[0] ?? row) !== row) return "";
  if (from.row !== row || col >= next.cols || !visible) return "";
  if (!from.visible || from.shape !== shape || from.blink !== blink) return "";
  const before = prev.lines[row] ?? [];
  let typed = "";
  for (const [at, cell] of (next.lines[row] ?? []).entries()) {
    if (at < from.col || at >= col) {
      if (!sameCell(cell, before[at])) return "";
    } else if (isPlain(cell.style) && /^[ -~]$/.test(cell.text)) typed += cell.text;
    else return "";
  }
  return typed;
}

function samePlaces(a: FramePlaces | undefined, b: FramePlaces): boolean {
  return a === b || (a !== undefined && JSON.stringify(a) === JSON.stringify(b));
}

/** Whether two sets of modes are the same. */
function sameModes(a: FrameModes, b: FrameModes): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

/**
 * Returns the frame after an update, and the events that came with it.
 * @throws Error when the update builds on a frame that the client does not have
 */
export function applyFrame(
  prev: Frame | null,
  update: FrameUpdate,
): { readonly view: Frame; readonly events: FrameEvents } {
  const { rows, cols, full, cursor } = update;
  const fits = prev !== null && prev.rows === rows && prev.cols === cols;
  if (!full && !fits) throw new Error("a partial frame arrived without its predecessor");
  const places = update.places ?? prev?.places;
  const styles = [plainStyle, ...update.styles.map(toStyle)];
  const lines = full || prev === null ? new Array<Row>(rows).fill(blankRow(cols)) : [...prev.lines];
  for (const [row, runs] of update.lines) if (row < rows) lines[row] = decodeLine(runs, styles, cols);
  return {
    view: {
      rows,
      cols,
      lines,
      cursor,
      modes: update.modes ?? prev?.modes ?? initialFrameModes,
      title: update.title === undefined ? (prev?.title ?? null) : update.title,
      ...defined({ places }),
    },
    events: {
      scrolled: (update.scrolled ?? []).slice(-MAX_SCROLLED).map((line) => decodeLine(line, styles, cols)),
      bell: update.bell ?? false,
      clipboard: update.clipboard ?? null,
    },
  };
}

function toStyle(wire: WireStyle): Style {
  return {
    fg: wire.fg ?? null,
    bg: wire.bg ?? null,
    flags: wire.flags ?? 0,
    link: wire.link ?? null,
    ...defined({ underlineStyle: wire.ul, underlineColor: wire.ulColor }),
  };
}
