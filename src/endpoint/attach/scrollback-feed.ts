/**
 * Tracks which lines a painted terminal's own scrollback has: every line that leaves the top of the normal screen goes
 * there once, in order, even after the screen grew back over it. On the alternate screen and during a flood they wait;
 * after a flood only the newest are sent. Only where one program fills the picture: while several do, lines wait, and
 * follow when it does again. Call between chunks; `take` runs once per frame and client.
 */
import { MAX_SCROLLED } from "../../protocol/frame.ts";
import type { Row } from "../../protocol/grid.ts";
import type { Position, Shown, ShownProgram } from "./shown.ts";

/** Limit of history lines sent to a client that attaches and cannot be relayed to. */
const MAX_HISTORY = 10_000;

export class ScrollbackFeed {
  /** Of each program, the client's scrollback has, or `waiting` holds, every line before this place. */
  private readonly tops = new WeakMap<ShownProgram, Position>();
  private waiting: Row[] = [];

  /** @param wanted whether the terminal has a scrollback to be filled */
  constructor(
    private readonly shown: Shown,
    private readonly wanted: boolean,
  ) {}

  private get fills(): boolean {
    return this.wanted && this.shown.program !== null;
  }

  /** Lines that left the screen before a program was first shown are skipped. */
  private get top(): Position {
    const { program } = this.shown;
    if (program === null) return { line: 0, col: 0 };
    const top = this.tops.get(program) ?? program.top;
    this.tops.set(program, top);
    return top;
  }

  private set top(top: Position) {
    const { program } = this.shown;
    if (program !== null) this.tops.set(program, top);
  }

  /**
   * @param relayed the program whose own bytes the client got so far: it has the lines that left the screen; null: none
   * @param history rows to send anyway
   */
  begin(relayed: ShownProgram | null, history: number): void {
    if (relayed !== null) this.tops.set(relayed, relayed.top);
    const { program } = this.shown;
    if (program === null) return;
    if (history > 0) this.top = program.top;
    this.waiting = history > 0 && this.fills ? program.newestRows(Math.min(history, MAX_HISTORY)) : [];
  }

  /** Before the screen is rewrapped: stores lines that have left it for the next frame. */
  hold(): void {
    const { program } = this.shown;
    if (!this.fills || program === null) return;
    const { top } = program;
    // Most frames scroll nothing, and finding lines that left the screen walks through the lines above it.
    if (!isAfter(top, this.top)) return;
    this.waiting.push(...program.rowsAbove(this.top, MAX_SCROLLED));
    this.top = top;
  }

  /**
   * The client's terminal was resized and moved its lines as we did: what left the screen is already in its scrollback.
   */
  outerMoved(): void {
    this.top = this.shown.program?.top ?? this.top;
  }

  /** The next rows for the scrollback, cut to the terminal's width. */
  take(cols: number): Row[] {
    this.hold();
    const rows = this.waiting.splice(0, MAX_SCROLLED);
    return rows.map((row) => (row.length > cols ? row.slice(0, cols) : row));
  }

  /** The place before which the client's scrollback has every line; null while some wait. */
  get reached(): Position | null {
    return this.waiting.length > 0 ? null : this.top;
  }

  /** Whether lines are pending that a client switched to relaying would never get. */
  get owes(): boolean {
    return this.waiting.length > 0 || (this.fills && isAfter(this.shown.program?.top ?? this.top, this.top));
  }

  /**
   * The screen has grown back over lines that the client's scrollback has: when they leave it again they must not be
   * sent twice, as pass-through would.
   */
  get isAhead(): boolean {
    return this.fills && isAfter(this.top, this.shown.program?.top ?? this.top);
  }

  /** Whether more lines wait than one frame takes. */
  get isBehind(): boolean {
    return this.waiting.length > 0 && !this.shown.alternate;
  }
}

function isAfter(a: Position, b: Position): boolean {
  return a.line > b.line || (a.line === b.line && a.col > b.col);
}
