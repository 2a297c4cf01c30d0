/** Converts session processes' reports to events of server-level WebSockets (docs/protocol.md, Events). Pure. */

import * as v from "valibot";
import { AgentInfoSchema } from "../../protocol/agent.ts";
import type { WireEvent } from "../../protocol/control.ts";
import { type LifecycleEvent, LifecycleEventSchema } from "../../protocol/events.ts";
import { layoutChanges, layoutEventNames } from "../../protocol/layout-events.ts";
import type { EndReason, SessionInfo } from "../../protocol/session.ts";

/** The exit of a program; null: unknown. */
export interface Exit {
  readonly exit_code: number | null;
  readonly signal: string | null;
}

export const lifecycleEvents = {
  created(session: SessionInfo): LifecycleEvent {
    const { name, pid, command, rows, cols, tags } = session;
    return { event: "session_created", params: { name, pid, command, rows, cols, tags, session } };
  },

  exited(session: SessionInfo, exit: Exit): LifecycleEvent {
    return { event: "session_exited", params: { name: session.name, ...exit, session } };
  },

  /** The exit of a program, for `session_exited`. */
  exitOf(event: WireEvent): Exit {
    return {
      exit_code: typeof event.exit_code === "number" ? event.exit_code : null,
      signal: typeof event.signal === "string" ? event.signal : null,
    };
  },

  destroyed(session: SessionInfo, reason: EndReason, exit: Exit): LifecycleEvent {
    return { event: "session_destroyed", params: { name: session.name, reason, ...exit, session } };
  },

  /** Changes of windows and panes between two reports of a session. */
  layoutEvents(before: SessionInfo, session: SessionInfo): LifecycleEvent[] {
    return layoutChanges(before.windows, session.windows).flatMap((event) => layoutOf(session, event) ?? []);
  },

  /** A rename, changed tags, an agent's state, questions; null: an event that clients do not get. */
  eventOf(session: SessionInfo, event: WireEvent): LifecycleEvent | null {
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
      case "agent_state": {
        const agent = v.safeParse(v.nullable(AgentInfoSchema), event.agent);
        if (!agent.success) return null;
        const params = { name, pane_id: String(event.pane_id), agent: agent.output, session };
        return { event: "agent_state", params };
      }
      case "questions_changed":
        return { event: "questions_changed", params: { name, waiting: Number(event.waiting), session } };
      default:
        return layoutOf(session, event);
    }
  },
};

/** An event of a session's windows and panes; null: another event. */
function layoutOf(session: SessionInfo, { event, ...params }: WireEvent): LifecycleEvent | null {
  const { name } = session;
  const parsed = v.safeParse(LifecycleEventSchema, { event, params: { ...params, name, session } });
  return parsed.success && isLayoutEvent(event) ? parsed.output : null;
}

function isLayoutEvent(event: string): boolean {
  return layoutEventNames.some((name) => name === event);
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
