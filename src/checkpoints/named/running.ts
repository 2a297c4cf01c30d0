/** Finds the running session that a target names. */
import type { Instance } from "../../instance/paths.ts";
import { parseTarget, sessionId } from "../../protocol/names.ts";
import { processState } from "../../registry/liveness.ts";
import { listProcesses, lookUp } from "../../registry/registry.ts";
import { hasWriter } from "../files/sessions.ts";

export interface RunningSession {
  readonly number: number;
  /** Socket of the process that serves it. */
  readonly socket: string;
}

/** The running session that a target names, also by one of its panes. */
export function findRunning(instance: Instance, target: string): RunningSession | null {
  const all = listProcesses(instance).filter(({ ended, socket }) => !ended && processState(socket) !== "dead");
  const entry = lookUp(all, parseTarget(target));
  if (entry?.session == null) return null;
  const server = lookUp(all, { kind: "session_id", id: entry.session });
  return server === undefined ? null : { number: entry.session, socket: server.socket };
}

/** Whether a process serves a session, or writes its checkpoint. */
export function isRunning(instance: Instance, number: number): boolean {
  return hasWriter(instance, number) || findRunning(instance, sessionId(number)) !== null;
}
