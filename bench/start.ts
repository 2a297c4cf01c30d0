/** Starting: how long until there is something to use. */
import { join } from "node:path";
import { figure } from "./figure.ts";
import type { Line, Measure } from "./measure.ts";
import { installed, type Stage, until } from "./stage.ts";

const ROUNDS = 15;
/** What the stage's shells prompt with. */
const PROMPT = "ready$";

type Start = (stage: Stage) => Promise<number>;

/** Until a command has ended. */
function command(...words: readonly string[]): Start {
  return async (stage) => {
    const began = performance.now();
    await stage.run(...words);
    return performance.now() - began;
  };
}

/** Until a command shows a prompt in its terminal. */
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
    const cases: [string, Start][] = [
      ["wsh --version", command(stage.wsh, "--version")],
      ["tmux -V", command("tmux", "-V")],
      ["wsh: first prompt", prompt(stage.wsh)],
      ["tmux: first prompt", prompt(...stage.tmux())],
      ["bash: first prompt", prompt("bash", "-l")],
      ["wsh new", command(stage.wsh, "new")],
      ["tmux new-session -d", command(...stage.tmux("new-session", "-d"))],
      ["wsh server: first answer", server],
    ];
    if (installed("screen")) cases.push(["screen: first prompt", prompt(...stage.screen())]);
    const times = cases.map((): number[] => []);
    for (let round = 0; round < ROUNDS; round++) {
      for (const [at, [, run]] of cases.entries()) {
        times[at]?.push(await run(stage));
        await stage.clear();
      }
    }
    return {
      title: "Starting, ms",
      columns: ["until it is there"],
      lines: cases.map(([who], at): Line => ({ who, figures: [figure(times[at] ?? [])] })),
      goal: "25 ms for --version, 80 ms to the first prompt",
      meaning:
        `${ROUNDS} rounds, cold: no server and no session of either multiplexer is running. A prompt counts when it has arrived in the ` +
        `outer terminal; bash alone is the part that is the shell's own. Ratios compare with the first line.`,
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
