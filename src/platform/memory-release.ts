/**
 * Releases memory when a busy process becomes quiet. The engine collects by amount allocated, so garbage of a flood or
 * of a thousand calls stays until the next ones; its own timer checks only after ten seconds. This module collects at
 * the first pause, if that is worth its milliseconds. Compiled code is discarded later, when the process seems unused,
 * since code in use must stay warm (measured: otherwise the next flood takes a tenth longer). No timer runs in an idle
 * process.
 */

import { intervals } from "./intervals.ts";

/** Growth that is worth a collection, in bytes: it takes 10 to 20 ms of a processor, so an `ls` must not cause one. */
const WORTH_BYTES = 4 * 1024 * 1024;
/**
 * Number of collections after work: each discards code that was not used since the previous one (a server
 * after 2,000 calls: 32, 27, 19 MB).
 */
const ROUNDS = 2;

export class MemoryRelease {
  private workedAt = 0;
  private timer: Timer | null = null;
  /** Whether only code remains to be discarded. */
  private isLeaving = false;
  private isStarting = true;
  /** Resident memory after the last collection, in bytes, and when code was last discarded. */
  private level = 0;
  private rest = 0;

  /**
   * The first pause always releases everything: start-up has ended then, and its code does not run again.
   * @param collect `all`: code too
   */
  constructor(
    private readonly collect: (all: boolean) => void = giveBack,
    private readonly resident: () => number = process.memoryUsage.rss,
    private readonly quietMs = intervals.memoryQuiet,
    private readonly leftMs = intervals.memoryLeft,
  ) {}

  /** Runs once per request and per chunk of output. */
  activity(): void {
    this.workedAt = performance.now();
    if (this.timer !== null && !this.isLeaving) return;
    clearTimeout(this.timer ?? undefined);
    this.isLeaving = false;
    this.wait(this.quietMs, () => this.pause());
  }

  private pause(): void {
    const left = this.workedAt + this.quietMs - performance.now();
    if (left > 0) {
      this.wait(left, () => this.pause());
      return;
    }
    if (this.isStarting) {
      this.isStarting = false;
      // Hardly any code has become unused before this first one.
      this.round(1);
    } else if (this.resident() > this.level + WORTH_BYTES) {
      this.collect(false);
      this.settle(() => this.leave());
    } else this.leave();
  }

  /** Discards code as well, if that is worth it and no work has arrived. */
  private leave(): void {
    if (this.level <= this.rest + WORTH_BYTES) return;
    this.isLeaving = true;
    this.wait(this.leftMs, () => {
      this.isLeaving = false;
      this.round(ROUNDS);
    });
  }

  private round(rounds: number): void {
    this.collect(true);
    this.settle(() => {
      if (rounds > 1) this.round(rounds - 1);
      else this.rest = this.level;
    });
  }

  /** The allocator returns pages some time after they are freed: only then is the remainder known. */
  private settle(then: () => void): void {
    const began = performance.now();
    this.wait(this.quietMs, () => {
      this.level = this.resident();
      if (this.workedAt > began) this.pause();
      else then();
    });
  }

  private wait(ms: number, then: () => void): void {
    this.timer = setTimeout(() => {
      this.timer = null;
      then();
    }, ms);
    this.timer.unref();
  }
}

/** Discarding unused code releases most; it includes a collection, which runs beside the event loop. */
function giveBack(all: boolean): void {
  if (all) Bun.shrink();
  else Bun.gc(true);
}
