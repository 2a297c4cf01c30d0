/** Distinguishes a flood, of which a person sees only the end, from ordinary output. Runs once per chunk and client. */

/** Length of the window in which output is counted, in ms. */
export const FLOOD_WINDOW_MS = 50;
/** Bytes within a window above which output is a flood: five megabytes a second. */
const FLOOD_BYTES = 256 * 1024;
/** A flood ends after a window with fewer bytes than this. */
const CALM_BYTES = 16 * 1024;

export class FloodMeter {
  private flooding = false;
  private windowStart = 0;
  private windowBytes = 0;

  get isFlooding(): boolean {
    return this.flooding;
  }

  /** Counts output; zero bytes check whether a flood is over. */
  count(bytes: number): void {
    const now = performance.now();
    if (now - this.windowStart > FLOOD_WINDOW_MS) {
      if (this.windowBytes < CALM_BYTES) this.flooding = false;
      this.windowStart = now;
      this.windowBytes = 0;
    }
    this.windowBytes += bytes;
    if (this.windowBytes > FLOOD_BYTES) this.flooding = true;
  }
}
