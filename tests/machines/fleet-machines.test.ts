/** Machines of a fleet over a real nats-server: their sessions are used by name, like those of every other machine. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { TestFleet } from "../support/nats-fleet.ts";
import { passwordOf } from "../support/nats-server.ts";
import { stopProcess } from "../support/processes.ts";
import { testWith } from "../support/programs.ts";
import { simulateMachines } from "../support/simulated-machines.ts";
import { until } from "../support/until.ts";
import type { Wsh } from "../support/wsh.ts";

setDefaultTimeout(120_000);

const testFleet = testWith("nats-server");
let fleet: TestFleet;
let bob: Wsh;
let m1: Wsh;

beforeAll(async () => {
  if (testFleet !== test) return;
  const users = [
    { name: "bob", role: "operate" },
    { name: "eve", role: "observe" },
    { name: "m1", role: "machine", tags: ["gpu"] },
    { name: "m2", role: "machine" },
  ] as const;
  fleet = await TestFleet.start(users, { trusted: ["simulated"] });
  bob = fleet.hub("bob");
  m1 = fleet.machine("m1");
  await m1.session("dev");
  await fleet.machine("m2").ok("new", "build", "--tag", "job");
});
afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

async function json(hub: Wsh, path: string, body?: object) {
  const headers = { "Content-Type": "application/json" };
  const response = await hub.fetch(
    path,
    body === undefined ? {} : { method: "POST", headers, body: JSON.stringify(body) },
  );
  return { status: response.status, body: await response.json() };
}

const names = (answer: { body: { name: string }[] }): string[] => answer.body.map(({ name }) => name);

testFleet("machines appear by themselves, with health, tags and sessions", async () => {
  const listed = await until("both machines", async () => {
    const { body } = await json(bob, "/servers");
    return (
      body.length === 3 &&
      body.every(({ sessions }: { sessions: number }, at: number) => at === 0 || sessions === 1) &&
      body
    );
  });
  expect(listed.slice(1)).toEqual([
    expect.objectContaining({ hostname: "m1", address: "fleet", health: "healthy", role: "remote", tags: ["gpu"] }),
    expect.objectContaining({ hostname: "m2", address: "fleet", health: "healthy", sessions: 1 }),
  ]);
});

testFleet("operations run there, and their errors are returned", async () => {
  const done = await json(bob, "/sessions/m1%2Fdev/exec", { command: "echo $XDG_RUNTIME_DIR" });
  expect(done).toMatchObject({ status: 200, body: { session: "m1/dev", exit_code: 0 } });
  expect(done.body.output).toContain(m1.instance.runtimeDir.replace(/\/wsh$/, ""));
  expect((await json(bob, "/sessions/m1%2Fnobody/screen")).body.error).toMatchObject({
    code: "session_not_found",
    machine: "m1",
  });
  expect((await json(bob, "/sessions/m9%2Fdev/screen")).body.error.code).toBe("machine_not_found");
  const long = await json(bob, "/sessions/m1%2Fdev/exec", {
    command: "seq 300000 | head -c 1500000",
    output_limit: 1_000_000,
  });
  expect(long.body.exit_code).toBe(0);
});

testFleet("lists show local sessions alone, and the fleet's on request", async () => {
  await bob.session("here");
  expect(names(await json(bob, "/sessions"))).toEqual(["here"]);
  expect(names(await json(bob, "/sessions?all_machines=1"))).toEqual(["here", "m1/dev", "m2/build"]);
  expect(names(await json(bob, "/sessions?tag=job"))).toEqual(["m2/build"]);
  expect(names(await json(bob, "/sessions?server=m1"))).toEqual(["m1/dev"]);
  await m1.ok("new", "made");
  await until("the new session", async () => names(await json(bob, "/sessions?all_machines=1")).includes("m1/made"));
  const made = await json(bob, "/sessions", { name: "remote", server: "m2" });
  expect(made).toMatchObject({ status: 201, body: { name: "m2/remote", server: "m2" } });
  await bob.fetch("/sessions/m2%2Fremote", { method: "DELETE" });
  await m1.ok("kill", "made");
  await until("both to be gone", async () => names(await json(bob, "/sessions?all_machines=1")).length === 3);
});

testFleet("the role decides, and the remote audit log names the user", async () => {
  const eve = fleet.hub("eve");
  await until("eve to see m1", async () => names(await json(eve, "/sessions?all_machines=1")).includes("m1/dev"));
  expect((await json(eve, "/sessions/m1%2Fdev/screen")).status).toBe(200);
  const refused = await json(eve, "/sessions/m1%2Fdev/exec", { command: `touch ${join(m1.dir, "refused")}` });
  expect(refused.body.error.code).toBe("access_denied");
});

testFleet("a machine whose server was killed is unreachable, and its sessions stay listed", async () => {
  const m2 = fleet.machine("m2");
  await until("the list to be known", async () =>
    names(await json(bob, "/sessions?all_machines=1")).includes("m2/build"),
  );
  await m2.killServer();
  const asked = await json(bob, "/sessions/m2%2Fbuild/screen");
  expect(asked.body.error).toMatchObject({ code: "machine_unreachable", machine: "m2" });
  const listed = await until("the session to be listed as of its last answer", async () => {
    const { body } = await json(bob, "/sessions?all_machines=1");
    const build = body.find(({ name }: { name: string }) => name === "m2/build");
    return build?.as_of !== undefined && build;
  });
  expect(listed).toMatchObject({ state: "unresponsive", as_of: expect.any(Number) });
  await m2.server();
  await until("m2 to be back", async () => (await json(bob, "/sessions/m2%2Fbuild/screen")).status === 200);
});

testFleet(
  "a server that is stopped: calls end at their deadline, its sessions are listed as of then, and it goes on",
  async () => {
    const [server = 0] = m1.servers();
    const mark = join(m1.dir, "late");
    await stopProcess(server);
    const began = performance.now();
    const response = await bob.fetch("/sessions/m1%2Fdev/exec", {
      method: "POST",
      headers: { "Content-Type": "application/json", "Wsh-Deadline": `${Date.now() + 1_500}` },
      body: JSON.stringify({ command: `touch ${mark}` }),
    });
    expect((await response.json()).error.code).toBe("outcome_unknown");
    expect(performance.now() - began).toBeLessThan(10_000);
    const here = async () =>
      (await json(bob, "/sessions?all_machines=1")).body.find(({ name }: { name: string }) => name === "m1/dev");
    const listed = await until("a missing beat", async () => (await here())?.as_of !== undefined && here());
    expect(listed).toMatchObject({ state: "unresponsive", as_of: expect.any(Number) });
    process.kill(server, "SIGCONT");
    await until("m1 to answer", async () => (await json(bob, "/sessions/m1%2Fdev/screen")).status === 200);
    expect(await json(bob, "/sessions/m1%2Fdev/exec", { command: "echo on" })).toMatchObject({
      body: { output: "on" },
    });
    expect(fs.existsSync(mark)).toBe(false);
  },
);

testFleet("nats-server is killed and restarted: nothing but time is lost", async () => {
  await fleet.nats.kill();
  await until("the loss to be known", async () => (await json(bob, "/servers/m1")).body.health === "unreachable");
  expect((await json(bob, "/sessions/m1%2Fdev/screen")).body.error.code).toBe("machine_unreachable");
  expect(names(await json(bob, "/sessions?all_machines=1"))).toContain("m1/dev");
  await fleet.nats.begin();
  await until("m1 to be back", async () => (await json(bob, "/sessions/m1%2Fdev/screen")).status === 200);
  expect(fs.existsSync(join(m1.dir, "refused"))).toBe(false);
});

testFleet("events of a machine's sessions reach its subscribers", async () => {
  const socket = new WebSocket(`ws+unix://${bob.instance.httpSocket}:/ws/json`);
  const heard: { event?: string; server?: string; params?: Record<string, unknown> }[] = [];
  socket.onmessage = ({ data }) => void heard.push(JSON.parse(String(data)));
  await until("the connection", () => heard.length > 0);
  socket.send(JSON.stringify({ method: "subscribe_machines", params: { machines: ["m1"] } }));
  await until("the machine", () => heard.some(({ event, server }) => event === "machine_reached" && server === "m1"));
  await m1.session("told");
  const told = await until("its session", () => heard.find(({ event }) => event === "session_created"));
  expect(told).toMatchObject({ server: "m1", params: { name: "m1/told", session: { name: "m1/told" } } });
  await m1.ok("kill", "told");
  socket.close();
});

testFleet("very many machines are listed, with their sessions, by a server that stays small", async () => {
  const count = process.env.WSH_TEST_FULL === undefined ? 400 : 10_000;
  const [server = 0] = bob.servers();
  const { body: sessions } = await json(bob, "/sessions?server=local");
  const megabytes = (): number =>
    Number(/^Anonymous:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${server}/smaps_rollup`, "utf8"))?.[1]) / 1024;
  const before = megabytes();
  const login = { user: "simulated", password: passwordOf("simulated") };
  const machines = await simulateMachines({ url: fleet.nats.url, ...login, count, sessions });
  const simulated = (all: readonly string[]): number => all.filter((name) => /^s\d+\//.test(name)).length;
  const listed = await until("a session of each", async () => {
    const all = names(await json(bob, "/sessions?all_machines=1"));
    return simulated(all) === count && all;
  });
  expect(listed).toContain("m1/dev");
  expect(listed).toContain(`s${count - 1}/here`);
  expect(names(await json(bob, "/sessions"))).toEqual(["here"]);
  await until("all of them to be healthy", async () => {
    const { body } = await json(bob, "/servers");
    return body.filter(({ health }: { health: string }) => health === "healthy").length === count + 3;
  });
  // 10 KB and more per machine would be one copy too many of a list with one session.
  expect(megabytes() - before).toBeLessThan(40 + count / 25);
  if (process.env.WSH_TEST_FULL !== undefined) await stayListed(machines.pid, count);
  process.kill(machines.pid, "SIGKILL");
  await machines.exited;
});

/** Stopped machines stay listed unchanged. It takes until a heartbeat is missing. */
async function stayListed(pid: number, count: number): Promise<void> {
  await stopProcess(pid);
  await until("their beats to be missing", async () => {
    const { body } = await json(bob, "/sessions?all_machines=1");
    return body.filter(({ as_of }: { as_of?: number }) => as_of !== undefined).length === count;
  });
}
