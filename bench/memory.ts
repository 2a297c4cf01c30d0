/** What an idle session costs in memory, and a line of its history. */
import { figure } from "./figure.ts";
import type { Measure } from "./measure.ts";
import { pss } from "./process.ts";
import { HISTORY_LINES, type Stage, until } from "./stage.ts";

const SESSIONS = 10;
/** Lines that fill the history of a session. */
const FILL = HISTORY_LINES + 1_000;
/** Time until start-up has been collected, in ms. */
const SETTLE_MS = 6_000;

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
    const hosts = stage.pids(" host");
    const perHost = figure(hosts.map(pss));
    const tmux = await tmuxPid(stage);
    const perTmux = pss(tmux) / SESSIONS;
    const one = (value: number) => figure([value]);
    const lines = [
      { who: "wsh", figures: [perHost, one(pss(server)), one(pss(bridge.pid)), one(await historyOfWsh(stage))] },
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
        `session grows by when its history of ${HISTORY_LINES} lines is filled, divided by them; it includes what the collector has not ` +
        "taken back yet.",
    };
  },
};

function fill(): string {
  return `for i in $(seq ${FILL}); do printf '%08d %s\\n' $i abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnop; done; sleep 1000`;
}

async function historyOfWsh(stage: Stage): Promise<number> {
  const known = new Set(stage.pids(" host"));
  await stage.run(stage.wsh, "new", "lines", "--", "sleep 1000");
  await Bun.sleep(SETTLE_MS);
  const empty = pss(stage.pids(" host").find((pid) => !known.has(pid)) ?? 0);
  await stage.run(stage.wsh, "kill", "lines");
  await stage.run(stage.wsh, "new", "filled", "--", fill());
  await until("the lines", async () => (await stage.run(stage.wsh, "screen", "filled")).includes(`000${FILL}`));
  await Bun.sleep(SETTLE_MS);
  const full = pss(stage.pids(" host").find((pid) => !known.has(pid)) ?? 0);
  return ((full - empty) * 1024) / HISTORY_LINES;
}

async function historyOfTmux(stage: Stage, pid: number): Promise<number> {
  const empty = pss(pid);
  await stage.run(...stage.tmux("new-session", "-d", "-s", "lines", "-x", "80", "-y", "24", fill()));
  const shown = () => stage.run(...stage.tmux("capture-pane", "-p", "-t", "lines"));
  await until("the lines", async () => (await shown()).includes(`000${FILL}`));
  return ((pss(pid) - empty) * 1024) / HISTORY_LINES;
}

export async function tmuxPid(stage: Stage): Promise<number> {
  return Number(await stage.run(...stage.tmux("display-message", "-p", "#{pid}")));
}
