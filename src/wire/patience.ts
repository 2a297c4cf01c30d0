/**
 * How long another wsh process may be silent before it counts as hanging: PEER_TIMEOUT_MS if it is stopped,
 * or asleep with an unread message. A process that is working is late, not hanging: on a crowded machine it
 * may wait long for a processor.
 */
import { platform } from "../platform/platform.ts";

/** Longest silence of a working process, in ms: one that never rests in that time is in an endless loop. */
const BUSY_TIMEOUT_MS = 30_000;
/** Interval between checks of the process, in ms. Its answer may have arrived unread: check twice. */
const LOOK_MS = 250;

/**
 * Calls `over` once the silence has lasted too long.
 * @param path socket at which the process listens
 * @param timeoutMs silence before the first check, in ms
 * @returns call it when the process has answered
 */
export function patience(path: string, timeoutMs: number, over: () => void): () => void {
  const started = performance.now();
  let quiet = 0;
  let pid: number | null = null;
  let timer = setTimeout(begin, timeoutMs);
  function begin(): void {
    // Connecting wakes a process at rest for a moment: its state is checked later.
    const outcome = platform().sockets.connect(path);
    pid = outcome.kind === "connected" ? outcome.pid : null;
    timer = setTimeout(look, LOOK_MS);
  }
  function look(): void {
    const isAtWork = pid !== null && platform().processes.stat(pid)?.state === "running";
    quiet = isAtWork ? 0 : quiet + 1;
    if (quiet === 2 || performance.now() - started >= Math.max(timeoutMs, BUSY_TIMEOUT_MS)) over();
    else timer = setTimeout(look, LOOK_MS);
  }
  return () => clearTimeout(timer);
}
