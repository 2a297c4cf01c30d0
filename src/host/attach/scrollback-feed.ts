/**
 * Which lines a painted terminal's own scrollback has: every line that leaves the top of the normal screen goes there
 * once, in order, also when the screen grows back over it. On the alternate screen and during a flood they wait; after a
 * flood the newest count. Only where one pane fills the window. Call between chunks; `take` runs once per frame and
 * client.
 */
import { MAX_SCROLLED } from "../../protocol/frame.ts";
import type { Row } from "../../protocol/grid.ts";
import type { Position, TerminalModel } from "../../terminal/model.ts";

/** Lines of history that a client may be given when it attaches and cannot be relayed to. */
const MAX_HISTORY = 10_000;

export class ScrollbackFeed {
  /** The client's scrollback has, or `waiting` holds, every line before this place. */
  private top: Position = { line: 0, col: 0 };
  private waiting: Row[] = [];

  /** @param fills whether the terminal has a scrollback to be filled */
  constructor(
    private readonly terminal: TerminalModel,
    private readonly fills: boolean,
  ) {}

  /** What has left the screen up to here was relayed, or is not wanted. @param history rows that are, all the same */
  begin(history: number): void {
    const { terminal } = this;
    this.top = terminal.top;
    this.waiting = history > 0 && this.fills ? terminal.newestRows(Math.min(history, MAX_HISTORY)) : [];
  }

  /** Before the screen is wrapped anew: what has left it up to here is kept for the next frame. */
  hold(): void {
    if (!this.fills) return;
    const { top } = this.terminal;
    // Most frames scroll nothing, and to look for what left the screen is to walk through what is kept above it.
    if (!isAfter(top, this.top)) return;
    this.waiting.push(...this.terminal.rowsAbove(this.top, MAX_SCROLLED));
    this.top = top;
  }

  /** The client's terminal was resized and has moved its own lines as ours: what left the screen is where it belongs. */
  outerMoved(): void {
    this.top = this.terminal.top;
  }

  /** The next rows for the scrollback, cut to the terminal's width. */
  take(cols: number): Row[] {
    this.hold();
    const rows = this.waiting.splice(0, MAX_SCROLLED);
    return rows.map((row) => (row.length > cols ? row.slice(0, cols) : row));
  }

  /** The client's scrollback has every line before this place; null while some wait. */
  get reached(): Position | null {
    return this.waiting.length > 0 ? null : this.top;
  }

  /** Lines are to go there that a client which is relayed to from now on would never get. */
  get owes(): boolean {
    return this.waiting.length > 0 || (this.fills && isAfter(this.terminal.top, this.top));
  }

  /**
   * The screen has grown back over lines that the client's scrollback has: while they leave it again they must not go
   * there a second time, as they would were it relayed to.
   */
  get isAhead(): boolean {
    return this.fills && isAfter(this.top, this.terminal.top);
  }

  /** More lines wait than one frame takes. */
  get isBehind(): boolean {
    return this.waiting.length > 0 && !this.terminal.alternate;
  }
}

function isAfter(a: Position, b: Position): boolean {
  return a.line > b.line || (a.line === b.line && a.col > b.col);
}
