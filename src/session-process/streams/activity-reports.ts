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
  state(events: readonly StateEvent[]): void;
}

/** Reports the current state at once, then every change. @returns a function that ends it */
export function reportActivity(pane: Pane, options: Subscription, sink: ActivitySink): () => void {
  const ended = new AbortController();
  void follow(pane, options, sink, ended.signal).catch(() => {});
  return () => ended.abort();
}

async function follow(pane: Pane, options: Subscription, sink: ActivitySink, signal: AbortSignal): Promise<void> {
  const { activity, silence } = pane;
  const wait = { maxWaitMs: MAX_WAIT_MS, signal };
  const running = (): void => sink.state([{ event: "running", seq: 0, generation: activity.generation }]);
  if (activity.idleMs() < options.idle_timeout_ms) running();
  for (;;) {
    const quiet = await silence.awaitIdle({ ...wait, timeoutMs: options.idle_timeout_ms });
    if (quiet.decided === "timeout") continue;
    if (quiet.decided !== "idle" || signal.aborted) return;
    const { generation } = quiet;
    await pane.terminal.whenAtRest(() => {
      if (signal.aborted) return;
      const screen = pane.terminal.screen(sink.format);
      const state = { seq: 0, screen, scrollback_lines: screen.total_lines };
      const idle: StateEvent = { event: "idle", generation, ...state };
      // A subscriber without `activity` among its events gets the same as with a sync (docs/protocol.md, Events).
      sink.state(options.events.includes("activity") ? [idle] : [idle, { event: "sync", ...state }]);
    });
    for (;;) {
      const next = await silence.awaitIdle({ ...wait, timeoutMs: 0, lastGeneration: generation });
      if (next.decided === "idle") break;
      if (next.decided !== "timeout") return;
    }
    if (signal.aborted) return;
    running();
  }
}
