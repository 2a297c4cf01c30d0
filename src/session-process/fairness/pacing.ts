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
const MAX_PAUSE_MS = 500;
/**
 * Pauses grow when the session process waited this many times longer than it ran. Beside one busy program per processor
 * it waits three times as long, having less weight, and must not pause: only a crowd makes others wait.
 */
const CROWD_WAIT_RATIO = 6;
const PAUSE_GROWTH = 1.5;
const PAUSE_DECAY = 0.9;

export class FloodPace {
  private timer: Timer | null = null;
  private outputHold: OutputHold | null = null;
  private pauseMs = 0;
  private lastProcessorTime: ProcessorTime | null = null;

  /** @param holdOutput stops reading until it is disposed */
  constructor(
    private readonly holdOutput: () => OutputHold,
    private readonly readProcessorTime: () => ProcessorTime | null = processorTime,
  ) {}

  /** Idempotent, like `end`. */
  begin(): void {
    if (this.timer !== null) return;
    this.lastProcessorTime = this.readProcessorTime();
    if (this.lastProcessorTime !== null) this.timer = setTimeout(() => this.endBurst(), BURST_MS);
  }

  end(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.pauseMs = 0;
    this.resumeOutput();
  }

  private endBurst(): void {
    const now = this.readProcessorTime();
    const { lastProcessorTime } = this;
    if (now === null || lastProcessorTime === null) {
      this.end();
      return;
    }
    this.lastProcessorTime = now;
    const isCrowded = waitedLong(lastProcessorTime, now, CROWD_WAIT_RATIO);
    const longerPauseMs = Math.min(MAX_PAUSE_MS, Math.max(FIRST_PAUSE_MS, this.pauseMs * PAUSE_GROWTH));
    const shorterPauseMs = this.pauseMs > 1 ? this.pauseMs * PAUSE_DECAY : 0;
    this.pauseMs = isCrowded ? longerPauseMs : shorterPauseMs;
    if (this.pauseMs > 0) this.outputHold = this.holdOutput();
    this.timer = setTimeout(() => {
      this.resumeOutput();
      this.timer = setTimeout(() => this.endBurst(), BURST_MS);
    }, this.pauseMs);
  }

  private resumeOutput(): void {
    this.outputHold?.[Symbol.dispose]();
    this.outputHold = null;
  }
}
