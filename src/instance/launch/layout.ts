/** Starts a layout process: its spec, and its report. */
import type { Instance } from "../paths.ts";
import { childEnv, launch, openLog, selfCommand } from "./launch.ts";
import type { LayoutSpec } from "./layout-spec.ts";

/** Longest time for a layout process to take over, in ms: 100 times what it needs. */
const READY_MS = 10_000;

/** Resolves when it serves the session. @throws WshError session_create_failed */
export function startLayout(instance: Instance, spec: LayoutSpec): Promise<Readonly<Record<string, unknown>>> {
  return launch({
    command: selfCommand(["layout-process"]),
    env: childEnv(instance, {}),
    stdin: JSON.stringify(spec),
    log: openLog(instance, instance.hostLog),
    timeoutMs: READY_MS,
    failure: "session_create_failed",
    what: "the layout process",
  });
}
