/**
 * Temporary notices to the people at a session: one line above the picture, only the newest, for some seconds.
 * Invariant: a notice takes no key, and ends with its time or the session.
 */
import type { Clock } from "../base/clock.ts";

/** Time for which a notice is shown, in ms: long enough to read two lines. */
const SHOWN_MS = 8_000;

export class Notice implements Disposable {
  private current: string | null = null;
  private timer: Disposable | null = null;

  /** @param changed called when a notice must be drawn or removed */
  constructor(
    private readonly clock: Clock,
    private readonly changed: () => void,
  ) {}

  /** Null: there is no notice. */
  get text(): string | null {
    return this.current;
  }

  show(text: string): void {
    this.timer?.[Symbol.dispose]();
    this.timer = this.clock.after(SHOWN_MS, () => this.set(null));
    this.set(text);
  }

  /** The notice no longer applies. */
  take(text: string): void {
    if (text !== this.current) return;
    this[Symbol.dispose]();
    this.changed();
  }

  [Symbol.dispose](): void {
    this.timer?.[Symbol.dispose]();
    this.timer = null;
    this.current = null;
  }

  private set(text: string | null): void {
    this.current = text;
    this.changed();
  }
}
