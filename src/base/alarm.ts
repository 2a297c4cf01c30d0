/**
 * One timer for many deadlines: the owner says when it next has something to do, and is called then. While nothing is
 * due there is no timer at all, so a session that nobody waits on wakes nobody.
 */
import type { Clock } from "./clock.ts";

export class Alarm {
  private timer: Disposable | null = null;
  private at = Number.POSITIVE_INFINITY;

  constructor(
    private readonly clock: Clock,
    private readonly ring: () => void,
  ) {}

  /**
   * Rings once at `at` (clock time, Infinity for never). A timer that rings earlier is left alone: the owner looks again
   * then and sets the alarm anew, which spares a timer per byte of output.
   */
  set(at: number): void {
    if (this.timer !== null && this.at <= at) return;
    this.clear();
    if (at === Number.POSITIVE_INFINITY) return;
    this.at = at;
    this.timer = this.clock.after(Math.max(0, Math.ceil(at - this.clock.now())), () => {
      this.timer = null;
      this.at = Number.POSITIVE_INFINITY;
      this.ring();
    });
  }

  clear(): void {
    this.timer?.[Symbol.dispose]();
    this.timer = null;
    this.at = Number.POSITIVE_INFINITY;
  }
}
