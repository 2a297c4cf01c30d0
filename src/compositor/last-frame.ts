/**
 * The last frame of one client. The next frame derives from it while nothing covers the program's screen: panels are
 * reused, and changed rows of the program replaced. After a typed key, drawing a panel would take longer than the rest
 * of the frame.
 *
 * Pure, except for the stored frame. Invariants: `next` returns the same as `composeFrame`; every other drawing calls
 * `forget`. Runs once per rendered frame.
 */
import type { Grid, Row } from "../protocol/grid.ts";
import type { Size } from "../protocol/size.ts";
import { type ClientFrame, placeCursor } from "./compose.ts";
import type { Layout } from "./panel-layout.ts";

export class ReusableFrame {
  private last: { readonly frame: ClientFrame; readonly grid: Grid; readonly layout: Layout } | null = null;

  get isEmpty(): boolean {
    return this.last === null;
  }

  /** Something over or beside the program's screen has changed or moved. */
  forget(): void {
    this.last = null;
  }

  /** @param frame a frame without overlays and signs */
  store(frame: ClientFrame, grid: Grid, layout: Layout): void {
    const fits = frame.rows === layout.top + layout.ptyRows + layout.bottom && frame.cols === layout.ptyCols;
    this.last = fits ? { frame, grid, layout } : null;
  }

  /** Null when the frame has to be composed. */
  next(grid: Grid, layout: Layout, outer: Size): ClientFrame | null {
    const { last } = this;
    if (last === null || layout !== last.layout) return null;
    const { frame } = last;
    const isSameSize = outer.rows === frame.rows && outer.cols === frame.cols;
    if (!isSameSize || grid.cols !== frame.cols || grid.rows < layout.ptyRows || last.grid.rows !== grid.rows)
      return null;
    const lines: Row[] = [...frame.lines];
    for (let row = 0; row < layout.ptyRows; row++) {
      const line = grid.lines[row];
      if (line === last.grid.lines[row]) continue;
      // A row with wide characters may need repair.
      if (line === undefined || line.length !== frame.cols || !line.every(({ width }) => width === 1)) return null;
      lines[layout.top + row] = line;
    }
    const cursor = placeCursor(grid.cursor, layout, frame, []);
    const nextFrame = { ...frame, lines, cursor };
    this.last = { frame: nextFrame, grid, layout };
    return nextFrame;
  }
}
