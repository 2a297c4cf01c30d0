/**
 * The selection of two and three clicks: a word by a terminal's rules, with whole paths and addresses, and a logical
 * line; both span rows that wrap. The browser's own selection ends at punctuation and at rows; it only gives the
 * position of the click.
 */
import { isSeparator } from "../../protocol/word-separators.ts";
import { offsetIn, placeIn, rowText } from "./copy.ts";
import type { ShownRow } from "./types.ts";

/** Characters that end a word: blanks, brackets, quotes, lines between columns. */
const BETWEEN_WORDS = /[\s()[\]{}<>'"`,;|│]/;

function isBetweenWords(character = " "): boolean {
  return isSeparator(character) ?? BETWEEN_WORDS.test(character);
}

/** Distance from which a press counts as a drag, in CSS pixels. */
const DRAG = 4;

/** @param lineOf returns all rows of a row's logical line */
export function selectByClicks(scroller: HTMLElement, lineOf: (element: Element) => readonly ShownRow[]): void {
  let pressed = { x: 0, y: 0 };
  scroller.addEventListener("mousedown", ({ clientX: x, clientY: y }) => {
    pressed = { x, y };
  });
  scroller.addEventListener("click", ({ detail, clientX, clientY }) => {
    const selection = getSelection();
    if (detail < 2 || selection === null || selection.isCollapsed) return;
    if (Math.hypot(clientX - pressed.x, clientY - pressed.y) >= DRAG) return;
    const { startContainer, startOffset } = selection.getRangeAt(0);
    const element = (startContainer instanceof Element ? startContainer : startContainer.parentElement)?.closest(
      ".row",
    );
    if (element == null || !scroller.contains(element)) return;
    const rows = lineOf(element);
    const texts = rows.map(rowText);
    const index = rows.findIndex((row) => row.element === element);
    const before = texts.slice(0, index).join("").length;
    const [from, to] =
      detail === 2
        ? wordAt(texts.join(""), before + offsetIn(element, startContainer, startOffset))
        : [0, texts.join("").length];
    const first = placeOf(rows, texts, from);
    const last = placeOf(rows, texts, to);
    if (first !== null && last !== null && from < to)
      selection.setBaseAndExtent(first.node, first.offset, last.node, last.offset);
  });
}

/** Bounds of the word at a position of a text; empty: the position is between words. */
function wordAt(text: string, offset: number): readonly [from: number, to: number] {
  let [from, to] = [offset, offset];
  while (from > 0 && !isBetweenWords(text[from - 1])) from--;
  while (to < text.length && !isBetweenWords(text[to])) to++;
  return isBetweenWords(text[offset]) ? [offset, offset] : [from, to];
}

function placeOf(rows: readonly ShownRow[], texts: readonly string[], offset: number): ReturnType<typeof placeIn> {
  let left = offset;
  for (const [index, { element }] of rows.entries()) {
    const length = texts[index]?.length ?? 0;
    if (left <= length) return placeIn(element, left);
    left -= length;
  }
  return null;
}
