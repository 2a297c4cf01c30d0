/** What hosts report, as server-level WebSockets hear it (contract §8.4). Pure. */
import type { LifecycleEvent } from "../protocol/events.ts";
import type { WireEvent } from "../protocol/hello.ts";
import type { EndReason, SessionInfo } from "../protocol/session.ts";

export const lifecycleEvents = {
  created(session: SessionInfo): LifecycleEvent {
    return { event: "session_created", params: { name: session.name, session } };
  },

  destroyed(
    session: SessionInfo,
    reason: EndReason,
    exit: { readonly exit_code: number | null; readonly signal: string | null },
  ): LifecycleEvent {
    return { event: "session_destroyed", params: { name: session.name, reason, ...exit, session } };
  },

  /** Null for what concerns nobody outside. */
  of(session: SessionInfo, event: WireEvent): LifecycleEvent | null {
    const { name } = session;
    switch (event.event) {
      case "session_renamed":
        return {
          event: "session_renamed",
          params: { old_name: String(event.old_name), new_name: String(event.new_name), session },
        };
      case "session_tags_changed":
        return {
          event: "session_tags_changed",
          params: {
            name,
            added: strings(event.added),
            removed: strings(event.removed),
            tags: strings(event.tags),
            session,
          },
        };
      case "session_exited":
        return {
          event: "session_exited",
          params: {
            name,
            exit_code: typeof event.exit_code === "number" ? event.exit_code : null,
            signal: typeof event.signal === "string" ? event.signal : null,
            session,
          },
        };
      default:
        return null;
    }
  },
};

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
