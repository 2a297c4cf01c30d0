/**
 * The soft limit of open files for a child. Bun raises its own to the hard limit before any script runs and children
 * inherit it, which slows programs that walk every possible descriptor and breaks those that use select(2). The limit
 * belongs to the process, so it is lowered only around the spawn, which is synchronous.
 */

import { system } from "./system.ts";
import { libc } from "./tty-calls.ts";

const { RLIMIT_NOFILE } = system.constants;

/** Runs `spawn` with this soft limit, or with ours if it is null or not lower. */
export function withOpenFiles<T>(soft: number | null, spawn: () => T): T {
  if (soft === null) return spawn();
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
