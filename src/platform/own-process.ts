/** Facts from Linux's /proc about this process, locks and descriptors; elsewhere they are unknown. */
import fs from "node:fs";
import { readLimits } from "./inherited-file-limit.ts";
import { readLink } from "./readable.ts";

/** The executable of this process, even if its file was replaced or removed. */
export const RUNNING_FILE = "/proc/self/exe";

/** A path by which another process can open this one's standard input, if that is a pipe; null otherwise. */
export function inputPath(): string | null {
  return fs.existsSync("/proc/self/fd/0") ? `/proc/${process.pid}/fd/0` : null;
}

/** Maximum descriptors that this process may open; null: unknown or unlimited. */
export function openFileLimit(): number | null {
  return readLimits("self")?.soft ?? null;
}

/** The pid that holds the flock of a file. */
export function flockHolder(path: string): number | null {
  try {
    const { ino } = fs.statSync(path, { bigint: true });
    const line = fs
      .readFileSync("/proc/locks", "utf8")
      .split("\n")
      .find((entry) => entry.includes("FLOCK") && entry.includes(`:${ino} `));
    const pid = line?.match(/WRITE\s+(\d+)/)?.[1];
    return pid === undefined ? null : Number(pid);
  } catch {
    return null; // only a message is less complete without it
  }
}

/** The file that a process has open as `fd`. */
export function descriptorFile(pid: number, fd: number): string | null {
  return readLink(`/proc/${pid}/fd/${fd}`);
}

/** Reopens a pipe or terminal that another process has open as `fd`, for writing without waiting; null: impossible. */
export function openForWriting(pid: number, fd: number): number | null {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = fs.constants;
  if (!/^(?:pipe:|\/dev\/(?:pts|tty))/.test(descriptorFile(pid, fd) ?? "")) return null;
  try {
    return fs.openSync(`/proc/${pid}/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    return null;
  }
}
