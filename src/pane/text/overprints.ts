/**
 * Detects when lines of an output were overprinted, moved or erased: the cursor went up, and the text there has changed
 * since. Lines above the output's beginning count too: text printed there belongs to no output. Costs nothing while the
 * cursor only moves down; a picture that is redrawn repeatedly is compared once.
 */
import type { TerminalText } from "./text.ts";

/** Most snapshots of the screen; a program that goes up more often without overprinting is not followed. */
const MAX_PICTURES = 1_000;

export class OverprintDetector {
  /** The lines at the time when the cursor last went up from below them. */
  private lastSnapshot: { readonly last: number; readonly lines: ReadonlyMap<number, string> } | null = null;
  private snapshotCount = 0;
  private isOverprinted = false;

  /** @param first the line in which the output begins */
  constructor(
    private readonly text: TerminalText,
    private readonly first: number,
  ) {}

  /** The cursor may move up, or lines may move. Runs while output is parsed. */
  noteDisplacing(): void {
    const { text } = this;
    if (this.isOverprinted) return;
    const { line } = text.position();
    // Later output is still where it was last checked.
    if (this.lastSnapshot !== null && line <= this.lastSnapshot.last) return;
    if (this.checkOverprinted()) return;
    this.isOverprinted = ++this.snapshotCount > MAX_PICTURES;
    const last = Math.max(line, text.lastLine());
    const lines = new Map(text.lines(text.screenTop(), last).map(({ id, text: shown }) => [id, shown]));
    this.lastSnapshot = { last, lines };
  }

  /** Whether anything was printed over until now. */
  checkOverprinted(): boolean {
    const { lastSnapshot, text, first } = this;
    const [top] = lastSnapshot?.lines.keys() ?? [];
    if (this.isOverprinted || lastSnapshot === null || top === undefined) return this.isOverprinted;
    for (const { id, text: now } of text.lines(top, lastSnapshot.last)) {
      const was = lastSnapshot.lines.get(id) ?? "";
      if (id < first ? now !== was : !now.startsWith(was)) this.isOverprinted = true;
    }
    return this.isOverprinted;
  }
}
