/**
 * The text of a selection over a terminal's rows: wrapped rows are one line, blanks at a row's end are dropped. Reads
 * the rows' cells, not their elements, whose text has no line ends.
 */
import { withoutPictures } from "../../protocol/placeholder.ts";
import type { ShownRow } from "./types.ts";

interface RowPart {
  readonly row: ShownRow;
  /** First and last character of the selected part of the row's text. */
  readonly startIndex: number;
  readonly endIndex: number;
}

/** Text of a row up to its last visible character; a wrapped row has all of its cells. */
export function rowText({ cells, wrapped }: ShownRow): string {
  const text = withoutPictures(cells)
    .map((cell) => cell.text)
    .join("");
  return wrapped ? text : text.trimEnd();
}

export function joinRows(parts: readonly RowPart[]): string {
  let text = "";
  for (const [index, { row, startIndex, endIndex }] of parts.entries()) {
    const whole = rowText(row);
    text += whole.slice(startIndex, endIndex);
    if (index < parts.length - 1 && !row.wrapped) text += "\n";
  }
  return text;
}

/** The rows of a selection, each with its selected part, in document order. */
export function selectedParts(
  range: Range,
  root: HTMLElement,
  rowOf: (element: Element) => ShownRow | undefined,
): RowPart[] {
  const parts: RowPart[] = [];
  for (const element of root.querySelectorAll(".row")) {
    const row = rowOf(element);
    if (row === undefined || !range.intersectsNode(element)) continue;
    const startIndex = element.contains(range.startContainer)
      ? offsetIn(element, range.startContainer, range.startOffset)
      : 0;
    const endIndex = element.contains(range.endContainer)
      ? offsetIn(element, range.endContainer, range.endOffset)
      : Number.POSITIVE_INFINITY;
    parts.push({ row, startIndex, endIndex });
  }
  const last = parts.at(-1);
  // A selection that ends before the first character of a row does not reach it.
  if (parts.length > 1 && last?.endIndex === 0) {
    parts.pop();
    return [...parts, { row: last.row, startIndex: 0, endIndex: 0 }];
  }
  return parts;
}

/** Number of the row's characters before a position in it. */
export function offsetIn(row: Element, node: Node, offset: number): number {
  const range = document.createRange();
  range.selectNodeContents(row);
  range.setEnd(node, offset);
  return range.toString().length;
}

/** The text node and offset of a character in an element. */
export function placeIn(element: HTMLElement, at: number): { readonly node: Node; readonly offset: number } | null {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let left = at;
  let last: Node | null = null;
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const length = node.textContent?.length ?? 0;
    if (left <= length) return { node, offset: left };
    left -= length;
    last = node;
  }
  return last === null ? null : { node: last, offset: last.textContent?.length ?? 0 };
}

/** The text that a program copies; empty: invalid data. */
export function decodeBase64(base64: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)));
  } catch {
    return "";
  }
}
