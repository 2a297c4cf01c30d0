/**
 * Whose key started what runs: for each pane, the terminal at which Enter was pressed last, and when. Pure bookkeeping.
 */

/** Panes that are remembered; past that, the one that was used least recently is forgotten. */
const MAX_PANES = 256;
/** What ends a line, also as the kitty protocol has it. */
const ENTER = /[\r\n]|\x1b\[13(?:;\d*(?::1)?)?u/;

export interface Entered {
  readonly viewer: number;
  /** On the session's clock, which never goes back, in ms. */
  readonly at: number;
  /** Unix time in ms. */
  readonly wall: number;
}

export class EnteredLines {
  private readonly newest = new Map<string, Entered>();

  /** Runs per key. */
  typed(pane: string, bytes: Uint8Array, entered: Entered): void {
    // Latin 1, since only ASCII is looked for.
    if (!ENTER.test(Buffer.from(bytes).toString("latin1"))) return;
    this.newest.delete(pane);
    this.newest.set(pane, entered);
    const [oldest] = this.newest.keys();
    if (this.newest.size > MAX_PANES && oldest !== undefined) this.newest.delete(oldest);
  }

  /** Null when nobody did. */
  in(pane: string): Entered | null {
    return this.newest.get(pane) ?? null;
  }
}
