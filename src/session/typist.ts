/**
 * Which caller types into a pane, for the people who look at it: the newest one, until a moment after its last input.
 * The timer ends by itself.
 */
import type { Clock } from "../base/clock.ts";

/** Time after a caller's input until it types no more, in ms: long enough to be read. */
const TYPING_MS = 3_000;

export class Typist {
  private name: string | null = null;
  private end: Disposable | null = null;

  /** @param changed somebody begins, or nobody types any more */
  constructor(
    private readonly clock: Clock,
    private readonly changed: () => void,
  ) {}

  /** Null while nobody does. */
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
