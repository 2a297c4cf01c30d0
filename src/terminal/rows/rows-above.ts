/** Rows above the normal screen: in history, and those that the emulator still has. Reads only. */
import type { Row } from "../../protocol/grid.ts";
import type { History } from "../history/history.ts";
import type { HotWindow } from "../history/hot-window.ts";
import { segmentCells } from "../history/segment.ts";
import type { Position } from "../marks.ts";
import type { LinkTable } from "./hyperlinks.ts";
import { rowCells } from "./row-text.ts";
import type { StyleTable } from "./styles.ts";

interface RowSources {
  readonly history: History;
  readonly hot: HotWindow;
  readonly links: LinkTable;
}

/** Number of rows between a former top of the normal screen and its current top; at most `limit`. */
export function countAbove({ hot, history }: RowSources, since: Position, limit: number): number {
  const first = hot.indexOf(since);
  // Older ones are already packed: they are counted row by row.
  let packed = 0;
  if (first === 0 && hot.above < limit) {
    const from = Math.max(0, history.rows - (limit - hot.above));
    for (const { segment, from: cell } of history.rowsBetween(from, history.rows)) {
      const { id, offset } = segment;
      if (id > since.line || (id === since.line && offset + cell >= since.col)) packed++;
    }
  }
  return Math.max(0, Math.min(limit, hot.above - first + packed));
}

/** The newest `limit` rows above the normal screen, as they would be painted, oldest first. */
export function newestRows(
  { hot, history, links }: RowSources,
  { limit, cols, styles }: { readonly limit: number; readonly cols: number; readonly styles: StyleTable },
): Row[] {
  const count = Math.max(0, Math.min(limit, history.rows + hot.above));
  const fromHistory = Math.max(0, count - hot.above);
  const rows: Row[] = [];
  for (const { segment, from, to } of history.rowsBetween(history.rows - fromHistory, history.rows)) {
    rows.push(segmentCells(segment, from, to, cols, styles));
  }
  for (let at = hot.above - (count - fromHistory); at < hot.above; at++) {
    rows.push(rowCells(hot.row(at), cols, styles, links));
  }
  return rows;
}
