/** Whether a person looks at a terminal, as its input shows, and at which panes. */
import type { ViewerFocus as Looks } from "../../session/viewers.ts";
import type { DisplayedContent } from "./displayed-content.ts";

/** Time after a key or a click during which the person counts as looking at the terminal, in ms. */
const ATTENTION_MS = 30_000;

export class TerminalFocus implements Looks {
  /** For a view, its session reports it; until then it counts as watched. */
  isWatched = true;
  lastKey: number | null = null;
  /** Time of the person's last attach, key or click; never, once the terminal has reported that it lost the focus. */
  private lastActionAt: number;

  constructor(
    private readonly content: Pick<DisplayedContent, "shows" | "rings">,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.lastActionAt = now();
  }

  /** Runs per key. */
  keyTyped(): void {
    this.lastActionAt = this.now();
    this.lastKey = Date.now();
  }

  /** The terminal gained or lost the focus. */
  focusChanged(on: boolean): void {
    this.lastActionAt = on ? this.now() : Number.NEGATIVE_INFINITY;
  }

  looksAt(pane: string): boolean {
    return this.content.shows(pane) && this.now() < this.lastActionAt + ATTENTION_MS;
  }

  lastSeenAt(pane: string): number {
    return this.content.shows(pane) ? this.lastActionAt : Number.NEGATIVE_INFINITY;
  }

  ringsFor(pane: string): boolean {
    return this.content.rings(pane);
  }
}
