/**
 * Soft limits that the program of a pane starts with. A limit belongs to the process and is inherited, so it is changed
 * only around the spawn, which is synchronous.
 *
 * Open files: Bun raises its own to the hard limit before any script runs, which slows programs that walk every
 * possible descriptor and breaks those that use select(2).
 *
 * File locks (`ulimit -x`), which Linux has not enforced since 2.4: the limit's value encodes the session's process,
 * the pane, and whether an AI agent owns the pane. A program keeps the value even if it leaves its parent, its terminal
 * and its environment. The pane's own program is also recorded (agent-programs.ts): it may change the limit.
 */
import { keepAgentProgram } from "./agent-programs.ts";
import { readText } from "./readable.ts";
import { system } from "./system.ts";
import { libc } from "./tty-calls.ts";

const { RLIMIT_NOFILE, RLIMIT_LOCKS } = system.constants;
/** A value that no configuration uses; a process id (at most 2^22) and the number of a pane are added to it. */
const MARK = 2 ** 51;
const PANES = 2 ** 24;
const OWNED = 2 ** 47;
const NO_PANE = `@${PANES - 1}`;

interface Started {
  readonly openFiles?: number | null | undefined;
  readonly env: Readonly<Record<string, string>>;
}

interface Spawned {
  readonly pid?: number | undefined;
}

/** The pane in which a process was started, and the process that runs the pane. */
export interface StartedIn {
  readonly process: number;
  readonly pane: string;
  readonly isAgents: boolean;
}

/** Runs `spawn` with the given soft limit of open files, if that is lower than ours, and with the pane's mark. */
export function withChildLimits<T extends Spawned>({ openFiles, env }: Started, spawn: () => T): T {
  return withSoft(RLIMIT_NOFILE, openFiles ?? null, true, () => marked(env, spawn));
}

/** Runs `spawn`, which starts a program of no pane, with the mark of the agent for which it acts. */
export function actingFor<T extends Spawned>(agent: string | undefined, spawn: () => T): T {
  return agent === undefined ? spawn() : marked({ WSH_PANE: NO_PANE, WSH_AGENT: agent }, spawn);
}

function marked<T extends Spawned>(env: Started["env"], spawn: () => T): T {
  const child = withSoft(RLIMIT_LOCKS, markOf(env), false, spawn);
  if (child.pid !== undefined) keepAgentProgram(child.pid, env.WSH_AGENT);
  return child;
}

/** Null: it was started in no pane, or the system does not report it. */
export function startedIn(pid: number): StartedIn | null {
  const limit = Number(/^Max file locks\s+(\d+)\s/m.exec(readText(`/proc/${pid}/limits`) ?? "")?.[1] ?? 0);
  if (limit < MARK || limit >= MARK + 2 * OWNED) return null;
  const isAgents = limit >= MARK + OWNED;
  const place = limit - MARK - (isAgents ? OWNED : 0);
  return { process: Math.floor(place / PANES), pane: `@${place % PANES}`, isAgents };
}

/** Removes the pane's mark from this process: a process of wsh started in a pane does not belong to the pane. */
export function leavePane(): void {
  const lockLimits = limitsOf(RLIMIT_LOCKS);
  if (lockLimits !== null) libc().setrlimit(RLIMIT_LOCKS ?? 0, new BigUint64Array([lockLimits.hard, lockLimits.hard]));
}

function markOf({ WSH_PANE = "", WSH_AGENT }: Started["env"]): number | null {
  const number = /^@(\d+)$/.exec(WSH_PANE)?.[1];
  const owned = WSH_AGENT === undefined ? 0 : OWNED;
  return number === undefined ? null : MARK + owned + process.pid * PANES + Number(number);
}

/** Runs `spawn` with a soft limit; with ours if none is given or it is not possible. */
function withSoft<T>(limit: number | null, soft: number | null, isLower: boolean, spawn: () => T): T {
  const current = soft === null ? null : limitsOf(limit);
  if (soft === null || current === null || BigInt(soft) >= (isLower ? current.soft : current.hard)) return spawn();
  const { setrlimit } = libc();
  if (setrlimit(limit ?? 0, new BigUint64Array([BigInt(soft), current.hard])) !== 0) return spawn();
  try {
    return spawn();
  } finally {
    setrlimit(limit ?? 0, new BigUint64Array([current.soft, current.hard]));
  }
}

/** struct rlimit { rlim_t soft, hard; }, 64 bits each on every system served. */
function limitsOf(limit: number | null): { readonly soft: bigint; readonly hard: bigint } | null {
  const both = new BigUint64Array(2);
  if (limit === null || libc().getrlimit(limit, both) !== 0) return null;
  const [soft = 0n, hard = 0n] = both;
  return { soft, hard };
}
