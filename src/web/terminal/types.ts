/** Types that the parts of a terminal on the page share. */
import type { PanePlace } from "../../protocol/frame.ts";
import type { Row } from "../../protocol/grid.ts";
import type { BoxGlyphs } from "./box-glyphs.ts";
import type { CellMeasure } from "./cell-size.ts";

export type { PanePlace };

/** A displayed row: on the screen or in history. */
export interface ShownRow {
  readonly element: HTMLElement;
  cells: Row;
  /** Logical line, and the cell of it at which the row begins; null: none, as on the alternate screen. */
  line: number | null;
  col: number;
  wrapped: boolean;
}

export interface HistoryPage {
  readonly rows: readonly {
    readonly line: number;
    readonly col: number;
    readonly wrapped: boolean;
    readonly cells: Row;
  }[];
  readonly moreAbove: boolean;
  readonly moreBelow: boolean;
  /** Start of the screen: rows from there on change. */
  readonly screen: { readonly line: number; readonly col: number };
}

export type HistoryPlace = { readonly line: number; readonly col: number };

/** A match of a search: cells of a logical line. */
export interface FoundText {
  readonly line: number;
  readonly col: number;
  readonly length: number;
}

export interface Matches {
  readonly matches: readonly FoundText[];
  /** Index of the first match among all. */
  readonly first: number;
  readonly total: number;
}

export interface HistorySource {
  above(pane: string, place: HistoryPlace | null, limit: number): Promise<HistoryPage>;
  below(pane: string, place: HistoryPlace, limit: number): Promise<HistoryPage>;
  /** The newest matches, or those before or after a position. */
  search(
    pane: string,
    query: SearchQuery,
    searchFrom?: { readonly before: HistoryPlace } | { readonly from: HistoryPlace },
  ): Promise<Matches>;
}

export interface SearchQuery {
  readonly text: string;
  readonly isPattern: boolean;
}

/** A shell's command, for the page's marks. */
export interface CommandMark {
  readonly id: number;
  readonly command: string | null;
  /** Logical line of the first line of output; the prompt is above. */
  readonly firstLine: number;
  /** Null while it runs. */
  readonly lastLine: number | null;
  readonly exitCode: number | null;
  readonly durationMs: number | null;
  readonly isRunning: boolean;
}

export interface Tools {
  readonly measure: CellMeasure;
  readonly glyphs: BoxGlyphs;
  readonly history: HistorySource;
}
