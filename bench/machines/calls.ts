/** Calls and keys to another machine, beside the same on this one. */
import { figure, percentile } from "../figure.ts";
import type { Line, Measure } from "../measure.ts";
import type { Stage } from "../stage.ts";
import { timed } from "../timed.ts";
import { KEYS, turn } from "../typed-turn.ts";
import type { Window } from "../window.ts";
import { RemoteStage } from "./remote-stage.ts";

/** Rounds of each connection, in turns, after some that do not count because code is compiled in them. */
const ROUNDS = 8;
const WARM_ROUNDS = 4;
/** Calls of a round. */
const CALLS = 40;
const PAUSE_MS = 5;
/** Queries to the outer terminal have timed out by then, in ms. */
const SETTLE_MS = 3_000;
const ECHO = "stty raw -echo; printf echo-ready; exec cat";

interface Samples {
  readonly execs: number[];
  readonly looks: number[];
  readonly keys: number[];
}

export const machinesCalls: Measure = {
  name: "machines",
  async run(stage) {
    await using remote = await RemoteStage.of(stage);
    const ways = remote.ways.map((way) => ({ ...way, samples: { execs: [], looks: [], keys: [] } as Samples }));
    for (const { prefix, stage: own } of ways) {
      if (prefix === "m2/") continue;
      await own.run(own.wsh, "new", "dev");
      await own.run(own.wsh, "new", "echo", "--", ECHO);
    }
    const windows: Window[] = [];
    for (const { prefix } of ways) windows.push(stage.window(stage.wsh, "attach", `${prefix}echo`));
    try {
      for (const window of windows) await window.sees("echo-ready");
      await Bun.sleep(SETTLE_MS);
      for (let round = 0; round < WARM_ROUNDS + ROUNDS; round++) {
        for (const [at, { prefix, samples }] of ways.entries()) {
          const window = windows[at];
          if (window === undefined) continue;
          const made = await oneRound(stage, prefix, window);
          if (round < WARM_ROUNDS) continue;
          samples.execs.push(...made.execs);
          samples.looks.push(...made.looks);
          samples.keys.push(...made.keys);
        }
      }
    } finally {
      for (const window of windows) window[Symbol.dispose]();
    }
    const lines = ways.map(({ who, samples: { execs, looks, keys } }): Line => {
      return { who, figures: [figure(execs), p99(execs), figure(looks), p99(looks), figure(keys), p99(keys)] };
    });
    return {
      title: "A session of another machine: calls and keys, ms",
      columns: ["exec p50", "exec p99", "screen p50", "screen p99", "echo p50", "echo p99"],
      lines,
      goal: "exec and screen p50 ≤ local + 0.5 ms; echo p50 ≤ the engine's round trip + 0.6 ms",
      meaning:
        `Both machines and the NATS server are this one: what is measured is the way, not a network. ${CALLS * ROUNDS} requests ` +
        `\`exec\` of \`true\` and as many for the screen, to the server here; ${KEYS * ROUNDS} keys at an attached terminal. All in turns.`,
    };
  },
};

async function oneRound(stage: Stage, prefix: string, window: Window): Promise<Samples> {
  const path = `/sessions/${encodeURIComponent(`${prefix}dev`)}`;
  const execs = await timed(CALLS, () => stage.post(`${path}/exec`, { command: "true" }));
  const looks = await timed(CALLS, async () => (await stage.get(`${path}/screen`)).text());
  return { execs, looks, keys: await turn(window, PAUSE_MS) };
}

function p99(samples: readonly number[]) {
  return figure([percentile(samples, 0.99)]);
}
