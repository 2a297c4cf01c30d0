/**
 * Ends a command that runs at the shell's prompt, without ending the shell: an interrupt reaches the foreground group,
 * and only a group that is not the shell's own is killed. As always, only the shell's mark reports the end.
 */

import type { Clock } from "../../base/clock.ts";
import { orUntil } from "../../base/deadline.ts";
import type { CommandRecord } from "../../protocol/commands.ts";
import type { ExecTarget } from "../ports.ts";
import type { CommandLog } from "./command-log.ts";

/** How long an interrupted or killed command may take to end, in ms. */
const STOP_MS = 2_000;
/** Interval between checks for a part of the command that the signal did not reach, in ms. */
const RECHECK_MS = STOP_MS / 20;

export type StopMethod = "interrupt" | "kill";

/** The leader of the foreground group, and the file that it runs; null when unknown. */
export interface Leader {
  readonly pid: number;
  readonly executable: string | null;
}

interface StopPort {
  readonly target: Pick<ExecTarget, "interrupt" | "kill">;
  leader(): Leader | null;
  readonly log: CommandLog;
  readonly clock: Clock;
}

/** @returns its record and what ended it (null: no signal); null when it ignores the signals and still runs */
export async function stopCommand(
  port: StopPort,
  id: number,
  how: StopMethod,
): Promise<{ record: CommandRecord; by: StopMethod | null } | null> {
  const { target, log, clock } = port;
  const ended = Promise.withResolvers<CommandRecord>();
  // The shell draws its prompt next, and an interrupt would end that.
  const endsBefore = log.runningCommand?.id === id && log.phase !== "running";
  let isEnding = endsBefore;
  using _listener = log.on({
    ending: (command) => {
      isEnding ||= command === id;
    },
    finished: (record) => {
      if (record.id === id) ended.resolve(record);
    },
  });
  const stopped = log.get(id);
  if (stopped !== null && stopped.state !== "running") return { record: stopped, by: null };
  let metShell = log.shellHoldsTerminal() === true;
  let met = port.leader();
  const by = endsBefore ? null : how === "kill" && target.kill() ? "kill" : "interrupt";
  if (by === "interrupt") target.interrupt();
  let record: CommandRecord | null = null;
  for (let waited = 0; record === null && waited < STOP_MS; waited += RECHECK_MS) {
    record = await orUntil<CommandRecord | null>(ended.promise, { clock, ms: RECHECK_MS }, () => null);
    if (record !== null) break;
    // A loop of the shell itself continues with its next command: only an interrupt ends it, and that may
    // fall between two commands. It also misses a command that does not have the terminal yet, or that the
    // shell's child has not become yet.
    const now = port.leader();
    const early = met !== null && now?.pid === met.pid && now.executable !== met.executable;
    met = now;
    const missed = early || ((metShell || how === "kill") && log.shellHoldsTerminal() === false);
    if (missed) metShell = false;
    if (!isEnding && (by === "kill" || missed)) target.interrupt();
  }
  return record === null ? null : { record, by };
}
