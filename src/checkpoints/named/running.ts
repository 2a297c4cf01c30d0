/** Finds the running session that a target names. */
import type { Instance } from "../../instance/paths.ts";
import { parseTarget, sessionId } from "../../protocol/names.ts";
import { processState } from "../../registry/liveness.ts";
import { listProcesses, lookUp } from "../../registry/registry.ts";
import { isAlive } from "../files/sessions.ts";

export interface RunningSession {
  readonly number: number;
  /** Socket of the process that serves it. */
  readonly socket: string;
}

/** The running session that a target names, also by one of its panes. */
export function runningSession(instance: Instance, target: string): RunningSession | null {
  const all = listProcesses(instance).filter(({ ended, socket }) => !ended && processState(socket) !== "dead");
  const entry = lookUp(all, parseTarget(target));
  if (entry?.session == null) return null;
  const serves = lookUp(all, { kind: "session_id", id: entry.session });
  return serves === undefined ? null : { number: entry.session, socket: serves.socket };
}

/** Whether a process serves a session, or writes its checkpoint. */
export function isRunning(instance: Instance, number: number): boolean {
  return isAlive(instance, number) || runningSession(instance, sessionId(number)) !== null;
}
