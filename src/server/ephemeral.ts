/**
 * Decides when an ephemeral server ends (docs/architecture.md, When the server ends): 30 s after its start without a
 * session, and when the last session is gone. A connected MCP bridge, a server-level WebSocket and a pending call delay
 * its end; ended sessions count until their grace period has passed or a waiting caller got their end. Persistence is
 * read only at the decision.
 */
import type { Call } from "../operations/call.ts";

/** Time from the start of an ephemeral server without a session to its end, in ms. */
const UNUSED_MS = 30_000;

interface LifecycleState {
  persistent(): boolean;
  /** Running sessions, and ended ones whose end no client has received. */
  sessions(): number;
  /** Reasons to continue besides sessions: MCP bridges, server-level WebSockets, pending calls. */
  activityCount(): number;
  end(): void;
}

export class Lifecycle {
  /** Whether there was a session, or the time for the first one has passed: the server no longer counts as new. */
  private isPastStart = false;
  private readonly timer: Timer;

  constructor(private readonly state: LifecycleState) {
    this.timer = setTimeout(() => {
      this.isPastStart = true;
      this.endIfUnused();
    }, UNUSED_MS);
  }

  sessionExisted(): void {
    this.isPastStart = true;
  }

  /** A session ended or a connection closed. */
  reconsider(): void {
    this.endIfUnused();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private endIfUnused(): void {
    if (!this.isPastStart || this.state.persistent() || this.state.sessions() > 0 || this.state.activityCount() > 0)
      return;
    this.state.end();
  }
}

/** Time for an answer to be sent before the server may end, in ms. */
export const ANSWER_MS = 50;

/** Counts unanswered calls, over any transport: the server does not end before it has answered them. */
export class PendingCalls {
  count = 0;

  /** @param answerSent called when an answer has had time to be sent */
  constructor(private readonly answerSent: () => void) {}

  counted(call: Call): Call {
    return async (operation, input, context) => {
      this.count++;
      try {
        return await call(operation, input, context);
      } finally {
        setTimeout(() => {
          this.count--;
          this.answerSent();
        }, ANSWER_MS);
      }
    };
  }
}
