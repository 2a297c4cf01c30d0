/**
 * Kills the processes that a program has started: its process group, and those that have left it, daemons included,
 * recognised by environment entries that all of them inherited. Processes of wsh that outlive their caller are started
 * without such entries.
 */
import { platform } from "./platform.ts";

/** The entries: one for each run of a hook, and for a command of the status line. */
export const HOOK_MARK = "WSH_HOOK";
export const STATUS_MARK = "WSH_STATUS_RUN";

/** Number of scans: each finds processes that were started during the previous one. */
const ROUNDS = 3;

/** An environment for programs that outlive their starter. */
export function withoutMarks<V>(env: Readonly<Record<string, V>>): Record<string, V> {
  const { [HOOK_MARK]: _, [STATUS_MARK]: __, ...rest } = env;
  return rest;
}

/** @param marks entries such as `NAME=VALUE` from the program's environment */
export function endMarked(group: number | undefined, marks: readonly string[], signal: NodeJS.Signals): void {
  if (group !== undefined) kill(-group, signal);
  const { listeners } = platform();
  if (listeners === undefined || listeners === null) return;
  const rounds = signal === "SIGKILL" ? ROUNDS : 1;
  for (let round = 0; round < rounds; round++) {
    const left = listeners.all().filter((pid) => isMarked(listeners.environment(pid), marks));
    if (left.length === 0) return;
    for (const pid of left) kill(pid, signal);
  }
}

function isMarked(env: readonly string[], marks: readonly string[]): boolean {
  return marks.every((mark) => env.includes(mark));
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended.
  }
}
