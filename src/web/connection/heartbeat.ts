/**
 * Whether the other end of a connection answers: a browser says so only minutes after a server or a network has stalled.
 * Asks when nothing was heard for a while; calls `check` on every look, so that its owner may say what else waits.
 */

/** Interval between two looks, silence after which the other end is asked, and after which it counts as silent, in ms. */
const LOOK_MS = 250;
const ASK_MS = 750;
export const SILENT_MS = 1_750;
/** Silence after which another connection is tried, in ms: a stall of the server has mostly passed by then. */
const GIVEN_UP_MS = 15_000;
/** A look that is so late, in ms, says that the page slept, not that the other end did. */
const SLEPT_MS = 1_500;

export interface HeartbeatEvents {
  ask(): void;
  /** Runs on every look. */
  check(isSilent: boolean): void;
  givenUp(): void;
}

export class Heartbeat {
  private timer: ReturnType<typeof setInterval> | null = null;
  private heardAt = 0;
  private lookedAt = 0;
  private isAsked = false;

  constructor(private readonly events: HeartbeatEvents) {}

  start(): void {
    this.stop();
    this.heard();
    this.lookedAt = this.heardAt;
    this.timer = setInterval(() => this.look(), LOOK_MS);
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  heard(): void {
    this.heardAt = performance.now();
    this.isAsked = false;
  }

  private look(): void {
    const now = performance.now();
    if (now - this.lookedAt > SLEPT_MS) this.heard();
    this.lookedAt = now;
    const silence = now - this.heardAt;
    if (silence >= ASK_MS && !this.isAsked) {
      this.isAsked = true;
      this.events.ask();
    }
    this.events.check(silence >= SILENT_MS);
    if (silence >= GIVEN_UP_MS) this.events.givenUp();
  }
}
