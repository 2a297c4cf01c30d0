/**
 * What terminals have of a session's history that were attached before, so that attaching again brings them what is new
 * and nothing twice. For each it keeps the place up to which its scrollback had the session's lines when it detached, and
 * a hash of each line that its screen showed then: one that has changed since is new to it. A terminal is known by what
 * its client says of it (`Attach.outer`); of one that is not, or was forgotten, everything counts as new.
 * Owned by the host's streams; call between chunks.
 */
import type { Position, TerminalModel } from "../../terminal/model.ts";

/** Terminals that are remembered, the newest: a screen of hashes each. */
const MAX_TERMINALS = 32;

/** What a terminal has when it detaches. */
export interface Seen {
  /** Its scrollback has every line before this place. */
  readonly top: Position;
  /** Its screen shows the lines after it, as the session's does. */
  readonly screen: boolean;
}

interface Mark {
  readonly top: Position;
  readonly shown: ReadonlyMap<number, number | bigint>;
}

export class KnownTerminals {
  private readonly marks = new Map<string, Mark>();

  remember(outer: string, terminal: TerminalModel, { top, screen }: Seen): void {
    const shown = new Map<number, number | bigint>();
    for (let line = top.line; screen && line <= terminal.lastLine; line++) shown.set(line, hashOf(terminal, line));
    this.marks.delete(outer);
    this.marks.set(outer, { top, shown });
    const [oldest] = this.marks.keys();
    if (this.marks.size > MAX_TERMINALS && oldest !== undefined) this.marks.delete(oldest);
  }

  /** Rows above the screen that a terminal does not have. */
  newRows(outer: string | undefined, terminal: TerminalModel): number {
    const mark = outer === undefined ? undefined : this.marks.get(outer);
    if (mark === undefined) return Number.POSITIVE_INFINITY;
    let since = mark.top;
    while (mark.shown.get(since.line) === hashOf(terminal, since.line)) since = { line: since.line + 1, col: 0 };
    return terminal.countAbove(since, Number.POSITIVE_INFINITY);
  }
}

/** Lines that are not kept have the hash of an empty one. */
function hashOf(terminal: TerminalModel, line: number): number | bigint {
  return Bun.hash(terminal.line(line) ?? "");
}
