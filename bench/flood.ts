/** Much output at once: the time until the terminal has taken all of it, with nobody looking and with a terminal attached. */
import fs from "node:fs";
import { join } from "node:path";
import { type Figure, figure } from "./figure.ts";
import type { Line, Measure, Report } from "./measure.ts";
import { installed, type Stage, until } from "./stage.ts";
import type { Window } from "./window.ts";

const ROUNDS = 5;
/** Size of the generated corpora, in bytes. */
const CORPUS = 12e6;

/**
 * The end is the terminal's own word: a question (DSR) stands behind the output, and it answers when it has parsed all
 * before it. A program that only wrote would be done while buffers are full.
 */
export function program(output: string, result: string): string {
  return [
    "stty -echo -icanon",
    "printf flood-ready",
    "IFS= read -rN1 _",
    "began=$EPOCHREALTIME",
    output,
    "printf '\\e[6n'",
    "IFS= read -rd R _",
    "ended=$EPOCHREALTIME",
    "printf '\\r\\nflood-over'",
    `printf '%s %s' $began $ended >${result}.new; mv ${result}.new ${result}`,
    "exec sleep 1000",
  ].join("; ");
}

export const corpora: readonly (readonly [name: string, command: (dir: string) => string])[] = [
  ["seq 1 3000000", () => "seq 1 3000000"],
  ["colours", (dir) => `cat ${join(dir, "colours")}`],
  ["cursor", (dir) => `cat ${join(dir, "cursor")}`],
];

/** Lists and logs in colour. */
function colours(i: number): string {
  return (
    `\x1b[0m\x1b[01;34mdir${i}\x1b[0m  \x1b[01;32mrun.sh\x1b[0m  \x1b[38;5;${i % 256}mindexed\x1b[39m ` +
    `\x1b[38;2;${i % 256};${(i * 7) % 256};90mtrue\x1b[m plain.txt\r\n`
  );
}

/** A full-screen program that redraws. */
function cursor(i: number): string {
  return `\x1b[${(i % 24) + 1};${(i % 20) + 1}H\x1b[${i % 2 === 0 ? 7 : 27}m${"x".repeat(i % 50)}\x1b[K`;
}

function generate(path: string, part: (i: number) => string): void {
  const parts: string[] = [];
  for (let i = 0, size = 0; size < CORPUS; i++) {
    const text = part(i);
    size += text.length;
    parts.push(text);
  }
  fs.writeFileSync(path, parts.join(""));
}

type Runner = (script: string) => Promise<() => unknown>;

interface Peer {
  readonly who: string;
  readonly detached: boolean;
  readonly start: Runner;
}

function peers(stage: Stage): Peer[] {
  let count = 0;
  const shell = (script: string): string[] => ["bash", "-c", script];
  const quoted = (script: string): string => `bash -c '${script.replaceAll("'", "'\\''")}'`;
  const attached = (window: Window, end: () => Promise<unknown>) => async () => {
    window[Symbol.dispose]();
    await end();
  };
  const wsh = async (script: string): Promise<string> => {
    const name = `flood${++count}`;
    await stage.run(stage.wsh, "new", name, "--", quoted(script));
    return name;
  };
  const tmux = async (script: string): Promise<string> => {
    const name = `flood${++count}`;
    await stage.run(...stage.tmux("new-session", "-d", "-s", name, "-x", "80", "-y", "24", quoted(script)));
    return name;
  };
  const list: Peer[] = [
    {
      who: "wsh",
      detached: true,
      async start(script) {
        const name = await wsh(script);
        await stage.run(stage.wsh, "send", name, "x");
        return () => stage.run(stage.wsh, "kill", name);
      },
    },
    {
      who: "tmux",
      detached: true,
      async start(script) {
        const name = await tmux(script);
        await stage.run(...stage.tmux("send-keys", "-t", name, "x"));
        return () => stage.run(...stage.tmux("kill-session", "-t", name));
      },
    },
    {
      who: "wsh",
      detached: false,
      async start(script) {
        const name = await wsh(script);
        const window = stage.window(stage.wsh, "attach", name);
        await window.sees("flood-ready");
        window.type("x");
        return attached(window, () => stage.run(stage.wsh, "kill", name));
      },
    },
    {
      who: "tmux",
      detached: false,
      async start(script) {
        const name = await tmux(script);
        const window = stage.window(...stage.tmux("attach", "-t", name));
        await window.sees("flood-ready");
        window.type("x");
        return attached(window, () => stage.run(...stage.tmux("kill-session", "-t", name)));
      },
    },
  ];
  if (installed("screen")) {
    list.push({
      who: "screen",
      detached: false,
      async start(script) {
        const window = stage.window(...stage.screen(...shell(script)));
        await window.sees("flood-ready");
        window.type("x");
        return () => window[Symbol.dispose]();
      },
    });
  }
  return list;
}

/** Writes the generated corpora. */
export function prepare(stage: Stage): void {
  generate(join(stage.dir, "colours"), colours);
  generate(join(stage.dir, "cursor"), cursor);
}

function flood(detached: boolean): Measure["run"] {
  return async (stage) => {
    prepare(stage);
    const taking = peers(stage).filter((peer) => peer.detached === detached);
    const times = taking.map(() => corpora.map((): number[] => []));
    let result = 0;
    for (let round = 0; round < ROUNDS; round++) {
      for (const [column, [, output]] of corpora.entries()) {
        for (const [row, peer] of taking.entries()) {
          const path = join(stage.dir, `result${++result}`);
          const end = await peer.start(program(output(stage.dir), path));
          await until(`${peer.who} to take the output`, () => fs.existsSync(path));
          const [began = 0, ended = 0] = fs.readFileSync(path, "utf8").split(" ").map(Number);
          times[row]?.[column]?.push((ended - began) * 1000);
          await end();
        }
      }
    }
    const lines = taking.map(({ who }, row): Line => {
      return { who, figures: (times[row] ?? []).map((samples): Figure => figure(samples)) };
    });
    return {
      title: `Much output, ${detached ? "detached" : "attached"}, ms`,
      columns: corpora.map(([name]) => name),
      lines,
      goal: "1.0 × tmux's time",
      meaning:
        `From the first byte to the terminal's answer to a question behind the last one; ${ROUNDS} rounds, all in turns, 80×24, the same ` +
        `history. The first column is 26 MB of short lines, the others are ${CORPUS / 1e6} MB of generated output: coloured listings, ` +
        "and a full-screen program that redraws.",
    } satisfies Report;
  };
}

export const floodDetached: Measure = { name: "flood", run: flood(true) };
export const floodAttached: Measure = { name: "flood-attached", run: flood(false) };
