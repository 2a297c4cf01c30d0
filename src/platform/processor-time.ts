/** How long the main thread ran and how long it waited for a processor, as the kernel counts it. */
import fs from "node:fs";

/** In ns. */
export interface ProcessorTime {
  readonly ran: number;
  readonly waited: number;
}

/** Since the process began; null where the kernel does not tell (Linux does, as CONFIG_SCHED_INFO). */
export function processorTime(): ProcessorTime | null {
  try {
    const [ran = 0, waited = 0] = fs.readFileSync("/proc/self/schedstat", "utf8").split(" ").map(Number);
    return { ran, waited };
  } catch {
    return null;
  }
}

/** Whether it waited more than `times` as long as it ran; true where nobody knows. */
export function waitedLong(before: ProcessorTime | null, now: ProcessorTime | null, times: number): boolean {
  if (before === null || now === null) return true;
  return now.waited - before.waited > times * (now.ran - before.ran);
}
