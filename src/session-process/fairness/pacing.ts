/**
 * Makes the program of a throttled session print in bursts with pauses while processors are busy: others are delayed
 * not only by the session process but also by the program, which runs as long as its output is read. The length of the
 * pauses adapts: they grow while the session process waits long for a processor, and shrink otherwise.
 */
import type { OutputHold } from "../../pane/program.ts";
import { type ProcessorTime, processorTime, waitedLong } from "../../platform/processor-time.ts";

/** Time between two pauses, in ms. */
const BURST_MS = 8;
const FIRST_PAUSE_MS = 4;
/** Longest pause, in ms; one read per pause (`QUANTUM_BYTES`) still passes half a megabyte a second. */
const LONGEST_PAUSE_MS = 500;
/**
 * Pauses grow when the session process waited this many times longer than it ran. Beside one busy program per processor
 * it waits three times as long, having less weight, and must not pause: only a crowd makes others wait.
 */
const SHORT = 6;
const GROWTH = 1.5;
const DECAY = 0.9;

export class FloodPace {
  private timer: Timer | null = null;
  private outputHold: OutputHold | null = null;
  private pauseMs = 0;
  private lastProcessorTime: ProcessorTime | null = null;

  /** @param hold stops reading until it is disposed */
  constructor(
    private readonly hold: () => OutputHold,
    private readonly time: () => ProcessorTime | null = processorTime,
  ) {}

  /** Idempotent, like `end`. */
  begin(): void {
    if (this.timer !== null) return;
    this.lastProcessorTime = this.time();
    if (this.lastProcessorTime !== null) this.timer = setTimeout(() => this.burstOver(), BURST_MS);
  }

  end(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.pauseMs = 0;
    this.goOn();
  }

  private burstOver(): void {
    const now = this.time();
    const { lastProcessorTime } = this;
    if (now === null || lastProcessorTime === null) {
      this.end();
      return;
    }
    this.lastProcessorTime = now;
    const isShort = waitedLong(lastProcessorTime, now, SHORT);
    const longer = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, this.pauseMs * GROWTH));
    const shorter = this.pauseMs > 1 ? this.pauseMs * DECAY : 0;
    this.pauseMs = isShort ? longer : shorter;
    if (this.pauseMs > 0) this.outputHold = this.hold();
    this.timer = setTimeout(() => {
      this.goOn();
      this.timer = setTimeout(() => this.burstOver(), BURST_MS);
    }, this.pauseMs);
  }

  private goOn(): void {
    this.outputHold?.[Symbol.dispose]();
    this.outputHold = null;
  }
}
