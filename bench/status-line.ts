/** The cost of a status line to a session of one pane, echo and memory, and the same of tmux. */
import fs from "node:fs";
import { join } from "node:path";
import { figure, percentile } from "./figure.ts";
import type { Line, Measure } from "./measure.ts";
import { tmuxPid } from "./memory.ts";
import { pss } from "./process.ts";
import type { Stage } from "./stage.ts";
import { KEYS, turn } from "./typed-turn.ts";
import type { Window } from "./window.ts";

/** Turns of each peer, after some in which code is compiled. */
const TURNS = 10;
const EARLY_TURNS = 4;
/** A person's pause, shortened, and longer than a frame. */
const PAUSE_MS = 20;
/** Queries to the outer terminal have timed out by then, and processes are at rest, in ms. */
const SETTLE_MS = 3_000;
/** A program that echoes each byte itself, as an editor does. */
const ECHO = "bash -c 'stty raw -echo; printf echo-ready; exec cat'";

interface Peer {
  readonly who: string;
  readonly window: Window;
  /** Processes that serve this session and no other. */
  pids(): Promise<readonly number[]>;
}

async function wsh(stage: Stage, status: "on" | "off"): Promise<Peer> {
  // A session's process reads the settings when it starts.
  const folder = join(stage.dir, "home/.config/wsh");
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(join(folder, "config.toml"), `status = "${status}"\n`);
  const before = new Set(stage.pids(" session-process"));
  await stage.run(stage.wsh, "new", `status-${status}`, "--", ECHO);
  const own = stage.pids(" session-process").filter((pid) => !before.has(pid));
  const window = stage.window(stage.wsh, "attach", `status-${status}`);
  return { who: `wsh, status line ${status}`, window, pids: async () => own };
}

async function tmux(stage: Stage, status: "on" | "off"): Promise<Peer> {
  const name = `status-${status}`;
  await stage.run(...stage.tmux("new-session", "-d", "-s", name, "-x", "80", "-y", "24", ECHO));
  await stage.run(...stage.tmux("set-option", "-t", name, "status", status));
  const window = stage.window(...stage.tmux("attach", "-t", name));
  // One server serves both.
  return { who: `tmux, status line ${status}`, window, pids: async () => [await tmuxPid(stage)] };
}

export const statusLine: Measure = {
  name: "status-line",
  async run(stage) {
    await stage.server();
    const peers: Peer[] = [];
    for (const open of [wsh, tmux]) for (const status of ["on", "off"] as const) peers.push(await open(stage, status));
    for (const { window } of peers) await window.sees("echo-ready");
    await Bun.sleep(SETTLE_MS);
    const times = peers.map((): number[] => []);
    for (const { window } of peers) for (let at = 0; at < EARLY_TURNS; at++) await turn(window, PAUSE_MS);
    for (let at = 0; at < TURNS; at++) {
      for (const [row, { window }] of peers.entries()) times[row]?.push(...(await turn(window, PAUSE_MS)));
    }
    await Bun.sleep(SETTLE_MS);
    const lines: Line[] = [];
    for (const [row, { who, window, pids }] of peers.entries()) {
      const own = times[row] ?? [];
      const memory = (await pids()).reduce((all, pid) => all + pss(pid), 0);
      lines.push({ who, figures: [figure(own), figure([percentile(own, 0.99)]), figure([memory])] });
      window[Symbol.dispose]();
    }
    return {
      title: "A status line: echo of a key, and memory (PSS) of what serves the session",
      columns: ["p50, ms", "p99, ms", "MB"],
      lines,
      goal: "with a status line 1.2 × tmux's with its own; without one nothing lost",
      meaning:
        `${KEYS * TURNS} keys each after ${KEYS * EARLY_TURNS} others, ${PAUSE_MS} ms apart, in turns of ${KEYS}, at 80×24 in one pane. Memory is that of ` +
        "wsh's session process, and of tmux's server, which serves both of its sessions; programs and attached clients are not counted.",
    };
  },
};
