/** Keeps the memory of this process from other programs of its account. */
import { openLibc } from "./libc.ts";

/** prctl(2). */
const PR_SET_DUMPABLE = 4;

/**
 * No program of this account can trace this process or read its memory from now on; root can. Linux; @returns false
 * where the C library has no such call
 */
export function hideMemory(): boolean {
  try {
    return openLibc({ prctl: { args: ["i32", "u64"], returns: "i32" } }).prctl(PR_SET_DUMPABLE, 0n) === 0;
  } catch {
    return false;
  }
}
