/** Memory of an idle session, and of a line of its history. */
import { figure, one } from "./figure.ts";
import type { Measure } from "./measure.ts";
import { pss } from "./process.ts";
import { HISTORY_LINES, type Stage } from "./stage.ts";
import { until } from "./until.ts";

const SESSIONS = 10;
/** Lines that fill the history of a session. */
const FILL = HISTORY_LINES + 1_000;
/** Lines of the session that it is compared with: it has run the same code, and has hardly any history. */
const FEW = 1_000;
/** Pairs of the two: what the compiler holds at rest differs by half a megabyte from one to the next. */
const PAIRS = 3;
/** Lines by which the two differ. */
const MORE = HISTORY_LINES - FEW;
/** Time until work is over, in ms: threads of the compiler and the collector end after ten seconds and release memory. */
const SETTLE_MS = 15_000;

export const memory: Measure = {
  name: "memory",
  async run(stage) {
    const server = await stage.server();
    for (let at = 0; at < SESSIONS; at++) await stage.run(stage.wsh, "new", `idle${at}`);
    for (let at = 0; at < SESSIONS; at++) {
      await stage.run(...stage.tmux("new-session", "-d", "-s", `idle${at}`, "-x", "80", "-y", "24"));
    }
    const bridge = stage.spawn([stage.wsh, "mcp"]);
    const idle = stage.spawn([process.execPath, "-e", "setInterval(() => {}, 1e9)"]);
    await Bun.sleep(SETTLE_MS);
    const hosts = stage.pids(" session-process");
    const perHost = figure(hosts.map(pss));
    const tmux = await tmuxPid(stage);
    const perTmux = pss(tmux) / SESSIONS;
    const lines = [
      { who: "wsh", figures: [perHost, one(pss(server)), one(pss(bridge.pid)), figure(await historyOfWsh(stage))] },
      { who: "tmux", figures: [one(perTmux), one(pss(tmux)), null, one(await historyOfTmux(stage, tmux))] },
      { who: "an idle Bun process", figures: [one(pss(idle.pid)), null, null, null] },
    ];
    bridge.kill();
    idle.kill();
    return {
      title: "Memory (PSS), MB; history in KB a line",
      columns: ["a session, of ten", "server", "MCP bridge", "a line of 80 columns"],
      lines,
      goal: "12 MB a session, 45 MB server, 30 MB bridge, 0.4 KB a line",
      meaning:
        "Ten idle shells; the shells themselves are not counted. tmux's session is a tenth of its only process. The line is what a " +
        `session with a full history of ${HISTORY_LINES} lines holds more than one with ${FEW}, divided by the difference, all of it at rest.`,
    };
  },
};

function print(lines: number): string {
  return `for i in $(seq ${lines}); do printf '%08d %s\\n' $i abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnop; done; sleep 1000`;
}

async function historyOfWsh(stage: Stage): Promise<number[]> {
  const holding = async (name: string, lines: number): Promise<number> => {
    const known = new Set(stage.pids(" session-process"));
    await stage.run(stage.wsh, "new", name, "--", print(lines));
    await until("the lines", async () => (await stage.run(stage.wsh, "screen", name)).includes(`0${lines} a`));
    return stage.pids(" session-process").find((pid) => !known.has(pid)) ?? 0;
  };
  const pairs: { readonly few: number; readonly full: number }[] = [];
  for (let at = 0; at < PAIRS; at++) {
    pairs.push({ few: await holding(`few${at}`, FEW), full: await holding(`full${at}`, FILL) });
  }
  await Bun.sleep(SETTLE_MS);
  return pairs.map(({ few, full }) => ((pss(full) - pss(few)) * 1024) / MORE);
}

async function historyOfTmux(stage: Stage, pid: number): Promise<number> {
  const holds = async (lines: number): Promise<number> => {
    await stage.run(...stage.tmux("new-session", "-d", "-s", `lines${lines}`, "-x", "80", "-y", "24", print(lines)));
    const shown = () => stage.run(...stage.tmux("capture-pane", "-p", "-t", `lines${lines}`));
    await until("the lines", async () => (await shown()).includes(`0${lines} a`));
    return pss(pid);
  };
  const empty = pss(pid);
  const few = await holds(FEW);
  const full = await holds(FILL);
  return ((full - few - (few - empty)) * 1024) / MORE;
}

export async function tmuxPid(stage: Stage): Promise<number> {
  return Number(await stage.run(...stage.tmux("display-message", "-p", "#{pid}")));
}
