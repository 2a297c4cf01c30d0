/** The cost of terminal tasks to a model with each tool, and whether the answers are right. */
import fs from "node:fs";
import { join } from "node:path";
import { figure } from "../figure.ts";
import type { Measure } from "../measure.ts";
import { installed } from "../stage.ts";
import { sixteenTasks } from "./sixteen.ts";
import { byDesktopCommander, byScript, byTmux, type Tool } from "./tools.ts";
import { twelveAsSteps } from "./twelve.ts";

/** DesktopCommander's program, if it is installed. */
const PEER = "desktop-commander";

export const sixteen: Measure = {
  name: "tasks",
  async run(stage) {
    await stage.server();
    const tools: readonly (readonly [string, Tool])[] = [
      ["wsh: a program of `wsh_script` a task", byScript],
      ["tmux: a shell script a task", byTmux],
      ...(installed(PEER) ? ([["DesktopCommander", byDesktopCommander(PEER)]] as const) : []),
    ];
    const sets = [
      ["sixteen", (dir: string) => sixteenTasks(dir, [freePort(), freePort()])],
      ["twelve", (dir: string) => twelveAsSteps(dir, freePort())],
    ] as const;
    const wrong: string[] = [];
    const lines = [];
    const names = new Set<string>();
    for (const [set, make] of sets) {
      for (const [who, tool] of tools) {
        const dir = join(stage.dir, `tasks${lines.length}`);
        fs.mkdirSync(dir);
        const done = make(dir).filter(({ needs }) => needs === undefined || installed(needs));
        const sum = { calls: 0, characters: 0, right: 0 };
        for (const task of done) {
          names.add(task.name);
          const { calls, characters, isRight } = await tool(stage, dir, task);
          sum.calls += calls;
          sum.characters += characters;
          if (isRight) sum.right++;
          else wrong.push(`${who.split(":")[0]}: ${task.name}`);
        }
        const figures = [sum.calls, done.length, sum.right, sum.characters].map((each) => figure([each]));
        lines.push({ who: `${set}; ${who}`, figures });
      }
    }
    return {
      title: "Sixteen and twelve tasks that need a terminal",
      columns: ["calls", "tasks", "right", "characters written and read"],
      lines,
      alone: true,
      goal: "all right, no more calls than tmux from a shell tool, fewer characters",
      meaning:
        `The same steps by a script that knows each tool (${[...names].join(", ")}); one call a task where the tool ` +
        `can wait. DesktopCommander runs if \`${PEER}\` is on the PATH; it has no terminal. ` +
        `Wrong: ${wrong.length === 0 ? "none" : wrong.join("; ")}.`,
    };
  },
};

function freePort(): number {
  using listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  return listener.port;
}
