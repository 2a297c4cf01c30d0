/**
 * The keys after the prefix key, over the lower part of a terminal, in as many columns as fit.
 *
 * Pure. Invariants: at least one row below stays in view if the terminal has several; a table that does not fit is cut
 * between its rows, with a sign. Runs once per frame while it is shown.
 */
import type { Grid } from "../protocol/grid.ts";
import type { Size } from "../protocol/size.ts";
import { inAscii } from "./ascii.ts";
import { Canvas, type CanvasBox } from "./canvas.ts";
import { type Cluster, cleanText, clusters, cutTo, textOf, widthOf } from "./graphemes.ts";
import { theme } from "./theme.ts";

export interface KeyMapRow {
  readonly keys: readonly string[];
  readonly description: string;
}

interface KeyMapOptions {
  /** Above the table. */
  readonly title: string;
  /** At the table's end when not everything fits. */
  readonly more: string;
  /** Rows of the table above those shown. */
  readonly from?: number;
  /** The table may fill the terminal. */
  readonly whole?: boolean;
  /** For a terminal that shows no UTF-8. */
  readonly ascii?: boolean;
}

/** Cells between two columns, and between a key and its description. */
const GAP = 2;
/** Narrowest useful column, in cells. */
const NARROWEST = 20;
/** Cells of a description: two columns fit a terminal of 80. */
const LONGEST = 24;

interface KeyMapEntry {
  readonly keys: readonly Cluster[];
  readonly description: readonly Cluster[];
}

interface Column {
  readonly entries: readonly KeyMapEntry[];
  readonly col: number;
  /** Cells of its keys. */
  readonly left: number;
}

/** Arranges the rows of a table in as many columns as fit, each of its contents' width. */
export function layoutKeyMap(rows: readonly KeyMapRow[], { cols }: { readonly cols: number }, ascii = false) {
  const sign = ascii ? inAscii : (text: string): string => text;
  const entries = rows.map(
    ({ keys, description }): KeyMapEntry => ({
      keys: clusters(sign(cleanText(keys.join(" ")))),
      description: clusters(sign(textOf(cutTo(LONGEST, clusters(cleanText(description).replaceAll("\n", " ")))))),
    }),
  );
  for (let count = Math.max(1, Math.floor(cols / NARROWEST)); ; count--) {
    const lines = Math.ceil(entries.length / count);
    const columns: Column[] = [];
    let col = 1;
    for (let first = 0; first < entries.length; first += lines) {
      const own = entries.slice(first, first + lines);
      const left = Math.max(...own.map(({ keys }) => widthOf(keys)));
      columns.push({ entries: own, col, left });
      col += left + GAP + Math.max(...own.map(({ description }) => widthOf(description))) + GAP;
    }
    if (count === 1 || col - GAP <= cols) return { columns, lines };
  }
}

/** How many lines of a table are shown on a terminal, from which one on, and the row of its title. */
function shownLines(lines: number, rows: number, { whole, from: asked = 0 }: Pick<KeyMapOptions, "whole" | "from">) {
  const shown = Math.min(lines, Math.max(1, rows - (whole === true ? 1 : 2)));
  return { shown, from: Math.max(0, Math.min(asked, lines - shown)), top: rows - shown - 1 };
}

/** The row of the table that is drawn at a cell; null: there is none. */
export function keyMapRowAt(
  table: readonly KeyMapRow[],
  options: Pick<KeyMapOptions, "whole" | "from">,
  size: Size,
  at: { readonly row: number; readonly col: number },
): KeyMapRow | null {
  const { columns, lines } = layoutKeyMap(table, size);
  const { shown, from, top } = shownLines(lines, size.rows, options);
  const column = columns.findLastIndex(({ col }) => col <= at.col);
  const line = at.row - top - 1;
  if (column < 0 || line < 0 || line >= shown) return null;
  return line + from < lines ? (table[column * lines + from + line] ?? null) : null;
}

export function drawKeyMap<T extends Grid>(frame: T, rows: readonly KeyMapRow[], options: KeyMapOptions): T {
  const { ascii = false } = options;
  const { columns, lines } = layoutKeyMap(rows, frame, ascii);
  const { shown, from, top } = shownLines(lines, frame.rows, options);
  const canvas = new Canvas(frame.rows, frame.cols);
  frame.lines.forEach((line, row) => {
    canvas.putRow(row, line);
  });
  const box: CanvasBox = { row: Math.max(0, top), col: 0, height: shown + 1, width: frame.cols };
  canvas.fill(box, theme.dialog);
  if (top >= 0) {
    canvas.fill({ ...box, height: 1 }, theme.dialog_bar);
    const title = ` ${options.title}${shown < lines ? ` · ${options.more}` : ""}`;
    canvas.text(top, 0, clusters(ascii ? inAscii(title) : title), theme.dialog_bar, box);
  }
  // Down one column after the other, as tables of keys are read.
  for (const { entries, col, left } of columns) {
    for (const [line, { keys, description }] of entries.slice(from, from + shown).entries()) {
      canvas.text(top + 1 + line, col, keys, theme.dialog_strong, box);
      canvas.text(top + 1 + line, col + left + GAP, description, theme.dialog, box);
    }
  }
  return { ...frame, lines: canvas.finish(), cursor: { ...frame.cursor, visible: false } };
}
