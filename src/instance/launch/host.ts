/** Starts a session process: its spec, and its report. */

import type * as v from "valibot";
import { originalNofile } from "../../platform/inherited-file-limit.ts";
import type { Instance } from "../paths.ts";
import type { HostSpecSchema } from "./host-spec.ts";
import {
  childEnv,
  openLog,
  type Prepared,
  prepareLaunch,
  type ReadyReport,
  readyTimeoutMs,
  type SpawnOptions,
  selfCommand,
} from "./launch.ts";
import { withSpareSign } from "./spare.ts";

type Spec = v.InferInput<typeof HostSpecSchema>;

/** The caller that a session is made for, and the process that makes it. */
export interface HostStarter
  extends Pick<
    Spec,
    "starter" | "cwd" | "naming" | "followed" | "once" | "deadline" | "max_sessions" | "stdin_path" | "stdout_path"
  > {
  /** The caller's environment, for the child. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Returns the spec of a new session process. */
export function hostSpecOf(instance: Instance, create: Spec["create"], { env, ...starter }: HostStarter): Spec {
  // Before the environment is read: this call removes WSH_NOFILE from it.
  const nofile = originalNofile();
  const given = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    ...starter,
    socket: instance.httpSocket,
    create,
    env: Object.fromEntries(given),
    nofile,
  };
}

/**
 * Starts a session process, which gets the spec as JSON on stdin.
 * @returns its report without `ok`
 * @throws WshError the process's own, or session_create_failed when it died or did not report
 */
export async function startHost(instance: Instance, spec: unknown, options: SpawnOptions = {}): Promise<ReadyReport> {
  return prepareHost(instance, options).begin(spec);
}

export type PreparedLaunch = Prepared<unknown>;

/** Starts a session process that waits for its spec. @throws WshError session_create_failed */
export function prepareHost(instance: Instance, options: SpawnOptions = {}): PreparedLaunch {
  const prepared = prepareLaunch({
    command: (options.command ?? selfCommand)(["host"]),
    env: childEnv(instance, options),
    log: openLog(instance, instance.hostLog),
    timeoutMs: options.timeoutMs ?? readyTimeoutMs,
    failure: "session_create_failed",
    what: "the session process",
  });
  return {
    get isReady() {
      return prepared.isReady;
    },
    begin: (spec) => prepared.begin(JSON.stringify(spec)),
    discard: () => prepared.discard(),
  };
}

/** The same, to be kept ready: it prepares itself meanwhile. @throws WshError session_create_failed */
export function spareHost(instance: Instance): PreparedLaunch {
  return prepareHost(instance, { env: withSpareSign(process.env) });
}
