/** Sends `idle` and `running` of a subscription: waits for silence like the session, repeatedly, without polling. */

import type { Pane } from "../../pane/pane.ts";
import type { SessionEvent, Subscription } from "../../protocol/events.ts";
import type { Format } from "../../protocol/screen.ts";
import { MAX_WAIT_MS } from "../../protocol/wait-times.ts";

/** Events that describe a session's state rather than a change. */
export type StateEvent = Extract<SessionEvent, { event: "idle" | "running" | "sync" }>;

interface ActivitySink {
  readonly format: Format;
  /** The session's state has changed: an unsent earlier report is out of date. */
  stateChanged(events: readonly StateEvent[]): void;
}

/** Reports the current state at once, then every change. @returns a function that ends it */
export function reportActivity(pane: Pane, options: Subscription, sink: ActivitySink): () => void {
  const aborter = new AbortController();
  void reportUntilAborted(pane, options, sink, aborter.signal).catch(() => {});
  return () => aborter.abort();
}

async function reportUntilAborted(
  pane: Pane,
  options: Subscription,
  sink: ActivitySink,
  signal: AbortSignal,
): Promise<void> {
  const { activity, silence } = pane;
  const wait = { maxWaitMs: MAX_WAIT_MS, signal };
  const reportRunning = (): void => sink.stateChanged([{ event: "running", seq: 0, generation: activity.generation }]);
  if (activity.idleMs() < options.idle_timeout_ms) reportRunning();
  for (;;) {
    const outcome = await silence.awaitIdle({ ...wait, timeoutMs: options.idle_timeout_ms });
    if (outcome.decided === "timeout") continue;
    if (outcome.decided !== "idle" || signal.aborted) return;
    const { generation } = outcome;
    await pane.terminal.whenAtRest(() => {
      if (signal.aborted) return;
      const screen = pane.terminal.screen(sink.format);
      const state = { seq: 0, screen, scrollback_lines: screen.total_lines };
      const idle: StateEvent = { event: "idle", generation, ...state };
      // A subscriber without `activity` among its events gets the same as with a sync (docs/protocol.md, Events).
      sink.stateChanged(options.events.includes("activity") ? [idle] : [idle, { event: "sync", ...state }]);
    });
    for (;;) {
      const activityOutcome = await silence.awaitIdle({ ...wait, timeoutMs: 0, lastGeneration: generation });
      if (activityOutcome.decided === "idle") break;
      if (activityOutcome.decided !== "timeout") return;
    }
    if (signal.aborted) return;
    reportRunning();
  }
}
