/** Commands and calls over HTTP: latency of a command's end beside a bare process, the cost of a call, and of waiting. */
import { type Figure, figure, number, percentile } from "./figure.ts";
import type { Line, Measure } from "./measure.ts";
import { workOver } from "./process.ts";
import type { Stage } from "./stage.ts";
import { timed } from "./timed.ts";

/** Commands of each kind that print the time of their end. */
const ENDS = Number(process.env.N ?? 200);
/** Trivial commands of each kind; a bare process of them costs a fork each. */
const TRIVIAL = Number(process.env.N ?? 1_000);
const READS = Number(process.env.N ?? 2_000);
/** Concurrent reads while the rate per second is measured. */
const TOGETHER = 8;
const WAITERS = 100;
/** How long the waiters are watched, in ms. */
const WATCHED_MS = 5_000;
/** Time until earlier work is over (threads that end, requests that arrive), in ms. */
const SETTLE_MS = 2_000;

/** The command prints the time as its last action. */
const TELLS = "sleep 0.01; echo at=$EPOCHREALTIME";

export const commandEnds: Measure = {
  name: "commands",
  async run(stage) {
    await stage.server();
    await stage.run(stage.wsh, "new", "work");
    await stage.run(stage.wsh, "exec", "work", "--", "true");
    const lines = [
      await line("exec at a prompt", (command) => stage.post("/sessions/work/exec", { command })),
      await line("a bare process (bash -c)", (command) => bare(stage, command)),
    ];
    const reads = await screens(stage);
    const waiting = await waiters(stage);
    return {
      title: "A command's end → its result, and whole calls over HTTP, ms",
      columns: ["end p50", "end p99", "true p50", "true p99"],
      lines,
      goal: "end → result 5 ms p50, 15 ms p99; a small call 0.5 ms; waiting costs nothing",
      meaning:
        `${ENDS} commands that say when they end, then ${TRIVIAL} times true, one after another over the Unix socket. ` +
        `${reads} ${WAITERS} calls that wait ` +
        `for a text cost the session process ${waiting}, over ${WATCHED_MS / 1000} s in which nothing is printed.`,
    };
  },
};

async function line(who: string, run: (command: string) => Promise<unknown>): Promise<Line> {
  const late: number[] = [];
  for (let at = 0; at < ENDS; at++) {
    const answer = await run(TELLS);
    const arrived = performance.timeOrigin + performance.now();
    const ended = Number(/at=(\d+\.\d+)/.exec(JSON.stringify(answer))?.[1]) * 1000;
    if (Number.isNaN(ended)) throw new Error(`${who}: no time in ${JSON.stringify(answer)}`);
    late.push(arrived - ended);
  }
  const whole = await timed(TRIVIAL, () => run("true"));
  return { who, figures: [...spread(late), ...spread(whole)] };
}

/** The cost of a small call, alone and among others. */
async function screens(stage: Stage): Promise<string> {
  const read = async () => (await stage.get("/sessions/work/screen?format=plain")).text();
  const alone = await timed(READS, read);
  const began = performance.now();
  await Promise.all(Array.from({ length: TOGETHER }, () => timed(READS / TOGETHER, read)));
  const rate = (READS * 1000) / (performance.now() - began);
  const [half, most] = [0.5, 0.99].map((share) => number(percentile(alone, share)));
  return (
    `Each of ${READS} reads of the screen takes ${half} ms, ${most} at p99; ${TOGETHER} callers at once get ` +
    `${Math.round(rate)} a second together.`
  );
}

function spread(times: readonly number[]): Figure[] {
  return [figure(times), figure([percentile(times, 0.99)])];
}

function bare(stage: Stage, command: string): Promise<string> {
  return stage.run("bash", "-c", command);
}

/** The cost to a session process of callers whose wait is never fulfilled. */
async function waiters(stage: Stage): Promise<string> {
  const [host = 0] = stage.pids(" session-process");
  await Bun.sleep(SETTLE_MS);
  const [alone] = await workOver([host], WATCHED_MS);
  const any_of = [{ type: "text", text: "never" }];
  const ends = Array.from({ length: WAITERS }, () =>
    stage.post("/sessions/work/wait", { any_of, max_wait_ms: 2 * (SETTLE_MS + WATCHED_MS) }),
  );
  await Bun.sleep(SETTLE_MS);
  const [waited] = await workOver([host], WATCHED_MS);
  const answers = await Promise.all(ends);
  if (!answers.every((answer) => JSON.stringify(answer).includes('"timeout"'))) throw new Error("a wait ended early");
  return `${waited?.wakeups ?? "?"} wake-ups and ${waited?.cpu ?? "?"} ms of CPU (without them ${alone?.wakeups ?? "?"} and ${alone?.cpu ?? "?"})`;
}
