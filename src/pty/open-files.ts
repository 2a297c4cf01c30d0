/**
 * The soft limit of open files that a child is started with. Bun raises its own to the hard limit before any script
 * runs and children inherit it, which slows programs that walk every possible descriptor and breaks those that use
 * select(2). What it was before cannot be asked of our own process any more, so it comes from the environment variable
 * NOFILE_SOFT, set by the first wsh process in the chain from what it finds in its parent (`parentOpenFiles`).
 *
 * The limit is the process's, so it is lowered only around the spawn, which is synchronous.
 */

import { readFileSync } from "node:fs";
import { libc } from "./libc.ts";

/** Carries the person's own soft limit to the processes that start children. */
export const NOFILE_SOFT = "WSH_NOFILE_SOFT";

/** RLIMIT_NOFILE: asm-generic/resource.h, sys/resource.h of macOS. */
const RLIMIT_NOFILE = process.platform === "darwin" ? 8 : 7;

/** The parent's soft limit: of a command started from a shell it is the one we were given. Null where it is hidden. */
export function parentOpenFiles(): number | null {
  try {
    const limits = readFileSync(`/proc/${process.ppid}/limits`, "utf8");
    const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}

/** Runs `spawn` with the soft limit that NOFILE_SOFT names; unchanged when it names none or no lower one. */
export function withOpenFiles<T>(spawn: () => T, soft = Number(process.env[NOFILE_SOFT])): T {
  if (!Number.isSafeInteger(soft) || soft <= 0) return spawn();
  const c = libc();
  // struct rlimit { rlim_t soft, hard; }, 64 bits each on every system served.
  const raised = new BigUint64Array(2);
  if (c.getrlimit(RLIMIT_NOFILE, raised) !== 0) return spawn();
  const [now = 0n, hard = 0n] = raised;
  if (BigInt(soft) >= now || c.setrlimit(RLIMIT_NOFILE, new BigUint64Array([BigInt(soft), hard])) !== 0) return spawn();
  try {
    return spawn();
  } finally {
    c.setrlimit(RLIMIT_NOFILE, raised);
  }
}
