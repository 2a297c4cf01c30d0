/** A flood of another machine's session at a local terminal, and the cost of a terminal that stops reading. */
import { type Figure, figure } from "../figure.ts";
import type { Line, Measure } from "../measure.ts";
import { pss } from "../process.ts";
import type { Stage } from "../stage.ts";
import { until } from "../until.ts";
import { RemoteStage } from "./remote-stage.ts";

const ROUNDS = 5;
/** An attached terminal has sent its queries and rendered by then, in ms. */
const SETTLE_MS = 1_500;
/** Half of the round trip of a distant machine, in ms. */
const DISTANT_MS = 20;
const FLOOD = `bash -c 'stty -echo -icanon; printf flood-ready; while IFS= read -rN1 _; do seq 1 1000000; printf "flood-over\\n"; done'`;
/** Output sent to a terminal that has stopped reading, in MB. */
const STOPPED_MB = 400;
const STOPPED = `bash -c 'stty -echo -icanon; printf stop-ready; IFS= read -rN1 _; yes 0123456789012345678901234567890123456789012345678901234567890123456789 | head -c ${STOPPED_MB}000000; printf "stop-over\\n"; exec sleep 1000'`;

export const machinesFlood: Measure = {
  name: "machines-flood",
  async run(stage) {
    const lines: Line[] = [];
    {
      await using remote = await RemoteStage.of(stage);
      const times = await floods(
        stage,
        remote.ways.map(({ prefix }) => prefix),
        remote.remote,
      );
      lines.push(...remote.ways.map(({ who }, at): Line => ({ who, figures: [times[at] ?? null] })));
    }
    {
      await using distant = await RemoteStage.of(stage, { delayMs: DISTANT_MS, isFleetAlone: true });
      const [time] = await floods(stage, ["m1/"], distant.remote);
      lines.splice(1, 0, { who: `over NATS, ${2 * DISTANT_MS} ms away`, figures: [time ?? null] });
    }
    return {
      title: "Much output of another machine's session at a terminal, ms",
      columns: ["seq 1 1000000"],
      lines,
      goal: "1.1 × local, also 40 ms away",
      meaning: `From the key that starts it to the word behind the last line on the terminal; ${ROUNDS} rounds in turns after one that does not count, 80×24.`,
    };
  },
};

/** @returns for each prefix of a session's name what it took */
async function floods(stage: Stage, prefixes: readonly string[], remote: Stage): Promise<Figure[]> {
  for (const own of new Set(prefixes.map((prefix) => (prefix === "" ? stage : remote)))) {
    await own.run(own.wsh, "new", "flood", "--", FLOOD);
  }
  const times = prefixes.map((): number[] => []);
  for (let round = -1; round < ROUNDS; round++) {
    for (const [at, prefix] of prefixes.entries()) {
      // Of two terminals at one session each is sent everything: one at a time is there.
      using window = stage.window(stage.wsh, "attach", `${prefix}flood`);
      await until("the picture", () => window.received > 0);
      await Bun.sleep(SETTLE_MS);
      const over = window.next("flood-over");
      const began = performance.now();
      window.type("x");
      const took = (await over) - began;
      if (round >= 0) times[at]?.push(took);
    }
  }
  return times.map(figure);
}

export const machinesStopped: Measure = {
  name: "machines-stopped",
  async run(stage) {
    await using remote = await RemoteStage.of(stage);
    const lines: Line[] = [];
    for (const { who, prefix, stage: own } of remote.ways) {
      await own.run(own.wsh, "new", "stop", "--", STOPPED);
      const host = own.pids(" session-process").at(-1) ?? 0;
      // At a session here the session process writes to the terminal itself: nobody is attached there.
      using window = prefix === "" ? null : stage.window(stage.wsh, "attach", `${prefix}stop`);
      await window?.sees("stop-ready");
      await Bun.sleep(SETTLE_MS);
      const measured = [host, remote.localServer, remote.remoteServer, remote.nats.pid];
      const before = measured.map(pss);
      const most = [...before];
      const attached = stage.pids(` attach ${prefix}stop`);
      for (const pid of attached) process.kill(pid, "SIGSTOP");
      await own.run(own.wsh, "send", "stop", "x");
      await until("all of it to be written", async () => {
        for (const [at, pid] of measured.entries()) most[at] = Math.max(most[at] ?? 0, pss(pid));
        return (await own.run(own.wsh, "screen", "stop")).includes("stop-over");
      });
      const over = window?.next("stop-over");
      const resumed = performance.now();
      for (const pid of attached) process.kill(pid, "SIGCONT");
      const shown = over === undefined ? null : figure([(await over) - resumed]);
      const grown = most.map((value, at) => figure([value - (before[at] ?? 0)]));
      lines.push({ who: prefix === "" ? "local, nobody attached" : who, figures: [...grown, shown] });
      await own.run(own.wsh, "kill", "stop");
    }
    return {
      title: "A terminal that has stopped reading: memory that others take more, MB",
      columns: ["session process", "server here", "server there", "nats-server", "back with the newest, ms"],
      lines,
      alone: true,
      goal: "the screen complete when it reads again; ≤ 30 MB a process more than locally",
      meaning: `The attached program is stopped (SIGSTOP), its session writes ${STOPPED_MB} MB, and it goes on. The most that was seen meanwhile, less what each had before.`,
    };
  },
};
