/** Starts a session process: its spec, and its report. */

import type * as v from "valibot";
import type { Instance } from "../instance/paths.ts";
import { originalNofile } from "../platform/inherited-file-limit.ts";
import {
  childEnv,
  launch,
  openLog,
  type ReadyReport,
  readyTimeoutMs,
  type SpawnOptions,
  selfCommand,
} from "./launch.ts";
import type { SessionSpecSchema } from "./session-spec.ts";

type Spec = v.InferInput<typeof SessionSpecSchema>;

/** The caller for whom a session is made, and the process that makes it. */
interface SessionStarter
  extends Pick<
    Spec,
    | "starter"
    | "owner"
    | "cwd"
    | "naming"
    | "followed"
    | "opened"
    | "once"
    | "deadline"
    | "max_sessions"
    | "stdin_path"
    | "stdout_path"
  > {
  /** The caller's environment, for the child. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Returns the spec of a new session process. */
export function sessionSpecOf(instance: Instance, create: Spec["create"], { env, ...starter }: SessionStarter): Spec {
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
 * Options of the engine for a session process, which removes them from its environment
 * (`forgetEngineOptions`): the engine of another version may refuse to start with one. No blocks of the heap
 * are kept ready, which saves 0.6 MB of each session, and 3 of the 50 ms of its start (measured).
 */
const engineOptions = { BUN_JSC_useWarmUpMarkedBlocks: "0" };

/** Called in the session process, before it starts any program. */
export function forgetEngineOptions(): void {
  for (const name of Object.keys(engineOptions)) delete process.env[name];
}

/**
 * Starts a session process, which gets the spec as JSON on stdin.
 * @returns its report without `ok`
 * @throws WshError the process's own, or session_create_failed when it died or did not report
 */
export async function startSessionProcess(
  instance: Instance,
  spec: unknown,
  options: SpawnOptions = {},
): Promise<ReadyReport> {
  return launch({
    command: (options.command ?? selfCommand)(["session-process"]),
    env: { ...childEnv(instance, options), ...engineOptions },
    stdin: JSON.stringify(spec),
    log: openLog(instance, instance.sessionLog),
    timeoutMs: options.timeoutMs ?? readyTimeoutMs,
    failure: "session_create_failed",
    what: "the session process",
  });
}
