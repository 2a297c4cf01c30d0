/**
 * A session that has flooded for a while, with no terminal attached, is throttled when others crowd the processors: its
 * session process gets a smaller share, in turns of the usual length, and in the worst crowd reads its program in
 * bursts (pacing.ts). Alone it is not throttled, which would only slow it down (measured: a flood took 1.85 s instead
 * of 1.7). Beside 16 floods on two cores, a call to a quiet session took 47 ms without throttling, 4 to 8 with the
 * lower weight alone, and takes 2 to 3 with both (measured). The usual share returns when the flood ends, a terminal
 * attaches or a request comes.
 *
 * Linux groups processes by process session and shares the processor among the groups. A session process has its own
 * process session, so its group's weight counts, and that can be lowered and raised again without privileges (sched(7),
 * "The autogroup feature"). Without such groups nothing is done, since a process's priority could not be raised again.
 */
import { processorTime, waitedLong } from "../../platform/processor-time.ts";
import { setGroupNice, takeShortTurns } from "../../platform/scheduling.ts";
import type { FloodPace } from "./pacing.ts";

/** Interval between two measurements of the rate during output, in ms. */
const MEASURE_WINDOW_MS = 250;
/** Bytes in a window that count as a flood: 512 KB a second, the rate of one flood among many. */
const FLOOD_BYTES = 128 * 1024;
/** A window with fewer bytes ends the flood: a throttled session gets less through. */
const CALM_BYTES = 16 * 1024;
/**
 * Windows of flood before throttling, and windows without flood before it ends: one second, longer than any burst or
 * pause.
 */
const PATIENCE_WINDOWS = 4;
/** Nice value of a throttled group: a third of the usual weight, so that it still answers beside busy processes. */
const THROTTLED_NICE = 5;
const USUAL_NICE = 0;
/**
 * Others crowd the processors when the session process waits this many times longer than it runs. On two processors one
 * flood alone waits up to twice as long as it runs, for the kernel's own workers; of four each waits 3 times as long,
 * of eight 5, of 16 ten (measured).
 */
const CROWD_WAIT_RATIO = 4;

export class FloodPriority {
  private timer: Timer | null = null;
  private windowBytes = 0;
  /** Windows that belong to the flood, and windows without flood since, while it is throttled. */
  private floodWindows = 0;
  private calmWindows = 0;
  private nice = USUAL_NICE;
  private pendingRequests = 0;
  private lastProcessorTime = processorTime();
  /** Windows since others last crowded the processors. */
  private windowsSinceCrowd = PATIENCE_WINDOWS;

  /**
   * @param isAttended whether a person is watching, and would have to wait
   * @param prepare work that is better done before throttling
   */
  constructor(
    private readonly isAttended: () => boolean,
    private readonly prepare: () => void,
    private readonly pace: Pick<FloodPace, "begin" | "end">,
  ) {
    takeShortTurns(true);
  }

  /** Counts a request as pending, which ends throttling. @returns the function to call when it is answered */
  beginRequest(): () => void {
    this.pendingRequests++;
    this.setNice(USUAL_NICE);
    this.unthrottle();
    return () => {
      this.pendingRequests--;
    };
  }

  /** Output was parsed. Runs per chunk; the timer runs only during much output. */
  countOutput(bytes: number): void {
    this.windowBytes += bytes;
    if (this.timer !== null || this.windowBytes < FLOOD_BYTES) return;
    this.windowBytes = 0;
    this.lastProcessorTime = processorTime();
    this.timer = setInterval(() => this.checkLoad(), MEASURE_WINDOW_MS);
  }

  private checkLoad(): void {
    const wasThrottled = this.nice !== USUAL_NICE;
    const isFlooding = this.windowBytes >= (wasThrottled ? CALM_BYTES : FLOOD_BYTES);
    this.windowBytes = 0;
    // A window of a throttled session may contain nothing but a pause.
    this.calmWindows = isFlooding || !wasThrottled ? 0 : this.calmWindows + 1;
    const isFloodLasting = isFlooding || (this.calmWindows > 0 && this.calmWindows < PATIENCE_WINDOWS);
    this.floodWindows = isFlooding ? this.floodWindows + 1 : isFloodLasting ? this.floodWindows : 0;
    if (this.floodWindows === 1) this.prepare();
    const previousTime = this.lastProcessorTime;
    this.lastProcessorTime = processorTime();
    this.windowsSinceCrowd = waitedLong(previousTime, this.lastProcessorTime, CROWD_WAIT_RATIO)
      ? 0
      : this.windowsSinceCrowd + 1;
    const mayThrottle = this.windowsSinceCrowd < PATIENCE_WINDOWS && !this.isAttended() && this.pendingRequests === 0;
    const isThrottled = this.floodWindows >= PATIENCE_WINDOWS && mayThrottle;
    const nice = isThrottled ? THROTTLED_NICE : USUAL_NICE;
    const changed = this.setNice(nice);
    if (isThrottled) this.throttle();
    else if (nice === USUAL_NICE) this.unthrottle();
    if (this.floodWindows > 0 || !changed || this.timer === null) return;
    clearInterval(this.timer);
    this.timer = null;
  }

  /** Sets the group's weight. @returns false when it must be retried */
  private setNice(nice: number): boolean {
    if (nice === this.nice) return true;
    if (!setGroupNice(nice)) return false;
    this.nice = nice;
    return true;
  }

  private throttle(): void {
    takeShortTurns(false);
    this.pace.begin();
  }

  private unthrottle(): void {
    this.pace.end();
    takeShortTurns(true);
  }
}
