/**
 * Processor time of the multiplexer's process for echo and floods, which does not depend on how busy the machine is.
 * The program's own time and the kernel's work between the two are not counted.
 */
import fs from "node:fs";
import { join } from "node:path";
import { type Figure, figure } from "./figure.ts";
import { corpora, prepare, program, timed } from "./flood.ts";
import type { Measure } from "./measure.ts";
import { tmuxPid } from "./memory.ts";
import { cpu } from "./process.ts";
import type { Stage } from "./stage.ts";
import { until } from "./until.ts";
import type { Window } from "./window.ts";

const ROUNDS = 3;
const KEYS = 600;
const KEYS_ROUNDS = 5;
/** Keys of a line, ms between two. */
const LINE = 60;
const PAUSE_MS = 5;
/** Queries to the outer terminal have timed out by then, in ms. */
const SETTLE_MS = 3_000;
const ECHO = "stty raw -echo; printf cost-ready; exec cat";

export const cost: Measure = {
  name: "cost",
  async run(stage) {
    prepare(stage);
    const floods = await floodCosts(stage);
    const keys = await keyCosts(stage);
    return {
      title: "Processor time of the multiplexer's process, ms; of a key, µs",
      columns: [...corpora.map(([name]) => name), "a key"],
      lines: [
        { who: "wsh, a session process", figures: [...floods.wsh, keys.wsh] },
        { who: "tmux's server", figures: [...floods.tmux, keys.tmux] },
      ],
      goal: "tmux's",
      meaning:
        `All threads, user and system, from the first byte to the terminal's answer behind the last, ${ROUNDS} rounds, detached; a session process is ` +
        "new each time, so that what its compiler spends on other cores is in it. The keys are typed one by one into an attached " +
        "terminal.",
    };
  },
};

async function floodCosts(stage: Stage): Promise<{ wsh: Figure[]; tmux: Figure[] }> {
  const spent = { wsh: corpora.map((): number[] => []), tmux: corpora.map((): number[] => []) };
  await stage.run(...stage.tmux("new-session", "-d", "-x", "80", "-y", "24", "sleep 1000"));
  const server = await tmuxPid(stage);
  const command = `bash -c '${program(join(stage.dir, "next"))}'`;
  for (let round = 0; round < ROUNDS; round++) {
    for (const [column, [, output]] of corpora.entries()) {
      const path = join(stage.dir, `cost${round}-${column}`);
      const next = join(stage.dir, "next");
      fs.writeFileSync(next, timed(output(stage.dir), path));
      const known = new Set(stage.pids(" session-process"));
      await stage.run(stage.wsh, "new", "cost", "--", command);
      const host = stage.pids(" session-process").find((pid) => !known.has(pid)) ?? 0;
      const begun = cpu(host);
      await stage.run(stage.wsh, "send", "cost", "x");
      await until("the output to be taken", () => fs.existsSync(path));
      spent.wsh[column]?.push(cpu(host) - begun);
      await stage.run(stage.wsh, "kill", "cost");
      fs.rmSync(path);
      await stage.run(...stage.tmux("new-session", "-d", "-s", "cost", "-x", "80", "-y", "24", command));
      const before = cpu(server);
      await stage.run(...stage.tmux("send-keys", "-t", "cost", "x"));
      await until("the output to be taken", () => fs.existsSync(path));
      spent.tmux[column]?.push(cpu(server) - before);
      await stage.run(...stage.tmux("kill-session", "-t", "cost"));
    }
  }
  return { wsh: spent.wsh.map(figure), tmux: spent.tmux.map(figure) };
}

async function keyCosts(stage: Stage): Promise<{ wsh: Figure; tmux: Figure }> {
  const known = new Set(stage.pids(" session-process"));
  await stage.run(stage.wsh, "new", "keys", "--", ECHO);
  const host = stage.pids(" session-process").find((pid) => !known.has(pid)) ?? 0;
  await stage.run(...stage.tmux("new-session", "-d", "-s", "keys", "-x", "80", "-y", "24", ECHO));
  using wsh = stage.window(stage.wsh, "attach", "keys");
  using tmux = stage.window(...stage.tmux("attach", "-t", "keys"));
  const server = await tmuxPid(stage);
  for (const window of [wsh, tmux]) await window.sees("cost-ready");
  await Bun.sleep(SETTLE_MS);
  const spent = { wsh: [] as number[], tmux: [] as number[] };
  for (let round = 0; round < KEYS_ROUNDS; round++) {
    spent.wsh.push(await typed(wsh, host));
    spent.tmux.push(await typed(tmux, server));
  }
  return { wsh: figure(spent.wsh), tmux: figure(spent.tmux) };
}

/** Microseconds a key. */
async function typed(window: Window, pid: number): Promise<number> {
  const before = cpu(pid);
  for (let at = 0; at < KEYS; at++) {
    const key = String.fromCharCode(65 + (at % 26));
    const seen = window.next(key);
    window.type(at % LINE === LINE - 1 ? `${key}\r\n` : key);
    await seen;
    await Bun.sleep(PAUSE_MS);
  }
  return ((cpu(pid) - before) * 1000) / KEYS;
}
