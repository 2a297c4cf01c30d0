/**
 * Detects whether the peer of a connection answers: a browser reports a stalled server or network only after minutes.
 * Sends a ping after silence; calls `tick` at every tick, so that its owner can check its own timeouts.
 */

/** Interval between ticks, silence after which a ping is sent, and after which the peer counts as silent, in ms. */
const TICK_MS = 250;
const PING_AFTER_MS = 750;
export const SILENT_AFTER_MS = 1_750;
/** Silence after which a new connection is tried, in ms: most stalls of a server have ended by then. */
const GIVE_UP_AFTER_MS = 15_000;
/** A tick that is this late, in ms, means that the page slept, not the peer. */
const SLEEP_GAP_MS = 1_500;

interface HeartbeatEvents {
  sendPing(): void;
  /** Runs at every tick. */
  tick(isSilent: boolean): void;
  giveUp(): void;
}

export class Heartbeat {
  private timer: ReturnType<typeof setInterval> | null = null;
  private lastMessageAt = 0;
  private lastTickAt = 0;
  private isPingSent = false;

  constructor(private readonly events: HeartbeatEvents) {}

  start(): void {
    this.stop();
    this.messageArrived();
    this.lastTickAt = this.lastMessageAt;
    this.timer = setInterval(() => this.checkSilence(), TICK_MS);
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  messageArrived(): void {
    this.lastMessageAt = performance.now();
    this.isPingSent = false;
  }

  private checkSilence(): void {
    const now = performance.now();
    if (now - this.lastTickAt > SLEEP_GAP_MS) this.messageArrived();
    this.lastTickAt = now;
    const silence = now - this.lastMessageAt;
    if (silence >= PING_AFTER_MS && !this.isPingSent) {
      this.isPingSent = true;
      this.events.sendPing();
    }
    this.events.tick(silence >= SILENT_AFTER_MS);
    if (silence >= GIVE_UP_AFTER_MS) this.events.giveUp();
  }
}
