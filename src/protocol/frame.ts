/**
 * A frame on its way from a host to a client that paints: only what changed, as runs of equal style.
 *
 * Owns the wire form, its schema, and both directions. What must stay true: applying the update made from (a, b) to
 * `a` gives `b`; rows that did not change are the same objects before and after, so a painter compares by identity;
 * a client needs no width tables, since runs say how many cells their characters take. Runs once per frame and client.
 */
import * as v from "valibot";
import { type Color, ColorSchema } from "./screen.ts";

export const underlineStyles = ["single", "double", "curly", "dotted", "dashed"] as const;

/** The look of a cell, as in terminal/grid; `flags` has the bits named there. */
export interface ViewStyle {
  readonly fg: Color | null;
  readonly bg: Color | null;
  readonly flags: number;
  readonly link: string | null;
  readonly underlineStyle?: (typeof underlineStyles)[number];
  readonly underlineColor?: Color;
}

export interface ViewCell {
  /** One grapheme; a blank is a space; the right half of a wide one is "". */
  readonly text: string;
  readonly width: 0 | 1 | 2;
  readonly style: ViewStyle;
}

export type ViewRow = readonly ViewCell[];

export interface ViewCursor {
  readonly row: number;
  readonly col: number;
  readonly visible: boolean;
  readonly shape: "block" | "underline" | "bar";
  readonly blink: boolean;
}

/** Modes of the program that the outer terminal has to have too, since they decide what it sends. */
export const ViewModesSchema = v.object({
  /** The program is on its alternate screen. */
  alternate: v.boolean(),
  /** DECSCNM: the whole screen is shown with its colours exchanged. */
  reverseVideo: v.boolean(),
  bracketedPaste: v.boolean(),
  /** DEC mode 9, 1000, 1002 or 1003; 0 when off. */
  mouse: v.picklist([0, 9, 1000, 1002, 1003]),
  /** DEC mode 1005, 1006, 1015 or 1016; 0 for X10's bytes. */
  mouseEncoding: v.picklist([0, 1005, 1006, 1015, 1016]),
  focus: v.boolean(),
  applicationCursor: v.boolean(),
  applicationKeypad: v.boolean(),
  modifyOtherKeys: v.picklist([0, 1, 2]),
  /** Kitty keyboard flags. */
  kittyFlags: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(31)),
  /** False while the program has never chosen a cursor: the person's own shape stays. */
  cursorChosen: v.boolean(),
});
export type ViewModes = v.InferOutput<typeof ViewModesSchema>;

export const initialViewModes: ViewModes = {
  alternate: false,
  reverseVideo: false,
  bracketedPaste: false,
  mouse: 0,
  mouseEncoding: 0,
  focus: false,
  applicationCursor: false,
  applicationKeypad: false,
  modifyOtherKeys: 0,
  kittyFlags: 0,
  cursorChosen: false,
};

/** Everything that a client's terminal is to show. */
export interface FrameView {
  readonly rows: number;
  readonly cols: number;
  /** Exactly `rows` rows of `cols` cells. */
  readonly lines: readonly ViewRow[];
  readonly cursor: ViewCursor;
  readonly modes: ViewModes;
  /** null: the outer terminal's title is left alone. */
  readonly title: string | null;
}

/** What happened rather than is: painted once, with the frame that it came with. */
export interface FrameEvents {
  /** Lines that left the top of the normal screen since the last frame, oldest first. */
  readonly scrolled: readonly ViewRow[];
  readonly bell: boolean;
  /** Text for the clipboard (OSC 52), already allowed by policy. */
  readonly clipboard: { readonly selection: string; readonly base64: string } | null;
}

export const noEvents: FrameEvents = { scrolled: [], bell: false, clipboard: null };

/** Lines given to the outer terminal's scrollback with one frame; older ones are in wsh's own history. */
export const MAX_SCROLLED = 1000;
/** UTF-16 units of one cell's text; real graphemes have half of it, and marks can be piled up without end. */
export const MAX_GRAPHEME = 64;
/** Largest terminal, as everywhere. */
const MAX_SIZE = 1000;

const SizeSchema = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_SIZE));
const IndexSchema = v.pipe(v.number(), v.integer(), v.minValue(0));

/**
 * Cells of one style. A text has one character per code point, each as many cells wide as the third entry says (1 when
 * absent); an array has one grapheme per entry. The second entry is the index of the style, and text alone is plain.
 */
const RunSchema = v.union([
  v.string(),
  v.strictTuple([v.union([v.string(), v.array(v.string())]), IndexSchema]),
  v.strictTuple([v.union([v.string(), v.array(v.string())]), IndexSchema, v.literal(2)]),
]);
export type Run = v.InferOutput<typeof RunSchema>;
const WireLineSchema = v.array(RunSchema);

/** Keys are absent when unset. */
const WireStyleSchema = v.object({
  fg: v.optional(ColorSchema),
  bg: v.optional(ColorSchema),
  flags: v.optional(IndexSchema),
  link: v.optional(v.string()),
  ul: v.optional(v.picklist(underlineStyles)),
  ulColor: v.optional(ColorSchema),
});
type WireStyle = v.InferOutput<typeof WireStyleSchema>;

export const FrameUpdateSchema = v.object({
  rows: SizeSchema,
  cols: SizeSchema,
  /** Every row is here; what the client had before does not count. */
  full: v.boolean(),
  /** Index 0 is the plain style and not listed. */
  styles: v.array(WireStyleSchema),
  /** Row number and its runs; trailing plain blanks are left out. */
  lines: v.array(v.tuple([IndexSchema, WireLineSchema])),
  cursor: v.object({
    row: IndexSchema,
    col: IndexSchema,
    visible: v.boolean(),
    shape: v.picklist(["block", "underline", "bar"]),
    blink: v.boolean(),
  }),
  /** Absent when as before. */
  modes: v.optional(ViewModesSchema),
  title: v.optional(v.nullable(v.string())),
  /** Absent when there is nothing of it. */
  scrolled: v.optional(v.array(WireLineSchema)),
  bell: v.optional(v.literal(true)),
  clipboard: v.optional(v.object({ selection: v.string(), base64: v.string() })),
  /**
   * The host has written on the terminal: it shows this already (true), or nobody knows what (false), and it is painted
   * whole. Absent when the terminal shows what the client has painted last.
   */
  shown: v.optional(v.boolean()),
});
export type FrameUpdate = v.InferOutput<typeof FrameUpdateSchema>;

export const plainViewStyle: ViewStyle = { fg: null, bg: null, flags: 0, link: null };
const plainBlank: ViewCell = { text: " ", width: 1, style: plainViewStyle };

function isPlain({ fg, bg, flags, link }: ViewStyle): boolean {
  return fg === null && bg === null && flags === 0 && link === null;
}

/** Numbers the styles of one update: equal ones alike, the plain one 0. */
class StyleTable {
  readonly styles: WireStyle[] = [];
  readonly #byObject = new Map<ViewStyle, number>();
  readonly #byText = new Map<string, number>();

  indexOf(style: ViewStyle): number {
    const known = this.#byObject.get(style);
    if (known !== undefined) return known;
    const index = isPlain(style) ? 0 : this.#add(style);
    this.#byObject.set(style, index);
    return index;
  }

  #add(style: ViewStyle): number {
    const wire: WireStyle = {
      ...(style.fg === null ? {} : { fg: style.fg }),
      ...(style.bg === null ? {} : { bg: style.bg }),
      ...(style.flags === 0 ? {} : { flags: style.flags }),
      ...(style.link === null ? {} : { link: style.link }),
      ...(style.underlineStyle === undefined ? {} : { ul: style.underlineStyle }),
      ...(style.underlineColor === undefined ? {} : { ulColor: style.underlineColor }),
    };
    const key = JSON.stringify(wire);
    const known = this.#byText.get(key);
    if (known !== undefined) return known;
    this.styles.push(wire);
    this.#byText.set(key, this.styles.length);
    return this.styles.length;
  }
}

function isSingle(text: string): boolean {
  return text.length === 1 || (text.length === 2 && (text.codePointAt(0) ?? 0) > 0xffff);
}

function encodeLine(row: ViewRow, table: StyleTable): Run[] {
  let end = row.length;
  while (end > 0 && row[end - 1]?.text === " " && isPlain(row[end - 1]?.style ?? plainViewStyle)) end--;
  const runs: Run[] = [];
  for (let at = 0; at < end; ) {
    const cell = row[at] ?? plainBlank;
    const style = table.indexOf(cell.style);
    const wide = cell.width === 2;
    const single = isSingle(cell.text);
    const texts: string[] = [];
    while (at < end) {
      const next = row[at] ?? plainBlank;
      if (next.width === 0) {
        at++;
        continue;
      }
      const same = next.style === cell.style || table.indexOf(next.style) === style;
      if (!same || (next.width === 2) !== wide || isSingle(next.text) !== single) break;
      texts.push(next.text.length > MAX_GRAPHEME ? next.text.slice(0, MAX_GRAPHEME) : next.text);
      at++;
    }
    if (texts.length === 0) continue;
    const text = single ? texts.join("") : texts;
    if (wide) runs.push([text, style, 2]);
    else if (style === 0 && typeof text === "string") runs.push(text);
    else runs.push([text, style]);
  }
  return runs;
}

function decodeLine(runs: readonly Run[], styles: readonly ViewStyle[], cols: number): ViewRow {
  const cells: ViewCell[] = [];
  for (const run of runs) {
    const [texts, index, width] = typeof run === "string" ? [run, 0, undefined] : run;
    const style = styles[index] ?? plainViewStyle;
    for (const text of texts) {
      if (cells.length >= cols) break;
      // A wide one without room for its right half would break the row.
      if (width !== 2) cells.push({ text, width: 1, style });
      else if (cells.length + 2 > cols) cells.push({ text: " ", width: 1, style });
      else cells.push({ text, width: 2, style }, { text: "", width: 0, style });
    }
  }
  while (cells.length < cols) cells.push(plainBlank);
  return cells;
}

function equalLines(a: ViewRow, b: ViewRow): boolean {
  return a === b || (a.length === b.length && a.every((cell, col) => sameViewCell(cell, b[col])));
}

/** Whether two cells look the same. */
export function sameViewCell(a: ViewCell, b: ViewCell | undefined): boolean {
  if (a === b) return true;
  return b !== undefined && a.text === b.text && a.width === b.width && sameViewStyle(a.style, b.style);
}

/** Whether two styles look the same. */
export function sameViewStyle(a: ViewStyle, b: ViewStyle): boolean {
  if (a === b) return true;
  if (a.flags !== b.flags || a.link !== b.link || a.underlineStyle !== b.underlineStyle) return false;
  return (
    sameColor(a.fg, b.fg) && sameColor(a.bg, b.bg) && sameColor(a.underlineColor ?? null, b.underlineColor ?? null)
  );
}

function sameColor(a: Color | null, b: Color | null): boolean {
  if (a === b) return true;
  if (a === null || b === null) return false;
  if ("indexed" in a) return "indexed" in b && a.indexed === b.indexed;
  return "rgb" in b && a.rgb.r === b.rgb.r && a.rgb.g === b.rgb.g && a.rgb.b === b.rgb.b;
}

/**
 * What a client that has `prev` needs to have `next`.
 * @param prev null for a client that has nothing, or whose terminal was drawn on by others
 */
export function encodeFrame(prev: FrameView | null, next: FrameView, events: FrameEvents = noEvents): FrameUpdate {
  const full = prev === null || prev.rows !== next.rows || prev.cols !== next.cols;
  const table = new StyleTable();
  const lines: FrameUpdate["lines"] = [];
  for (const [row, line] of next.lines.entries()) {
    const before = full ? undefined : prev.lines[row];
    if (before === undefined || !equalLines(before, line)) lines.push([row, encodeLine(line, table)]);
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
    ...(scrolled.length === 0 ? {} : { scrolled }),
    ...(events.bell ? { bell: true as const } : {}),
    ...(events.clipboard === null ? {} : { clipboard: events.clipboard }),
  };
}

/**
 * What was typed, when that is all that is new: printable ASCII in the plain style from where the cursor was up to where
 * it is, which a terminal that shows the frame before shows when it gets these characters and nothing else. "" when there
 * is more to it.
 * @param update as made from the two, without events
 */
export function typedInPlace(prev: FrameView | null, next: FrameView, update: FrameUpdate): string {
  if (prev === null || update.full || update.modes !== undefined || update.title !== undefined) return "";
  const { row, col, visible, shape, blink } = next.cursor;
  const { cursor: from } = prev;
  // A blank changes no row, but moves the cursor.
  if (update.lines.length > 1 || (update.lines[0]?.[0] ?? row) !== row) return "";
  if (from.row !== row || col >= next.cols || !visible) return "";
  if (!from.visible || from.shape !== shape || from.blink !== blink) return "";
  const before = prev.lines[row] ?? [];
  let typed = "";
  for (const [at, cell] of (next.lines[row] ?? []).entries()) {
    if (at < from.col || at >= col) {
      if (!sameViewCell(cell, before[at])) return "";
    } else if (isPlain(cell.style) && /^[ -~]$/.test(cell.text)) typed += cell.text;
    else return "";
  }
  return typed;
}

/** Whether two sets of modes are the same. */
export function sameModes(a: ViewModes, b: ViewModes): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

/**
 * The frame after an update, and what happened with it.
 * @throws Error when the update builds on a frame that the client does not have
 */
export function applyFrame(
  prev: FrameView | null,
  update: FrameUpdate,
): { readonly view: FrameView; readonly events: FrameEvents } {
  const { rows, cols, full, cursor } = update;
  const fits = prev !== null && prev.rows === rows && prev.cols === cols;
  if (!full && !fits) throw new Error("a partial frame came without the one before it");
  const styles = [plainViewStyle, ...update.styles.map(toViewStyle)];
  const lines = full || prev === null ? Array.from({ length: rows }, () => blankLine(cols)) : [...prev.lines];
  for (const [row, runs] of update.lines) if (row < rows) lines[row] = decodeLine(runs, styles, cols);
  return {
    view: {
      rows,
      cols,
      lines,
      cursor,
      modes: update.modes ?? prev?.modes ?? initialViewModes,
      title: update.title === undefined ? (prev?.title ?? null) : update.title,
    },
    events: {
      scrolled: (update.scrolled ?? []).slice(-MAX_SCROLLED).map((line) => decodeLine(line, styles, cols)),
      bell: update.bell ?? false,
      clipboard: update.clipboard ?? null,
    },
  };
}

function blankLine(cols: number): ViewRow {
  return Array.from({ length: cols }, () => plainBlank);
}

function toViewStyle(wire: WireStyle): ViewStyle {
  return {
    fg: wire.fg ?? null,
    bg: wire.bg ?? null,
    flags: wire.flags ?? 0,
    link: wire.link ?? null,
    ...(wire.ul === undefined ? {} : { underlineStyle: wire.ul }),
    ...(wire.ulColor === undefined ? {} : { underlineColor: wire.ulColor }),
  };
}
