/** Counts presses of the mouse button at one position: a double click, a triple click. */

/** Longest time between two of them, in ms. */
const CLICK_MS = 400;
const MOST_CLICKS = 3;

export class Clicks {
  private place = "";
  private count = 0;
  private lastClickAt = Number.NEGATIVE_INFINITY;

  /** @param known their number, if already counted */
  press(place: string, known?: number): number {
    const now = performance.now();
    const isNext = place === this.place && now - this.lastClickAt < CLICK_MS;
    this.count = known ?? (isNext ? (this.count % MOST_CLICKS) + 1 : 1);
    this.place = place;
    this.lastClickAt = now;
    return this.count;
  }
}
