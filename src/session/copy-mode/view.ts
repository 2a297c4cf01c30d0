/**
 * The view of copy mode: rows of the text from a position on, with the selection, the matches and a label, in the
 * styles of the theme. Pure; runs once per changed frame.
 */
import { Canvas } from "../../compositor/canvas.ts";
import { cleanText, clusters } from "../../compositor/graphemes.ts";
import { colorlessStyle, restyleCell, theme } from "../../compositor/theme.ts";
import { type Cell, type Grid, plainStyle, type Row, type Style } from "../../protocol/grid.ts";
import type { ThemeRole } from "../../protocol/theme.ts";
import type { Search } from "./search.ts";
import { type Selection, selectedIn } from "./selection.ts";
import type { CopyModeText, Point } from "./text.ts";

interface CopyModeState {
  readonly text: CopyModeText;
  /** The position at the top left. */
  readonly top: Point;
  readonly cursor: Point;
  readonly selection: Selection | null;
  readonly search: Search | null;
  /** Text in the corner. */
  readonly label: string;
  /** The pattern being typed, on the last row; null: none. */
  readonly prompt: string | null;
  /** Whether wsh's styles have no colours. */
  readonly isPlain: boolean;
}

const blank: Cell = { text: " ", width: 1, style: plainStyle };

/** The cursor's line, new output, and matches. @param news new lines below */
export function copyModeLabel(
  { text, cursor, search }: Pick<CopyModeState, "text" | "cursor" | "search">,
  news: number,
): string {
  const above = text.last - cursor.line;
  const parts = [`${above} of ${text.last - text.first} lines up`];
  if (news > 0) parts.push(`${news} new below`);
  if (search !== null && search.pattern !== "") {
    const at = search.indexAt(text, cursor);
    parts.push(search.total === 0 ? "no match" : at === 0 ? `${search.total} matches` : `${at} of ${search.total}`);
  }
  return ` ${parts.join(" · ")} `;
}

/** The label of a selection by mouse alone: only the number of hidden new lines. */
export function passingLabel(news: number): string {
  return news > 0 ? ` ${news} new below ` : "";
}

export function drawCopyMode({ text, top, cursor, selection, search, label, prompt, isPlain }: CopyModeState): Grid {
  const look = (role: ThemeRole): Style => (isPlain ? colorlessStyle(theme[role]) : theme[role]);
  const { rows, cols } = text.source;
  const canvas = new Canvas(rows, cols);
  let position = { row: 0, col: 0 };
  let { line } = top;
  let row = text.rowOf(top);
  const cursorRow = text.rowOf(cursor);
  for (let y = 0; y < rows && line <= text.last; y++) {
    const starts = text.starts(line);
    const begin = starts[row] ?? 0;
    const cells = text.cells(line);
    const end = starts[row + 1] ?? cells.length;
    const shown: Cell[] = cells.slice(begin, Math.min(end, begin + cols));
    while (shown.length < cols) shown.push(blank);
    const looks = { match: look("match"), current: look("match_current") };
    highlightMatches(shown, begin, cells, search, cursor.line === line ? cursor.col : -1, looks);
    const chosen = selection === null ? null : selectedIn(text, selection, line, row);
    if (chosen !== null) {
      // A selected line without text shows it by its first cell.
      const last = Math.max(chosen[1], chosen[0] === chosen[1] ? chosen[0] + 1 : chosen[1]);
      for (let col = chosen[0]; col < last; col++) {
        const cell = shown[col - begin];
        if (cell !== undefined) shown[col - begin] = restyleCell(cell, look("selection"));
      }
    }
    canvas.putRow(y, shown);
    if (line === cursor.line && row === cursorRow) position = { row: y, col: Math.min(cursor.col - begin, cols - 1) };
    row++;
    if (row >= starts.length) {
      row = 0;
      line++;
    }
  }
  const words = clusters(cleanText(label)).slice(0, cols);
  const width = words.reduce((sum, each) => sum + each.width, 0);
  const y = position.row === 0 && prompt === null ? rows - 1 : 0;
  if (rows > 1)
    canvas.text(y, Math.max(0, cols - width), words, look("message"), { row: y, col: 0, height: 1, width: cols });
  let cursorAt = position;
  if (prompt !== null) {
    const box = { row: rows - 1, col: 0, height: 1, width: cols };
    canvas.fill(box, look("message"));
    const typed = clusters(cleanText(prompt));
    const cells = typed.reduce((sum, each) => sum + each.width, 0);
    while (typed.length > 1 && typed.reduce((sum, each) => sum + each.width, 0) >= cols) typed.splice(1, 1);
    canvas.text(rows - 1, 0, typed, look("message"), box);
    cursorAt = { row: rows - 1, col: Math.min(cells, cols - 1) };
  }
  return {
    rows,
    cols,
    lines: canvas.finish(),
    cursor: { ...cursorAt, visible: true, shape: prompt === null ? "block" : "bar", blink: false },
  };
}

/** Highlights the matches in a row, and the one at the cursor more strongly. */
function highlightMatches(
  shown: Cell[],
  begin: number,
  cells: Row,
  search: Search | null,
  cursor: number,
  looks: { readonly match: Style; readonly current: Style },
): void {
  for (const [from, to] of search?.cellsIn(cells) ?? []) {
    const isCurrent = from === cursor;
    for (let col = Math.max(from, begin); col < Math.min(to, begin + shown.length); col++) {
      const cell = shown[col - begin];
      if (cell !== undefined) shown[col - begin] = restyleCell(cell, isCurrent ? looks.current : looks.match);
    }
  }
}
