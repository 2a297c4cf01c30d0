/**
 * One pane: its rows, its history above them in one scrolled box, and its marks.
 *
 * Invariants: an element shows the same row while the row exists, even after it moves up into history, so a selection
 * survives output below it; while a person is scrolled up the visible rows do not move.
 */
import { type Row, sameRow } from "../../protocol/grid.ts";
import { selectByClicks } from "./click-selection.ts";
import { CommandMarks } from "./command-marks.ts";
import { HistoryView } from "./history-view.ts";
import { fillRow } from "./row.ts";
import { keepSelectionIn } from "./selecting.ts";
import type { CommandMark, PanePlace, ShownRow, Tools } from "./types.ts";

/** Pixels from the end within which the view counts as at the end. */
const END_SLACK = 4;
/** Screens above the visible part at which the next page is fetched ahead. */
const AHEAD_SCREENS = 2;

/** Rows by their elements, for selections. */
export const rowsByElement = new WeakMap<Element, ShownRow>();

function register(row: ShownRow): void {
  rowsByElement.set(row.element, row);
}

export class PaneView {
  readonly element = document.createElement("div");
  readonly scroller = document.createElement("div");
  readonly screen = document.createElement("div");
  readonly history: HistoryView;
  readonly marks = new CommandMarks();
  place: PanePlace;
  /** Whether the newest rows are visible and remain so. */
  isFollowing = true;
  private rows: ShownRow[] = [];
  private cols = 0;
  private loadCount = 0;
  /** Logical line of the first row when the rows last belonged to history (normal screen). */
  private firstLine: number | null = null;
  /** Logical line to keep in view while the rows around it are fetched again for another width. */
  private readingLine: { readonly line: number } | null = null;

  constructor(
    place: PanePlace,
    private readonly tools: Tools,
    private readonly events: { readonly scrolled: (pane: PaneView) => void },
  ) {
    this.place = place;
    this.history = new HistoryView(
      () => this.place.id,
      tools,
      (rows) => {
        for (const row of rows) register(row);
        this.marks.apply(rows);
      },
    );
    this.element.className = "pane";
    this.scroller.className = "scroller";
    this.screen.className = "screen";
    this.scroller.append(this.history.element, this.screen);
    this.element.append(this.scroller);
    keepSelectionIn(this.scroller);
    selectByClicks(this.scroller, (element) => {
      const row = rowsByElement.get(element);
      return row === undefined ? [] : row.line === null ? [row] : this.rowsOf(row.line);
    });
    this.scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
    // Nothing is mounted above the screen until the person scrolls up.
    const loadNearTop = (): void => {
      if (this.scroller.scrollTop < this.scroller.clientHeight) void this.loadAbove();
    };
    this.scroller.addEventListener("wheel", ({ deltaY }) => deltaY < 0 && loadNearTop(), { passive: true });
    this.scroller.addEventListener("touchstart", loadNearTop, { passive: true });
    // A drag may extend a selection into history.
    this.scroller.addEventListener("mousedown", loadNearTop, { passive: true });
  }

  /** The rows of the screen, from the top. */
  get shownRows(): readonly ShownRow[] {
    return this.rows;
  }

  /** Shows a picture: `cells` has the pane's part of each row, as the same object while it is unchanged. */
  update(place: PanePlace, cells: readonly Row[]): void {
    const isOther = place.id !== this.place.id || place.cols !== this.cols;
    const read = !isOther || this.isFollowing ? null : (this.readingLine?.line ?? this.topLine());
    const { first_line } = place;
    // No picture had the lines that left the screen while a full-screen program ran.
    if (this.place.first_line === null && first_line !== null && first_line !== this.firstLine) this.history.reset();
    this.firstLine = first_line ?? this.firstLine;
    this.place = place;
    this.cols = place.cols;
    const lines = linesOf(place);
    if (isOther) this.history.reset();
    const shift = isOther ? 0 : this.shiftOf(lines, cells);
    if (shift !== 0) {
      const selected = selectionIn(this.element);
      if (shift === "jump" || shift > this.lastUsed()) this.replaceScreen(selected !== null);
      else this.moveUp(shift);
      selected?.restore();
    }
    this.fit(cells.length);
    for (const [index, row] of this.rows.entries()) {
      const own = cells[index];
      if (own === undefined) continue;
      if (!sameRow(row.cells, own)) fillRow(row.element, own, this.tools);
      row.cells = own;
      row.line = lines[index]?.line ?? null;
      row.col = lines[index]?.col ?? 0;
      row.wrapped = lines[index]?.wrapped ?? false;
    }
    const hidesHistory = place.first_line === null;
    this.history.element.hidden = hidesHistory;
    this.marks.apply(this.rows);
    if (this.isFollowing) this.scrollToEnd();
    else if (read !== null) void this.keepReading(read);
  }

  showMarks(commands: readonly CommandMark[]): void {
    this.marks.set(commands);
    this.refreshMarks();
  }

  fold(command: number): void {
    this.marks.toggleFold(command);
    this.refreshMarks();
  }

  private refreshMarks(): void {
    this.marks.apply(this.history.rows);
    this.marks.apply(this.rows);
    if (this.isFollowing) this.scrollToEnd();
  }

  refill(): void {
    this.history.refill();
    for (const { element, cells } of this.rows) fillRow(element, cells, this.tools);
    if (this.isFollowing) this.scrollToEnd();
  }

  /** Shows the newest rows and follows them. */
  scrollToEnd(): void {
    this.isFollowing = true;
    this.readingLine = null;
    if (this.history.hasHole && selectionIn(this.element) === null) this.history.reset();
    this.history.trimTop();
    const end = this.scroller.scrollHeight - this.scroller.clientHeight;
    if (Math.abs(this.scroller.scrollTop - end) > 0.5) this.scroller.scrollTop = end;
    this.events.scrolled(this);
  }

  /** Scrolls by rows; negative is up. */
  scrollRows(count: number): void {
    this.scroller.scrollTop += count * this.tools.measure.size.height;
  }

  /** Scrolls a logical line into view, also from unmounted history. */
  async showLine(line: number): Promise<ShownRow | null> {
    let found = this.rowsOf(line)[0];
    if (found === undefined) {
      this.isFollowing = false;
      await this.history.showAround(line);
      found = this.rowsOf(line)[0];
    }
    if (found === undefined) return null;
    const { top } = found.element.getBoundingClientRect();
    const frame = this.scroller.getBoundingClientRect();
    const isSeen = top >= frame.top && top + this.tools.measure.size.height <= frame.bottom;
    if (!isSeen) this.scroller.scrollTop += top - frame.top - frame.height / 3;
    this.scrolled();
    return found;
  }

  /** Brings a command's prompt to the top. */
  async showPrompt({ firstLine }: CommandMark): Promise<void> {
    await this.showAtTop(firstLine - 1);
  }

  private async showAtTop(line: number): Promise<void> {
    const row = await this.showLine(line);
    if (row === null) return;
    const { top } = row.element.getBoundingClientRect();
    this.scroller.scrollTop += top - this.scroller.getBoundingClientRect().top;
  }

  /** After rewrapping: keeps the line that the person is reading at the top. */
  private async keepReading(line: number): Promise<void> {
    const reading = { line };
    this.readingLine = reading;
    await this.showAtTop(line).catch(() => undefined);
    if (this.readingLine !== reading) return;
    this.readingLine = null;
    this.scrolled();
  }

  /** The logical line at the top of the view. */
  topLine(): number | null {
    const { top } = this.scroller.getBoundingClientRect();
    const limit = top - this.tools.measure.size.height / 2;
    // Folded rows have no position.
    const rows = [...this.history.rows, ...this.rows].filter(({ element }) => !element.classList.contains("folded"));
    let [low, high] = [0, rows.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((rows[middle]?.element.getBoundingClientRect().top ?? 0) > limit) high = middle;
      else low = middle + 1;
    }
    return rows[low]?.line ?? null;
  }

  /** The rows of a logical line that are mounted. */
  rowsOf(line: number): ShownRow[] {
    return [...this.history.rowsOf(line), ...this.rows.filter((row) => row.line === line)];
  }

  /**
   * Index of the last row with text. The program usually writes there, so once this row has left the screen,
   * no picture contains its last changes.
   */
  private lastUsed(): number {
    return this.rows.findLastIndex(({ element }) => element.textContent?.trim() !== "");
  }

  private moveUp(count: number): void {
    const gone = this.rows.splice(0, count);
    // Invisible rows are fetched again on demand.
    if (this.history.hasHole) for (const { element } of gone) element.remove();
    else this.history.append(gone);
  }

  /** More was printed than fits into a picture: leaves a hole for the rows in between. */
  private replaceScreen(hasSelection: boolean): void {
    if (this.isFollowing && !hasSelection) this.history.reset();
    else if (this.history.count > 0) {
      const gone = this.rows.splice(0);
      if (!this.history.hasHole) this.history.append(gone);
      else for (const { element } of gone) element.remove();
      this.history.hasHole = true;
    } else {
      this.history.append(this.rows.splice(0));
      this.history.hasHole = true;
    }
  }

  private fit(count: number): void {
    while (this.rows.length > count) this.rows.pop()?.element.remove();
    while (this.rows.length < count) {
      const element = document.createElement("div");
      element.className = "row";
      const row: ShownRow = { element, cells: [], line: null, col: 0, wrapped: false };
      register(row);
      this.rows.push(row);
      this.screen.append(element);
    }
  }

  /** Number of rows by which the screen moved up since the last picture; "jump": none of its rows remains. */
  private shiftOf(lines: readonly RowPlace[], cells: readonly Row[]): number | "jump" {
    const [first] = lines;
    const before = this.rows[0];
    if (first === undefined || first.line === null || before?.line == null) return 0;
    if (first.line < before.line) {
      // The screen was cleared, or grew at the top: mounted rows may overlap with it.
      this.history.reset();
      return 0;
    }
    const { line } = first;
    const own = cells[0];
    const candidates = this.rows.flatMap((row, index) => (row.line === line ? [index] : []));
    const [nearest] = candidates;
    if (nearest === undefined) return "jump";
    if (own === undefined) return nearest;
    return candidates.find((index) => sameRow(this.rows[index]?.cells ?? [], own)) ?? nearest;
  }

  private scrolled(): void {
    const { scroller } = this;
    if (this.readingLine !== null) return;
    const remaining = scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop;
    const isAtEnd = remaining <= END_SLACK && (!this.history.hasHole || this.isFollowing);
    if (isAtEnd !== this.isFollowing) {
      this.isFollowing = isAtEnd;
      if (isAtEnd) this.history.trimTop();
    }
    this.events.scrolled(this);
    if (scroller.scrollTop < scroller.clientHeight * AHEAD_SCREENS) void this.loadAbove();
    if (this.history.hasHole && remaining < scroller.clientHeight * AHEAD_SCREENS) void this.history.loadBelow();
  }

  /** Fetches until there are enough rows above the view; the view does not move. */
  async loadAbove(): Promise<void> {
    if (this.place.first_line === null || this.history.isComplete) return;
    const top = this.rows[0];
    const end = top?.line == null ? null : { line: top.line, col: top.col };
    const loadNumber = ++this.loadCount;
    const { scroller } = this;
    const mounted = this.history.count;
    const height = scroller.scrollHeight;
    const before = scroller.scrollTop;
    const came = await this.history.loadAbove(end).catch(() => false);
    if (!came || loadNumber !== this.loadCount || this.history.count === mounted) return;
    // The browser's scroll anchoring keeps the view, except at the very top.
    const grown = scroller.scrollHeight - height;
    if (!this.isFollowing && Math.abs(scroller.scrollTop - before) < 1 && grown > 0)
      scroller.scrollTop = before + grown;
    else if (this.isFollowing) this.scrollToEnd();
    if (scroller.scrollTop < scroller.clientHeight) void this.loadAbove();
  }
}

/** The selection, if it is inside an element; moving that element would undo it. */
function selectionIn(element: Element): { restore(): void } | null {
  const selection = getSelection();
  if (selection === null || selection.isCollapsed) return null;
  const { anchorNode, anchorOffset, focusNode, focusOffset } = selection;
  if (anchorNode === null || focusNode === null || !element.contains(anchorNode)) return null;
  return {
    restore() {
      if (anchorNode.isConnected && focusNode.isConnected)
        selection.setBaseAndExtent(anchorNode, anchorOffset, focusNode, focusOffset);
    },
  };
}

interface RowPlace {
  readonly line: number | null;
  readonly col: number;
  readonly wrapped: boolean;
}

/** Logical line and first cell of each row. */
function linesOf({ first_line, first_col, wrapped, rows, cols }: PanePlace): RowPlace[] {
  const wrappedRows = new Set(wrapped);
  let line = first_line;
  let col = first_col;
  return Array.from({ length: rows }, (_, index) => {
    const place = { line, col, wrapped: wrappedRows.has(index) };
    if (line !== null) {
      if (place.wrapped) col += cols;
      else {
        line++;
        col = 0;
      }
    }
    return place;
  });
}
