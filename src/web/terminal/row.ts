/**
 * One row of cells as DOM: runs of one style are one element, plain text is only text. A character that does not itself
 * fill its cells (wide, combining, of another font) has a separate box of exactly that many cells, so that it moves no
 * other character. Runs for each row that changed; the text of the elements is the row's text, for selection, find and
 * screen readers.
 */
import { type Cell, plainStyle, type Row, type Style, sameStyle } from "../../protocol/grid.ts";
import { PLACEHOLDER } from "../../protocol/placeholder.ts";
import { type BoxGlyphs, boxClass, isBoxGlyph } from "./box-glyphs.ts";
import type { CellMeasure } from "./cell-size.ts";
import { cellStyleOf } from "./cell-style.ts";
import { imageCells } from "./images.ts";

interface RowTools {
  readonly measure: CellMeasure;
  readonly glyphs: BoxGlyphs;
}

/** Only web links are opened; others remain text. */
const OPENABLE_LINK = /^https?:\/\//i;

/** Fills an element with a row, replacing its contents. */
export function fillRow(element: HTMLElement, row: Row, tools: RowTools): void {
  const parts: (Node | string)[] = [];
  const end = contentEnd(row);
  for (let index = 0; index < end; ) {
    const cell = row[index];
    if (cell === undefined) break;
    const after = imageCells(row, index, parts);
    if (after > index) index = after;
    else if (cell.width === 0) index++;
    else if (isBoxGlyph(cell.text)) index = addBox(row, index, end, parts, tools);
    else if (cell.width === 2 || !tools.measure.fitsCells(cell.text)) index = addSingle(cell, index, parts, tools);
    else index = addRun(row, index, end, parts, tools);
  }
  element.replaceChildren(...parts);
}

/** Index after the last cell that is not a plain blank. */
export function contentEnd(row: Row): number {
  let end = row.length;
  while (end > 0) {
    const cell = row[end - 1];
    if (cell === undefined || cell.text !== " " || !isBlankStyle(cell.style)) break;
    end--;
  }
  return end;
}

function isBlankStyle(style: Style): boolean {
  return style === plainStyle || (style.bg === null && style.flags === 0 && style.link === null);
}

function addRun(row: Row, start: number, end: number, parts: (Node | string)[], { measure }: RowTools): number {
  const style = row[start]?.style ?? plainStyle;
  let text = "";
  let offset = start;
  for (; offset < end; offset++) {
    const cell = row[offset];
    if (cell === undefined || cell.width !== 1 || (cell.style !== style && !sameStyle(cell.style, style))) break;
    if (isBoxGlyph(cell.text) || cell.text.startsWith(PLACEHOLDER) || !measure.fitsCells(cell.text)) break;
    text += cell.text;
  }
  parts.push(sameStyle(style, plainStyle) ? text : styled(style, text));
  return offset;
}

function addSingle(cell: Cell, at: number, parts: (Node | string)[], { measure }: RowTools): number {
  const element = styled(cell.style, cell.text);
  element.classList.add("w");
  element.style.width = `${cell.width * measure.size.width}px`;
  parts.push(element);
  return at + cell.width;
}

/** A run of one character is one element, whose mask is repeated. */
function addBox(row: Row, start: number, end: number, parts: (Node | string)[], { measure, glyphs }: RowTools): number {
  const first = row[start];
  if (first === undefined) return start + 1;
  let offset = start + 1;
  while (offset < end && row[offset]?.text === first.text && sameStyle(row[offset]?.style ?? plainStyle, first.style))
    offset++;
  glyphs.ensureRule(first.text, measure.size);
  const element = styled(first.style, first.text.repeat(offset - start));
  element.classList.add("x", boxClass(first.text));
  element.style.width = `${(offset - start) * measure.size.width}px`;
  parts.push(element);
  return offset;
}

function styled(style: Style, text: string): HTMLElement {
  const { className, css } = cellStyleOf(style);
  const element = document.createElement(style.link !== null && OPENABLE_LINK.test(style.link) ? "a" : "span");
  element.textContent = text;
  if (className !== "") element.className = className;
  if (css !== "") element.style.cssText = css;
  if (element instanceof HTMLAnchorElement && style.link !== null) {
    element.href = style.link;
    element.title = `${style.link}\nCtrl-click opens it`;
    element.rel = "noopener noreferrer";
    element.target = "_blank";
    element.draggable = false;
    element.tabIndex = -1;
  }
  return element;
}
