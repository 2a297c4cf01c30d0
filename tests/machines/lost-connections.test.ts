/**
 * Commands on another machine whose connection is lost at each message of the exchange, in turn. The report is true:
 * done with its result, not done, or unknown with an id of what continues, which then has the result. None runs twice.
 */
import { describe, expect, setDefaultTimeout } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { CutProxy } from "../support/cut-proxy.ts";
import { TestFleet } from "../support/nats-fleet.ts";
import { testWith } from "../support/programs.ts";
import { TwoMachines } from "../support/two-machines.ts";
import { until } from "../support/until.ts";
import type { Wsh } from "../support/wsh.ts";

const isFull = process.env.WSH_TEST_FULL !== undefined;
setDefaultTimeout(isFull ? 600_000 : 120_000);

/** A connection that stays lost is given up sooner: this is waited for in many of the losses. */
const wsh = {
  config: 'agents_may = "everything"\n',
  intervals: { peerPing: 1_000, peerAgain: 3_000, peerBegin: 5_000 },
};

/** Longest time until a machine is reachable again, in ms. */
const THERE_MS = 60_000;

/** A caller's knowledge of its command. */
type Outcome =
  | { readonly kind: "done"; readonly exit: number | null; readonly output: string }
  | { readonly kind: "not_done" }
  | { readonly kind: "unknown"; readonly again: () => Promise<Outcome> }
  | { readonly kind: "unclear"; readonly text: string };
type Interface = (local: Wsh, place: string, command: string) => Promise<Outcome>;

const unclear = (what: unknown): Outcome => ({ kind: "unclear", text: JSON.stringify(what) });

function byCommandLine(flags: readonly string[]): Interface {
  const ended = async (local: Wsh, place: string, args: readonly string[]): Promise<Outcome> => {
    const { code, stdout, stderr } = await local.run("exec", place, ...flags, ...args);
    const [, id] = /--resume (\S+)/.exec(stderr) ?? [];
    const command = args.slice(args.indexOf("--"));
    if (code === 125 && id !== undefined) {
      const again = /^\d+$/.test(id) ? [] : command;
      return { kind: "unknown", again: () => ended(local, place, ["--resume", id, ...again]) };
    }
    if (code === 1 && /Nothing was (?:sent|done)|does not answer|was lost/.test(stderr)) return { kind: "not_done" };
    if (code !== 7) return unclear({ code, stdout, stderr });
    const output: string = flags.includes("--json") ? JSON.parse(stdout).output : stdout;
    return { kind: "done", exit: code, output: output.trim() };
  };
  return (local, place, command) => ended(local, place, ["--", command]);
}

interface Answer {
  readonly error?: { readonly code?: string; readonly request?: string };
  readonly code?: string;
  readonly state?: string;
  readonly exit_code?: number | null;
  readonly output?: string;
}

function answered(answer: Answer, again: (request: string | undefined) => Promise<Outcome>): Outcome {
  const { code = answer.code, request } = answer.error ?? {};
  if (code === "outcome_unknown") return { kind: "unknown", again: () => again(request) };
  if (code === "machine_unreachable" || code === "deadline_passed") return { kind: "not_done" };
  if (code !== undefined || answer.state !== "finished") return unclear(answer);
  return { kind: "done", exit: answer.exit_code ?? null, output: answer.output ?? "" };
}

const json = { "Content-Type": "application/json" };

const byHttp: Interface = (local, place, command) => {
  const began = Date.now();
  const ask = async (request?: string): Promise<Outcome> => {
    const named = { "Wsh-Request": request ?? "", "Wsh-Request-Age": `${Date.now() - began}` };
    const headers = request === undefined ? json : { ...json, ...named };
    const path = `/sessions/${encodeURIComponent(place)}/exec`;
    const response = await local.fetch(path, { method: "POST", headers, body: JSON.stringify({ command }) });
    return answered((await response.json()) as Answer, ask);
  };
  return ask();
};

const byMcp: Interface = async (local, session, command) => {
  const post = (body: object, headers: Readonly<Record<string, string>>): Promise<Response> =>
    local.fetch("/mcp", {
      method: "POST",
      headers: { ...json, Accept: "application/json", ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", ...body }),
    });
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
  const begun = await post({ id: 0, method: "initialize", params }, {});
  const own = { "Mcp-Session-Id": begun.headers.get("mcp-session-id") ?? "" };
  let id = 0;
  // A tool has no field for an id: the same call is the same request.
  const call = async (): Promise<Outcome> => {
    const called = { name: "wsh_exec", arguments: { session, command } };
    const response = await post({ id: ++id, method: "tools/call", params: called }, own);
    const { result } = (await response.json()) as { result?: { content: { text: string }[] } };
    return answered(JSON.parse(result?.content[0]?.text ?? "{}"), call);
  };
  return call();
};

const interfaces: Readonly<Record<string, Interface>> = {
  cli: byCommandLine([]),
  json: byCommandLine(["--json"]),
  http: byHttp,
  mcp: byMcp,
};

interface Machines extends AsyncDisposable {
  readonly local: Wsh;
  readonly remote: Wsh;
  readonly proxy: CutProxy;
}

async function bySsh(): Promise<Machines> {
  // A login by ssh takes longer.
  const intervals = { ...wsh.intervals, peerAgain: 8_000 };
  const two = await TwoMachines.start({ local: { intervals }, remote: { ...wsh, intervals } });
  await two.remote.server();
  const file = two.sshd.clientConfig("m1");
  const text = fs.readFileSync(file, "utf8");
  const proxy = await CutProxy.to(Number(/Port (\d+)/.exec(text)?.[1]));
  fs.writeFileSync(file, text.replace(/Port \d+/, `Port ${proxy.port}`));
  await two.local.server();
  await two.add();
  return {
    ...{ local: two.local, remote: two.remote, proxy },
    async [Symbol.asyncDispose]() {
      await two[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
    },
  };
}

/** @param cut its connection to the NATS server can be cut */
async function byNats(cut: "m1" | "me"): Promise<Machines> {
  let proxy: CutProxy | null = null;
  const users = [{ name: "m1", role: "machine" } as const, { name: "me", role: "operate" } as const];
  const fleet = await TestFleet.start(users, {
    wsh,
    async way(user, url) {
      if (user !== cut) return null;
      proxy = await CutProxy.to(Number(new URL(url).port));
      return `nats://127.0.0.1:${proxy.port}`;
    },
  });
  if (proxy === null) throw new Error("no way to cut");
  const made: CutProxy = proxy;
  return {
    ...{ local: fleet.hub("me"), remote: fleet.machine("m1"), proxy: made },
    async [Symbol.asyncDispose]() {
      await fleet[Symbol.asyncDispose]();
      await made[Symbol.asyncDispose]();
    },
  };
}

type Loss = "snap" | "cut" | "hold";
/** Messages from a loss to the next. A connection that stays lost is waited for, a silent one longest. */
const STEPS: Readonly<Record<Loss, number>> = { snap: 1, cut: 4, hold: 8 };

/** The report of a command, and the truth. */
class Trial {
  private count = 0;

  constructor(private readonly machines: Machines) {}

  /** @returns whether the connection was lost before the end */
  async run(name: string, loss: Loss, pieces: number): Promise<boolean> {
    const { local, remote, proxy } = this.machines;
    const log = join(remote.dir, `${name}-${loss}-${this.count++}-${pieces}`);
    const command = `echo run >>${log}; echo out-$((40+2)); sh -c 'exit 7'`;
    const session = `s-${name}`;
    proxy.after(pieces, () => {
      if (loss === "snap") proxy.snap();
      else if (loss === "cut") proxy.cut();
      else proxy.hold();
    });
    let said = await interfaces[name]?.(local, `m1/${session}`, command);
    const { hasActed } = proxy;
    const first = said?.kind;
    proxy.after(Number.POSITIVE_INFINITY, () => {});
    proxy.heal();
    const place = { name, loss, pieces, first };
    const isThere = async (): Promise<boolean> => (await local.fetch(`/sessions/m1%2F${session}/screen`)).ok;
    await until("the machine to be there", isThere, THERE_MS);
    // Also that it arrived too late, and was not done.
    while (said?.kind === "unknown") said = await said.again();
    // Messages held by the proxy have arrived.
    if (said?.kind === "not_done") await until("the shell to be at rest", () => this.isAtRest(remote, session));
    const runs = (): number => (fs.existsSync(log) ? fs.readFileSync(log, "utf8").split("run\n").length - 1 : 0);
    const done: Outcome = { kind: "done", exit: 7, output: "out-42" };
    const isNotDone = said?.kind === "not_done";
    expect({ ...place, said, runs: runs() }).toEqual({
      ...place,
      ...(isNotDone ? { said, runs: 0 } : { said: done, runs: 1 }),
    });
    await until("the shell to be at rest", () => this.isAtRest(remote, session));
    if (process.env.WSH_TEST_SAY !== undefined) console.log(JSON.stringify({ ...place, hasActed }));
    return hasActed;
  }

  private async isAtRest(remote: Wsh, session: string): Promise<boolean> {
    const body = JSON.stringify({ any_of: ["prompt"], max_wait_ms: 5_000 });
    const response = await remote.fetch(`/sessions/${session}/wait`, { method: "POST", headers: json, body });
    return ((await response.json()) as { decided_by?: string }).decided_by === "prompt";
  }
}

/** Cuts the connection at each message until a command ends before the cut. */
async function everyCut(machines: Machines, name: string, loss: Loss, step: number): Promise<void> {
  await machines.remote.session(`s-${name}`);
  await machines.remote.ok("wait", `s-${name}`, "prompt");
  // The hub discovers the machine a moment after its start.
  await until("the machine to be known", async () => (await machines.local.run("screen", `m1/s-${name}`)).code === 0);
  const trial = new Trial(machines);
  for (let pieces = 0; await trial.run(name, loss, pieces); pieces += step);
}

const ways: Readonly<Record<string, { readonly open: () => Promise<Machines>; readonly needs: readonly string[] }>> = {
  ssh: { open: bySsh, needs: ["sshd", "ssh", "ssh-keygen"] },
  "NATS, cut here": { open: () => byNats("me"), needs: ["nats-server"] },
  "NATS, cut there": { open: () => byNats("m1"), needs: ["nats-server"] },
};

if (!isFull) {
  testWith("nats-server")("over NATS, cut for a moment", async () => {
    await using machines = await byNats("me");
    for (const [name, step] of [["cli", 5] as const, ["http", 1] as const, ["mcp", 1] as const]) {
      await everyCut(machines, name, "snap", step);
    }
  });
} else {
  for (const [way, { open, needs }] of Object.entries(ways)) {
    describe(`over ${way}`, () => {
      for (const loss of ["snap", "cut", "hold"] as const) {
        testWith(...needs)(loss, async () => {
          const each = Object.keys(interfaces).map(async (name) => {
            await using machines = await open();
            await everyCut(machines, name, loss, STEPS[loss]);
          });
          await Promise.all(each);
        });
      }
    });
  }
}
