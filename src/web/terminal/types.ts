/** What the parts of a terminal on the page tell each other. */
import type { Row } from "../../protocol/grid.ts";
import type { BoxGlyphs } from "./box-glyphs.ts";
import type { CellMeasure } from "./cell-size.ts";

/** A pane's place in the picture, and what its rows are. */
export interface Place {
  /** `@7`. */
  readonly pane: string;
  readonly row: number;
  readonly col: number;
  readonly rows: number;
  readonly cols: number;
  readonly active: boolean;
  readonly title: string;
  /** Id of the logical line that the first row belongs to; null on the alternate screen, which has no history. */
  readonly first_line: number | null;
  /** Cell of that line at which the first row begins. */
  readonly first_col?: number | undefined;
  /** Rows that go on in the next one. */
  readonly wrapped: readonly number[];
  /** Mode of the mouse that the pane's program asked for. */
  readonly mouse?: number | undefined;
  readonly alternate?: boolean | undefined;
}

/** A row that is shown: on the screen or in history. */
export interface ShownRow {
  readonly element: HTMLElement;
  cells: Row;
  /** Logical line and the cell of it at which the row begins; null: none, as on the alternate screen. */
  line: number | null;
  col: number;
  wrapped: boolean;
}

/** A page of history. */
export interface HistoryPage {
  readonly rows: readonly { readonly line: number; readonly col: number; readonly wrapped: boolean; readonly cells: Row }[];
  readonly moreAbove: boolean;
  readonly moreBelow: boolean;
  /** Where the screen begins: rows from there on change. */
  readonly screen: { readonly line: number; readonly col: number };
}

export type HistoryPlace = { readonly line: number; readonly col: number };

/** A match of a search: cells of a logical line. */
export interface Match {
  readonly line: number;
  readonly col: number;
  readonly length: number;
}

export interface Matches {
  readonly matches: readonly Match[];
  /** Index of the first of them among all. */
  readonly first: number;
  readonly total: number;
}

/** Where a pane's history comes from. */
export interface HistorySource {
  above(pane: string, place: HistoryPlace | null, limit: number): Promise<HistoryPage>;
  below(pane: string, place: HistoryPlace, limit: number): Promise<HistoryPage>;
  /** @param index of the first match wanted among all; null: the newest ones */
  search(pane: string, query: SearchQuery, index: number | null): Promise<Matches>;
}

export interface SearchQuery {
  readonly text: string;
  readonly isPattern: boolean;
}

/** A command of a shell, as the page marks it. */
export interface CommandMark {
  readonly id: number;
  readonly command: string | null;
  /** Logical line of the first line of output; the prompt stands above. */
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
