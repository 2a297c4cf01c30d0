/**
 * Gives memory back when a process that has worked is quiet. The engine collects by how much is allocated, so what a flood
 * or a thousand calls leave behind stays until the next ones; it looks again by itself only after ten seconds. Here it is
 * told at the first pause, and only when that is worth its milliseconds. No timer runs while nothing is done.
 */

/** A pause this long, in ms, is the end of the work: longer than a person thinks between two commands of a row. */
const QUIET_MS = 3_000;
/** Growth that is worth a collection, in bytes: it takes 10 to 20 ms of a processor, so an `ls` must not cause one. */
const WORTH_BYTES = 4 * 1024 * 1024;
/** Code that nobody has run since one collection is given up by the next (a server after 2,000 calls: 32, 27, 19 MB). */
const ROUNDS = 2;

export class GiveBack {
  private workedAt = 0;
  private timer: Timer | null = null;
  /** Resident memory when it was last at rest, in bytes. */
  private rest = 0;

  /** At the first pause memory is given back in any case: start-up is over then. */
  constructor(
    private readonly collect: () => void = giveBack,
    private readonly resident: () => number = process.memoryUsage.rss,
    private readonly quietMs = QUIET_MS,
  ) {}

  /** Runs once per request and per chunk of output. */
  worked(): void {
    this.workedAt = performance.now();
    if (this.timer === null) this.wait(this.quietMs, () => this.pause());
  }

  private pause(): void {
    const left = this.workedAt + this.quietMs - performance.now();
    if (left > 0) this.wait(left, () => this.pause());
    else if (this.resident() > this.rest + WORTH_BYTES) this.round(ROUNDS);
  }

  private round(rounds: number): void {
    const began = performance.now();
    this.collect();
    // The allocator returns pages some time after they are free.
    this.wait(this.quietMs, () => {
      if (this.workedAt > began) this.pause();
      else if (rounds > 1) this.round(rounds - 1);
      else this.rest = this.resident();
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

/** Also lets go of code that runs no more; without that little comes back. */
function giveBack(): void {
  Bun.gc(true);
  Bun.shrink();
}
