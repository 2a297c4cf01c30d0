/**
 * A random walk over three machines: commands, servers killed, processes stopped, ways cut and held. Whatever happens, no
 * command runs twice or after its deadline, and no session vanishes from the list. `WSH_WALK_SEED` repeats a walk.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { CutProxy } from "../support/cut-proxy.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(600_000);
const STEPS = process.env.WSH_TEST_FULL === undefined ? 4 : 120;
/** A caller's own deadline, in ms: as long as the way may be lost in a step. */
const DEADLINE_MS = 3_000;
/** Longest time from a command's first byte to its own clock, in ms: a loaded machine. A way is held for as long. */
const SLACK_MS = 5_000;

interface Machine {
  readonly name: string;
  readonly wsh: Wsh;
  readonly proxy: CutProxy;
  readonly bind: string;
}

interface Sent {
  readonly mark: string;
  readonly deadline: number;
  readonly answer: Promise<string>;
}

async function machine(near: Wsh, name: string): Promise<Machine> {
  const wsh = new Wsh();
  await wsh.server("--bind", "127.0.0.1:0");
  const [url] = JSON.parse(await wsh.ok("server", "--ensure", "--json")).addresses;
  const proxy = await CutProxy.to(Number(new URL(url).port));
  const token = (await wsh.ok("token")).trim();
  await near.ok("servers", "add", `http://127.0.0.1:${proxy.port}`, "--name", name, "--token", token);
  await wsh.session("dev");
  return { name, wsh, proxy, bind: new URL(url).host };
}

async function serverAgain({ wsh, bind }: Machine): Promise<void> {
  await wsh.killServer();
  await until("the server to be gone", () => wsh.servers().length === 0);
  await wsh.server("--bind", bind);
}

test("no command runs twice or after its deadline, and no session vanishes", async () => {
  let seed = Number(process.env.WSH_WALK_SEED ?? 20_264);
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  await using near = new Wsh();
  await near.server();
  const machines = [await machine(near, "m1"), await machine(near, "m2")];
  const log = join(near.dir, "runs");
  fs.writeFileSync(log, "");
  const names = new Set(machines.map(({ name }) => `${name}/dev`));
  const sent: Sent[] = [];
  const listed = async (): Promise<string[]> =>
    ((await (await near.fetch("/sessions")).json()) as { name: string }[]).map(({ name }) => name);
  expect((await listed()).sort()).toEqual([...names].sort());

  const exec = (at: Machine, mark: string): Sent => {
    const deadline = Date.now() + DEADLINE_MS;
    const body = JSON.stringify({ command: `echo ${mark} $(date +%s%3N) >>${log}` });
    const headers = { "Content-Type": "application/json", "Wsh-Request": mark, "Wsh-Deadline": `${deadline}` };
    const path = `/sessions/${at.name}%2Fdev/exec`;
    const answer = near.fetch(path, { method: "POST", headers, body }).then(async (response) => {
      const { error } = (await response.json()) as { error?: { code: string } };
      return error?.code ?? "done";
    });
    return { mark, deadline, answer: answer.catch(() => "connection") };
  };

  for (let step = 0; step < STEPS; step++) {
    const at = machines[random(machines.length)];
    if (at === undefined) throw new Error("no machine");
    const asked = exec(at, `r${step}`);
    sent.push(asked);
    switch (step < 4 ? step : random(5)) {
      case 0:
        at.proxy.snap();
        break;
      case 1:
        await serverAgain(at);
        break;
      case 2:
        at.proxy.hold();
        await until("the deadline", () => Date.now() > asked.deadline + SLACK_MS);
        at.proxy.heal();
        break;
      case 3: {
        const host = at.wsh.hosts()[0] ?? process.pid;
        process.kill(host, "SIGSTOP");
        await until("a while", () => Date.now() > asked.deadline - DEADLINE_MS + 1_000);
        process.kill(host, "SIGCONT");
        break;
      }
      default:
        at.proxy.snap();
        await serverAgain(at);
    }
    await asked.answer;
    expect((await listed()).sort()).toEqual([...names].sort());
  }
  for (const { proxy } of machines) proxy.heal();
  // Everything that was begun has ended where the next command does.
  for (const { wsh } of machines) {
    await until("the prompt", async () => (await wsh.run("exec", "dev", "--", "true")).code === 0);
  }
  const runs = fs.readFileSync(log, "utf8").trim().split("\n").filter(Boolean);
  for (const { mark, deadline, answer } of sent) {
    const own = runs.map((line) => line.split(" ")).filter(([name]) => name === mark);
    const said = await answer;
    expect({ mark, said, runs: own.length <= 1 }).toEqual({ mark, said, runs: true });
    if (said === "done") expect({ mark, runs: own.length }).toEqual({ mark, runs: 1 });
    if (said === "deadline_passed" || said === "machine_unreachable")
      expect({ mark, runs: own.length }).toEqual({ mark, runs: 0 });
    // The shell takes a moment from the first byte to the command.
    for (const [, time] of own) expect(Number(time)).toBeLessThan(deadline + SLACK_MS);
  }
  for (const { proxy, wsh } of machines) {
    await proxy[Symbol.asyncDispose]();
    await wsh[Symbol.asyncDispose]();
  }
});
