/** The cost of doing nothing: ten sessions at rest, and a hundred callers that wait. */
import { figure } from "./figure.ts";
import type { Measure } from "./measure.ts";
import { tmuxPid } from "./memory.ts";
import { type Work, workOver } from "./process.ts";

const SESSIONS = 10;
const WAITERS = 100;
/** How long nothing happens, in ms. */
const OVER_MS = 10_000;
/**
 * Time until start-up is over, in ms: the engine collects everything ten seconds after its last work, and then wakes up
 * once a second for half a minute, as an idle Bun does too.
 */
const SETTLE_MS = 45_000;
/** The cost of one silent connected socket to a Bun process. */
const CONNECTED = `
  Bun.listen({ unix: "connected.sock", socket: { data() {} } });
  await Bun.connect({ unix: "connected.sock", socket: { data() {} } });
`;

export const idle: Measure = {
  name: "idle",
  async run(stage) {
    const server = await stage.server();
    for (let at = 0; at < SESSIONS; at++) await stage.run(stage.wsh, "new", `idle${at}`);
    for (let at = 0; at < SESSIONS; at++) {
      await stage.run(...stage.tmux("new-session", "-d", "-s", `idle${at}`, "-x", "80", "-y", "24"));
    }
    const bun = stage.spawn([process.execPath, "-e", "setInterval(() => {}, 1e9)"]);
    const connected = stage.spawn([process.execPath, "-e", CONNECTED]);
    await Bun.sleep(SETTLE_MS);
    const hosts = stage.pids(" session-process");
    const pids = [...hosts, server, await tmuxPid(stage), bun.pid, connected.pid];
    const quiet = await workOver(pids, OVER_MS);
    const waiting = Array.from({ length: WAITERS }, () =>
      stage
        .post("/sessions/idle0/wait", { for: { type: "text", text: "never" }, max_wait_ms: 120_000 })
        .catch(() => null),
    );
    await Bun.sleep(SETTLE_MS);
    const [waited, waitedServer] = await workOver([hosts[0] ?? 0, server], OVER_MS);
    bun.kill();
    connected.kill();
    await stage.clear();
    await Promise.all(waiting);
    const seconds = OVER_MS / 1000;
    const cells = (samples: readonly Work[]) => [
      figure(samples.map(({ wakeups }) => wakeups / seconds)),
      figure(samples.map(({ cpu }) => cpu / seconds)),
    ];
    const lines = [
      { who: "a wsh session (of ten)", figures: cells(quiet.slice(0, hosts.length)) },
      { who: "an idle Bun process", figures: cells(quiet.slice(-2, -1)) },
      { who: "one with a connected socket of Bun's", figures: cells(quiet.slice(-1)) },
      { who: "wsh server", figures: cells(quiet.slice(hosts.length, hosts.length + 1)) },
      { who: "tmux, ten sessions", figures: cells(quiet.slice(-3, -2)) },
      { who: `a wsh session with ${WAITERS} waiting calls`, figures: cells(waited === undefined ? [] : [waited]) },
      { who: "wsh server meanwhile", figures: cells(waitedServer === undefined ? [] : [waitedServer]) },
    ];
    return {
      title: "Rest, per second",
      columns: ["wake-ups", "CPU, ms"],
      lines,
      goal: "no more wake-ups than an idle Bun process",
      meaning: `Voluntary context switches of all threads and CPU time over ${seconds} s; ten shells at their prompts, nobody attached, a server connected to each.`,
    };
  },
};
