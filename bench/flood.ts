/** Large outputs: the time until the terminal has read all of one, with and without an attached terminal. */
import fs from "node:fs";
import { join } from "node:path";
import { type Figure, figure } from "./figure.ts";
import type { Line, Measure, Report } from "./measure.ts";
import { installed, type Stage } from "./stage.ts";
import { until } from "./until.ts";
import type { Window } from "./window.ts";

const ROUNDS = 5;
/** Size of the generated corpora, in bytes. */
const CORPUS = 12e6;

/** Runs the script `next` at every key. */
export function program(next: string): string {
  return `stty -echo -icanon; printf flood-ready; while IFS= read -rN1 _; do . ${next}; done`;
}

/**
 * Times one output. A query (DSR) follows the output, and the terminal answers it when it has parsed everything before
 * it. The end of the program's last write would come while buffers are still full.
 */
export function timed(output: string, result: string): string {
  return [
    "began=$EPOCHREALTIME",
    output,
    "printf '\\e[6n'",
    "IFS= read -rd R _",
    "ended=$EPOCHREALTIME",
    `printf '%s %s' $began $ended >${result}.new; mv ${result}.new ${result}`,
  ].join("\n");
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

/** A session that runs the program. */
interface Session {
  /** A key for the program. */
  type(): unknown;
  end(): unknown;
}

interface Peer {
  readonly who: string;
  readonly detached: boolean;
  /** Each output is the first one of its own session. */
  readonly fresh?: boolean;
  readonly open: () => Promise<Session>;
}

function peers(stage: Stage, script: string): Peer[] {
  let count = 0;
  const command = `bash -c '${script}'`;
  const wsh = async (): Promise<string> => {
    const name = `flood${++count}`;
    await stage.run(stage.wsh, "new", name, "--", command);
    return name;
  };
  const tmux = async (): Promise<string> => {
    const name = `flood${++count}`;
    await stage.run(...stage.tmux("new-session", "-d", "-s", name, "-x", "80", "-y", "24", command));
    return name;
  };
  const seen = async (window: Window, end: () => unknown): Promise<Session> => {
    await window.sees("flood-ready");
    return {
      type: () => window.type("x"),
      async end() {
        window[Symbol.dispose]();
        await end();
      },
    };
  };
  const wshDetached = async (): Promise<Session> => {
    const name = await wsh();
    return {
      type: () => stage.run(stage.wsh, "send", name, "x"),
      end: () => stage.run(stage.wsh, "kill", name),
    };
  };
  const wshAttached = async (): Promise<Session> => {
    const name = await wsh();
    return seen(stage.window(stage.wsh, "attach", name), () => stage.run(stage.wsh, "kill", name));
  };
  const list: Peer[] = [
    { who: "wsh", detached: true, open: wshDetached },
    { who: "wsh, new sessions", detached: true, fresh: true, open: wshDetached },
    {
      who: "tmux",
      detached: true,
      async open() {
        const name = await tmux();
        return {
          type: () => stage.run(...stage.tmux("send-keys", "-t", name, "x")),
          end: () => stage.run(...stage.tmux("kill-session", "-t", name)),
        };
      },
    },
    { who: "wsh", detached: false, open: wshAttached },
    { who: "wsh, new sessions", detached: false, fresh: true, open: wshAttached },
    {
      who: "tmux",
      detached: false,
      async open() {
        const name = await tmux();
        const window = stage.window(...stage.tmux("attach", "-t", name));
        return seen(window, () => stage.run(...stage.tmux("kill-session", "-t", name)));
      },
    },
  ];
  if (installed("screen")) {
    const open = (): Promise<Session> => seen(stage.window(...stage.screen("bash", "-c", script)), () => {});
    list.push({ who: "screen", detached: false, open });
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
    const next = join(stage.dir, "next");
    const taking = peers(stage, program(next)).filter((peer) => peer.detached === detached);
    const times = taking.map(() => corpora.map((): number[] => []));
    const lasting = await Promise.all(taking.map((peer) => (peer.fresh ? null : peer.open())));
    let result = 0;
    const take = async (session: Session, output: string): Promise<number> => {
      const path = join(stage.dir, `result${++result}`);
      fs.writeFileSync(next, timed(output, path));
      await session.type();
      await until("the output to be taken", () => fs.existsSync(path));
      const [began = 0, ended = 0] = fs.readFileSync(path, "utf8").split(" ").map(Number);
      return (ended - began) * 1000;
    };
    for (const session of lasting) {
      for (const [, output] of corpora) if (session !== null) await take(session, output(stage.dir));
    }
    for (let round = 0; round < ROUNDS; round++) {
      for (const [column, [, output]] of corpora.entries()) {
        for (const [row, { open }] of taking.entries()) {
          const session = lasting[row] ?? (await open());
          times[row]?.[column]?.push(await take(session, output(stage.dir)));
          if (lasting[row] === null) await session.end();
        }
      }
    }
    for (const session of lasting) await session?.end();
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
        "and a full-screen program that redraws. Every session has shown all three before, as tmux's server has; new sessions " +
        "of wsh, whose session process has yet to compile its code, have a line of their own.",
    } satisfies Report;
  };
}

export const floodDetached: Measure = { name: "flood", run: flood(true) };
export const floodAttached: Measure = { name: "flood-attached", run: flood(false) };
