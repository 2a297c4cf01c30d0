/** A command is stopped although the signal came a moment too early for it. */
import { expect, test } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import type { CommandLog } from "../../../src/pane/commands/command-log.ts";
import { type Leader, stopCommand } from "../../../src/pane/commands/stop.ts";
import type { CommandRecord } from "../../../src/protocol/commands.ts";
import { sendSignal } from "../../../src/pty/signal.ts";

const SHELL = "/bin/bash";

/** A command that the signals of `deaf` moments do not reach. */
function command(leaders: readonly Leader[], endsAt: number) {
  const record = { id: 1, state: "running" } as CommandRecord;
  const sent: string[] = [];
  let finished: ((record: CommandRecord) => void) | undefined;
  let look = 0;
  const log = {
    on: (events: { finished(record: CommandRecord): void }) => {
      finished = events.finished;
      return { [Symbol.dispose]() {} };
    },
    get: () => record,
    shellHoldsTerminal: () => false,
  } as unknown as CommandLog;
  const target = {
    kill: () => false,
    interrupt() {
      sent.push("SIGINT");
      if (sent.length === endsAt) finished?.({ ...record, state: "finished" });
    },
  };
  const leader = (): Leader | null => leaders[Math.min(look++, leaders.length - 1)] ?? null;
  return { sent, stop: () => stopCommand({ target, log, clock: systemClock, leader }, 1, "interrupt") };
}

test("by a second signal, when the first met the shell's child before its exec", async () => {
  const { sent, stop } = command(
    [
      { pid: 7, executable: SHELL },
      { pid: 7, executable: "/bin/sleep" },
    ],
    2,
  );
  expect(await stop()).toMatchObject({ by: "interrupt", record: { state: "finished" } });
  expect(sent).toEqual(["SIGINT", "SIGINT"]);
});

test("and a slow one is not signalled twice", async () => {
  const { sent, stop } = command([{ pid: 7, executable: "/bin/sleep" }], 2);
  expect(await stop()).toBeNull();
  expect(sent).toEqual(["SIGINT"]);
});

test("and a kill never reaches the shell, whoever holds the terminal by then", () => {
  const killed: number[] = [];
  const real = process.kill;
  process.kill = (pid) => {
    killed.push(pid);
    return true;
  };
  try {
    const holders = [
      { pid: 5, foreground: () => 5 },
      { pid: 5, foreground: () => 9 },
      { pid: 5, foreground: () => null },
    ];
    expect(holders.map((pty) => sendSignal(pty, false, "SIGKILL", "job"))).toEqual([false, true, false]);
  } finally {
    process.kill = real;
  }
  expect(killed).toEqual([-9]);
});
