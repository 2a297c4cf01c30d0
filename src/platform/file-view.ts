/** Whether a path names the same file in another process: its root directory and its mounts are the same as ours. */
import fs from "node:fs";

/** Null: the system does not report it, for example for another user's process. */
export function seesOurFiles(pid: number): boolean | null {
  const read = (of: number | "self", what: string): string => fs.readlinkSync(`/proc/${of}/${what}`);
  try {
    if (!fs.existsSync("/proc/self/ns/mnt")) return true; // a system without namespaces of mounts
    return ["ns/mnt", "root"].every((what) => read(pid, what) === read("self", what));
  } catch {
    return null;
  }
}
