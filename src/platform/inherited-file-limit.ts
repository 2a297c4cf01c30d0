/**
 * The caller's soft limit of open descriptors. Bun raises it to the hard limit at its start, before any of our code
 * runs, so this process no longer knows it. The parent usually still has it: limits are inherited, so the shell that
 * started us has our original limit. The value is passed on in WSH_NOFILE to a started server, in the spec to a
 * session process, which starts the shell with it (PtySpawn.openFiles). macOS reveals no process's limits: there the
 * limit that launchd gives to every login is restored, and a shell's startup files can raise it.
 */

import { platform } from "./platform.ts";
import { readText } from "./readable.ts";

/** Carries the limit to a server, whose own parent was raised already. Taken out of the environment when read. */
export const nofileVariable = "WSH_NOFILE";

let cachedLimit: number | null | undefined;

/**
 * The soft RLIMIT_NOFILE that this process was started with, on macOS the usual one; null when it cannot be read (a
 * hidden /proc) or there was no limit. Call it once before starting children that should not see WSH_NOFILE.
 */
export function originalNofile(): number | null {
  cachedLimit ??= fromEnvironment() ?? platform().limits.openFiles ?? fromParent();
  return cachedLimit;
}

function fromEnvironment(): number | null {
  const text = process.env[nofileVariable];
  delete process.env[nofileVariable];
  return text !== undefined && /^[1-9][0-9]{0,8}$/.test(text) ? Number(text) : null;
}

function fromParent(): number | null {
  const own = readLimits("self");
  const parent = readLimits(String(process.ppid));
  if (own === null || parent === null) return null;
  // If the parent has another hard limit, its soft limit does not show ours.
  return parent.hard === own.hard && parent.soft <= own.soft ? parent.soft : null;
}

/** Limits of open descriptors of a process; null when it has no soft one, or they cannot be read. */
export function readLimits(process: string): { soft: number; hard: number } | null {
  const limits = readText(`/proc/${process}/limits`) ?? "";
  const line = /^Max open files\s+(\d+|unlimited)\s+(\d+|unlimited)/m.exec(limits);
  if (line === null) return null;
  const [soft, hard] = [line[1], line[2]].map((text) => (text === "unlimited" ? Infinity : Number(text)));
  return soft === undefined || hard === undefined || soft === Infinity ? null : { soft, hard };
}
