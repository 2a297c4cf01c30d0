/** Counts presses of the mouse button at one position: a double click, a triple click. */

/** Longest time between two presses of a multiple click, in ms. */
const CLICK_MS = 400;
const MAX_CLICKS = 3;

export class ClickCounter {
  private lastPosition = "";
  private count = 0;
  private lastClickAt = Number.NEGATIVE_INFINITY;

  /** @param counted the number of presses, if already counted @returns the number of presses, from 1 */
  countPress(position: string, counted?: number): number {
    const now = performance.now();
    const isNext = position === this.lastPosition && now - this.lastClickAt < CLICK_MS;
    this.count = counted ?? (isNext ? (this.count % MAX_CLICKS) + 1 : 1);
    this.lastPosition = position;
    this.lastClickAt = now;
    return this.count;
  }
}
