/** This machine's report for machines that place sessions. */
import os from "node:os";
import type { Acceptance } from "../../cluster/placement.ts";
import type { Settings } from "../../settings/table.ts";
import type { SessionProxies } from "../sessions/session-proxies.ts";

export interface PlacementReport {
  readonly accept: Acceptance;
  readonly tags: readonly string[];
  /** One-minute load average per processor. */
  readonly load: number;
  /** Number of running sessions. */
  readonly sessions: number;
}

export function placementReport(
  settings: Pick<Settings, "accept" | "machine_tags">,
  proxies: SessionProxies,
): PlacementReport {
  const load = (os.loadavg()[0] ?? 0) / Math.max(1, os.availableParallelism());
  return {
    accept: settings.accept,
    tags: settings.machine_tags,
    load: Math.round(load * 100) / 100,
    sessions: proxies.findable.filter(({ info }) => info.running).length,
  };
}
