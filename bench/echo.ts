/** The echo of one key through an attached terminal: what typing feels like. */
import { figure, percentile } from "./figure.ts";
import type { Line, Measure } from "./measure.ts";
import { installed, type Stage } from "./stage.ts";
import { KEYS, turn } from "./typed-turn.ts";
import type { Window } from "./window.ts";

/** Turns of each peer. */
const TURNS = 15;
/**
 * Turns before those, reported apart: the first keys of a session process run code that is not compiled yet. After 300
 * keys little of that is left, after 1,000 nearly none (m).
 */
const FIRST_TURNS = 5;
const EARLY_TURNS = 17;
/** A person's pause, shortened: long enough that every process is asleep again. */
const PAUSE_MS = 5;
/** Queries to the outer terminal, which this one does not answer, have timed out by then, in ms. */
const SETTLE_MS = 3_000;
/** A program that echoes each byte itself, as an editor does. */
const PROGRAM = "stty raw -echo; printf echo-ready; exec cat";

interface Peer {
  readonly who: string;
  readonly window: Window;
  readonly p50: number[];
  readonly all: number[];
  readonly first: number[];
}

export const echo: Measure = {
  name: "echo",
  async run(stage) {
    const peers = await open(stage);
    try {
      for (let at = 0; at < EARLY_TURNS + TURNS; at++) {
        for (const { window, p50, all, first } of peers) {
          const times = await turn(window, PAUSE_MS);
          if (at < FIRST_TURNS) first.push(...times);
          if (at < EARLY_TURNS) continue;
          p50.push(percentile(times, 0.5));
          all.push(...times);
        }
      }
    } finally {
      for (const { window } of peers) window[Symbol.dispose]();
    }
    const lines = peers.map(
      ({ who, p50, all, first }): Line => ({
        who,
        figures: [figure(p50), slowest(all), slowest(first)],
      }),
    );
    return {
      title: "Echo of a key through an attached terminal, ms",
      columns: ["p50", "p99", "p99 of the first 300 keys"],
      lines,
      goal: "tmux's, p50 and p99",
      meaning:
        `${KEYS * TURNS} keys each after ${KEYS * EARLY_TURNS} others, ${PAUSE_MS} ms apart, in turns of ${KEYS}; from the write ` +
        "into the outer terminal to the byte that comes back from a program that echoes. The bare terminal has no " +
        "multiplexer in between. The first keys are shown apart, because a new session process compiles its code while they are typed.",
    };
  },
};

async function open(stage: Stage): Promise<Peer[]> {
  const shell = ["/bin/sh", "-c", PROGRAM];
  const windows: [string, Window][] = [];
  await stage.run(stage.wsh, "new", "echo", "--", PROGRAM);
  windows.push(["wsh attach", stage.window(stage.wsh, "attach", "echo")]);
  await stage.run(...stage.tmux("new-session", "-d", "-s", "echo", "-x", "80", "-y", "24", PROGRAM));
  windows.push(["tmux attach", stage.window(...stage.tmux("attach", "-t", "echo"))]);
  if (installed("screen")) windows.push(["screen", stage.window(...stage.screen(...shell))]);
  if (installed("dtach"))
    windows.push(["dtach", stage.window("dtach", "-A", `${stage.dir}/dtach`, "-E", "-z", "-r", "none", ...shell)]);
  windows.push(["bare terminal", stage.window(...shell)]);
  const peers: Peer[] = [];
  for (const [who, window] of windows) {
    if (who !== "dtach") await window.sees("echo-ready");
    peers.push({ who, window, p50: [], all: [], first: [] });
  }
  await Bun.sleep(SETTLE_MS);
  return peers;
}

function slowest(times: readonly number[]) {
  const p99 = percentile(times, 0.99);
  return { median: p99, low: p99, high: p99 };
}
