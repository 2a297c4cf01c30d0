/**
 * Tracks which lines a rendered terminal's own scrollback has: every line that leaves the top of the normal screen goes
 * there once, in order, even after the screen grew back over it. On the alternate screen and during a flood they wait;
 * after a flood only the newest are sent. Lines of each program as wide as the picture are tracked separately; lines of
 * a narrower pane wait until it is as wide again. Call between chunks; `takeRows` runs once per frame and client.
 */
import { MAX_SCROLLED } from "../../protocol/frame.ts";
import type { Row } from "../../protocol/grid.ts";
import type { DisplayedContent, DisplayedProgram, Position } from "./displayed-content.ts";

/** Limit of history lines sent to a client that attaches and cannot take the program's own bytes. */
const MAX_HISTORY = 10_000;

/** Number of rows above a program's screen to send to the terminal's scrollback first. */
export type InitialRows = (program: DisplayedProgram) => number;

export class ScrollbackFeed {
  /** For each program: the position before which the client's scrollback has, or `pendingRows` holds, every line. */
  readonly tops = new WeakMap<DisplayedProgram, Position>();
  private pendingRows: Row[] = [];
  /** The number of rows for programs that are shown first; null: no more are due. */
  private initialRows: InitialRows | null = null;

  /** @param hasScrollback whether the terminal has a scrollback to fill */
  constructor(
    private readonly content: Pick<DisplayedContent, "program" | "fullWidthPrograms" | "alternate">,
    private readonly hasScrollback: boolean,
  ) {}

  private get programs(): readonly DisplayedProgram[] {
    return this.hasScrollback ? this.content.fullWidthPrograms : [];
  }

  /** Lines that left the screen before a program was first shown are skipped, except those requested. */
  private sentUpTo(program: DisplayedProgram): Position {
    const top = this.tops.get(program) ?? program.screenTop;
    this.tops.set(program, top);
    return top;
  }

  /**
   * @param passedThrough the program whose own bytes the client has received: it has the lines that left the screen;
   * null: none
   * @param first rows to send in any case; null: none
   */
  begin(passedThrough: DisplayedProgram | null, first: InitialRows | null): void {
    if (passedThrough !== null) this.tops.set(passedThrough, passedThrough.screenTop);
    if (first !== null) this.initialRows = first;
    this.takeInitialRows();
  }

  /** Before the screen is rewrapped: stores lines that have left it for the next frame. */
  collectRows(): void {
    this.takeInitialRows();
    for (const program of this.programs) {
      const { screenTop } = program;
      const before = this.sentUpTo(program);
      // Most frames scroll nothing, and finding lines that left the screen walks through the lines above it.
      if (!isAfter(screenTop, before)) continue;
      this.pendingRows.push(...program.rowsAbove(before, MAX_SCROLLED));
      this.tops.set(program, screenTop);
    }
  }

  /**
   * Call when the client's terminal was resized and moved its lines as the session did: lines that left the
   * screen are already in its scrollback.
   */
  skipMovedRows(): void {
    const { program } = this.content;
    if (program !== null) this.tops.set(program, program.screenTop);
  }

  /** The next rows for the scrollback, cut to the terminal's width. */
  takeRows(cols: number): Row[] {
    this.collectRows();
    const rows = this.pendingRows.splice(0, MAX_SCROLLED);
    return rows.map((row) => (row.length > cols ? row.slice(0, cols) : row));
  }

  /** Whether the client's scrollback has every required line; otherwise some wait. */
  get isComplete(): boolean {
    return this.pendingRows.length === 0;
  }

  /** Whether lines are pending that a client switched to pass-through would never receive. */
  get hasUnsentRows(): boolean {
    this.takeInitialRows();
    return (
      this.pendingRows.length > 0 || this.programs.some((program) => isAfter(program.screenTop, this.sentUpTo(program)))
    );
  }

  /**
   * The screen has grown back over lines that the client's scrollback has: they must not be sent again when they leave
   * it, as pass-through would do.
   */
  get isAhead(): boolean {
    const { program } = this.content;
    return this.hasScrollback && program !== null && isAfter(this.sentUpTo(program), program.screenTop);
  }

  /** Whether more lines wait than one frame can take. */
  get isBehind(): boolean {
    return this.pendingRows.length > 0 && !this.content.alternate;
  }

  private takeInitialRows(): void {
    const { initialRows, programs } = this;
    if (initialRows === null || programs.length === 0) return;
    this.initialRows = null;
    for (const program of programs) {
      const rows = initialRows(program);
      if (rows === 0) continue;
      this.pendingRows.push(...program.newestRows(Math.min(rows, MAX_HISTORY)));
      this.tops.set(program, program.screenTop);
    }
  }
}

function isAfter(a: Position, b: Position): boolean {
  return a.line > b.line || (a.line === b.line && a.col > b.col);
}
