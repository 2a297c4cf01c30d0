/** Pauses between reconnects: short at first, since a killed server often returns at once, then longer and longer. */

/** First and longest pause, in ms: a page is live within two seconds of its server. */
const FIRST_MS = 100;
const LAST_MS = 1_000;
const GROWTH = 1.6;

export class Backoff {
  private wait = FIRST_MS;
  private timer: ReturnType<typeof setTimeout> | null = null;

  constructor(private readonly run: () => void) {}

  again(): void {
    if (this.timer !== null) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      this.run();
    }, this.wait);
    this.wait = Math.min(LAST_MS, this.wait * GROWTH);
  }

  /** The person or the network is back: the next try need not wait. */
  now(): void {
    if (this.timer === null) return;
    this.stop();
    this.run();
  }

  succeeded(): void {
    this.wait = FIRST_MS;
  }

  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }
}
