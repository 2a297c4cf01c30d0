/** The agents of all sessions as rows, the one that needs a person most first. Pure. */
import type { AgentInfo, AgentState } from "../../protocol/agent.ts";
import type { SessionInfo } from "../../protocol/session.ts";

export interface AgentRow {
  readonly session: string;
  readonly session_id: string;
  readonly pane_id: string;
  readonly cwd: string | null;
  readonly agent: AgentInfo;
}

/** Every agent in every pane of running sessions. */
export function agentRows(sessions: readonly SessionInfo[]): AgentRow[] {
  const rows = sessions.flatMap(({ id, name, running, windows }) =>
    windows.flatMap(({ panes }) =>
      panes.flatMap(({ id: pane_id, cwd, agent }) =>
        agent === undefined || !running ? [] : [{ session: name, session_id: id, pane_id, cwd, agent }],
      ),
    ),
  );
  return rows.sort((a, b) => urgency(a.agent) - urgency(b.agent) || a.agent.since - b.agent.since);
}

const ranks: Readonly<Record<AgentState, number>> = { needs_input: 0, done: 2, idle: 3, working: 4 };

/** 0 is the most urgent. One that rests for a reason that nobody reported may ask, and comes after those that do. */
function urgency({ state, source }: AgentInfo): number {
  return state === "needs_input" && source === "program" ? 1 : ranks[state];
}

/** Whether a person should look. */
export function needsPerson({ state }: AgentInfo): boolean {
  return state === "needs_input" || state === "done";
}

const words: Readonly<Record<AgentState, string>> = {
  needs_input: "needs input",
  done: "done",
  idle: "idle",
  working: "working",
};

/** The state in words; with a question mark where only the program's rest shows it. */
export function agentWords({ state, source }: AgentInfo): string {
  return state === "needs_input" && source === "program" ? "needs input?" : words[state];
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

/** What the agent says, else what its state rests on. */
export function reason({ message, why }: AgentInfo): string {
  return message === undefined ? why : message;
}

/** A path with the home as `~`. */
export function shortPath(path: string | null, home: string | undefined): string {
  if (path === null) return "-";
  if (home === undefined || home === "" || home === "/") return path;
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
