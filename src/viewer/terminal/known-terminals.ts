/**
 * Remembers which part of a session's history previously attached terminals have, so that attaching again sends
 * only new lines. Each entry stores the position up to which the terminal's scrollback had the session's lines
 * when it detached, and a hash of each line on its screen then: a line that has changed since is new to it. A
 * terminal is identified by its client's description (`Attach.outer`); to an unknown or forgotten one, everything
 * is new. Owned by the session process's streams; call between chunks.
 */
import { setNewest } from "../../base/newest.ts";
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

interface KnownTerminal {
  readonly tops: WeakMap<DisplayedProgram, Position>;
  readonly screenHashes: WeakMap<DisplayedProgram, ReadonlyMap<number, number | bigint>>;
}

export class KnownTerminals {
  private readonly terminals = new Map<string, KnownTerminal>();

  remember(outer: string, { tops, screen }: SeenScrollback): void {
    const screenHashes: KnownTerminal["screenHashes"] = new WeakMap();
    if (screen !== null) {
      const hashes = new Map<number, number | bigint>();
      const from = tops.get(screen)?.line ?? screen.screenTop.line;
      for (let line = from; line <= screen.lastLine; line++) hashes.set(line, hashLine(screen, line));
      screenHashes.set(screen, hashes);
    }
    setNewest(this.terminals, outer, { tops, screenHashes }, MAX_TERMINALS);
  }

  /** Rows above a program's screen to send to a terminal's own scrollback first. */
  rowsToSend(choice: ScrollbackChoice, outer: string | undefined, program: DisplayedProgram): number {
    if (choice === "none") return 0;
    if (choice === "all") return Number.POSITIVE_INFINITY;
    return choice === "new" ? this.countMissingRows(outer, program) : choice;
  }

  /** Number of rows above the screen that a terminal does not have. */
  private countMissingRows(outer: string | undefined, terminal: DisplayedProgram): number {
    const known = outer === undefined ? undefined : this.terminals.get(outer);
    let since = known?.tops.get(terminal);
    if (known === undefined || since === undefined) return Number.POSITIVE_INFINITY;
    const screenHashes = known.screenHashes.get(terminal);
    while (screenHashes?.get(since.line) === hashLine(terminal, since.line)) since = { line: since.line + 1, col: 0 };
    return terminal.countAbove(since, Number.POSITIVE_INFINITY);
  }
}

/** Lines no longer stored hash as an empty line. */
function hashLine(terminal: DisplayedProgram, line: number): number | bigint {
  return Bun.hash(terminal.lineText(line) ?? "");
}
