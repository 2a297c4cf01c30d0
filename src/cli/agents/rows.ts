/** The agents of all sessions as rows, those that need a person first. Pure. */
import { type AgentInfo, urgencyOf } from "../../protocol/agent.ts";
import type { SessionInfo } from "../../protocol/session.ts";

export interface AgentRow {
  readonly session: string;
  /** Names its pane: the session's name if unambiguous, else `name:window.pane`. */
  readonly target: string;
  readonly session_id: string;
  readonly pane_id: string;
  readonly cwd: string | null;
  readonly agent: AgentInfo;
}

/** Every agent in every pane of running sessions. */
export function agentRows(sessions: readonly SessionInfo[]): AgentRow[] {
  const rows = sessions.flatMap(({ id: session_id, name: session, running, windows }) => {
    const isAlone = windows.reduce((count, { panes }) => count + panes.length, 0) < 2;
    return windows.flatMap((window) =>
      window.panes.flatMap(({ id: pane_id, index, cwd, agent, view }) => {
        // The agent in a view is listed with its own session.
        if (agent === undefined || !running || view !== undefined) return [];
        const target = isAlone ? session : `${session}:${window.index}.${index}`;
        return [{ session, target, session_id, pane_id, cwd, agent }];
      }),
    );
  });
  return rows.sort((a, b) => urgencyOf(a.agent) - urgencyOf(b.agent) || a.agent.since - b.agent.since);
}

/** Whether the agent needs a person's attention. */
export function needsPerson({ state }: AgentInfo): boolean {
  return state === "needs_input" || state === "done";
}

const units = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
] as const;

/** `12s`, `5m`, `3h`, `2d`. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  for (const [unit, size] of units) if (seconds >= size) return `${Math.floor(seconds / size)}${unit}`;
  return `${seconds}s`;
}

/** The agent's message, else the reason for its state. */
export function reason({ message, why }: AgentInfo): string {
  return message === undefined ? why : message;
}

/** The conversation's title and age; empty without one. */
export function conversationWords({ conversation }: AgentInfo, now: number): string {
  if (conversation === undefined) return "";
  const { title = conversation.id, started_at } = conversation;
  return `${title} (${age(now - started_at)})`;
}

/** A path with the home as `~`. */
export function shortPath(path: string | null, home: string | undefined): string {
  if (path === null) return "-";
  if (home === undefined || home === "" || home === "/") return path;
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
