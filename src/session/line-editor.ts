/**
 * One line that a person types, with a caret, and readline's keys that edit it. Pure.
 *
 * Invariant: it contains no control characters and no newline, not even after a paste.
 */
import { cleanText } from "../compositor/graphemes.ts";
import type { InputEvent, ParsedKey } from "../keys/types.ts";
import { insidePaste } from "../protocol/pasted-text.ts";

export interface EditedLine {
  /** Text before the caret, in graphemes. */
  readonly typed: readonly string[];
  readonly caret: number;
}

/** Created at first use: it loads tables of ICU, which takes over a millisecond. */
let segmenter: Intl.Segmenter | null = null;

function graphemes(text: string): string[] {
  segmenter ??= new Intl.Segmenter();
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** A line with the caret at its end. */
export function lineOf(text: string): EditedLine {
  const typed = graphemes(oneLine(text));
  return { typed, caret: typed.length };
}

export function textOfLine({ typed }: EditedLine): string {
  return typed.join("");
}

function oneLine(text: string): string {
  return cleanText(text).replace(/[\n\t]+/g, " ");
}

/** Editing keys with Ctrl, as in readline. */
const controlKeys: Readonly<Record<string, string>> = {
  a: "Home",
  e: "End",
  b: "ArrowLeft",
  f: "ArrowRight",
  h: "Backspace",
  d: "Delete",
  u: "clear",
  k: "clearRest",
  w: "dropWord",
  j: "Enter",
  m: "Enter",
};

/** The meaning of a key in a line: `Enter`, an editing key or the character itself; undefined: none. */
export function lineKey({ key, modifiers }: ParsedKey): string | undefined {
  if (modifiers.includes("alt")) return undefined;
  return modifiers.includes("ctrl") ? controlKeys[key] : key;
}

/** @param max maximum characters of the line @returns null: the key does not edit */
export function editLine<T extends EditedLine>(line: T, keyName: string | undefined, max: number): T | null {
  const { typed, caret } = line;
  const to = (place: number): T => ({ ...line, caret: Math.max(0, Math.min(typed.length, place)) });
  const without = (from: number, until: number): T => ({
    ...line,
    typed: typed.toSpliced(from, until - from),
    caret: from,
  });
  switch (keyName) {
    case undefined:
      return null;
    case "Backspace":
      return caret === 0 ? null : without(caret - 1, caret);
    case "Delete":
      return without(caret, Math.min(typed.length, caret + 1));
    case "ArrowLeft":
      return to(caret - 1);
    case "ArrowRight":
      return to(caret + 1);
    case "Home":
      return to(0);
    case "End":
      return to(typed.length);
    case "clear":
      return without(0, caret);
    case "clearRest":
      return without(caret, typed.length);
    case "dropWord": {
      const before = typed.slice(0, caret).join("").trimEnd();
      const rest = before.slice(0, before.search(/\S+$/));
      return without(before === "" ? 0 : graphemes(rest).length, caret);
    }
  }
  return graphemes(keyName).length === 1 ? insertText(line, keyName, max) : null;
}

/** @returns null: no text remains, or it is too long */
export function insertText<T extends EditedLine>(line: T, text: string, max: number): T | null {
  const { typed, caret } = line;
  const added = graphemes(oneLine(text));
  if (added.length === 0 || typed.length + added.length > max) return null;
  return { ...line, typed: typed.toSpliced(caret, 0, ...added), caret: caret + added.length };
}

/** The text of a bracketed paste; a newline at its end does not submit it. */
export function pastedText({ raw }: Pick<InputEvent, "raw">): string {
  return insidePaste(raw).replace(/\r\n?/g, "\n").replace(/\n+$/, "");
}
