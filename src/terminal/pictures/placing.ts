/** Placeholders as output: draws a picture at the cursor, and erases pictures from the screen. */
import type { Terminal } from "@xterm/headless";
import { extraOf, sgrOf } from "../rows/styles.ts";
import { penOf, storedRow } from "../rows/xterm-row.ts";
import { idStyle, pictureAt, pictureRow } from "./cells.ts";

interface Region {
  readonly top: number;
  readonly bottom: number;
}

interface PlacedPicture {
  readonly id: number;
  readonly cols: number;
  readonly rows: number;
  /**
   * Final position of the cursor. `stays`: unchanged, and nothing scrolls (kitty's C=1); `after`: after the last cell
   * (C=0); `below`: in the last row, below its start (sixel).
   */
  readonly cursor: "stays" | "after" | "below";
}

/** Draws at the cursor, cut at the right edge; like kitty, scrolls until the last row has room. */
export function pictureOutput(
  terminal: Terminal,
  { bottom }: Region,
  { id, cols, rows, cursor }: PlacedPicture,
): string {
  const { cursorX, cursorY } = terminal.buffer.active;
  const stays = cursor === "stays";
  const wraps = cursorX >= terminal.cols && cursor === "after";
  const x = wraps ? 0 : Math.min(cursorX, terminal.cols - 1);
  const last = cursorY <= bottom ? bottom : terminal.rows - 1;
  const shownRows = stays ? Math.min(rows, last - cursorY + 1) : rows;
  const shownCols = Math.min(cols, terminal.cols - x);
  const { insertMode } = terminal.modes;
  let out = `${wraps ? "\r\x1bD" : ""}${insertMode ? "\x1b[4l" : ""}\x1b[0;${idStyle(id)}m`;
  for (let row = 0; row < shownRows; row++) {
    out += `${row === 0 ? "" : "\x1bD"}\x1b[${x + 1}G${pictureRow(row, shownCols)}`;
  }
  if (stays) out += `${shownRows > 1 ? `\x1b[${shownRows - 1}A` : ""}\x1b[${x + 1}G`;
  else if (cursor === "below") out += `\x1b[${x + 1}G`;
  else if (x + cols >= terminal.cols) out += "\r\x1bD";
  return out + (insertMode ? "\x1b[4h" : "") + pen(terminal);
}

/** Blanks for the cells of these pictures; the cursor returns to its position. */
export function eraseOutput(terminal: Terminal, { top }: Region, ids: ReadonlySet<number>): string {
  const { active } = terminal.buffer;
  let out = "";
  for (let y = 0; y < terminal.rows; y++) {
    const row = storedRow(active, active.baseY + y);
    for (let x = 0; x < terminal.cols; ) {
      let end = x;
      while (end < terminal.cols && ids.has(pictureAt(row, end))) end++;
      if (end > x) out += `\x1b[${y + 1};${x + 1}H\x1b[${end - x}X`;
      x = end + 1;
    }
  }
  if (out === "") return "";
  const { originMode } = terminal.modes;
  const back = `\x1b[${active.cursorY - (originMode ? top : 0) + 1};${Math.min(active.cursorX, terminal.cols - 1) + 1}H`;
  return `${originMode ? "\x1b[?6l" : ""}\x1b[0m${out}${originMode ? "\x1b[?6h" : ""}${back}${pen(terminal)}`;
}

function pen(terminal: Terminal): string {
  const { fg, bg, extended } = penOf(terminal);
  return sgrOf(fg, bg, extraOf(extended, null));
}
