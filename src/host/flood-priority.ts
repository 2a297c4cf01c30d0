/**
 * A session that has flooded for a while, with nobody looking at it, stands back: its host gets less of the processor while
 * others want it, so that the other sessions and their callers do not wait for it (16 floods on two cores: a call to a
 * quiet session 47 → 4 ms). When the flood is over, or somebody attaches or asks it something, everything is as before.
 *
 * Linux groups processes by process session and shares the processor among the groups; a host has a session of its own,
 * so it is the group whose weight counts, and that may be lowered and raised again without privileges (sched(7),
 * "The autogroup feature"). Where there are no such groups nothing is done: a priority of processes could not be raised
 * again.
 */
import fs from "node:fs";

/** How often the rate is looked at, in ms, while there is output. */
const WINDOW_MS = 250;
/** Bytes in a window that make it one of a flood: 512 KB a second, as much as one of many floods gets through. */
const FLOOD_BYTES = 128 * 1024;
/** A window with less ends it: who stands back gets less through. */
const CALM_BYTES = 16 * 1024;
/** A flood of so many windows is no burst: one second. */
const PATIENCE_WINDOWS = 4;
/** The nice value of a group that stands back: a third of the usual weight, so that it still answers beside busy others. */
const BACK = 5;
const USUAL = 0;
const GROUP = "/proc/self/autogroup";

export class FloodPriority {
  private timer: Timer | null = null;
  private bytes = 0;
  private windows = 0;
  private nice = USUAL;
  private requests = 0;

  /**
   * @param attended whether a person is looking, who would be the one to wait
   * @param prepare what is better done before the host stands back
   */
  constructor(
    private readonly attended: () => boolean,
    private readonly prepare: () => void,
  ) {}

  /** Somebody waits for an answer of this host, until the function that is returned is called. */
  asked(): () => void {
    this.requests++;
    if (this.nice !== USUAL && setGroup(USUAL)) this.nice = USUAL;
    return () => {
      this.requests--;
    };
  }

  /** Output was parsed. Runs per chunk; the timer runs only while there is much output. */
  count(bytes: number): void {
    this.bytes += bytes;
    if (this.timer !== null || this.bytes < FLOOD_BYTES) return;
    this.bytes = 0;
    this.timer = setInterval(() => this.look(), WINDOW_MS);
  }

  private look(): void {
    const least = this.nice === USUAL ? FLOOD_BYTES : CALM_BYTES;
    this.windows = this.bytes >= least ? this.windows + 1 : 0;
    this.bytes = 0;
    if (this.windows === 1) this.prepare();
    const mayStandBack = !this.attended() && this.requests === 0;
    const nice = this.windows >= PATIENCE_WINDOWS && mayStandBack ? BACK : USUAL;
    const changed = nice === this.nice || setGroup(nice);
    if (changed) this.nice = nice;
    if (this.windows > 0 || !changed || this.timer === null) return;
    clearInterval(this.timer);
    this.timer = null;
  }
}

/** @returns false when it has to be tried again: the kernel takes one change in 100 ms */
function setGroup(nice: number): boolean {
  try {
    fs.writeFileSync(GROUP, String(nice));
    return true;
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "EAGAIN");
  }
}
