/** Pauses between reconnects: short at first, since a killed server often returns at once, then increasingly long. */

/** First and longest pause, in ms: a page is live within two seconds of its server. */
const FIRST_MS = 100;
const LAST_MS = 1_000;
const GROWTH = 1.6;

export class Backoff {
  private pauseMs = FIRST_MS;
  private timer: ReturnType<typeof setTimeout> | null = null;

  constructor(private readonly run: () => void) {}

  schedule(): void {
    if (this.timer !== null) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      this.run();
    }, this.pauseMs);
    this.pauseMs = Math.min(LAST_MS, this.pauseMs * GROWTH);
  }

  /** The person or the network is back: tries at once if a retry is scheduled. */
  retryNow(): void {
    if (this.timer === null) return;
    this.stop();
    this.run();
  }

  reset(): void {
    this.pauseMs = FIRST_MS;
  }

  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }
}
