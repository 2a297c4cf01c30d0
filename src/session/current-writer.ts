/**
 * The caller that types into a pane, shown to its viewers: the newest one, until a moment after its last input. The
 * timer ends without help.
 */
import type { Clock } from "../base/clock.ts";

/** How long a caller counts as typing after its input, in ms: long enough to be read. */
const TYPING_MS = 3_000;

export class CurrentWriter {
  private name: string | null = null;
  private end: Disposable | null = null;

  /** @param changed the writer has changed or stopped */
  constructor(
    private readonly clock: Clock,
    private readonly changed: () => void,
  ) {}

  /** Null without one. */
  get current(): string | null {
    return this.name;
  }

  typed(name: string): void {
    this.end?.[Symbol.dispose]();
    this.end = this.clock.after(TYPING_MS, () => this.is(null));
    this.is(name);
  }

  private is(name: string | null): void {
    if (name === this.name) return;
    this.name = name;
    this.changed();
  }
}
