/**
 * Splits a picture: each pane's rows, and the surroundings of the panes (borders, panels, dialogs over them). Unchanged
 * parts of rows stay the same objects, so that only changes are drawn.
 */
import type { Frame } from "../../protocol/frame.ts";
import { type Cell, plainStyle, type Row } from "../../protocol/grid.ts";
import type { PanePlace } from "./types.ts";

const blank: Cell = { text: " ", width: 1, style: plainStyle };

interface LayerRun {
  readonly source: Row;
  readonly cells: Row;
}

export class Layers {
  private readonly paneRuns = new Map<string, LayerRun[]>();
  private aroundRuns: LayerRun[] = [];
  private key = "";

  /** Forgets removed panes, and everything if the positions have changed. */
  begin(frame: Frame, places: readonly PanePlace[]): void {
    const key = `${frame.rows} ${frame.cols} ${places.map(({ id, row, col, rows, cols }) => [id, row, col, rows, cols].join()).join(" ")}`;
    if (key === this.key) return;
    this.key = key;
    this.paneRuns.clear();
    this.aroundRuns = [];
  }

  paneRows(frame: Frame, { id, row, col, rows, cols }: PanePlace): readonly Row[] {
    const before = this.paneRuns.get(id) ?? [];
    const now = Array.from({ length: rows }, (_, index) => {
      const source = frame.lines[row + index] ?? [];
      const known = before[index];
      return known?.source === source ? known : { source, cells: source.slice(col, col + cols) };
    });
    this.paneRuns.set(id, now);
    return now.map(({ cells }) => cells);
  }

  /** The whole picture with blanks in place of the panes. */
  aroundRows(frame: Frame, places: readonly PanePlace[]): readonly Row[] {
    const before = this.aroundRuns;
    this.aroundRuns = frame.lines.map((source, index) => {
      const known = before[index];
      return known?.source === source ? known : { source, cells: blanked(source, index, places) };
    });
    return this.aroundRuns.map(({ cells }) => cells);
  }
}

function blanked(source: Row, index: number, places: readonly PanePlace[]): Row {
  const here = places.filter(({ row, rows }) => index >= row && index < row + rows);
  if (here.length === 0) return source;
  return source.map((cell, col) =>
    here.some((place) => col >= place.col && col < place.col + place.cols) ? blank : cell,
  );
}
