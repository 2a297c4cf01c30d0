/**
 * The rows above a pane's screen, as elements in pages that the browser skips while they are not visible.
 *
 * Owns the mounted rows: a contiguous stretch that ends at the screen's beginning, unless `hasHole` reports missing rows
 * there. Rows that leave the screen are added at the end; older pages are fetched on demand. The text that a person
 * reads never moves: at most MAX_ROWS are mounted, and surplus rows are removed at the far side.
 */
import { fillRow } from "./row.ts";
import type { HistoryPage, HistoryPlace, HistorySource, ShownRow, Tools } from "./types.ts";

/** Rows of a page: some screens, so that the browser skips most of them and fetches are rare. */
const PAGE_ROWS = 200;
/** Maximum mounted rows: about 40 MB of elements. */
export const MAX_ROWS = 20_000;

interface Page {
  readonly element: HTMLElement;
  readonly rows: ShownRow[];
}

export class HistoryView {
  readonly element = document.createElement("div");
  private readonly pages: Page[] = [];
  /** Whether there are more rows above the mounted ones. */
  private hasAbove = true;
  private loading: Promise<boolean> | null = null;
  private generation = 0;
  count = 0;
  /** Whether rows are missing between the mounted ones and the screen. */
  hasHole = false;

  constructor(
    private readonly pane: () => string,
    private readonly tools: Tools,
    /** Called with newly mounted rows, for selection and marks. */
    private readonly onMounted: (rows: readonly ShownRow[]) => void,
  ) {
    this.element.className = "history";
  }

  get source(): HistorySource {
    return this.tools.history;
  }

  get rows(): readonly ShownRow[] {
    return this.pages.flatMap(({ rows }) => rows);
  }

  get firstRow(): ShownRow | undefined {
    return this.pages[0]?.rows[0];
  }

  get lastRow(): ShownRow | undefined {
    return this.pages.at(-1)?.rows.at(-1);
  }

  get isComplete(): boolean {
    return !this.hasAbove;
  }

  /** Removes all mounted rows: lines were rewrapped, or cleared. */
  reset(): void {
    this.generation++;
    for (const { element } of this.pages) element.remove();
    this.pages.length = 0;
    this.count = 0;
    this.hasAbove = true;
    this.hasHole = false;
    this.loading = null;
  }

  /** Adds rows that have left the screen, with their elements. */
  append(rows: readonly ShownRow[]): void {
    for (const row of rows) {
      let page = this.pages.at(-1);
      if (page === undefined || page.rows.length >= PAGE_ROWS) {
        page = this.newPage();
        this.pages.push(page);
        this.element.append(page.element);
      }
      page.rows.push(row);
      page.element.append(row.element);
      this.setPageHeight(page);
    }
    this.count += rows.length;
  }

  /** Removes the oldest pages above the limit, only while they are invisible. */
  trimTop(): void {
    while (this.count > MAX_ROWS) this.dropFirst();
  }

  private dropFirst(): void {
    const page = this.pages.shift();
    if (page === undefined) return;
    page.element.remove();
    this.count -= page.rows.length;
    this.hasAbove = true;
  }

  /**
   * Mounts the page above the mounted rows.
   * @param end the screen's beginning, when nothing is mounted
   * @returns whether there were rows
   */
  loadAbove(end: HistoryPlace | null): Promise<boolean> {
    if (!this.hasAbove) return Promise.resolve(false);
    this.loading ??= this.fetchAbove(end).finally(() => {
      this.loading = null;
    });
    return this.loading;
  }

  private async fetchAbove(end: HistoryPlace | null): Promise<boolean> {
    const { generation } = this;
    const top = this.firstRow;
    const place = top?.line == null ? end : { line: top.line, col: top.col };
    const page = await this.tools.history.above(this.pane(), place, PAGE_ROWS);
    if (generation !== this.generation || this.firstRow !== top) return false;
    this.hasAbove = page.moreAbove;
    if (page.rows.length === 0) return false;
    const made = this.mount(page);
    this.pages.unshift(made);
    this.element.prepend(made.element);
    // Rows far below are fetched again on demand.
    while (this.count > MAX_ROWS && this.pages.length > 1) {
      const last = this.pages.pop();
      if (last === undefined) break;
      last.element.remove();
      this.count -= last.rows.length;
      this.hasHole = true;
    }
    return true;
  }

  /** Mounts the page below a hole; @returns whether rows came */
  async loadBelow(): Promise<boolean> {
    const { generation, lastRow } = this;
    if (!this.hasHole || lastRow?.line == null) return false;
    const place = { line: lastRow.line, col: lastRow.col };
    const page = await this.tools.history.below(this.pane(), place, PAGE_ROWS + 1);
    if (generation !== this.generation || this.lastRow !== lastRow) return false;
    const isLastRow = (line: number, col: number): boolean => line === place.line && col === place.col;
    const rows = page.rows.filter(
      ({ line, col }) =>
        !isLastRow(line, col) && (line < page.screen.line || (line === page.screen.line && col < page.screen.col)),
    );
    const made = this.mount({ ...page, rows });
    this.pages.push(made);
    this.element.append(made.element);
    if (rows.length === 0 || rows.length < page.rows.length - 1 || !page.moreBelow) this.hasHole = false;
    while (this.count > MAX_ROWS && this.pages.length > 1) this.dropFirst();
    return rows.length > 0;
  }

  /** Mounts the rows around a line in place of the mounted ones. */
  async showAround(line: number): Promise<void> {
    this.reset();
    const { generation } = this;
    const [above, below] = await Promise.all([
      this.tools.history.above(this.pane(), { line, col: 0 }, PAGE_ROWS),
      this.tools.history.below(this.pane(), { line, col: 0 }, PAGE_ROWS),
    ]);
    if (generation !== this.generation) return;
    const { screen } = below;
    const rows = below.rows.filter(
      (row) => row.line < screen.line || (row.line === screen.line && row.col < screen.col),
    );
    for (const page of [above, { ...below, rows }]) {
      if (page.rows.length === 0) continue;
      const made = this.mount(page);
      this.pages.push(made);
      this.element.append(made.element);
    }
    this.hasAbove = above.moreAbove;
    this.hasHole = rows.length === below.rows.length && below.moreBelow;
  }

  /** The rows of a logical line, if they are mounted. */
  rowsOf(line: number): ShownRow[] {
    const page = this.pages.findLastIndex(({ rows }) => (rows[0]?.line ?? Number.POSITIVE_INFINITY) <= line);
    const near = [this.pages[page], this.pages[page + 1]].flatMap((found) => found?.rows ?? []);
    return near.filter((row) => row.line === line);
  }

  /** Refills all rows: colours are CSS, but widths are not. */
  refill(): void {
    for (const { rows } of this.pages) for (const { element, cells } of rows) fillRow(element, cells, this.tools);
    for (const page of this.pages) this.setPageHeight(page);
  }

  private mount({ rows }: HistoryPage): Page {
    const page = this.newPage();
    for (const { line, col, wrapped, cells } of rows) {
      const element = document.createElement("div");
      element.className = "row";
      fillRow(element, cells, this.tools);
      const shown: ShownRow = { element, cells, line, col, wrapped };
      page.rows.push(shown);
      page.element.append(element);
    }
    this.count += rows.length;
    this.setPageHeight(page);
    this.onMounted(page.rows);
    return page;
  }

  private newPage(): Page {
    const element = document.createElement("div");
    element.className = "page";
    return { element, rows: [] };
  }

  /** Sets the height of a page, so that the browser knows it while skipping the page. */
  private setPageHeight({ element, rows }: Page): void {
    element.style.containIntrinsicHeight = `${rows.length * this.tools.measure.size.height}px`;
  }
}
