/** Costs that grow with the number of sessions: listing, creating another one, ending all; beside tmux with as many. */
import { type Figure, figure } from "./figure.ts";
import type { Line, Measure } from "./measure.ts";
import type { Stage } from "./stage.ts";
import { timed } from "./timed.ts";
import { until } from "./until.ts";

const COUNTS = [10, 50, 100, 250] as const;
/** Lists, and sessions made, per count. */
const TIMES = 15;
/** Time until new shells are at rest and reported so, in ms: processes report a second after the last change. */
const SETTLE_MS = 5_000;

/** What is measured with so many sessions, in ms. */
interface Costs {
  readonly create: Figure;
  readonly list: Figure;
  readonly command: Figure;
  readonly stop: Figure;
}

export const scale: Measure = {
  name: "scale",
  async run(stage) {
    const lines: Line[] = [];
    for (const count of COUNTS) {
      const ours = await wshCosts(stage, count);
      const theirs = await tmuxCosts(stage, count);
      lines.push({ who: `wsh, ${count} sessions`, figures: [ours.create, ours.list, ours.command, ours.stop] });
      lines.push({ who: `tmux, ${count} sessions`, figures: [theirs.create, null, theirs.command, theirs.stop] });
    }
    return {
      title: "Many sessions, ms",
      columns: ["create", "GET /sessions", "wsh list, tmux ls", "wsh stop, tmux kill-server"],
      lines,
      alone: true,
      goal: `250 sessions listed in 10 ms, by the command in 60, ended in 1,500; creating takes as long as with 10`,
      meaning: `Shells at their prompts in an instance with a server. Creating is a request (tmux: a command) with that many there already, ${TIMES} times; ending is all of them, once.`,
    };
  },
};

async function wshCosts(stage: Stage, count: number): Promise<Costs> {
  await stage.server();
  for (let at = 0; at < count - TIMES; at++) await stage.post("/sessions", {});
  const create = await timed(Math.min(count, TIMES), () => stage.post("/sessions", {}));
  await Bun.sleep(SETTLE_MS);
  const list = await timed(TIMES, async () => (await stage.get("/sessions")).json());
  const command = await timed(TIMES, () => stage.run(stage.wsh, "list"));
  const stop = await timed(1, async () => {
    await stage.run(stage.wsh, "stop");
    await until("wsh to be gone", () => stage.processes().length === 0);
  });
  await stage.clear();
  return { create: figure(create), list: figure(list), command: figure(command), stop: figure(stop) };
}

async function tmuxCosts(stage: Stage, count: number): Promise<Costs> {
  const make = (): Promise<string> => stage.run(...stage.tmux("new-session", "-d", "-x", "80", "-y", "24"));
  for (let at = 0; at < count - TIMES; at++) await make();
  const create = await timed(Math.min(count, TIMES), make);
  await Bun.sleep(SETTLE_MS);
  const command = await timed(TIMES, () => stage.run(...stage.tmux("ls")));
  const stop = await timed(1, async () => {
    await stage.run(...stage.tmux("kill-server"));
    await until("tmux to be gone", () => stage.processes().length === 0);
  });
  await stage.clear();
  return { create: figure(create), list: figure(command), command: figure(command), stop: figure(stop) };
}
