/**
 * A random walk over three machines, over HTTP, ssh and NATS: commands and creates, while servers, session processes, ssh
 * masters and the local server are killed, processes stopped, connections cut and held. No command ever runs twice or
 * after its deadline, no session is made twice, and none vanishes from the list. `WSH_WALK_SEED` repeats a walk.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { joinedFile } from "../../src/cluster/fleet/creds-file.ts";
import { prepareStateDir } from "../../src/instance/paths.ts";
import { stored } from "../reliability/checkpoints/crashed-sessions.ts";
import { CutProxy } from "../support/cut-proxy.ts";
import { NatsServer, writeCredentials } from "../support/nats-server.ts";
import { isMissing } from "../support/programs.ts";
import { TwoMachines } from "../support/two-machines.ts";
import { until } from "../support/until.ts";
import { hostOf, Wsh } from "../support/wsh.ts";

setDefaultTimeout(900_000);
const isLong = process.env.WSH_TEST_FULL !== undefined;
/** A caller's own deadline, in ms: as long as the connection may be lost in a step. */
const DEADLINE_MS = 3_000;
/** Longest time from a command's first byte to its own clock, in ms: a loaded machine. A connection is held for as long. */
const SLACK_MS = 5_000;

/** Possible events; the small walk takes each but the last two once, of which the first waits longest. */
const events = ["create", "cut", "kill host", "kill server", "kill local", "stop host", "hold", "kill all"] as const;
const STEPS = isLong ? 60 : events.length - 2;

interface Machine {
  readonly name: string;
  readonly wsh: Wsh;
  /** Ends its connections. */
  cut(): void;
  /** Holds all data until the returned function is called. */
  hold(): () => void;
  /** Restarts its server after it was killed. */
  serve(): Promise<void>;
}

interface Sent {
  readonly mark: string;
  readonly deadline: number;
  readonly answer: Promise<string>;
}

const hasSsh = !isMissing("sshd", "ssh", "ssh-keygen");
const hasNats = !isMissing("nats-server");

async function overHttp(local: Wsh, stack: AsyncDisposableStack): Promise<Machine> {
  const wsh = stack.use(new Wsh());
  const url = await wsh.tcpServer();
  const { host, port } = new URL(url);
  const proxy = stack.use(await CutProxy.to(Number(port)));
  const token = (await wsh.ok("token")).trim();
  await local.ok("servers", "add", `http://127.0.0.1:${proxy.port}`, "--name", "m2", "--token", token);
  return { name: "m2", wsh, ...ways(proxy), serve: async () => void (await wsh.server("--bind", host)) };
}

/** Kills or stops its ssh master, on which a connection over ssh depends here. */
async function overSsh(machines: TwoMachines): Promise<Machine> {
  await machines.add();
  return {
    name: "m1",
    wsh: machines.remote,
    cut: () => void (machines.masterPid() !== null && machines.killMaster()),
    hold: () => {
      const master = machines.masterPid();
      if (master === null) return () => {};
      process.kill(master, "SIGSTOP");
      return () => void process.kill(master, "SIGCONT");
    },
    // Connecting starts one.
    serve: async () => {},
  };
}

async function overNats(local: Wsh, stack: AsyncDisposableStack): Promise<Machine> {
  const wsh = stack.use(new Wsh());
  const [me, m3] = [{ name: "me", role: "operate" } as const, { name: "m3", role: "machine" } as const];
  const nats = stack.use(await NatsServer.start(wsh.dir, [me, m3]));
  const proxy = stack.use(await CutProxy.to(nats.port));
  prepareStateDir(local.instance);
  writeCredentials(joinedFile(local.instance), me, [nats.url]);
  prepareStateDir(wsh.instance);
  writeCredentials(joinedFile(wsh.instance), m3, [`nats://127.0.0.1:${proxy.port}`]);
  await wsh.server();
  return { name: "m3", wsh, ...ways(proxy), serve: async () => void (await wsh.server()) };
}

function ways(proxy: CutProxy): Pick<Machine, "cut" | "hold"> {
  return {
    cut: () => proxy.snap(),
    hold: () => {
      proxy.hold();
      return () => proxy.heal();
    },
  };
}

async function killServer({ wsh, serve }: Machine): Promise<void> {
  await wsh.killServer();
  await until("the server to be gone", () => wsh.servers().length === 0);
  await serve();
}

/** The session process of `dev`. */
async function hostOfDev({ wsh }: Machine): Promise<number> {
  const found = (await wsh.list()).find(({ name }) => name === "dev");
  return hostOf(found?.pid ?? null);
}

/** Kills the session process of `dev`, which has then crashed, and is restored. */
async function killHost(at: Machine, whileLost: () => Promise<void>): Promise<void> {
  process.kill(await hostOfDev(at), "SIGKILL");
  const isLost = async () => (await at.wsh.list()).some(({ name, state }) => name === "dev" && state === "crashed");
  await until("the session to be lost", isLost);
  await whileLost();
  await at.wsh.ok("restore", "dev");
}

test("no command runs twice or after its deadline, no session is made twice, and none vanishes", async () => {
  const firstSeed = Number(process.env.WSH_WALK_SEED ?? 20_264);
  let seed = firstSeed;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  await using stack = new AsyncDisposableStack();
  const two = hasSsh ? stack.use(await TwoMachines.start()) : null;
  const local = two?.local ?? stack.use(new Wsh());
  const machines = [
    await overHttp(local, stack),
    ...(hasNats ? [await overNats(local, stack)] : []),
    ...(two === null ? [] : [await overSsh(two)]),
  ];
  await local.server();
  const log = join(local.dir, "runs");
  fs.writeFileSync(log, "");
  const listed = async (): Promise<string[]> =>
    ((await (await local.fetch("/sessions?all_machines=1")).json()) as { name: string }[]).map(({ name }) => name);
  /** Sessions that were listed once. */
  const known = new Set<string>();
  const appears = async (name: string): Promise<void> => {
    await until(`${name} to be listed`, async () => (await listed()).includes(name));
    known.add(name);
  };
  for (const { name, wsh } of machines) {
    const { id, pane_id } = await wsh.session("dev");
    await appears(`${name}/dev`);
    // A session killed before its first checkpoint would be gone.
    await until("a checkpoint", () => stored(wsh, Number(pane_id.slice(1)), Number(id.slice(2))) !== null);
  }
  const trace: string[] = [];
  /** A list made while a session is being restored may miss it for that moment. */
  const nothingVanished = async (): Promise<void> => {
    const vanished = async (): Promise<string[]> => {
      const all = await listed();
      return [...known].filter((name) => !all.includes(name));
    };
    await until("all sessions to be listed", async () => (await vanished()).length === 0).catch(async () => {
      expect({ seed: firstSeed, trace, vanished: await vanished() }).toEqual({ seed: firstSeed, trace, vanished: [] });
    });
  };

  const post = async (path: string, id: string, body: object, deadline?: number) => {
    const headers = {
      ...{ "Content-Type": "application/json", "Wsh-Request": id },
      ...(deadline === undefined ? {} : { "Wsh-Deadline": `${deadline}` }),
    };
    const response = await local.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    return (await response.json()) as { name?: string; error?: { code: string } };
  };
  const exec = (at: Machine, mark: string): Sent => {
    const deadline = Date.now() + DEADLINE_MS;
    const body = { command: `echo ${mark} $(date +%s%3N) >>${log}` };
    const answer = post(`/sessions/${at.name}%2Fdev/exec`, mark, body, deadline).then(
      ({ error }) => error?.code ?? "done",
      () => "connection",
    );
    return { mark, deadline, answer };
  };
  /** A session under a name that the machine chooses; repeated by its id until its result is known. */
  const create = async (at: Machine, id: string): Promise<void> => {
    const ask = () => post("/sessions", id, { server: at.name, name_prefix: `${id}-` }).catch(() => null);
    const made = await until(`what came of ${id}`, async () => {
      const answer = await ask();
      return answer?.name === undefined && answer?.error?.code !== "deadline_passed" ? null : answer;
    });
    if (made.name !== undefined) await appears(made.name);
  };

  const sent: Sent[] = [];
  for (let step = 0; step < STEPS; step++) {
    const at = machines[isLong ? random(machines.length) : step % machines.length];
    const event = events[isLong ? random(events.length) : step];
    if (at === undefined || event === undefined) throw new Error("no such step");
    trace.push(`${event} ${at.name}`);
    const asked = exec(at, `r${step}`);
    sent.push(asked);
    switch (event) {
      case "create": {
        const made = create(at, `c${step}`);
        at.cut();
        await made;
        break;
      }
      case "cut":
        at.cut();
        break;
      case "kill host":
        await killHost(at, nothingVanished);
        break;
      case "kill server":
        await killServer(at);
        break;
      case "kill local": {
        const killed = local.servers();
        await local.killServer();
        await until("the server here to be gone", () => !local.servers().some((pid) => killed.includes(pid)));
        // A command that waits for its machine may start the next one before this does.
        await local.server().catch((error) => {
          if (!`${error}`.includes("already listens")) throw error;
        });
        break;
      }
      case "stop host": {
        const host = await hostOfDev(at);
        process.kill(host, "SIGSTOP");
        await until("a while", () => Date.now() > asked.deadline - DEADLINE_MS + 1_000);
        await nothingVanished();
        process.kill(host, "SIGCONT");
        break;
      }
      case "hold": {
        const heal = at.hold();
        await until("the deadline", () => Date.now() > asked.deadline + SLACK_MS);
        await nothingVanished();
        heal();
        break;
      }
      case "kill all":
        at.cut();
        await killServer(at);
        await killHost(at, nothingVanished);
    }
    trace.push(await asked.answer);
    await nothingVanished();
  }
  // Every earlier command has ended when the next command does.
  for (const { wsh } of machines) {
    await until("the prompt", async () => (await wsh.run("exec", "dev", "--", "true")).code === 0);
  }
  const runs = fs.readFileSync(log, "utf8").trim().split("\n").filter(Boolean);
  for (const { mark, deadline, answer } of sent) {
    const own = runs.map((line) => line.split(" ")).filter(([name]) => name === mark);
    const said = await answer;
    expect({ trace, mark, said, runs: own.length <= 1 }).toEqual({ trace, mark, said, runs: true });
    if (said === "done") expect({ trace, mark, runs: own.length }).toEqual({ trace, mark, runs: 1 });
    if (said === "deadline_passed" || said === "machine_unreachable")
      expect({ trace, mark, runs: own.length }).toEqual({ trace, mark, runs: 0 });
    // The shell takes a moment from the first byte to the command.
    for (const [, time] of own) expect(Number(time)).toBeLessThan(deadline + SLACK_MS);
  }
  for (const { wsh } of machines) {
    const ids = (await wsh.list()).map(({ name }) => /^c\d+/.exec(name)?.[0]).filter(Boolean);
    expect({ trace, twice: ids.length - new Set(ids).size }).toEqual({ trace, twice: 0 });
  }
  if (isLong) console.log(`seed ${firstSeed}: ${trace.join(", ")}`);
});
