/**
 * When an ephemeral server ends by itself (docs/architecture.md, When the server ends): 30 s after its start if there never was a session, and when
 * the last session is gone. A connected MCP bridge or server-level WebSocket keeps it; ended sessions count until their
 * grace period is over or a waiter has been told of their end. Persistence is looked at when the decision is made, not before.
 */

/** Time from the start of an ephemeral server to its end when it had no session, in ms. */
const UNUSED_MS = 30_000;

export interface LifecycleState {
  persistent(): boolean;
  /** Sessions that run, and ended ones whose end no client has been told of. */
  sessions(): number;
  /** Connections that keep the server: MCP bridges, server-level WebSockets. */
  holders(): number;
  end(): void;
}

export class Lifecycle {
  /** There was a session, or the time in which the first one may come is over: an empty server is no new one. */
  private settled = false;
  private readonly timer: Timer;

  constructor(private readonly state: LifecycleState) {
    this.timer = setTimeout(() => {
      this.settled = true;
      this.look();
    }, UNUSED_MS);
  }

  /** There is or was a session. */
  used(): void {
    this.settled = true;
  }

  /** A session ended or a holder left. */
  changed(): void {
    this.look();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private look(): void {
    if (!this.settled || this.state.persistent() || this.state.sessions() > 0 || this.state.holders() > 0) return;
    this.state.end();
  }
}
