/** Programs on a shell's terminal outside the foreground: jobs that run in the background or are stopped. */
import { platform } from "./platform.ts";
import type { Stat } from "./port.ts";

/**
 * Names of a shell's jobs, one per process group, oldest first. Excludes processes that survive the terminal's hangup
 * (nohup, setsid), and those in the shell's own group, such as a prompt's helpers. Reads every process.
 */
export function jobsOf(shell: number): readonly string[] {
  const { processes } = platform();
  const own = processes.stat(shell);
  if (own === null || own.tty === 0) return [];
  const groups = new Map<number, Stat>();
  for (const stat of processes.onTerminal(own.tty)) {
    const { pid, group, session } = stat;
    if (session !== own.session || group === own.group || group === own.foreground) continue;
    if (processes.ignoresHangup(pid)) continue;
    if (!groups.has(group) || pid === group) groups.set(group, stat);
  }
  return [...groups.values()].sort((a, b) => a.started - b.started).map(({ name }) => name);
}
