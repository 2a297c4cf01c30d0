/** Starts the instance's server, once for any number of callers. */

import { withDirectoryLock } from "../instance/lock.ts";
import { checkRuntimeDir, type Instance, prepareRuntimeDir } from "../instance/paths.ts";
import { nofileVariable, originalNofile } from "../platform/inherited-file-limit.ts";
import { WshError } from "../protocol/errors.ts";
import { isServerAlive, isServerRunning } from "../registry/single-server.ts";
import {
  childEnv,
  launch,
  openLog,
  type ReadyReport,
  readyTimeoutMs,
  type SpawnOptions,
  selfCommand,
} from "./launch.ts";

interface ServerOptions extends SpawnOptions {
  /** TCP address to listen on; none when absent. */
  readonly bind?: string | undefined;
  /** Replaces the instance's token for this run. */
  readonly token?: string | undefined;
  /** Further arguments of `wsh server`. */
  readonly args?: readonly string[];
}

/**
 * Ensures that the instance has a server: connects, or starts an ephemeral one. Of several callers at once one starts
 * it and the others wait. `report` is null when a server was already running (readServerInfo describes it).
 * @throws WshError the server's own, or server_unavailable when it died or did not report
 */
export async function startServer(
  instance: Instance,
  options: ServerOptions = {},
): Promise<{ started: boolean; report: ReadyReport | null }> {
  if (checkRuntimeDir(instance) && (await isServerRunning(instance))) return { started: false, report: null };
  prepareRuntimeDir(instance);
  const timeoutMs = options.timeoutMs ?? readyTimeoutMs;
  const deadline = performance.now() + timeoutMs;
  return withDirectoryLock(
    instance.namesDir,
    async () => {
      if (await isServerRunning(instance)) return { started: false, report: null };
      try {
        const report = await launchServer(instance, options, Math.max(1, deadline - performance.now()));
        return { started: true, report };
      } catch (error) {
        // A `wsh server` run by hand takes no start lock and may have been faster.
        if (error instanceof WshError && error.code === "server_already_running" && isServerAlive(instance)) {
          return { started: false, report: null };
        }
        throw error;
      }
    },
    { timeoutMs },
  );
}

function launchServer(instance: Instance, options: ServerOptions, timeoutMs: number): Promise<ReadyReport> {
  const args = ["server", "--report", "--ephemeral", "--socket", instance.httpSocket];
  args.push("--bind", options.bind ?? "none");
  const env = childEnv(instance, options);
  if (options.token !== undefined) env.WSH_TOKEN = options.token;
  const nofile = originalNofile();
  if (nofile !== null) env[nofileVariable] = String(nofile);
  return launch({
    command: (options.command ?? selfCommand)([...args, ...(options.args ?? [])]),
    env,
    stdin: "",
    log: openLog(instance, instance.serverLog),
    timeoutMs,
    failure: "server_unavailable",
    what: "the server",
  });
}
