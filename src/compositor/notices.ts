/**
 * The few lines that wsh itself shows above everything: who holds the keyboard, and messages.
 *
 * Pure. Invariant: the sign always names the key that takes the keyboard back; foreign text (a holder's name) is
 * cleaned and cut, and can neither hide that key nor fill the screen.
 */
import type { Grid } from "../protocol/grid.ts";
import { toAscii } from "./ascii.ts";
import { Canvas } from "./canvas.ts";
import { cleanText, clusters, clusterText, cutToWidth } from "./graphemes.ts";
import { theme } from "./theme.ts";

/** Cells of a task; a longer one would cover the person's work. */
const MAX_TASK_CELLS = 24;
/** Cells of a holder's name; with a longer one the key would not fit a terminal of 80 columns. */
const MAX_HOLDER_CELLS = 24;

/** Cells of a line that could not be inserted at the prompt, and of the reason: together they fit 80 columns. */
const MAX_LINE_CELLS = 24;
const MAX_REASON_CELLS = 28;

/** Cuts to this many cells, with an ellipsis at the cut. */
function cutText(text: string, cells: number): string {
  const line = cleanText(text).replace(/\s+/g, " ").trim();
  return clusterText(cutToWidth(cells, clusters(line.slice(0, cells * 16))));
}

/**
 * @param holder name of the client that captured the keyboard
 * @param prefix label of the key that takes it back
 */
export function keyboardCapturedText(holder: string, prefix: string): string {
  const name = cutText(holder, MAX_HOLDER_CELLS);
  return ` keyboard captured by ${name === "" ? "an agent" : name} — ${prefix} takes it back `;
}

/** A temporary message. */
export function messageText(text: string): string {
  return ` ${cleanText(text).replace(/\s+/g, " ").trim()} `;
}

/**
 * Shown while a person works at the program in place of an agent.
 * @param task the agent's request
 * @param prefix label of the key that returns the keyboard
 */
export function handedOverNotice(task: string, prefix: string): string {
  const words = cutText(task, MAX_TASK_CELLS);
  return ` ${prefix} hands back${words === "" ? "" : `: ${words}`} `;
}

/** Shown when a line for the next prompt could not be inserted. */
export function lineNotOfferedNotice(line: string, why: string): string {
  return ` not put at the prompt: ${cutText(line, MAX_LINE_CELLS)} (${cutText(why, MAX_REASON_CELLS)}) `;
}

/**
 * Draws a notice in the upper right corner; in the lower one while the cursor is in the first row.
 * @param ascii for a terminal that shows no UTF-8
 */
export function drawNotice<T extends Grid>(frame: T, notice: string, ascii: boolean): T {
  const canvas = Canvas.over(frame);
  const text = clusters(ascii ? toAscii(notice) : notice);
  const width = text.reduce((sum, each) => sum + each.width, 0);
  const row = frame.cursor.row === 0 ? frame.rows - 1 : 0;
  const box = { row, col: Math.max(0, frame.cols - width), height: 1, width };
  canvas.text(row, box.col, text, theme.message, box);
  return { ...frame, lines: canvas.finish() };
}
