/**
 * One timer for many deadlines: the owner sets the time of its next deadline and is called then. Without a deadline
 * there is no timer, so an idle session causes no wake-ups.
 */
import type { Clock } from "./clock.ts";

export class Alarm {
  private timer: Disposable | null = null;
  private dueAt = Number.POSITIVE_INFINITY;

  constructor(
    private readonly clock: Clock,
    private readonly ring: () => void,
  ) {}

  /**
   * Rings once at `at` (clock time, Infinity for never). An earlier timer is left in place: the owner checks again when
   * it fires and resets the alarm, which saves a timer per byte of output.
   */
  set(at: number): void {
    if (this.timer !== null && this.dueAt <= at) return;
    this.clear();
    if (at === Number.POSITIVE_INFINITY) return;
    this.dueAt = at;
    this.timer = this.clock.after(Math.max(0, Math.ceil(at - this.clock.now())), () => {
      this.timer = null;
      this.dueAt = Number.POSITIVE_INFINITY;
      this.ring();
    });
  }

  clear(): void {
    this.timer?.[Symbol.dispose]();
    this.timer = null;
    this.dueAt = Number.POSITIVE_INFINITY;
  }
}
