/**
 * Ends a command that runs at the session's prompt, without ending the shell: an interrupt reaches the foreground group,
 * and only a group that is not the shell's own is killed. Whether it has ended is told by the shell, as always.
 */
import type { CommandRecord } from "../protocol/commands.ts";
import type { Clock, ExecTarget } from "./exec-port.ts";
import type { CommandRecorder } from "./recorder.ts";

/** How long an interrupted or killed command has to end, in ms. */
const STOP_MS = 2_000;
/** A killed command that has not ended by then was one of several in a loop of the shell's own, in ms. */
const LOOP_MS = STOP_MS / 4;

export type Stop = "interrupt" | "kill";

export interface StopPort {
  readonly target: Pick<ExecTarget, "signal">;
  readonly recorder: CommandRecorder;
  readonly clock: Clock;
}

/** @returns the command's record and how it was really ended; null when it takes no notice and still runs */
export async function stopCommand(
  port: StopPort,
  id: number,
  how: Stop,
): Promise<{ record: CommandRecord; by: Stop } | null> {
  const { target, recorder, clock } = port;
  const ended = Promise.withResolvers<CommandRecord>();
  using _listener = recorder.on({
    finished: (record) => {
      if (record.id === id) ended.resolve(record);
    },
  });
  const known = recorder.get(id);
  if (known !== null && known.state !== "running") return { record: known, by: how };
  const by = how === "kill" && recorder.shellHoldsTerminal() === false ? "kill" : "interrupt";
  target.signal(by === "kill" ? "SIGKILL" : "SIGINT");
  let record = await within(clock, by === "kill" ? LOOP_MS : STOP_MS, ended.promise);
  if (record === null && by === "kill") {
    // A loop of the shell's own goes on with its next command: only an interrupt ends the loop.
    target.signal("SIGINT");
    record = await within(clock, STOP_MS, ended.promise);
  }
  return record === null ? null : { record, by };
}

function within<T>(clock: Clock, ms: number, promise: Promise<T>): Promise<T | null> {
  const over = Promise.withResolvers<null>();
  const timer = clock.after(ms, () => over.resolve(null));
  return Promise.race([promise, over.promise]).finally(() => timer[Symbol.dispose]());
}
