/** Counts presses of the mouse button at one position: a double click, a triple click. */

/** Longest time between two of them, in ms. */
const CLICK_MS = 400;
const MOST_CLICKS = 3;

export class ClickCounter {
  private lastPosition = "";
  private count = 0;
  private lastClickAt = Number.NEGATIVE_INFINITY;

  /** @param counted their number, if already counted */
  countPress(place: string, counted?: number): number {
    const now = performance.now();
    const isNext = place === this.lastPosition && now - this.lastClickAt < CLICK_MS;
    this.count = counted ?? (isNext ? (this.count % MOST_CLICKS) + 1 : 1);
    this.lastPosition = place;
    this.lastClickAt = now;
    return this.count;
  }
}
