/**
 * The selection of copy mode, and its text: soft wraps are joined, wide characters stay complete, blanks at the ends of
 * lines are cut. Pure.
 */
import { isSeparator } from "../../protocol/word-separators.ts";
import { type CopyModeText, isBefore, type Point, textOf } from "./text.ts";

/** `characters` from one position to another, both included; whole `lines`; a `rectangle` of the displayed rows. */
export type SelectionKind = "characters" | "lines" | "rectangle";

export interface Selection {
  readonly kind: SelectionKind;
  readonly anchor: Point;
  readonly head: Point;
}

/** A position in the displayed rows. */
interface RowPosition {
  readonly line: number;
  readonly row: number;
  readonly col: number;
}

function rowPositionOf(text: CopyModeText, point: Point): RowPosition {
  const row = text.rowOf(point);
  return { line: point.line, row, col: point.col - (text.starts(point.line)[row] ?? 0) };
}

function orderedEnds({ anchor, head }: Selection): readonly [Point, Point] {
  return isBefore(head, anchor) ? [head, anchor] : [anchor, head];
}

/** The selected cells of one row of a line: from, and to (exclusive); null: none. */
export function selectedIn(
  text: CopyModeText,
  selection: Selection,
  line: number,
  row: number,
): readonly [number, number] | null {
  const [from, to] = orderedEnds(selection);
  if (line < from.line || line > to.line) return null;
  const starts = text.starts(line);
  const begin = starts[row] ?? 0;
  const { length } = text.cells(line);
  const end = starts[row + 1] ?? length;
  if (selection.kind === "lines") return [begin, end];
  if (selection.kind === "characters") {
    const first = line === from.line ? Math.max(begin, from.col) : begin;
    const last = line === to.line ? Math.min(end, wideEnd(text, to)) : end;
    return first < last ? [first, last] : null;
  }
  const [a, b] = [rowPositionOf(text, from), rowPositionOf(text, to)];
  if ((line === a.line && row < a.row) || (line === b.line && row > b.row)) return null;
  const [left, right] = [Math.min(a.col, b.col), Math.max(a.col, b.col)];
  const cells = text.cells(line);
  let first = begin + left;
  let last = Math.min(end, begin + right + 1);
  if (cells[first]?.width === 0) first--;
  if (cells[last]?.width === 0 && last < end) last++;
  return first < last ? [first, last] : null;
}

/** The column after the cell at a position, including its right half. */
function wideEnd(text: CopyModeText, { line, col }: Point): number {
  return col + (text.cells(line)[col]?.width === 2 ? 2 : 1);
}

/** The text of a selection. */
export function selectedText(text: CopyModeText, selection: Selection): string {
  const [from, to] = orderedEnds(selection);
  const lines: string[] = [];
  for (let { line } = from; line <= to.line; line++) {
    const cells = text.cells(line);
    if (selection.kind === "lines") lines.push(textOf(cells).replace(/ +$/, ""));
    else if (selection.kind === "characters") {
      const first = line === from.line ? from.col : 0;
      lines.push(textOf(cells, first, line === to.line ? wideEnd(text, to) : cells.length).replace(/ +$/, ""));
    } else lines.push(...rectangleRows(text, selection, line));
  }
  return selection.kind === "lines" ? `${lines.join("\n")}\n` : lines.join("\n");
}

function rectangleRows(text: CopyModeText, selection: Selection, line: number): string[] {
  const [a, b] = orderedEnds(selection).map((point) => rowPositionOf(text, point));
  return text.starts(line).flatMap((_, row) => {
    if (a === undefined || b === undefined) return [];
    if ((line === a.line && row < a.row) || (line === b.line && row > b.row)) return [];
    const range = selectedIn(text, selection, line, row);
    return [range === null ? "" : textOf(text.cells(line), ...range).replace(/ +$/, "")];
  });
}

/** Characters of paths and addresses, which a double click selects as a whole. */
const pathCharacter = /[\p{L}\p{N}\p{M}_./~:@%+#?&=,\-\\]/u;
/** Ends of sentences, which do not belong to them. */
const sentenceEnd = /[.,:?]/;

/** Selects the word, path or address at a position; else its single cell. */
export function selectWord(text: CopyModeText, point: Point): Selection {
  const { line, col } = text.wholeCellAt(point);
  const cells = text.cells(line);
  const belongs = (at: number): boolean => {
    const cell = cells[at];
    if (cell?.width === 0) return belongs(at - 1);
    if (cell === undefined) return false;
    const separates = isSeparator(cell.text);
    // An empty cell is a blank.
    return separates === null ? pathCharacter.test(cell.text) : cell.text !== "" && !separates;
  };
  let [from, to] = [col, col];
  if (belongs(col)) {
    while (from > 0 && belongs(from - 1)) from--;
    while (belongs(to + 1)) to++;
    while (isSeparator("") === null && to > col && sentenceEnd.test(cells[to]?.text ?? "")) to--;
  }
  return { kind: "characters", anchor: { line, col: from }, head: text.wholeCellAt({ line, col: to }) };
}

/** The output of the command at a position, or the reason why there is none. */
export function outputAt(text: CopyModeText, { line }: Point): Selection | string {
  const commands = text.source.commands();
  const command = commands.findLast(({ first }) => first - 1 <= line && first <= text.last) ?? commands.at(0);
  if (command === undefined || command.isEmpty || command.last < text.first)
    return command?.isEmpty === true ? "the command printed nothing" : "no recorded command output here";
  const anchor = { line: Math.max(text.first, command.first), col: 0 };
  return { kind: "lines", anchor, head: { line: Math.min(text.last, command.last), col: 0 } };
}

/** The kinds of selection by their actions. */
export const selectionKinds: Readonly<Partial<Record<string, SelectionKind>>> = {
  select: "characters",
  select_lines: "lines",
  select_rectangle: "rectangle",
};

/** The same selection with its ends exchanged. */
export function swapEnds(selection: Selection | null): Selection | null {
  return selection && { ...selection, anchor: selection.head, head: selection.anchor };
}
