/** Facts of /proc about processes: parents, states, descriptors, memory. */
import fs from "node:fs";
import { until } from "./until.ts";

/** A field of /proc/PID/stat after the name, counted as proc(5) does; null when the process is gone. */
function statField(pid: number, field: number): string | null {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may hold anything; fields are counted from the third on.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[field - 3] ?? null;
  } catch {
    return null;
  }
}

export function parentOf(pid: number): number | null {
  const parent = statField(pid, 4);
  return parent === null ? null : Number(parent);
}

/** Gone, or a zombie. */
export function hasEnded(pid: number): boolean {
  const state = statField(pid, 3);
  return state === null || state === "Z" || state === "X";
}

/** Stops a process, and waits until the kernel reports it as stopped. */
export async function stopProcess(pid: number): Promise<void> {
  process.kill(pid, "SIGSTOP");
  await until(`process ${pid} to be stopped`, () => statField(pid, 3) === "T");
}

export function descriptorsOf(pid: number): number {
  return fs.readdirSync(`/proc/${pid}/fd`).length;
}

export function threadsOf(pid: number): number {
  return fs.readdirSync(`/proc/${pid}/task`).length;
}

/** Proportional share of this process's memory (PSS) in KiB. */
export function memoryOf(pid: number): number {
  const rollup = fs.readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  return Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? Number.NaN);
}

/** O_ASYNC as fdinfo has it. */
const TOLD_OF_INPUT = 0o20000;

/** Number of persons' terminals that a session process reads: the kernel notifies it of keys there. Linux. */
export function terminalsRead(pid: number): number {
  return fs.readdirSync(`/proc/${pid}/fd`).filter((fd) => {
    try {
      const flags = /^flags:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/fdinfo/${fd}`, "utf8"))?.[1] ?? "";
      if ((Number.parseInt(flags, 8) & TOLD_OF_INPUT) === 0) return false;
      return fs.readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith("/dev/pts/");
    } catch {
      return false; // closed meanwhile
    }
  }).length;
}

export function readsTerminal(pid: number): boolean {
  return terminalsRead(pid) > 0;
}
