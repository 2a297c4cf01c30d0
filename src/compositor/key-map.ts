/**
 * The keys after the prefix key, over the lower part of a terminal, in as many columns as fit.
 *
 * Pure. Invariants: at least one row below stays in view if the terminal has several; a table that does not fit is cut
 * between its rows, with a sign. Runs once per frame while it is shown.
 */
import type { Grid } from "../protocol/grid.ts";
import type { Size } from "../protocol/size.ts";
import { toAscii } from "./ascii.ts";
import { Canvas, type CanvasBox } from "./canvas.ts";
import { type Cluster, cellWidth, cleanText, clusters, clusterText, cutToWidth } from "./graphemes.ts";
import { theme } from "./theme.ts";

export interface KeyMapRow {
  readonly keys: readonly string[];
  readonly description: string;
}

interface KeyMapOptions {
  /** Above the table. */
  readonly title: string;
  /** At the table's end when not everything fits. */
  readonly moreHint: string;
  /** Rows of the table above those shown. */
  readonly firstLine?: number;
  /** The table may fill the terminal. */
  readonly fillsTerminal?: boolean;
  /** For a terminal that shows no UTF-8. */
  readonly ascii?: boolean;
}

/** Cells between two columns, and between a key and its description. */
const COLUMN_GAP = 2;
/** Narrowest useful column, in cells. */
const MIN_COLUMN_CELLS = 20;
/** Cells of a description: two columns fit a terminal of 80. */
const MAX_DESCRIPTION_CELLS = 24;

interface KeyMapEntry {
  readonly keys: readonly Cluster[];
  readonly description: readonly Cluster[];
}

interface Column {
  readonly entries: readonly KeyMapEntry[];
  readonly col: number;
  /** Cells of its keys. */
  readonly keyCells: number;
}

/** Arranges the rows of a table in as many columns as fit, each of its contents' width. */
export function layoutKeyMap(rows: readonly KeyMapRow[], { cols }: { readonly cols: number }, ascii = false) {
  const sign = ascii ? toAscii : (text: string): string => text;
  const entries = rows.map(
    ({ keys, description }): KeyMapEntry => ({
      keys: clusters(sign(cleanText(keys.join(" ")))),
      description: clusters(
        sign(clusterText(cutToWidth(MAX_DESCRIPTION_CELLS, clusters(cleanText(description).replaceAll("\n", " "))))),
      ),
    }),
  );
  for (let count = Math.max(1, Math.floor(cols / MIN_COLUMN_CELLS)); ; count--) {
    const lines = Math.ceil(entries.length / count);
    const columns: Column[] = [];
    let col = 1;
    for (let first = 0; first < entries.length; first += lines) {
      const columnEntries = entries.slice(first, first + lines);
      const keyCells = Math.max(...columnEntries.map(({ keys }) => cellWidth(keys)));
      columns.push({ entries: columnEntries, col, keyCells });
      col +=
        keyCells +
        COLUMN_GAP +
        Math.max(...columnEntries.map(({ description }) => cellWidth(description))) +
        COLUMN_GAP;
    }
    if (count === 1 || col - COLUMN_GAP <= cols) return { columns, lines };
  }
}

/** How many lines of a table are shown on a terminal, from which one on, and the row of its title. */
function visibleLines(
  lines: number,
  rows: number,
  { fillsTerminal, firstLine: asked = 0 }: Pick<KeyMapOptions, "fillsTerminal" | "firstLine">,
) {
  const shown = Math.min(lines, Math.max(1, rows - (fillsTerminal === true ? 1 : 2)));
  return { shown, from: Math.max(0, Math.min(asked, lines - shown)), top: rows - shown - 1 };
}

/** The row of the table that is drawn at a cell; null: there is none. */
export function findKeyMapRow(
  table: readonly KeyMapRow[],
  options: Pick<KeyMapOptions, "fillsTerminal" | "firstLine">,
  size: Size,
  at: { readonly row: number; readonly col: number },
): KeyMapRow | null {
  const { columns, lines } = layoutKeyMap(table, size);
  const { shown, from, top } = visibleLines(lines, size.rows, options);
  const column = columns.findLastIndex(({ col }) => col <= at.col);
  const line = at.row - top - 1;
  if (column < 0 || line < 0 || line >= shown) return null;
  return line + from < lines ? (table[column * lines + from + line] ?? null) : null;
}

export function drawKeyMap<T extends Grid>(frame: T, rows: readonly KeyMapRow[], options: KeyMapOptions): T {
  const { ascii = false } = options;
  const { columns, lines } = layoutKeyMap(rows, frame, ascii);
  const { shown, from, top } = visibleLines(lines, frame.rows, options);
  const canvas = Canvas.over(frame);
  const box: CanvasBox = { row: Math.max(0, top), col: 0, height: shown + 1, width: frame.cols };
  canvas.fill(box, theme.dialog);
  if (top >= 0) {
    canvas.fill({ ...box, height: 1 }, theme.dialog_bar);
    const title = ` ${options.title}${shown < lines ? ` · ${options.moreHint}` : ""}`;
    canvas.text(top, 0, clusters(ascii ? toAscii(title) : title), theme.dialog_bar, box);
  }
  // Down one column after the other, as tables of keys are read.
  for (const { entries, col, keyCells } of columns) {
    for (const [line, { keys, description }] of entries.slice(from, from + shown).entries()) {
      canvas.text(top + 1 + line, col, keys, theme.dialog_strong, box);
      canvas.text(top + 1 + line, col + keyCells + COLUMN_GAP, description, theme.dialog, box);
    }
  }
  return { ...frame, lines: canvas.finish(), cursor: { ...frame.cursor, visible: false } };
}
