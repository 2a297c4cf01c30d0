/**
 * Limits that the program of a pane starts with. A limit belongs to the process and is inherited, so it is changed
 * only around the spawn, which is synchronous.
 *
 * Open files: Bun raises its own to the hard limit before any script runs, which slows programs that walk every
 * possible descriptor and breaks those that use select(2).
 *
 * File locks (`ulimit -x`), which Linux has not enforced since 2.4: the soft limit encodes the session's process, the
 * pane, and whether an AI agent owns the pane. A program keeps the value even if it leaves its parent, its terminal
 * and its environment. The hard limits, which no program can raise again, show what it has changed:
 * - All processes below one of ours have a hard limit of file locks of at most HIGHEST: a process without a
 *   mark has removed it.
 * - The program of a pane has its mark in the hard limits of file locks and of realtime processor time (2^52 µs are
 *   142 years), whose sum is fixed: a program that lowers one to another pane's mark cannot raise the other. It is
 *   set on the running program, since this process could not raise its own limits again. A process of ours that was
 *   itself started in a pane has that pane's mark there; its own panes differ in the soft limit alone.
 *
 * The name of a pane's agent is recorded elsewhere (agent-programs.ts).
 */
import { keepAgentProgram } from "./agent-programs.ts";
import { readText } from "./readable.ts";
import { system } from "./system.ts";
import { libc, linuxLibc } from "./tty-calls.ts";

const { RLIMIT_NOFILE, RLIMIT_LOCKS, RLIMIT_RTTIME } = system.constants;
/** Values that no configuration uses; a process id (at most 2^22) and the number of a pane are added to them. */
const MARK = 2 ** 51;
const FIXED = 2 ** 52;
const HIGHEST = FIXED + MARK;
const PANES = 2 ** 24;
const OWNED = 2 ** 47;
const RANGE = 2 * OWNED;
/** A hard limit of realtime below every mark's: an agent's pane in a process that was itself started in a pane. */
const AGENTS_ALONE = FIXED - 1;
const NO_PANE = `@${PANES - 1}`;

interface Started {
  readonly openFiles?: number | null | undefined;
  readonly env: Readonly<Record<string, string>>;
}

interface Spawned {
  readonly pid?: number | undefined;
}

/** The pane in which a process was started, and the process that runs the pane. */
interface StartedIn {
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
  const mark = markOf(env);
  const child = withSoft(RLIMIT_LOCKS, mark === null ? null : MARK + mark, false, spawn);
  if (child.pid === undefined || mark === null) return child;
  fix(child.pid, mark);
  keepAgentProgram(child.pid, env.WSH_AGENT);
  return child;
}

/** Sets the hard limits of a program that was just started. One that runs as another user keeps its own. */
function fix(pid: number, mark: number): void {
  if (RLIMIT_LOCKS === null || RLIMIT_RTTIME === null || !marksHold()) return;
  const limit = (which: number, soft: number, hard: number): boolean =>
    linuxLibc()?.prlimit(pid, which, new BigUint64Array([BigInt(soft), BigInt(hard)]), null) === 0;
  const isFree = (limitsOf(RLIMIT_LOCKS)?.hard ?? 0n) >= BigInt(HIGHEST);
  if (isFree) {
    // One limit without the other would look like a change.
    const isSet = limit(RLIMIT_RTTIME, FIXED + RANGE - mark, FIXED + RANGE - mark);
    if (isSet) limit(RLIMIT_LOCKS, MARK + mark, FIXED + mark);
  } else if (mark >= OWNED) limit(RLIMIT_RTTIME, AGENTS_ALONE, AGENTS_ALONE);
}

/**
 * @param isOurs whether a process is a session process or a server of ours
 * @returns null: it was started in no pane, or the system does not report it
 */
export function startedIn(pid: number, isOurs: (pid: number) => boolean): StartedIn | null {
  const limits = limitsIn(pid);
  if (limits === null) return null;
  const { locks, realtime, place } = limits;
  const claimed = place === null ? null : decoded(place);
  if (!marksHold() || locks > HIGHEST) return claimed;
  // Below a process of ours every process has a mark.
  const removed = { process: 0, pane: NO_PANE, isAgents: true };
  if (locks === HIGHEST) return claimed ?? removed;
  const fixed = locks - FIXED;
  if (fixed < 0 || realtime !== FIXED + RANGE - fixed) return { ...(claimed ?? removed), isAgents: true };
  if (claimed === null) return removed;
  const starter = place === fixed ? null : limitsIn(claimed.process);
  const isNested = starter?.locks === locks && isOurs(claimed.process);
  return isNested ? claimed : decoded(fixed);
}

/** Whether a process has left the pane in which it was started, as ours do, or was started in none. */
export function hasLeftPane(pid: number): boolean {
  const place = limitsIn(pid)?.place ?? null;
  return place === null || isOwn(place, pid);
}

function isOwn(place: number | null, pid: number): boolean {
  return place !== null && decoded(place).process === pid;
}

function decoded(place: number): StartedIn {
  const isAgents = place >= OWNED;
  const rest = isAgents ? place - OWNED : place;
  return { process: Math.floor(rest / PANES), pane: `@${rest % PANES}`, isAgents };
}

interface Limits {
  /** Hard limits of file locks and realtime; Infinity: none. */
  readonly locks: number;
  readonly realtime: number;
  /** The mark in the soft limit of file locks; null: it has none. */
  readonly place: number | null;
}

function limitsIn(pid: number): Limits | null {
  const text = readText(`/proc/${pid}/limits`);
  const number = (value: string | undefined): number => (value === "unlimited" ? Infinity : Number(value));
  const locks = /^Max file locks\s+(\w+)\s+(\w+)\s/m.exec(text ?? "");
  const realtime = /^Max realtime timeout\s+\w+\s+(\w+)\s/m.exec(text ?? "");
  if (locks === null) return null;
  const place = number(locks[1]) - MARK;
  return {
    locks: number(locks[2]),
    realtime: number(realtime?.[1]),
    place: place >= 0 && place < RANGE ? place : null,
  };
}

let holds: boolean | null = null;

/** Whether this system's configured limits leave room for marks. */
function marksHold(): boolean {
  holds ??= (limitsOf(RLIMIT_LOCKS)?.hard ?? 0n) >= BigInt(FIXED);
  return holds;
}

/**
 * Replaces the mark of the pane in which this process was started with a mark of its own. Programs that it
 * starts in no pane inherit that mark.
 */
export function leavePane(): void {
  const current = limitsOf(RLIMIT_LOCKS);
  if (current === null || !marksHold()) return;
  const highest = BigInt(HIGHEST);
  const hard = current.hard < highest ? current.hard : highest;
  const soft = BigInt(MARK + (markOf({ WSH_PANE: NO_PANE }) ?? 0));
  libc().setrlimit(RLIMIT_LOCKS ?? 0, new BigUint64Array([soft, hard]));
}

function markOf({ WSH_PANE = "", WSH_AGENT }: Started["env"]): number | null {
  const number = /^@(\d+)$/.exec(WSH_PANE)?.[1];
  return number === undefined ? null : (WSH_AGENT === undefined ? 0 : OWNED) + process.pid * PANES + Number(number);
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
