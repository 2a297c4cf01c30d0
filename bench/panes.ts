/** Windows of several panes beside tmux: typing, floods, calls, splits, sizes, memory. */

import fs from "node:fs";
import { type Figure, figure, one, percentile } from "./figure.ts";
import type { Line, Measure } from "./measure.ts";
import { tmuxPid } from "./memory.ts";
import { pss } from "./process.ts";
import type { Stage } from "./stage.ts";
import { KEYS, turn } from "./typed-turn.ts";
import { until } from "./until.ts";
import type { Window } from "./window.ts";

/** Turns of each peer, after some in which code is compiled. */
const TURNS = 8;
const EARLY_TURNS = 6;
/** A person's pause, shortened. */
const PAUSE_MS = 5;
/** Queries to the outer terminal have timed out by then, and processes are at rest, in ms. */
const SETTLE_MS = 3_000;
/** How long the bytes of a flooded window are counted, in ms. */
const BYTES_MS = 3_000;
const CALLS = 200;
const ROUNDS = 5;
/** Silence after which a window that was resized counts as still, in ms. */
const STILL_MS = 250;
const ECHO = "stty raw -echo; printf echo-ready; exec cat";
const FLOOD = "while :; do seq 1 1000000; done";
const QUIET = "exec sleep 100000";
const PANES = 4;
const MANY = 20;
const MOST = 50;

/** The same operations on either peer. */
interface Peer {
  readonly who: string;
  /** A session with one pane that runs this, and a terminal attached to it. */
  open(name: string, command: string | null): Promise<Window>;
  /** Adds a pane without focusing it; the layout is tiled afterwards. */
  add(name: string, command: string | null): Promise<void>;
  end(name: string): Promise<void>;
  /** Keys that split to the right. */
  readonly splits: string;
}

function peers(stage: Stage): Peer[] {
  const quoted = (command: string | null): string[] => (command === null ? [] : [command]);
  return [
    {
      who: "wsh",
      splits: "\x1c%",
      async open(name, command) {
        await stage.run(stage.wsh, "new", name, ...(command === null ? [] : ["--", command]));
        return stage.window(stage.wsh, "attach", name);
      },
      async add(name, command) {
        await stage.post(`/sessions/${name}/panes`, command === null ? {} : { command });
        await stage.post(`/sessions/${name}/layout/preset`, { preset: "tiled" });
      },
      end: async (name) => void (await stage.run(stage.wsh, "kill", name)),
    },
    {
      who: "tmux",
      splits: "\x02%",
      async open(name, command) {
        await stage.run(...stage.tmux("new-session", "-d", "-s", name, "-x", "80", "-y", "24", ...quoted(command)));
        return stage.window(...stage.tmux("attach", "-t", name));
      },
      async add(name, command) {
        await stage.run(...stage.tmux("split-window", "-d", "-t", name, ...quoted(command)));
        await stage.run(...stage.tmux("select-layout", "-t", name, "tiled"));
      },
      end: async (name) => void (await stage.run(...stage.tmux("kill-session", "-t", name))),
    },
  ];
}

export const panesEcho: Measure = {
  name: "panes-echo",
  async run(stage) {
    await stage.server();
    const all = peers(stage);
    const figures = new Map<string, (Figure | null)[]>(all.map(({ who }) => [who, []]));
    const bytes = new Map<string, Figure>();
    const calls: number[] = [];
    for (const floods of [0, 1, 3]) {
      const windows = new Map<string, Window>();
      for (const peer of all) {
        const window = await peer.open(`echo${floods}`, ECHO);
        await window.sees("echo-ready");
        for (let at = 1; at < PANES; at++) await peer.add(`echo${floods}`, at <= floods ? FLOOD : QUIET);
        windows.set(peer.who, window);
      }
      await Bun.sleep(SETTLE_MS);
      // Floods of both peers would disturb each other: those of one are stopped while the other is measured.
      for (const { who } of all) {
        const window = windows.get(who);
        if (window === undefined) continue;
        await others(stage, who, "SIGSTOP");
        for (let at = 0; at < EARLY_TURNS; at++) await turn(window, PAUSE_MS);
        const times: number[] = [];
        const p50: number[] = [];
        for (let at = 0; at < TURNS; at++) {
          const some = await turn(window, PAUSE_MS);
          times.push(...some);
          p50.push(percentile(some, 0.5));
        }
        figures.get(who)?.push(figure(p50), one(percentile(times, 0.99)));
        if (floods === 1) {
          const before = window.received;
          await Bun.sleep(BYTES_MS);
          bytes.set(who, one((window.received - before) / BYTES_MS / 1e3));
          if (who === "wsh") calls.push(...(await callTimes(stage, `echo${floods}`)));
        }
        await others(stage, who, "SIGCONT");
      }
      for (const peer of all) {
        await peer.end(`echo${floods}`);
        windows.get(peer.who)?.[Symbol.dispose]();
      }
    }
    const lines = all.map(
      ({ who }): Line => ({
        who,
        figures: [
          ...(figures.get(who) ?? []),
          bytes.get(who) ?? null,
          who === "wsh" ? one(percentile(calls, 0.99)) : null,
        ],
      }),
    );
    return {
      title: "Four panes: echo of a key in one of them, ms; bytes to the terminal; a call to a neighbour of a flood",
      columns: [
        ...["quiet p50", "quiet p99", "1 flood p50", "1 flood p99", "3 floods p50", "3 floods p99"],
        ...["MB/s beside 1 flood", "call p99"],
      ],
      lines,
      goal: "quiet 1.6 × tmux's p50, 1.5 × its p99; beside floods 1.0 × and 1.1 ×; 0.3 MB/s; 10 ms for a call to a pane beside a flood",
      meaning:
        `${KEYS * TURNS} keys each after ${KEYS * EARLY_TURNS} others, ${PAUSE_MS} ms apart, at 80×24, panes tiled. The program echoes ` +
        "byte by byte; a flood is an endless seq. While one peer is measured all programs of the other are stopped. A call reads the " +
        `screen of the pane that echoes over HTTP, ${CALLS} times.`,
    };
  },
};

/** Stops or continues the programs in the panes of the other peer. */
async function others(stage: Stage, who: string, signal: "SIGSTOP" | "SIGCONT"): Promise<void> {
  const server = await tmuxPid(stage);
  for (const { pid, command } of stage.processes()) {
    if (!/^(seq|\/bin\/sh|sh|bash|\/bin\/bash)/.test(command)) continue;
    const ofTmux = ancestors(pid).includes(server);
    if (ofTmux === (who === "tmux")) continue;
    try {
      process.kill(pid, signal);
    } catch {
      // ended meanwhile
    }
  }
}

function ancestors(pid: number): number[] {
  const found: number[] = [];
  for (let at = pid; at > 1; ) {
    try {
      const stat = fs.readFileSync(`/proc/${at}/stat`, "utf8");
      at = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    } catch {
      break;
    }
    found.push(at);
  }
  return found;
}

async function callTimes(stage: Stage, name: string): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < CALLS; at++) {
    const began = performance.now();
    await (await stage.get(`/sessions/${name}:0.0/screen?format=plain`)).text();
    times.push(performance.now() - began);
    await Bun.sleep(PAUSE_MS);
  }
  return times;
}

export const panesFlood: Measure = {
  name: "panes-flood",
  async run(stage) {
    await stage.server();
    const all = peers(stage);
    const times = new Map<string, number[]>(all.map(({ who }) => [who, []]));
    const windows: [Peer, Window][] = [];
    for (const peer of all) {
      const window = await peer.open("flood", null);
      await window.sees("ready$");
      for (let at = 1; at < PANES; at++) await peer.add("flood", QUIET);
      windows.push([peer, window]);
    }
    await Bun.sleep(SETTLE_MS);
    for (let round = -1; round < ROUNDS; round++) {
      for (const [{ who }, window] of windows) {
        // Other letters each round: a renderer leaves out cells that have not changed.
        const letter = String.fromCharCode(81 + round);
        const done = window.next(letter.repeat(6));
        const began = performance.now();
        window.type(`seq 1 300000; printf '${letter}%s\\n' ${letter.repeat(5)}\r`);
        const took = (await done) - began;
        if (round >= 0) times.get(who)?.push(took);
        await Bun.sleep(500);
      }
    }
    for (const [, window] of windows) window[Symbol.dispose]();
    return {
      title: "Four panes: a flood in one of them, ms",
      columns: ["seq 1 300000"],
      lines: all.map(({ who }) => ({ who, figures: [figure(times.get(who) ?? [])] })),
      goal: "1.0 × tmux's time",
      meaning: `From Enter to the word behind the last line on the terminal, ${ROUNDS} rounds in turns after one that does not count, 80×24.`,
    };
  },
};

export const panesChange: Measure = {
  name: "panes-change",
  async run(stage) {
    await stage.server();
    const all = peers(stage);
    const lines: Line[] = [];
    // tmux's server ends with its last session.
    await stage.run(...stage.tmux("new-session", "-d", "-s", "keep", QUIET));
    for (const peer of all) {
      const first: number[] = [];
      const next: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const name = `split${round}`;
        using window = await peer.open(name, null);
        await window.sees("ready$");
        first.push(await splitTime(peer, window));
        next.push(await splitTime(peer, window));
        await peer.end(name);
      }
      lines.push({ who: peer.who, figures: [figure(first), figure(next), null] });
    }
    const resized = new Map<string, number[]>();
    for (const peer of all) {
      using window = await peer.open("many", QUIET);
      window.resize(60, 200);
      await Bun.sleep(SETTLE_MS);
      for (let at = 1; at < MANY; at++) await peer.add("many", "exec cat");
      await Bun.sleep(SETTLE_MS);
      const times: number[] = [];
      for (let round = 0; round < 2 * ROUNDS; round++) {
        const began = performance.now();
        window.resize(round % 2 === 0 ? 55 : 60, round % 2 === 0 ? 180 : 200);
        await until(
          "a picture, and silence",
          () => window.lastAt > began && performance.now() - window.lastAt > STILL_MS,
        );
        times.push(window.lastAt - began);
      }
      resized.set(peer.who, times);
      await peer.end("many");
    }
    const made = lines.map(
      ({ who, figures }): Line => ({
        who,
        figures: [figures[0] ?? null, figures[1] ?? null, figure(resized.get(who) ?? [])],
      }),
    );
    return {
      title: "Changes: from the key to the new pane's prompt, and to a still picture of 20 resized panes, ms",
      columns: ["first split", "next split", "20 panes resized"],
      lines: made,
      goal: "1.0 × tmux's time for a split; 40 ms for 20 panes",
      meaning: `${ROUNDS} sessions each; the prompt is bash's in the new pane. ${2 * ROUNDS} sizes of the terminal between 200×60 and 180×55; the time is that of the last byte before ${STILL_MS} ms of silence.`,
    };
  },
};

/** Time from the key to the new pane's prompt. Other panes have a different prompt, which a repaint may show again. */
async function splitTime({ splits }: Peer, window: Window): Promise<number> {
  window.type("PS1='old$ '; clear\r");
  await Bun.sleep(SETTLE_MS);
  const seen = window.next("ready$");
  const began = performance.now();
  window.type(splits);
  return (await seen) - began;
}

export const panesMemory: Measure = {
  name: "panes-memory",
  async run(stage) {
    await stage.server();
    const [wsh, tmux] = peers(stage);
    if (wsh === undefined || tmux === undefined) throw new Error("no peers");
    await stage.run(stage.wsh, "new", "memory");
    await Bun.sleep(5 * SETTLE_MS);
    const alone = sum(stage.pids(" session-process"));
    const making: number[] = [];
    for (let at = 1; at < MOST; at++) {
      const began = performance.now();
      await stage.post("/sessions/memory/panes", {});
      making.push(performance.now() - began);
      await stage.post("/sessions/memory/layout/preset", { preset: "tiled" });
    }
    await Bun.sleep(5 * SETTLE_MS);
    const all = sum(stage.pids(" session-process")) + sum(stage.pids(" layout-process"));
    await stage.run(...stage.tmux("new-session", "-d", "-s", "memory", "-x", "200", "-y", "60"));
    const server = await tmuxPid(stage);
    const before = pss(server);
    const theirs: number[] = [];
    for (let at = 1; at < MOST; at++) {
      const began = performance.now();
      await stage.run(...stage.tmux("split-window", "-d", "-t", "memory"));
      theirs.push(performance.now() - began);
      await stage.run(...stage.tmux("select-layout", "-t", "memory", "tiled"));
    }
    await Bun.sleep(SETTLE_MS);
    return {
      title: "Fifty panes in one window: memory (PSS) in MB, and making one more, ms",
      columns: ["session of one pane", "each further pane", "all 50", "making one"],
      lines: [
        {
          who: "wsh",
          figures: [one(alone), one((all - alone) / (MOST - 1)), one(all), figure(making)],
        },
        {
          who: "tmux",
          figures: [one(before), one((pss(server) - before) / (MOST - 1)), one(pss(server)), figure(theirs)],
        },
      ],
      goal: "what it costs, published",
      meaning:
        "Shells at their prompts, which are not counted themselves. Making one is a request, for tmux a command; at 50 most panes of the window are too small to be shown.",
    };
  },
};

function sum(pids: readonly number[]): number {
  return pids.reduce((all, pid) => all + pss(pid), 0);
}
