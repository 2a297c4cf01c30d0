/** A process's figures from the kernel. Linux only, as the benchmarks are. */
import fs from "node:fs";

/** Clock ticks a second in /proc; 100 on every Linux that Bun runs on. */
const TICKS = 100;

/** Memory of a process in MB, shared pages counted by share. */
export function pss(pid: number): number {
  const rollup = fs.readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  return Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1]) / 1024;
}

export interface Work {
  /** Voluntary context switches, which is how often a thread was woken. */
  readonly wakeups: number;
  /** In ms. */
  readonly cpu: number;
}

/** Processor time that a process has taken since it began, threads that have ended included, in ms. */
export function cpu(pid: number): number {
  const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS;
}

/** The work of each thread of a process since its start. */
function work(pid: number): Map<string, Work> {
  const threads = new Map<string, Work>();
  for (const thread of fs.readdirSync(`/proc/${pid}/task`)) {
    try {
      const status = fs.readFileSync(`/proc/${pid}/task/${thread}/status`, "utf8");
      const wakeups = Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1]);
      const [ran] = fs.readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ");
      threads.set(thread, { wakeups, cpu: Number(ran) / 1e6 });
    } catch {
      // The thread has ended meanwhile.
    }
  }
  return threads;
}

/** The work of each of these processes in a period, without threads that end in it. */
export async function workOver(pids: readonly number[], ms: number): Promise<Work[]> {
  const before = pids.map(work);
  await Bun.sleep(ms);
  return pids.map((pid, at) => {
    let wakeups = 0;
    let spent = 0;
    for (const [thread, now] of work(pid)) {
      const then = before[at]?.get(thread);
      wakeups += now.wakeups - (then?.wakeups ?? 0);
      spent += now.cpu - (then?.cpu ?? 0);
    }
    return { wakeups, cpu: spent };
  });
}
