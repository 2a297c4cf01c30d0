/**
 * Kills the processes that a program has started: its process group, and those that have left it, daemons included,
 * recognised by environment entries that all of them inherited. Processes of wsh that outlive their caller are started
 * without such entries.
 */
import { platform } from "./platform.ts";

/** The entry of each run of a hook. */
export const HOOK_MARK = "WSH_HOOK";
/** The entry of each run of a command of the status line: the socket of its session process, and a number. */
const STATUS_MARK = "WSH_STATUS_RUN";

/** Number of scans: each finds processes that were started during the previous one. */
const ROUNDS = 3;

/** An environment for programs that outlive their starter. */
export function withoutMarks<V>(env: Readonly<Record<string, V>>): Record<string, V> {
  const { [HOOK_MARK]: _, [STATUS_MARK]: __, ...rest } = env;
  return rest;
}

/** An entry for a new run of a command of the status line. @param socket of the session process */
export function statusMark(socket: string): { readonly name: string; readonly value: string } {
  return { name: STATUS_MARK, value: `${socket}#${crypto.randomUUID()}` };
}

/** Kills the status lines' commands of session processes that have died. @param sockets of those processes */
export function endStatusCommands(sockets: readonly string[]): void {
  const begins = sockets.map((socket) => `${STATUS_MARK}=${socket}#`);
  endMatching((env) => env.some((entry) => begins.some((begin) => entry.startsWith(begin))), "SIGKILL");
}

/** @param marks entries such as `NAME=VALUE` from the program's environment */
export function endMarked(group: number | undefined, marks: readonly string[], signal: NodeJS.Signals): void {
  if (group !== undefined) kill(-group, signal);
  endMatching((env) => marks.every((mark) => env.includes(mark)), signal);
}

/**
 * The same with SIGKILL for a program that has just ended by itself. Reading the environments of hundreds of
 * processes takes some 20 ms, so it reads only those of processes that began after the program. A program
 * that outlasts a whole cycle of process ids (at least 32,768) may leave some.
 */
export function endRemains(group: number, mark: string): void {
  kill(-group, "SIGKILL");
  const isMeant = (env: readonly string[]): boolean => env.includes(mark);
  endMatching(isMeant, "SIGKILL", (pid, newest) =>
    newest >= group ? pid > group && pid <= newest : pid > group || pid <= newest,
  );
}

function endMatching(
  isMeant: (env: readonly string[]) => boolean,
  signal: NodeJS.Signals,
  isCandidate: (pid: number, newest: number) => boolean = () => true,
): void {
  const { listeners } = platform();
  if (listeners === undefined || listeners === null) return;
  const rounds = signal === "SIGKILL" ? ROUNDS : 1;
  for (let round = 0; round < rounds; round++) {
    const newest = listeners.moment()?.newest;
    const pids = newest === undefined ? listeners.all() : listeners.all().filter((pid) => isCandidate(pid, newest));
    const left = pids.filter((pid) => isMeant(listeners.environment(pid)));
    if (left.length === 0) return;
    for (const pid of left) kill(pid, signal);
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended.
  }
}
