/** The main thread's run time and its wait for a processor, as the kernel counts them. */
import { readText } from "./readable.ts";

/** In ns. */
export interface ProcessorTime {
  readonly ran: number;
  readonly waited: number;
}

/** Times since the process began; null when the kernel does not count them (Linux does, with CONFIG_SCHED_INFO). */
export function processorTime(): ProcessorTime | null {
  const times = readText("/proc/self/schedstat");
  if (times === null) return null;
  const [ran = 0, waited = 0] = times.split(" ").map(Number);
  return { ran, waited };
}

/** Whether it waited more than `times` as long as it ran; true when unknown. */
export function waitedLong(before: ProcessorTime | null, now: ProcessorTime | null, times: number): boolean {
  if (before === null || now === null) return true;
  return now.waited - before.waited > times * (now.ran - before.ran);
}
