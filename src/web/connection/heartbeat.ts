/**
 * Detects whether the peer of a connection answers: a browser reports a stalled server or network only after minutes.
 * Sends a ping after silence; calls `check` at every tick, so that its owner can check its own timeouts.
 */

/** Interval between ticks, silence after which the peer is asked, and after which it counts as silent, in ms. */
const LOOK_MS = 250;
const ASK_MS = 750;
export const SILENT_MS = 1_750;
/** Silence after which a new connection is tried, in ms: most stalls of a server have ended by then. */
const GIVEN_UP_MS = 15_000;
/** A tick that is this late, in ms, means that the page slept, not the peer. */
const SLEPT_MS = 1_500;

interface HeartbeatEvents {
  ask(): void;
  /** Runs at every tick. */
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
