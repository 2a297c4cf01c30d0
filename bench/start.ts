/** Start-up: time until a person or program can use it. */
import { join } from "node:path";
import { figure } from "./figure.ts";
import type { Line, Measure } from "./measure.ts";
import { installed, type Stage } from "./stage.ts";
import { until } from "./until.ts";

const ROUNDS = 15;
/** Prompt of the stage's shells. */
const PROMPT = "ready$";

type Start = (stage: Stage) => Promise<number>;

/** Time until a command has ended. */
function command(...words: readonly string[]): Start {
  return async (stage) => {
    const began = performance.now();
    await stage.run(...words);
    return performance.now() - began;
  };
}

/** Time until a command shows a prompt in its terminal. */
function prompt(...words: readonly string[]): Start {
  return async (stage) => {
    const began = performance.now();
    using window = stage.window(...words);
    return (await window.next(PROMPT)) - began;
  };
}

export const start: Measure = {
  name: "start",
  async run(stage) {
    const peers: readonly (readonly [who: string, ...(Start | null)[]])[] = [
      ["wsh", command(stage.wsh, "--version"), prompt(stage.wsh), command(stage.wsh, "new"), server],
      ["tmux", command("tmux", "-V"), prompt(...stage.tmux()), command(...stage.tmux("new-session", "-d")), null],
      ["the shell alone", command("bash", "--version"), prompt("bash", "-l"), null, null],
      ...(installed("screen") ? [["screen", null, prompt(...stage.screen()), null, null] as const] : []),
    ];
    const times = peers.map(([, ...starts]) => starts.map((): number[] => []));
    for (let round = 0; round < ROUNDS; round++) {
      for (const [row, [, ...starts]] of peers.entries()) {
        for (const [column, run] of starts.entries()) {
          if (run === null) continue;
          times[row]?.[column]?.push(await run(stage));
          await stage.clear();
        }
      }
    }
    return {
      title: "Starting, ms",
      columns: ["--version", "first prompt", "a session in the background", "server, first answer"],
      lines: peers.map(([who], row): Line => {
        return { who, figures: (times[row] ?? []).map((each) => (each.length === 0 ? null : figure(each))) };
      }),
      goal: "25 ms for --version, 80 ms to the first prompt",
      meaning:
        `${ROUNDS} rounds, cold: no server and no session of either multiplexer is running. A prompt counts when it has arrived in the ` +
        "outer terminal; the shell alone is the part of it that is not ours.",
    };
  },
};

async function server(stage: Stage): Promise<number> {
  const began = performance.now();
  const child = stage.spawn([stage.wsh, "server", "--bind", "none"]);
  await until("the server", async () => {
    if (child.exitCode !== null) throw new Error(await new Response(child.stderr).text());
    if (!(await Bun.file(join(stage.dir, "run/wsh/default.json")).exists())) return false;
    return (await stage.get("/health").catch(() => null))?.ok;
  });
  return performance.now() - began;
}
