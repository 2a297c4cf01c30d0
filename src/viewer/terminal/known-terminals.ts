/**
 * The part of a session's history that previously attached terminals have, so that attaching again sends only new
 * lines. Each entry stores the position up to which the terminal's scrollback had the session's lines when it detached,
 * and a hash of each line on its screen then: a line that has changed since is new to it. A terminal is identified by
 * its client's description (`Attach.outer`); to an unknown or forgotten one, everything is new. Owned by the session
 * process's streams; call between chunks.
 */
import type { ScrollbackChoice } from "../../protocol/attach.ts";
import type { DisplayedProgram, Position } from "./displayed-content.ts";

/** Limit of remembered terminals; the newest are kept, with one screen of hashes each. */
const MAX_TERMINALS = 32;

/** The lines that a terminal has when it detaches. */
export interface SeenScrollback {
  /** For each program: the position before which the scrollback has every line. */
  readonly tops: WeakMap<DisplayedProgram, Position>;
  /** The program whose lines after that position are on the terminal's screen, as on the session's; null: none. */
  readonly screen: DisplayedProgram | null;
}

interface Mark {
  readonly tops: WeakMap<DisplayedProgram, Position>;
  readonly shown: WeakMap<DisplayedProgram, ReadonlyMap<number, number | bigint>>;
}

export class KnownTerminals {
  private readonly marks = new Map<string, Mark>();

  remember(outer: string, { tops, screen }: SeenScrollback): void {
    const shown: Mark["shown"] = new WeakMap();
    if (screen !== null) {
      const hashes = new Map<number, number | bigint>();
      const from = tops.get(screen)?.line ?? screen.screenTop.line;
      for (let line = from; line <= screen.lastLine; line++) hashes.set(line, hashOf(screen, line));
      shown.set(screen, hashes);
    }
    this.marks.delete(outer);
    this.marks.set(outer, { tops, shown });
    const [oldest] = this.marks.keys();
    if (this.marks.size > MAX_TERMINALS && oldest !== undefined) this.marks.delete(oldest);
  }

  /** Rows above a program's screen to send to a terminal's own scrollback first. */
  rowsFor(choice: ScrollbackChoice, outer: string | undefined, program: DisplayedProgram): number {
    if (choice === "none") return 0;
    if (choice === "all") return Number.POSITIVE_INFINITY;
    return choice === "new" ? this.newRows(outer, program) : choice;
  }

  /** Number of rows above the screen that a terminal does not have. */
  private newRows(outer: string | undefined, terminal: DisplayedProgram): number {
    const mark = outer === undefined ? undefined : this.marks.get(outer);
    let since = mark?.tops.get(terminal);
    if (mark === undefined || since === undefined) return Number.POSITIVE_INFINITY;
    const shown = mark.shown.get(terminal);
    while (shown?.get(since.line) === hashOf(terminal, since.line)) since = { line: since.line + 1, col: 0 };
    return terminal.countAbove(since, Number.POSITIVE_INFINITY);
  }
}

/** Lines no longer stored hash as an empty line. */
function hashOf(terminal: DisplayedProgram, line: number): number | bigint {
  return Bun.hash(terminal.lineText(line) ?? "");
}
