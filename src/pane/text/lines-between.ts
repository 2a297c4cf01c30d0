/** Output between two places of the screen and history, as lines. Pure readings of the rendered text. */

import { HeadTail, type RetainedLines } from "./retained-lines.ts";
import type { TerminalText, TextPosition } from "./text.ts";

/**
 * Lines from one position to another. Lines no longer stored count as omitted.
 * @param budget UTF-8 bytes to retain, half from the start and half from the end
 */
export function linesBetween(text: TerminalText, from: TextPosition, to: TextPosition, budget: number): RetainedLines {
  const retained = new HeadTail(budget);
  const lines = text.lines(from.line, to.line);
  const first = lines[0]?.id ?? from.line;
  retained.skip(first - from.line);
  for (const { id, text: line } of lines) {
    const begin = id === from.line ? from.index : 0;
    const whole = id === to.line ? line.slice(0, Math.max(begin, to.index)) : line;
    const rest = whole.slice(begin);
    // The last line is the cursor's: when it is empty, it has not begun.
    if (!(id === to.line && rest === "")) retained.push(rest);
  }
  return retained.retained();
}
