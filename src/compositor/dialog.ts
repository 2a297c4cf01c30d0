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
import { inAscii } from "./ascii.ts";
import { Canvas, type CanvasBox } from "./canvas.ts";
import { type Cluster, cleanText, clusters, cutTo, textOf, widthOf } from "./graphemes.ts";
import { theme } from "./theme.ts";

/** Widest text, in cells: longer lines are hard to read. */
const WIDEST = 68;
/** Narrowest text of a dialog with a border, in cells: its hints fit. */
const NARROWEST = 34;
/** Cells beside the text of a dialog with a border: the line and a blank on both sides. */
const BESIDE = 4;
/** Rows above and below it. */
const BORDERS = 2;
/** Smaller terminals get no border: every cell is needed. */
const FRAMED: Size = { rows: 10, cols: NARROWEST + BESIDE };
/** Lines of one fact; the rest of a longer one is cut, so that nothing pushes the others away. */
const FACT_LINES = 2;
/** Rows for choices beside a long text, which is scrolled: all choices of a permission are seen together. */
const LEAST_ITEMS = 5;

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
  readonly lastScroll: number;
  readonly texts: readonly {
    readonly row: number;
    readonly col: number;
    readonly text: string;
    readonly style: Style;
  }[];
  readonly cursor: { readonly row: number; readonly col: number } | null;
  readonly framed: boolean;
}

/** A clean line, cut to its place with an ellipsis. */
function cut(text: string, cells: number): string {
  return textOf(cutTo(cells, clusters(text)));
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
        lines.push(textOf(rest.length > 0 || blank === line.length - 1 ? line.slice(0, blank) : line).trimEnd());
        line = rest;
        width = widthOf(rest);
        if (cluster.text === " " && line.length === 0) continue;
      }
      line.push(cluster);
      width += cluster.width;
    }
    return [...lines, textOf(line).trimEnd()];
  });
}

/** How many rows each part gets. */
function share(
  height: number,
  parts: { title: number; body: number; facts: number; items: number; input: number; buttons: number; hint: number },
) {
  const rows = { ...parts };
  const shown = Math.min(LEAST_ITEMS, rows.items);
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
function factLines(fact: string, width: number): string[] {
  const lines = wrap(fact, width);
  if (lines.length <= FACT_LINES) return lines;
  return [...lines.slice(0, FACT_LINES - 1), cut(lines.slice(FACT_LINES - 1).join(" "), width)];
}

function itemLines(items: DialogContent["items"], clean: (text: string) => string, width: number) {
  return items.flatMap(({ mark, text }, index) => {
    const beside = widthOf(clusters(mark));
    const lines = wrap(clean(text).trimEnd(), Math.max(1, width - beside));
    return lines.map((line, i) => ({ index, text: (i === 0 ? mark : " ".repeat(beside)) + line }));
  });
}

/** A mark for more lines above or below. */
function arrowOf(up: boolean, down: boolean): string {
  return up && down ? "↕" : up ? "↑" : "↓";
}

export function layoutDialog(content: DialogContent, size: Size): DialogLayout {
  const framed = size.rows >= FRAMED.rows && size.cols >= FRAMED.cols;
  const clean = (text: string): string => cleanText(text).replaceAll("\n", " ");
  const widest = framed ? Math.min(WIDEST, size.cols - BESIDE) : size.cols;
  const needed = Math.max(
    ...[content.body, ...content.facts, ...content.items.map(({ mark, text }) => mark + text), content.hint].flatMap(
      (text) =>
        cleanText(text)
          .split("\n")
          .map((line) => widthOf(clusters(line))),
    ),
  );
  const width = framed ? Math.max(NARROWEST, Math.min(widest, needed)) : widest;
  const body = wrap(cleanText(content.body).trimEnd(), width);
  const facts = content.facts.flatMap((fact) => factLines(clean(fact), width));
  const whole = itemLines(content.items, clean, width);
  const rows = share(framed ? size.rows - BORDERS : size.rows, {
    title: framed ? 0 : 1,
    body: body.length,
    facts: facts.length,
    items: whole.length,
    input: content.input === null ? 0 : 1,
    buttons: content.buttons.length === 0 ? 0 : 1,
    hint: 1,
  });
  // Arrows beside the items indicate more.
  const items = whole.length > rows.items ? itemLines(content.items, clean, Math.max(1, width - 2)) : whole;
  const used = rows.title + rows.body + rows.facts + rows.items + rows.input + rows.buttons + rows.hint;
  // Blank rows above the answer and above the hints, unless they would displace other parts.
  const gap = framed && used + BORDERS + 2 <= size.rows ? 1 : 0;
  const height = used + 2 * gap;
  const box = framed
    ? {
        row: Math.floor((size.rows - height - BORDERS) / 2),
        col: Math.floor((size.cols - width - BESIDE) / 2),
        height: height + BORDERS,
        width: width + BESIDE,
      }
    : { row: 0, col: 0, height: size.rows, width: size.cols };
  const left = framed ? box.col + BESIDE / 2 : 0;
  const texts: { row: number; col: number; text: string; style: Style }[] = [];
  const targets: DialogTarget[] = [];
  let row = framed ? box.row + 1 : 0;
  const put = (text: string, style: Style, col = left): void => void texts.push({ row, col, text, style });

  const title = cut(` ${clean(content.title)} `, width);
  if (framed) texts.push({ row: box.row, col: left, text: title, style: theme.dialog_strong });
  else if (rows.title > 0) {
    put(title.trim(), theme.dialog_strong);
    row++;
  }
  const hidden = body.length - rows.body;
  // The arrows are beside the text.
  const shownBody = hidden > 0 ? wrap(cleanText(content.body).trimEnd(), Math.max(1, width - 2)) : body;
  const lastScroll = shownBody.length - rows.body;
  const from = Math.min(content.scroll, lastScroll);
  for (let i = 0; i < rows.body; i++) {
    const line = shownBody[from + i] ?? "";
    put(line, theme.dialog);
    const up = i === 0 && from > 0;
    const down = i === rows.body - 1 && from < lastScroll;
    if (up || down) put(arrowOf(up, down), theme.dialog, left + width - 1);
    row++;
  }
  row += gap;
  for (const fact of facts.slice(0, rows.facts)) {
    put(fact, theme.dialog_strong);
    row++;
  }
  const focused = items.findIndex(({ index }) => index === content.focus);
  const after = items.findLastIndex(({ index }) => index === content.focus) + 1;
  const first = Math.max(0, Math.min(focused, items.length - rows.items, Math.max(0, after - rows.items)));
  const shownItems = items.slice(first, first + rows.items);
  for (const [at, { index, text }] of shownItems.entries()) {
    put(
      text.padEnd(text.length + Math.max(0, width - widthOf(clusters(text)))),
      index === content.focus ? theme.dialog_choice : theme.dialog,
    );
    const up = at === 0 && first > 0;
    const down = at === shownItems.length - 1 && first + rows.items < items.length;
    if (up || down) put(arrowOf(up, down), theme.dialog, left + width - 1);
    targets.push({ row, col: left, width, part: "item", index });
    row++;
  }
  let cursor: DialogLayout["cursor"] = null;
  if (content.input !== null) {
    const shown = visibleInput(content.input, width - 2);
    put(`> ${shown.text}`, theme.dialog);
    cursor = { row, col: Math.min(left + 2 + shown.caret, size.cols - 1) };
    row++;
  }
  if (rows.buttons > 0) {
    let col = left;
    for (const [index, label] of content.buttons.entries()) {
      const text = width < NARROWEST ? `[${label}]` : `[ ${label} ]`;
      put(text, content.items.length === 0 && index === content.focus ? theme.dialog_choice : theme.dialog, col);
      targets.push({ row, col, width: text.length, part: "button", index });
      col += text.length + 1;
    }
    row++;
  }
  row += gap;
  if (rows.hint > 0) put(cut(content.hint, width), theme.dialog_hint);
  return { box, targets, lastScroll, texts, cursor, framed };
}

/** The part of a line around its caret. */
export function visibleInput({ before, after }: { readonly before: string; readonly after: string }, cells: number) {
  const ahead = clusters(before);
  let width = widthOf(ahead);
  // There may be no cell left.
  while (width > Math.max(0, cells - 1)) width -= ahead.shift()?.width ?? width;
  return { text: textOf(ahead) + textOf(clusters(after)), caret: width };
}

/** Dimmed copies of rows, which stay the same objects while the program does not change those rows. */
const dimmed = new WeakMap<Row, Row>();

function dim(row: Row): Row {
  const known = dimmed.get(row);
  if (known !== undefined) return known;
  const made = row.map((cell): Cell => ({ ...cell, style: { ...cell.style, flags: cell.style.flags | FAINT } }));
  dimmed.set(row, made);
  return made;
}

/** @param ascii for a terminal that shows no UTF-8 */
export function drawDialog<T extends Grid>(frame: T, { box, texts, cursor, framed }: DialogLayout, ascii = false): T {
  const sign = ascii ? inAscii : (text: string): string => text;
  const canvas = new Canvas(frame.rows, frame.cols);
  frame.lines.forEach((line, row) => {
    canvas.putRow(row, dim(line));
  });
  canvas.fill(box, theme.dialog);
  const inside: CanvasBox = framed
    ? { row: box.row, col: box.col + 1, height: box.height, width: box.width - 2 }
    : { row: box.row, col: box.col, height: box.height, width: box.width };
  if (framed) {
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
