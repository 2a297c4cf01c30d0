/**
 * Whether a session's info is still valid, without asking its process: the process has reported how long the info
 * holds. The state of the process is read too, since a stopped or hanging process reports nothing.
 */
import { platform } from "../platform/platform.ts";
import type { Listing } from "../protocol/control.ts";

/**
 * @param change the newest change that the process has reported
 * @returns known: the info holds. ask: only the process can tell. stopped: it cannot answer.
 */
export function freshnessOf({ pid, lasting, change: known }: Listing, change: number): "known" | "ask" | "stopped" {
  const { processes } = platform();
  const rest = processes.rest(pid);
  if (rest === "stopped") return "stopped";
  if (rest !== "asleep" || lasting === null || known < change) return "ask";
  return lasting === "reported" || processes.runs(lasting.pid) === lasting.runs ? "known" : "ask";
}
