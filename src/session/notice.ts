/**
 * Temporary notices to the people at a session: one line above the picture, only the newest, for some seconds.
 * Invariant: a notice takes no key, and ends with its time or the session.
 */
import type { Clock } from "../base/clock.ts";

/** Time for which a notice is shown, in ms: long enough to read two lines. */
const SHOWN_MS = 8_000;

export class Notice implements Disposable {
  private currentText: string | null = null;
  private expiryTimer: Disposable | null = null;

  /** @param onChange called when a notice must be drawn or removed */
  constructor(
    private readonly clock: Clock,
    private readonly onChange: () => void,
  ) {}

  /** Null: there is no notice. */
  get text(): string | null {
    return this.currentText;
  }

  show(text: string): void {
    this.expiryTimer?.[Symbol.dispose]();
    this.expiryTimer = this.clock.after(SHOWN_MS, () => this.set(null));
    this.set(text);
  }

  /** The notice no longer applies. */
  withdraw(text: string): void {
    if (text !== this.currentText) return;
    this[Symbol.dispose]();
    this.onChange();
  }

  [Symbol.dispose](): void {
    this.expiryTimer?.[Symbol.dispose]();
    this.expiryTimer = null;
    this.currentText = null;
  }

  private set(text: string | null): void {
    this.currentText = text;
    this.onChange();
  }
}
