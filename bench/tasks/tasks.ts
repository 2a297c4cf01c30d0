/** The cost of terminal tasks to a model with each tool, and whether the answers are right. */
import fs from "node:fs";
import { join } from "node:path";
import { figure } from "../figure.ts";
import type { Measure } from "../measure.ts";
import { installed } from "../stage.ts";
import { sixteenTasks, type Task } from "./sixteen.ts";
import { byDesktopCommander, byScript, byTmux, type Tool } from "./tools.ts";

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
    const wrong: string[] = [];
    const lines = [];
    let done: readonly Task[] = [];
    for (const [who, tool] of tools) {
      const dir = join(stage.dir, `tasks${lines.length}`);
      fs.mkdirSync(dir);
      done = sixteenTasks(dir, [freePort(), freePort()]).filter(({ needs }) => needs === undefined || installed(needs));
      const sum = { calls: 0, characters: 0, right: 0 };
      for (const task of done) {
        const { calls, characters, isRight } = await tool(stage, dir, task);
        sum.calls += calls;
        sum.characters += characters;
        if (isRight) sum.right++;
        else wrong.push(`${who.split(":")[0]}: ${task.name}`);
      }
      lines.push({ who, figures: [figure([sum.calls]), figure([sum.characters]), figure([sum.right])] });
    }
    return {
      title: `${done.length} of sixteen tasks that need a terminal`,
      columns: ["calls", "characters written and read", "right"],
      lines,
      alone: true,
      goal: "all right, no more calls than tmux from a shell tool, fewer characters",
      meaning:
        `The same steps by a script that knows each tool (${done.map(({ name }) => name).join(", ")}); one call a task where the tool ` +
        `can wait. DesktopCommander runs if \`${PEER}\` is on the PATH; it has no terminal. ` +
        `Wrong: ${wrong.length === 0 ? "none" : wrong.join("; ")}.`,
    };
  },
};

function freePort(): number {
  using listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  return listener.port;
}
