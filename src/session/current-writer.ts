/**
 * The caller that types into a pane, for its viewers: the newest one, until a moment after its last input. The timer
 * ends on its own.
 */
import type { Clock } from "../base/clock.ts";

/** Time after its input during which a caller counts as typing, in ms: long enough to read its name. */
const TYPING_MS = 3_000;

export class CurrentWriter {
  private name: string | null = null;
  private end: Disposable | null = null;

  /** @param changed called when the writer has changed or stopped */
  constructor(
    private readonly clock: Clock,
    private readonly changed: () => void,
  ) {}

  /** Null: nobody types. */
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
