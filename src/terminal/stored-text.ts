/**
 * Lines of history and screen as text that can be saved and printed again: one logical line each, with sequences that
 * style it but none that move the cursor, so that it can be printed at any width. Each ends unstyled.
 */
import type { Terminal } from "@xterm/headless";
import type { History } from "./history/history.ts";
import type { HotWindow } from "./history/hot-window.ts";
import { withoutPictures } from "./history/segment.ts";
import { SegmentBuilder } from "./history/segment-builder.ts";
import type { LinkTable } from "./rows/hyperlinks.ts";
import { storedRow, usedCells } from "./rows/xterm-row.ts";
import { segmentText } from "./serialize.ts";

export interface StoredSource {
  readonly history: History;
  readonly hot: HotWindow;
  readonly links: LinkTable;
  readonly terminal: Terminal;
  /** Whether the alternate screen is shown. */
  readonly alternate: boolean;
}

/** The logical lines `fromId` to `toId`, oldest first, except those that history has dropped. */
export function storedLines({ history, hot }: StoredSource, fromId: number, toId: number): string[] {
  const lines: string[] = [];
  let last: number | null = null;
  for (const source of [history, hot]) {
    for (const segment of source.segments(fromId, toId)) {
      const text = segmentText(withoutPictures(segment), 0, segment.cells);
      if (segment.id === last) lines.push((lines.pop() ?? "") + text);
      else lines.push(text);
      last = segment.id;
    }
  }
  return lines;
}

/** The rows of the alternate screen in this form, without trailing blank ones; null: the normal screen is shown. */
export function storedAlternate({ alternate, terminal, links }: StoredSource): string[] | null {
  if (!alternate) return null;
  const buffer = terminal.buffer.alternate;
  const lines: string[] = [];
  const builder = new SegmentBuilder();
  for (let y = 0; y < terminal.rows; y++) {
    const row = storedRow(buffer, buffer.baseY + y);
    builder.add(row, usedCells(row), links);
    const segment = builder.finish(y, 0);
    lines.push(segmentText(withoutPictures(segment), 0, segment.cells));
  }
  while (lines.length > 0 && lines.at(-1) === "") lines.pop();
  return lines;
}
