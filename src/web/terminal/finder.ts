/**
 * A search in a pane's history and screen, from match to match. Matches are cells of logical lines; the current one is
 * marked by the browser's own highlights, which change no element.
 */
import { placeIn } from "./copy.ts";
import type { PaneView } from "./pane-view.ts";
import type { FoundText, Matches, SearchQuery, ShownRow } from "./types.ts";

const HIGHLIGHT = "found";

/** The style of matches; created here, since the bundler's parser of styles does not know the pseudo-element. */
export function highlightSheet(): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`::highlight(${HIGHLIGHT}){background:var(--found);color:var(--text)}`);
  return sheet;
}

export class Finder {
  /** Index of the shown match among all, from the oldest; -1: none. */
  index = -1;
  total = 0;
  private page: Matches | null = null;

  constructor(
    private readonly pane: PaneView,
    private readonly query: SearchQuery,
  ) {}

  /** Shows the next match: -1 an older one, 1 a newer one; at first the newest. */
  async step(by: 1 | -1): Promise<void> {
    const { history } = this.pane;
    const { id } = this.pane.place;
    if (this.page === null) {
      this.page = await history.source.search(id, this.query);
      this.total = this.page.total;
      if (this.total === 0) return;
      await this.show(this.page.first + this.page.matches.length - 1);
      return;
    }
    if (this.total === 0) return;
    const targetIndex = (this.index + by + this.total) % this.total;
    const current = this.page.matches[this.index - this.page.first];
    const isHere = targetIndex >= this.page.first && targetIndex < this.page.first + this.page.matches.length;
    if (!isHere && current !== undefined) {
      const wrapsAround = Math.abs(targetIndex - this.index) > 1;
      const place = { line: current.line, col: current.col };
      const newest = by === -1 ? wrapsAround : false;
      const oldest = by === 1 ? wrapsAround : false;
      const from = { from: oldest ? { line: 0, col: 0 } : { line: current.line, col: current.col + 1 } };
      this.page = await history.source.search(
        id,
        this.query,
        newest ? undefined : by === -1 ? { before: place } : from,
      );
      this.total = this.page.total;
    }
    const { first, matches } = this.page;
    await this.show(Math.min(Math.max(targetIndex, first), first + matches.length - 1));
  }

  clear(): void {
    CSS.highlights?.delete(HIGHLIGHT);
  }

  private async show(index: number): Promise<void> {
    const match = this.page?.matches[index - this.page.first];
    if (match === undefined) return;
    this.index = index;
    await this.pane.showLine(match.line);
    this.highlight(match);
  }

  private highlight({ line, col, length }: FoundText): void {
    const ranges = this.pane.rowsOf(line).flatMap((row) => rangeIn(row, col, col + length) ?? []);
    CSS.highlights?.set(HIGHLIGHT, new Highlight(...ranges));
    ranges[0]?.startContainer.parentElement?.closest(".row")?.scrollIntoView({ block: "nearest" });
  }
}

/** The part of a row between two cells of its logical line. */
function rangeIn({ element, cells, col }: ShownRow, from: number, to: number): Range | null {
  const start = Math.max(0, from - col);
  const end = Math.min(cells.length, to - col);
  if (start >= end) return null;
  const textBefore = (cell: number): number => cells.slice(0, cell).reduce((sum, { text }) => sum + text.length, 0);
  const first = placeIn(element, textBefore(start));
  const last = placeIn(element, textBefore(end));
  if (first === null || last === null) return null;
  const range = document.createRange();
  range.setStart(first.node, first.offset);
  range.setEnd(last.node, last.offset);
  return range;
}
