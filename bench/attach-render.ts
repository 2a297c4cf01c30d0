/**
 * What drawing costs: a rendered terminal (a panel is shown) beside pass-through, and beside tmux with its status line,
 * which always renders.
 */
import { figure, percentile } from "./figure.ts";
import type { Line, Measure } from "./measure.ts";
import type { Stage } from "./stage.ts";
import { KEYS, turn } from "./typed-turn.ts";
import type { Window } from "./window.ts";

/** Turns of each peer. */
const TURNS = 10;
/** A person's pause, shortened, and longer than a frame: each key has its own frame. */
const PAUSE_MS = 20;
const FLOOD_ROUNDS = 3;
/** Queries to the outer terminal have timed out by then, in ms. */
const SETTLE_MS = 3_000;
/** A program that echoes each byte itself, as an editor does. */
const ECHO = "stty raw -echo; printf render-ready; exec cat";
const FLOOD =
  "stty -echo -icanon; printf render-ready; IFS= read -rN1 _; seq 1 3000000; printf flood-over; exec sleep 1000";

interface Peer {
  readonly who: string;
  readonly window: Window;
  end(): Promise<unknown>;
}

type Opener = (stage: Stage, program: string, name: string) => Promise<Peer>;

const openers: readonly Opener[] = [
  async (stage, program, name) => {
    await stage.run(stage.wsh, "new", name, "--", quoted(program));
    const spans = [{ text: "an agent at work", bold: true }];
    await stage.post(`/sessions/${name}/panel`, { position: "bottom", height: 1, background: "green", spans });
    return wsh(stage, "wsh, a panel shown", name);
  },
  async (stage, program, name) => {
    await stage.run(stage.wsh, "new", name, "--", quoted(program));
    return wsh(stage, "wsh, nothing drawn", name);
  },
  async (stage, program, name) => {
    await stage.run(...stage.tmux("new-session", "-d", "-s", name, "-x", "80", "-y", "24", quoted(program)));
    const window = stage.window(...stage.tmux("attach", "-t", name));
    return { who: "tmux, status line", window, end: () => stage.run(...stage.tmux("kill-session", "-t", name)) };
  },
];

function quoted(script: string): string {
  return `bash -c '${script.replaceAll("'", "'\\''")}'`;
}

function wsh(stage: Stage, who: string, name: string): Peer {
  return { who, window: stage.window(stage.wsh, "attach", name), end: () => stage.run(stage.wsh, "kill", name) };
}

export const renderEcho: Measure = {
  name: "render-echo",
  async run(stage) {
    await stage.server();
    const peers = await Promise.all(openers.map((open, at) => open(stage, ECHO, `echo${at}`)));
    for (const { window } of peers) await window.sees("render-ready");
    await Bun.sleep(SETTLE_MS);
    const times = peers.map((): number[] => []);
    const bytes = peers.map((): number[] => []);
    for (const { window } of peers) await turn(window, PAUSE_MS);
    for (let at = 0; at < TURNS; at++) {
      for (const [row, { window }] of peers.entries()) {
        const before = window.received;
        times[row]?.push(...(await turn(window, PAUSE_MS)));
        bytes[row]?.push((window.received - before) / KEYS);
      }
    }
    for (const { window } of peers) window[Symbol.dispose]();
    const lines = peers.map(({ who }, row): Line => {
      const own = times[row] ?? [];
      const slow = percentile(own, 0.99);
      return { who, figures: [figure(own), { median: slow, low: slow, high: slow }, figure(bytes[row] ?? [])] };
    });
    return {
      title: "Echo of a key beside something drawn",
      columns: ["p50, ms", "p99, ms", "bytes a key"],
      lines,
      goal: "1.5 × tmux's p50; no more bytes than tmux",
      meaning:
        `${KEYS * TURNS} keys each, ${PAUSE_MS} ms apart, in turns of ${KEYS}; from the write into the outer terminal to the byte that comes ` +
        "back. With a panel every key is a frame, composed in the session process and rendered by the client; bytes are those written to the terminal.",
    };
  },
};

export const renderFlood: Measure = {
  name: "render-flood",
  async run(stage) {
    await stage.server();
    const times = openers.map((): number[] => []);
    const bytes = openers.map((): number[] => []);
    const names: string[] = [];
    for (let round = 0; round < FLOOD_ROUNDS; round++) {
      for (const [row, open] of openers.entries()) {
        const { who, window, end } = await open(stage, FLOOD, `flood${round}-${row}`);
        names[row] = who;
        await window.sees("render-ready");
        const received = window.received;
        const over = window.next("flood-over");
        const began = performance.now();
        window.type("x");
        times[row]?.push((await over) - began);
        bytes[row]?.push((window.received - received) / 1e6);
        window[Symbol.dispose]();
        await end();
      }
    }
    const lines = names.map((who, row): Line => {
      return { who, figures: [figure(times[row] ?? []), figure(bytes[row] ?? [])] };
    });
    return {
      title: "Much output beside something drawn",
      columns: ["seq 1 3000000, ms", "MB to the terminal"],
      lines,
      goal: "1.0 × tmux's time",
      meaning: `From the key that starts it until the terminal has the last bytes; ${FLOOD_ROUNDS} rounds, all in turns, 80×24.`,
    };
  },
};
