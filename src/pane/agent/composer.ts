/**
 * Reads the input box of an agent's screen. It finds the box by the mark before the prompt and by the cursor,
 * which agents place there for input methods even if they hide it. Pure. An unreadable box is `absent`, never
 * `empty`: it may hold somebody else's text, and Enter may answer a question.
 */
import type { Color, Span } from "../../protocol/screen.ts";

export interface ComposerScreen {
  readonly lines: readonly (readonly Span[])[];
  readonly cursor: { readonly row: number; readonly col: number; readonly visible: boolean };
}

type Composer =
  | { readonly kind: "empty" }
  | { readonly kind: "holds"; readonly text: string }
  | { readonly kind: "absent" };

/** The mark before a prompt, with the box around it. */
const PROMPT_MARK = /^[\s│┃▌▐▏]*[>❯›»▸❱](?=\s|$)/u;
/** A box without a mark. */
const BOX_EDGE = /^\s*[┃│▌▐▏](?=\s|$)/u;
/** Only lines of a box, or nothing. */
const BOX_BORDER = /^[\s\u2500-\u259f]*$/u;
const RIGHT_BORDER = /[\s│┃▌▐▏]+$/u;
/** The placeholder that agents show for a long paste. */
const PASTE_PLACEHOLDER = /^\[past[^\]\n]{0,60}\]$/iu;
/** Rows above a hidden cursor that may belong to the box. */
const MAX_ROWS_ABOVE_CURSOR = 12;
/** Letters at a text's end that identify it if its beginning has scrolled away. */
const TAIL_LETTERS = 64;

export function readComposer(screen: ComposerScreen): Composer {
  const { row, visible } = screen.cursor;
  const here = boxAt(screen, row);
  if (here !== null) return composerWith(textBetween(screen, here, row));
  if (visible) return { kind: "absent" };
  // A hidden cursor may be anywhere.
  const last = screen.lines.findLastIndex((line) => plainText(line).trim() !== "");
  for (let index = last; index >= 0 && index > last - MAX_ROWS_ABOVE_CURSOR; index--) {
    if (!PROMPT_MARK.test(plainText(screen.lines[index]))) continue;
    let end = index;
    while (end < last && !BOX_BORDER.test(plainText(screen.lines[end + 1]))) end++;
    return composerWith(textBetween(screen, { top: index, mark: PROMPT_MARK }, end));
  }
  return { kind: "absent" };
}

/** Whether the box holds exactly this text: whole, as a collapsed paste, or its end above the cursor. */
export function composerHolds(screen: ComposerScreen, text: string): boolean {
  const wanted = lettersOf(text);
  const read = readComposer(screen);
  if (read.kind === "empty") return false;
  if (read.kind === "holds" && (lettersOf(read.text) === wanted || PASTE_PLACEHOLDER.test(read.text.trim())))
    return true;
  let seen = "";
  for (let row = screen.cursor.row; row >= 0; row--) {
    const line = plainText(screen.lines[row]);
    const isTop = PROMPT_MARK.test(line);
    seen = lettersOf(line.replace(PROMPT_MARK, "")) + seen;
    if (seen === wanted && seen !== "") return true;
    if (isTop || !wanted.endsWith(seen)) return false;
    if (seen.length >= TAIL_LETTERS) return true;
  }
  return false;
}

interface Box {
  readonly top: number;
  readonly mark: RegExp;
}

/** The first row of the box that contains a row. */
function boxAt({ lines }: ComposerScreen, row: number): Box | null {
  for (let index = row; index >= 0; index--) {
    const line = plainText(lines[index]);
    if (PROMPT_MARK.test(line)) return { top: index, mark: PROMPT_MARK };
    if (index < row && BOX_BORDER.test(line)) break;
  }
  if (!BOX_EDGE.test(plainText(lines[row]))) return null;
  let top = row;
  while (top > 0 && BOX_EDGE.test(plainText(lines[top - 1]))) top--;
  return { top, mark: BOX_EDGE };
}

function textBetween({ lines, cursor }: ComposerScreen, { top, mark }: Box, end: number): string {
  const texts: string[] = [];
  for (let index = top; index <= end; index++) {
    const line = lines[index] ?? [];
    const marked = (mark === BOX_EDGE || index === top ? mark.exec(plainText(line))?.[0] : undefined) ?? "";
    texts.push(withoutHint(line, marked.length, index === cursor.row ? cursor.col : null).replace(RIGHT_BORDER, ""));
  }
  return texts.join("\n");
}

/** The text of a row after its mark, without the hint that an agent shows in an empty box. */
function withoutHint(line: readonly Span[], from: number, cursor: number | null): string {
  let text = "";
  let offset = 0;
  const rest = line.flatMap((span) => {
    const skipped = Math.min(span.text.length, Math.max(0, from - offset));
    offset += span.text.length;
    return skipped < span.text.length ? [{ ...span, text: span.text.slice(skipped) }] : [];
  });
  for (const [index, span] of rest.entries()) {
    const next = rest[index + 1];
    // An agent that draws its own cursor draws it over the hint's first letter.
    const isCursor = cursor !== null && span.inverse === true && Bun.stringWidth(span.text) === 1;
    if (!isHint(span) && !(isCursor && next !== undefined && isHint(next))) text += span.text;
  }
  return text;
}

function isHint({ faint, fg, text }: Span): boolean {
  return text.trim() !== "" && (faint === true || (fg !== undefined && isGrey(fg)));
}

/** Whether a colour is darker than text, as hints are. */
function isGrey(color: Color): boolean {
  if ("indexed" in color) return color.indexed === 8 || (color.indexed >= 240 && color.indexed <= 250);
  const { r, g, b } = color.rgb;
  return Math.max(r, g, b) <= 200 && Math.max(r, g, b) - Math.min(r, g, b) <= 16;
}

function composerWith(text: string): Composer {
  return text.trim() === "" ? { kind: "empty" } : { kind: "holds", text };
}

function plainText(line: readonly Span[] | undefined): string {
  return (line ?? []).map(({ text }) => text).join("");
}

/** Keeps letters and digits only, so that line wraps and borders do not matter. */
function lettersOf(text: string): string {
  const letters = text.normalize("NFC").replace(/[^\p{L}\p{N}]+/gu, "");
  return letters === "" ? text.replace(/\s+/g, "") : letters;
}
