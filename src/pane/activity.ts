/**
 * The last activity of a pane (docs/protocol.md, Silence): the generation (a change token, +1 per activity) and the
 * time of the last activity. `record` runs per chunk of output and per input, so it only counts and notifies its owner;
 * `Silence` handles waits for silence.
 */

import type { Clock } from "../base/clock.ts";

export class Activity {
  private generationCount: number;
  private lastActivityAt: number;

  /**
   * @param onActivity called on every activity
   * @param first the generation before any
   * @param isBehind whether output waits to be read: a delayed process must not mistake that for silence
   */
  constructor(
    private readonly clock: Clock,
    private readonly onActivity: () => void = () => {},
    readonly first = 0,
    private readonly isBehind: () => boolean = () => false,
  ) {
    this.generationCount = first;
    this.lastActivityAt = clock.now();
  }

  /** Change token: equal tokens mean that nothing happened between them. */
  get generation(): number {
    return this.generationCount;
  }

  /** Clock time of the last activity; now while output waits to be read. */
  get lastAt(): number {
    return this.isBehind() ? this.clock.now() : this.lastActivityAt;
  }

  /** Age of the last activity in whole ms. */
  idleMs(): number {
    return Math.max(0, Math.floor(this.clock.now() - this.lastAt));
  }

  /** Records activity: output was parsed, or input of a kind that counts was accepted. */
  record(): void {
    this.generationCount++;
    this.lastActivityAt = this.clock.now();
    this.onActivity();
  }
}
