/** Signals to the processes of a terminal, the same for every adapter that knows its child's pid. */

import type { Pty, SignalTarget } from "./port.ts";

/**
 * A process group that is already gone is not an error: that is the caller's goal. Once the child has been
 * reaped, its pid may name another process, so only the foreground group is signalled.
 */
export function sendSignal(
  pty: Pick<Pty, "pid" | "foreground">,
  reaped: boolean,
  name: NodeJS.Signals,
  to: SignalTarget,
): boolean {
  // Looked up once: between two lookups the child may have taken the terminal back.
  const holder = to === "foreground" || to === "job" ? pty.foreground() : reaped ? null : pty.pid;
  const target = to === "job" && holder === pty.pid ? null : holder;
  if (target === null) return false;
  try {
    // The child leads a session, so its group id equals its pid.
    process.kill(to === "child" ? target : -target, name);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
  return true;
}
