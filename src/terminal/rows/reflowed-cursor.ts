/**
 * Restores the cursor after a reflow: xterm keeps it in its column, and forgets that the next character begins a row.
 */
import type { IBuffer, Terminal } from "@xterm/headless";
import type { Position } from "../marks.ts";
import { placeCursor, storedRow, wrappedCells } from "./xterm-row.ts";

/** Its position on the normal screen, as a line counted from the emulator's first row, and cells into it. */
export function cursorPosition(buffer: IBuffer): Position {
  const { cursorX, cursorY } = buffer;
  const target = buffer.baseY + cursorY;
  let [line, cells] = [0, 0];
  for (let index = 0; index < target; index++) {
    const next = storedRow(buffer, index + 1);
    if (next.isWrapped) cells += wrappedCells(storedRow(buffer, index), next);
    else [line, cells] = [line + 1, 0];
  }
  return { line, col: cells + cursorX };
}

/** Puts it after the text that preceded it. */
export function restoreCursor(terminal: Terminal, { line, col }: Position): void {
  const buffer = terminal.buffer.normal;
  let offset = 0;
  for (let lines = 0; lines < line && offset + 1 < buffer.length; ) if (!storedRow(buffer, ++offset).isWrapped) lines++;
  let left = col;
  for (; offset + 1 < buffer.length && storedRow(buffer, offset + 1).isWrapped; offset++) {
    const cells = wrappedCells(storedRow(buffer, offset), storedRow(buffer, offset + 1));
    if (left < cells) break;
    left -= cells;
  }
  const y = Math.max(0, Math.min(offset - buffer.baseY, terminal.rows - 1));
  placeCursor(buffer, y, Math.min(left, terminal.cols));
}
