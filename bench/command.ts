/** Commands through the API: the time from a command's real end to its result, and how many calls a second. */
import { figure, percentile } from "./figure.ts";
import type { Measure } from "./measure.ts";
import type { Stage } from "./stage.ts";

const COMMANDS = 300;
const TRUES = 1_000;
const CALLS = 2_000;
/** Calls under way at one time. */
const TOGETHER = 8;

export const command: Measure = {
  name: "command",
  async run(stage) {
    await stage.server();
    await stage.run(stage.wsh, "new", "work");
    await stage.run(stage.wsh, "exec", "work", "--", "true");
    const late: number[] = [];
    for (let at = 0; at < COMMANDS; at++) {
      // The last thing that the command does is to say what time it is.
      const answer = await stage.post("/sessions/work/exec", { command: "sleep 0.01; echo at=$EPOCHREALTIME" });
      const arrived = performance.timeOrigin + performance.now();
      const ended = Number(/at=(\d+\.\d+)/.exec(JSON.stringify(answer))?.[1]) * 1000;
      late.push(arrived - ended);
    }
    const exec = await timed(TRUES, () => stage.post("/sessions/work/exec", { command: "true" }));
    const screen = await timed(CALLS, async () => (await stage.get("/sessions/work/screen?format=plain")).text());
    const began = performance.now();
    const callers = Array.from({ length: TOGETHER }, () => timed(CALLS / TOGETHER, () => screenOf(stage)));
    await Promise.all(callers);
    const rate = (CALLS * 1000) / (performance.now() - began);
    const line = (who: string, times: readonly number[]) => ({
      who,
      figures: [figure(times), figure([percentile(times, 0.99)])],
    });
    return {
      title: "Commands and calls over HTTP, ms",
      columns: ["p50", "p99"],
      lines: [
        line("command's end → result", late),
        line("exec true, whole call", exec),
        line("screen, whole call", screen),
      ],
      alone: true,
      goal: "end → result 5 ms p50, 15 ms p99; a call 0.5 ms",
      meaning:
        `${COMMANDS} commands that say when they end, ${TRUES} times true, ${CALLS} reads of the screen, one after another over the Unix ` +
        `socket; ${TOGETHER} callers at once get ${Math.round(rate)} screens a second together.`,
    };
  },
};

async function screenOf(stage: Stage): Promise<void> {
  await (await stage.get("/sessions/work/screen?format=plain")).text();
}

async function timed(count: number, call: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < count; at++) {
    const began = performance.now();
    await call();
    times.push(performance.now() - began);
  }
  return times;
}
