/** One session's API while others flood: fairness. */
import { figure, percentile } from "./figure.ts";
import type { Line, Measure } from "./measure.ts";
import type { Stage } from "./stage.ts";

const CALLS = 300;
const PAUSE_MS = 5;
const FLOODS = [0, 1, 4, 16];
/** A flooding session yields after its first second. */
const SETTLE_MS = 3_000;

export const latency: Measure = {
  name: "latency",
  async run(stage) {
    await stage.server();
    await stage.run(stage.wsh, "new", "quiet");
    await stage.run(stage.wsh, "exec", "quiet", "--", "true");
    const lines: Line[] = [];
    let flooding = 0;
    for (const count of FLOODS) {
      for (; flooding < count; flooding++) {
        await stage.run(stage.wsh, "new", `flood${flooding}`, "--", "while :; do seq 1 1000000; done");
      }
      await Bun.sleep(SETTLE_MS);
      const times = await calls(stage);
      const high = percentile(times, 0.99);
      lines.push({
        who: count === 0 ? "no flood" : `${count} flooding`,
        figures: [figure(times), figure([high])],
      });
    }
    return {
      title: "Screen of a quiet session over HTTP while others flood, ms",
      columns: ["a call", "p99"],
      lines,
      alone: true,
      goal: "p99 of 10 ms with 16 flooding",
      meaning: `${CALLS} calls, ${PAUSE_MS} ms apart, over the Unix socket, three seconds after the newest flood began.`,
    };
  },
};

async function calls(stage: Stage): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < CALLS; at++) {
    const began = performance.now();
    await (await stage.get("/sessions/quiet/screen?format=plain")).text();
    times.push(performance.now() - began);
    await Bun.sleep(PAUSE_MS);
  }
  return times;
}
