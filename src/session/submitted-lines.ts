/** Records which terminal's Enter started the running command of a pane, and when. Pure bookkeeping. */

/** Maximum remembered panes; past that, the least recently used one is forgotten. */
const MAX_PANES = 256;
const CR = 0x0d;
const LF = 0x0a;
const ESCAPE = 0x1b;
/** Enter in the kitty protocol, pressed or repeated. */
const KITTY_ENTER = /\x1b\[13(?:;\d*(?::[12])?)?u/;

function hasEnter(bytes: Uint8Array): boolean {
  if (bytes.includes(CR) || bytes.includes(LF)) return true;
  // Latin 1, since the searched text is ASCII.
  return bytes.includes(ESCAPE) && KITTY_ENTER.test(Buffer.from(bytes).toString("latin1"));
}

export interface SubmittedBy {
  readonly viewer: number;
  /** On the session's monotonic clock, in ms. */
  readonly at: number;
  /** Unix time in ms. */
  readonly wall: number;
}

export class SubmittedLines {
  private readonly newest = new Map<string, SubmittedBy>();

  /** Runs per key. */
  typed(pane: string, bytes: Uint8Array, entered: SubmittedBy): void {
    if (!hasEnter(bytes)) return;
    this.newest.delete(pane);
    this.newest.set(pane, entered);
    const [oldest] = this.newest.keys();
    if (this.newest.size > MAX_PANES && oldest !== undefined) this.newest.delete(oldest);
  }

  /** Null: none is recorded. */
  in(pane: string): SubmittedBy | null {
    return this.newest.get(pane) ?? null;
  }
}
