/**
 * Finds the programs that would end with their panes, including background ones, but not shells that wait at a prompt.
 */
import { jobsOf } from "../../platform/jobs.ts";
import { automaticName, isStarting, type PaneInfo, type RunningProgram } from "../../protocol/session.ts";

/** Reads every process of the machine: some milliseconds. */
export function findRunningPrograms(panes: readonly PaneInfo[]): RunningProgram[] {
  return panes.flatMap((info) => {
    const { id: pane, pid, state, view } = info;
    if (view !== undefined || state === "exited" || state === "crashed") return [];
    const isIdle = state === "prompt" || isStarting(info);
    const foreground = isIdle ? [] : [{ pane, program: automaticName(info), background: false }];
    const jobs = pid === null ? [] : jobsOf(pid);
    return [...foreground, ...jobs.map((program) => ({ pane, program, background: true }))];
  });
}
