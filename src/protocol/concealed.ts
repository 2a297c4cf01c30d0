/**
 * What an AI agent may learn of a private session that is not its own, in lists, events and answers: its id, its name,
 * and that it is private. All code that reports sessions to an agent uses this module.
 */
import type { LifecycleEvent } from "./events.ts";
import { isSameOwner, type Owner } from "./owner.ts";
import type { PortHolder } from "./ports.ts";
import type { RecordedEvent } from "./recorded-events.ts";
import type { PaneInfo, SessionInfo } from "./session.ts";

/** Limits on what an AI agent may learn from records and from the system, by the sessions that exist now. */
export interface Concealment {
  /** Ids of private sessions, and of sessions about which nothing is known. */
  readonly hidden: ReadonlySet<string>;
  /** Ids of the agent's own sessions. */
  readonly ownSessions: ReadonlySet<string>;
}

/** @param past sessions that were private and may have ended */
export function concealmentOf(
  sessions: readonly SessionInfo[],
  past: readonly { readonly id: string; readonly owner?: Owner | undefined }[],
  agent: Owner,
): Concealment {
  const isUnknown = ({ state, windows }: SessionInfo): boolean => state === "unresponsive" && windows.length === 0;
  const idsOf = (which: readonly { readonly id: string }[]) => which.map(({ id }) => id);
  const isOwn = ({ owner }: { readonly owner?: Owner | undefined }): boolean =>
    owner !== undefined && isSameOwner(owner, agent);
  const running = new Set(idsOf(sessions));
  const ended = past.filter((each) => !running.has(each.id) && !isOwn(each));
  const concealed = sessions.filter((info) => isConcealed(info, agent) || isUnknown(info));
  return { hidden: new Set(idsOf([...concealed, ...ended])), ownSessions: new Set(idsOf(sessions.filter(isOwn))) };
}

/** @param agent null: another caller */
export function isConcealed(
  { private: isPrivate, owner, agents_allowed }: Pick<SessionInfo, "private" | "owner" | "agents_allowed">,
  agent: Owner | null,
): boolean {
  if (agent === null || isPrivate !== true || agents_allowed?.includes(agent.name) === true) return false;
  return owner === undefined || !isSameOwner(owner, agent);
}

/** Whether the caller that got this answer may learn only the session's name. */
export function isConcealedFrom({ private: isPrivate, windows }: Pick<SessionInfo, "private" | "windows">): boolean {
  return isPrivate === true && windows.length === 0;
}

/** A session in the form that an agent may see. @param agent null: another caller, who sees everything */
export function asSeenBy(info: SessionInfo, agent: Owner | null): SessionInfo {
  if (agent === null) return info;
  const { id, pane_id, name, server, running, created_at, windows } = info;
  if (!isConcealed(info, agent)) return windows.some(hasConcealed) ? withoutConcealed(info) : info;
  return {
    id,
    pane_id,
    name,
    server,
    ...emptySession,
    running,
    state: running ? "running" : "exited",
    created_at,
    private: true,
  };
}

/** Of events about private sessions an agent gets those that tell of names; null: not this one. */
export function eventSeenBy(event: LifecycleEvent, agent: Owner | null): LifecycleEvent | null {
  const { session } = event.params;
  const seen = asSeenBy(session, agent);
  if (seen === session) return event;
  if (!isConcealed(session, agent)) return withoutConcealed(event);
  const { name, pid, command, rows, cols, tags } = seen;
  switch (event.event) {
    case "session_created":
      return { event: event.event, params: { name, pid, command, rows, cols, tags, session: seen } };
    case "session_renamed":
      return { event: event.event, params: { ...event.params, session: seen } };
    case "session_destroyed":
      return { event: event.event, params: { name, reason: event.params.reason, ...noExit, session: seen } };
    default:
      return null;
  }
}

/** The same for recorded events. @param concealment null: another caller */
export function recordSeen(event: RecordedEvent, concealment: Concealment | null): RecordedEvent | null {
  const { session, session_id, at, old_name, private: wasPrivate = false } = event;
  if (concealment === null) return event;
  const { hidden, ownSessions } = concealment;
  if (!hidden.has(session_id) && (!wasPrivate || ownSessions.has(session_id))) return event;
  if (!["session_created", "session_renamed", "session_destroyed"].includes(event.event)) return null;
  const named = { event: event.event, at, session, session_id, tags: [], private: true };
  return old_name === undefined ? named : { ...named, old_name };
}

/**
 * The same for programs that listen on ports; it cannot be hidden that a port is in use. @param isAsked whether the
 * request is about this port only
 */
export function holdersSeen(
  holders: readonly PortHolder[],
  concealment: Concealment | null,
  isAsked: boolean,
): PortHolder[] {
  return holders.flatMap((holder) => {
    const { port, addresses, session_id } = holder;
    if (session_id === undefined || concealment?.hidden.has(session_id) !== true) return [holder];
    return isAsked ? [{ port, addresses, pid: null, program: null, since: null }] : [];
  });
}

/** The same for any answer with panes: panes that show a private session are limited. */
export function withoutConcealed<T>(answer: T): T {
  if (Array.isArray(answer)) return answer.map(withoutConcealed) as T;
  if (typeof answer !== "object" || answer === null) return answer;
  if (isConcealedPane(answer)) return concealedPane(answer) as T;
  return Object.fromEntries(Object.entries(answer).map(([key, value]) => [key, withoutConcealed(value)])) as T;
}

const noExit = { exit_code: null, signal: null } as const;
const nothingKnown = { pid: null, command: "", cwd: null, title: "" } as const;
/** The shown fields of a session that is concealed or unknown. */
export const emptySession = {
  ...nothingKnown,
  ...noExit,
  rows: 0,
  cols: 0,
  clients: 0,
  attached: 0,
  tags: [],
  last_activity_ms: 0,
  idle_ms: 0,
  windows: [],
} satisfies Partial<SessionInfo>;

function hasConcealed({ panes }: { readonly panes: readonly PaneInfo[] }): boolean {
  return panes.some(isConcealedPane);
}

function isConcealedPane(value: object): value is PaneInfo {
  return "private" in value && value.private === true && "view" in value;
}

function concealedPane({ id, index, active, rows, cols, view, private: isPrivate }: PaneInfo): PaneInfo {
  return { id, index, active, rows, cols, view, private: isPrivate, ...nothingKnown, state: "running" };
}
