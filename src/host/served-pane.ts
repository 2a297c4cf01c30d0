/** A session of one pane, as its socket serves it: its operations, its streams, and its place beside other floods. */
import type { Served } from "../endpoint/served.ts";
import { FloodPace } from "./fairness/pacing.ts";
import { FloodPriority } from "./fairness/priority.ts";
import type { Session } from "./session.ts";
import { shownPane } from "./shown-pane.ts";

export function servedPane(session: Session): Served {
  const { pane } = session;
  const shown = shownPane(session);
  let operations: Promise<typeof import("./operations/dispatch.ts")> | null = null;
  /** Loaded with the first request, to save memory in sessions that get none. */
  function loadOperations(): Promise<typeof import("./operations/dispatch.ts")> {
    operations ??= import("./operations/dispatch.ts");
    return operations;
  }
  const priority = new FloodPriority(
    () => session.viewers.count > 0,
    () => void loadOperations(),
    new FloodPace(() => pane.hold()),
  );
  return {
    session,
    paneId: pane.id,
    begin({ changed, tell }) {
      for (const change of ["listed", "title", "alternate"] as const) pane.events.on(change, changed);
      pane.events.on("chunk", ({ bytes }) => priority.count(bytes.length));
      pane.events.on("endTold", () => tell("session_end_told"));
    },
    shown: () => shown,
    async operate(request) {
      const answered = priority.asked();
      try {
        const { operate } = await loadOperations();
        return await operate(session, request);
      } finally {
        answered();
      }
    },
    clients: async () => (await import("./streams/client-streams.ts")).clientStreams(session),
  };
}
