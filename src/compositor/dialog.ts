/**
 * A dialog above a whole terminal: a question's text, its choices or input, and how to answer. The background is
 * dimmed.
 *
 * Pure, except for cached dimmed rows. Invariants: the dialog fits any terminal, and the answer part is the last to be
 * omitted; foreign text is cleaned and can neither hide that part nor leave its box; it needs no colours. Runs once per
 * frame while a dialog is open.
 */
import { type Cell, FAINT, type Grid, type Row, type Style } from "../protocol/grid.ts";
import type { Size } from "../protocol/size.ts";
import { toAscii } from "./ascii.ts";
import { Canvas, type CanvasBox } from "./canvas.ts";
import { type Cluster, cellWidth, cleanText, clusters, clusterText, cutToWidth } from "./graphemes.ts";
import { theme } from "./theme.ts";

/** Widest text, in cells: longer lines are hard to read. */
const MAX_TEXT_CELLS = 68;
/** Narrowest text of a dialog with a border, in cells: its hints fit. */
const MIN_TEXT_CELLS = 34;
/** Cells beside the text of a dialog with a border: the line and a blank on both sides. */
const BORDER_CELLS = 4;
/** Rows above and below it. */
const BORDER_ROWS = 2;
/** Smaller terminals get no border: every cell is needed. */
const MIN_FRAMED_SIZE: Size = { rows: 10, cols: MIN_TEXT_CELLS + BORDER_CELLS };
/** Lines of one fact; the rest of a longer one is cut, so that nothing pushes the others away. */
const MAX_FACT_LINES = 2;
/** Rows for choices beside a long text, which is scrolled: all choices of a permission are seen together. */
const MIN_ITEM_ROWS = 5;

export interface DialogContent {
  /** The asking party. */
  readonly title: string;
  /** May be scrolled. */
  readonly body: string;
  /** Lines that are never scrolled away; each is wrapped into FACT_LINES at most. */
  readonly facts: readonly string[];
  /** Choices below each other. */
  readonly items: readonly { readonly mark: string; readonly text: string }[];
  /** The item, or without items the button, that Enter selects; -1: none. */
  readonly focus: number;
  readonly input: { readonly before: string; readonly after: string } | null;
  readonly buttons: readonly string[];
  /** Lines of the body above the shown ones. */
  readonly scroll: number;
  readonly hint: string;
}

/** The action of a click on these cells. */
interface DialogTarget {
  readonly row: number;
  readonly col: number;
  readonly width: number;
  readonly part: "item" | "button";
  readonly index: number;
}

export interface DialogLayout {
  readonly box: CanvasBox;
  readonly targets: readonly DialogTarget[];
  /** Lines by which the body can be scrolled. */
  readonly maxScroll: number;
  readonly texts: readonly {
    readonly row: number;
    readonly col: number;
    readonly text: string;
    readonly style: Style;
  }[];
  readonly cursor: { readonly row: number; readonly col: number } | null;
  readonly isFramed: boolean;
}

/** A clean line, cut to its place with an ellipsis. */
function cutLine(text: string, cells: number): string {
  return clusterText(cutToWidth(cells, clusters(text)));
}

/** Clean text in lines of at most `cells`, broken between words if possible. */
export function wrap(text: string, cells: number): string[] {
  return text.split("\n").flatMap((paragraph) => {
    const lines: string[] = [];
    let line: Cluster[] = [];
    let width = 0;
    for (const cluster of clusters(paragraph)) {
      if (width + cluster.width > cells && line.length > 0) {
        const blank = line.findLastIndex(({ text: each }) => each === " ");
        const rest = blank > 0 && cluster.text !== " " ? line.slice(blank + 1) : [];
        lines.push(clusterText(rest.length > 0 || blank === line.length - 1 ? line.slice(0, blank) : line).trimEnd());
        line = rest;
        width = cellWidth(rest);
        if (cluster.text === " " && line.length === 0) continue;
      }
      line.push(cluster);
      width += cluster.width;
    }
    return [...lines, clusterText(line).trimEnd()];
  });
}

/** How many rows each part gets. */
function shareRows(
  height: number,
  parts: { title: number; body: number; facts: number; items: number; input: number; buttons: number; hint: number },
) {
  const rows = { ...parts };
  const shown = Math.min(MIN_ITEM_ROWS, rows.items);
  const used = (): number =>
    rows.title + rows.facts + rows.input + rows.buttons + rows.hint + Math.min(1, rows.body) + shown;
  if (used() > height && rows.input + shown > 0) rows.buttons = 0;
  if (used() > height) rows.title = 0;
  if (used() > height) rows.hint = 0;
  while (used() > height && rows.facts > 0) rows.facts--;
  if (used() - shown + Math.min(1, shown) > height) rows.body = 0;
  const free = Math.max(0, height - (used() - Math.min(1, rows.body) - shown));
  if (rows.body + rows.items > free) {
    const least = Math.min(shown, Math.max(1, free - 1));
    const body = Math.min(rows.body, Math.max(Math.min(1, rows.body), free - least));
    rows.items = Math.min(rows.items, free - body);
    rows.body = Math.min(rows.body, free - rows.items);
  }
  return rows;
}

/** A clean fact in lines of the width. */
function wrapFact(fact: string, width: number): string[] {
  const lines = wrap(fact, width);
  if (lines.length <= MAX_FACT_LINES) return lines;
  return [...lines.slice(0, MAX_FACT_LINES - 1), cutLine(lines.slice(MAX_FACT_LINES - 1).join(" "), width)];
}

function wrapItems(items: DialogContent["items"], clean: (text: string) => string, width: number) {
  return items.flatMap(({ mark, text }, index) => {
    const markCells = cellWidth(clusters(mark));
    const lines = wrap(clean(text).trimEnd(), Math.max(1, width - markCells));
    return lines.map((line, i) => ({ index, text: (i === 0 ? mark : " ".repeat(markCells)) + line }));
  });
}

/** A mark for more lines above or below. */
function scrollArrow(up: boolean, down: boolean): string {
  return up && down ? "↕" : up ? "↑" : "↓";
}

export function layoutDialog(content: DialogContent, size: Size): DialogLayout {
  const isFramed = size.rows >= MIN_FRAMED_SIZE.rows && size.cols >= MIN_FRAMED_SIZE.cols;
  const clean = (text: string): string => cleanText(text).replaceAll("\n", " ");
  const widest = isFramed ? Math.min(MAX_TEXT_CELLS, size.cols - BORDER_CELLS) : size.cols;
  const needed = Math.max(
    ...[content.body, ...content.facts, ...content.items.map(({ mark, text }) => mark + text), content.hint].flatMap(
      (text) =>
        cleanText(text)
          .split("\n")
          .map((line) => cellWidth(clusters(line))),
    ),
  );
  const width = isFramed ? Math.max(MIN_TEXT_CELLS, Math.min(widest, needed)) : widest;
  const body = wrap(cleanText(content.body).trimEnd(), width);
  const facts = content.facts.flatMap((fact) => wrapFact(clean(fact), width));
  const allItems = wrapItems(content.items, clean, width);
  const rows = shareRows(isFramed ? size.rows - BORDER_ROWS : size.rows, {
    title: isFramed ? 0 : 1,
    body: body.length,
    facts: facts.length,
    items: allItems.length,
    input: content.input === null ? 0 : 1,
    buttons: content.buttons.length === 0 ? 0 : 1,
    hint: 1,
  });
  // Arrows beside the items indicate more.
  const items = allItems.length > rows.items ? wrapItems(content.items, clean, Math.max(1, width - 2)) : allItems;
  const used = rows.title + rows.body + rows.facts + rows.items + rows.input + rows.buttons + rows.hint;
  // Blank rows above the answer and above the hints, unless they would displace other parts.
  const gap = isFramed && used + BORDER_ROWS + 2 <= size.rows ? 1 : 0;
  const height = used + 2 * gap;
  const box = isFramed
    ? {
        row: Math.floor((size.rows - height - BORDER_ROWS) / 2),
        col: Math.floor((size.cols - width - BORDER_CELLS) / 2),
        height: height + BORDER_ROWS,
        width: width + BORDER_CELLS,
      }
    : { row: 0, col: 0, height: size.rows, width: size.cols };
  const left = isFramed ? box.col + BORDER_CELLS / 2 : 0;
  const texts: { row: number; col: number; text: string; style: Style }[] = [];
  const targets: DialogTarget[] = [];
  let row = isFramed ? box.row + 1 : 0;
  const putText = (text: string, style: Style, col = left): void => void texts.push({ row, col, text, style });

  const title = cutLine(` ${clean(content.title)} `, width);
  if (isFramed) texts.push({ row: box.row, col: left, text: title, style: theme.dialog_strong });
  else if (rows.title > 0) {
    putText(title.trim(), theme.dialog_strong);
    row++;
  }
  const hidden = body.length - rows.body;
  // The arrows are beside the text.
  const shownBody = hidden > 0 ? wrap(cleanText(content.body).trimEnd(), Math.max(1, width - 2)) : body;
  const maxScroll = shownBody.length - rows.body;
  const from = Math.min(content.scroll, maxScroll);
  for (let i = 0; i < rows.body; i++) {
    const line = shownBody[from + i] ?? "";
    putText(line, theme.dialog);
    const up = i === 0 && from > 0;
    const down = i === rows.body - 1 && from < maxScroll;
    if (up || down) putText(scrollArrow(up, down), theme.dialog, left + width - 1);
    row++;
  }
  row += gap;
  for (const fact of facts.slice(0, rows.facts)) {
    putText(fact, theme.dialog_strong);
    row++;
  }
  const focused = items.findIndex(({ index }) => index === content.focus);
  const after = items.findLastIndex(({ index }) => index === content.focus) + 1;
  const first = Math.max(0, Math.min(focused, items.length - rows.items, Math.max(0, after - rows.items)));
  const shownItems = items.slice(first, first + rows.items);
  for (const [at, { index, text }] of shownItems.entries()) {
    putText(
      text.padEnd(text.length + Math.max(0, width - cellWidth(clusters(text)))),
      index === content.focus ? theme.dialog_choice : theme.dialog,
    );
    const up = at === 0 && first > 0;
    const down = at === shownItems.length - 1 && first + rows.items < items.length;
    if (up || down) putText(scrollArrow(up, down), theme.dialog, left + width - 1);
    targets.push({ row, col: left, width, part: "item", index });
    row++;
  }
  let cursor: DialogLayout["cursor"] = null;
  if (content.input !== null) {
    const shown = visibleInput(content.input, width - 2);
    putText(`> ${shown.text}`, theme.dialog);
    cursor = { row, col: Math.min(left + 2 + shown.caret, size.cols - 1) };
    row++;
  }
  if (rows.buttons > 0) {
    let col = left;
    for (const [index, label] of content.buttons.entries()) {
      const text = width < MIN_TEXT_CELLS ? `[${label}]` : `[ ${label} ]`;
      putText(text, content.items.length === 0 && index === content.focus ? theme.dialog_choice : theme.dialog, col);
      targets.push({ row, col, width: text.length, part: "button", index });
      col += text.length + 1;
    }
    row++;
  }
  row += gap;
  if (rows.hint > 0) putText(cutLine(content.hint, width), theme.dialog_hint);
  return { box, targets, maxScroll, texts, cursor, isFramed };
}

/** The part of a line around its caret. */
export function visibleInput({ before, after }: { readonly before: string; readonly after: string }, cells: number) {
  const visiblePart = clusters(before);
  let width = cellWidth(visiblePart);
  // There may be no cell left.
  while (width > Math.max(0, cells - 1)) width -= visiblePart.shift()?.width ?? width;
  return { text: clusterText(visiblePart) + clusterText(clusters(after)), caret: width };
}

/** Dimmed copies of rows, which stay the same objects while the program does not change those rows. */
const dimmed = new WeakMap<Row, Row>();

function dim(row: Row): Row {
  const cached = dimmed.get(row);
  if (cached !== undefined) return cached;
  const dimmedRow = row.map((cell): Cell => ({ ...cell, style: { ...cell.style, flags: cell.style.flags | FAINT } }));
  dimmed.set(row, dimmedRow);
  return dimmedRow;
}

/** @param ascii for a terminal that shows no UTF-8 */
export function drawDialog<T extends Grid>(
  frame: T,
  { box, texts, cursor, isFramed }: DialogLayout,
  ascii: boolean,
): T {
  const sign = ascii ? toAscii : (text: string): string => text;
  const canvas = new Canvas(frame.rows, frame.cols);
  frame.lines.forEach((line, row) => {
    canvas.putRow(row, dim(line));
  });
  canvas.fill(box, theme.dialog);
  const inside: CanvasBox = isFramed
    ? { row: box.row, col: box.col + 1, height: box.height, width: box.width - 2 }
    : { row: box.row, col: box.col, height: box.height, width: box.width };
  if (isFramed) {
    const across = "─".repeat(box.width - 2);
    const screen: CanvasBox = { row: 0, col: 0, height: frame.rows, width: frame.cols };
    canvas.text(box.row, box.col, clusters(sign(`╭${across}╮`)), theme.dialog, screen);
    for (let row = box.row + 1; row < box.row + box.height - 1; row++) {
      canvas.text(row, box.col, clusters(sign("│")), theme.dialog, screen);
      canvas.text(row, box.col + box.width - 1, clusters(sign("│")), theme.dialog, screen);
    }
    canvas.text(box.row + box.height - 1, box.col, clusters(sign(`╰${across}╯`)), theme.dialog, screen);
  }
  for (const { row, col, text, style } of texts) canvas.text(row, col, clusters(sign(text)), style, inside);
  const at = cursor ?? { row: box.row, col: box.col };
  return { ...frame, lines: canvas.finish(), cursor: { ...at, visible: cursor !== null, shape: "bar", blink: true } };
}
