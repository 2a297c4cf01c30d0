/** Requests with an id run once, across kills and cuts, and none begins after its deadline. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { stored } from "../reliability/checkpoints/crashed-sessions.ts";
import { CutProxy } from "../support/cut-proxy.ts";
import { stopProcess } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { hostOf, Wsh } from "../support/wsh.ts";

setDefaultTimeout(120_000);

let remote: Wsh;
let local: Wsh;
let proxy: CutProxy;
let log = "";
let bind = "";

beforeAll(async () => {
  remote = new Wsh();
  local = new Wsh();
  const url = await remote.tcpServer();
  bind = new URL(url).host;
  proxy = await CutProxy.to(Number(new URL(url).port));
  const token = (await remote.ok("token")).trim();
  await local.ok("servers", "add", `http://127.0.0.1:${proxy.port}`, "--name", "m1", "--token", token);
  await local.server();
  log = join(remote.dir, "runs");
});
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await local[Symbol.asyncDispose]();
  await remote[Symbol.asyncDispose]();
});

/** The remote server is killed, and another one serves the same sessions at the same address. */
async function startAgain(): Promise<void> {
  await remote.killServer();
  await until("the server to be gone", () => remote.servers().length === 0);
  await remote.server("--bind", bind);
}

/** A command that reports its start, and ends on request. */
const held = (name: string) =>
  `echo ${name} >>${log}; until [ -e ${log}.${name} ]; do sleep 0.05; done; echo ${name} done`;
const runsOf = (name: string): number =>
  fs.existsSync(log)
    ? fs
        .readFileSync(log, "utf8")
        .split("\n")
        .filter((line) => line === name).length
    : 0;
const letEnd = (name: string): void => fs.writeFileSync(`${log}.${name}`, "");

interface Answer {
  readonly status: number;
  readonly body: {
    readonly error?: { readonly code: string; readonly request?: string; readonly hint?: string };
  } & Record<string, unknown>;
}

async function post(wsh: Wsh, path: string, body: object, headers: Record<string, string> = {}): Promise<Answer> {
  const init = {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  };
  const response = await wsh.fetch(path, init);
  return { status: response.status, body: (await response.json()) as Answer["body"] };
}

test("a POST with an id is carried out once and answered at every repetition, also by the next server", async () => {
  await remote.session("local");
  const request = { command: `echo once >>${log}; echo told` };
  const id = { "Wsh-Request": "a-1" };
  const first = await post(remote, "/sessions/local/exec", request, id);
  expect(first).toMatchObject({ status: 200, body: { output: "told", exit_code: 0 } });
  expect(await post(remote, "/sessions/local/exec", request, id)).toEqual(first);
  const other = await post(remote, "/sessions/local/exec", { command: "echo other" }, id);
  expect(other).toMatchObject({ status: 409, body: { error: { code: "request_conflict" } } });
  await startAgain();
  expect(await post(remote, "/sessions/local/exec", request, id)).toEqual(first);
  expect(runsOf("once")).toBe(1);
  expect(await post(remote, "/sessions/local/exec", request)).toMatchObject({ status: 200 });
  expect(runsOf("once")).toBe(2);
  const bad = await post(remote, "/sessions/local/exec", request, { "Wsh-Request": "a b" });
  expect(bad).toMatchObject({ status: 400, body: { error: { code: "invalid_request" } } });
});

test("a command from before a crash of its session is not run again, however late the repeated request arrives", async () => {
  const { pid, id: session, pane_id } = await remote.session("lost");
  await remote.shows("lost", "$");
  const request = { command: `echo ran >>${log}` };
  const firstAt = Date.now();
  const id = { "Wsh-Request": "lost-1" };
  expect(await post(remote, "/sessions/lost/exec", request, id)).toMatchObject({ status: 200 });
  await until("a checkpoint", () => stored(remote, Number(pane_id.slice(1)), Number(session.slice(2))) !== null);
  process.kill(hostOf(pid), "SIGKILL");
  await startAgain();
  await until("it to be lost", async () =>
    (await remote.list()).some(({ name, state }) => name === "lost" && state === "crashed"),
  );
  await remote.ok("restore", "lost");
  for (const said of [
    { "Wsh-Request-Age": "1", "Wsh-Request-First": `${firstAt}` },
    { "Wsh-Request-First": `${firstAt}` },
  ]) {
    const again = await post(remote, "/sessions/lost/exec", request, { ...id, ...said });
    expect(again.body.error?.code).toBe("outcome_unknown");
  }
  expect(runsOf("ran")).toBe(1);
});

test("of two creates with one id one session is made, on either server; also after it has ended", async () => {
  const create = { name_prefix: "made-", command: `echo created >>${log}; sleep 1000` };
  const id = { "Wsh-Request": "create-1" };
  const asked = await Promise.all([post(remote, "/sessions", create, id), post(remote, "/sessions", create, id)]);
  const [{ body }] = asked;
  expect(asked.map((each) => [each.status, each.body.id])).toEqual([
    [201, body.id],
    [201, body.id],
  ]);
  await startAgain();
  expect((await post(remote, "/sessions", create, id)).body).toMatchObject({ id: body.id, name: body.name });
  await remote.ok("kill", String(body.name));
  expect((await post(remote, "/sessions", create, id)).body).toMatchObject({ id: body.id, name: body.name });
  expect((await remote.list()).filter(({ name }) => name.startsWith("made-"))).toEqual([]);
  expect(runsOf("created")).toBe(1);
  const steps = { steps: [{ command: `echo step >>${log}` }, { command: "echo two" }] };
  const first = await post(remote, "/exec", steps, { "Wsh-Request": "fresh-1" });
  await startAgain();
  const again = await post(remote, "/exec", steps, { "Wsh-Request": "fresh-1" });
  expect(again.body.steps).toMatchObject([{ state: "finished" }, { output: "two" }]);
  expect(again.body.session).toBe(first.body.session);
  expect(runsOf("step")).toBe(1);
});

test("nothing begins after its deadline: neither on a server, nor in a session process that was stopped meanwhile", async () => {
  await remote.session("late");
  const late = await post(remote, "/sessions/late/exec", { command: `echo late >>${log}` }, { "Wsh-Deadline": "1000" });
  expect(late).toMatchObject({ status: 504, body: { error: { code: "deadline_passed" } } });
  const created = await post(remote, "/sessions", { name: "toolate" }, { "Wsh-Deadline": "1000" });
  expect(created.body.error?.code).toBe("deadline_passed");
  const host = remote.hosts().at(-1) ?? 0;
  await stopProcess(host);
  const deadline = Date.now() + 300;
  const asked = post(
    remote,
    "/sessions/late/input",
    { data: `echo late >>${log}\r` },
    { "Wsh-Deadline": `${deadline}` },
  );
  await until("the deadline", () => Date.now() > deadline);
  process.kill(host, "SIGCONT");
  expect((await asked).body.error?.code).toBe("deadline_passed");
  expect((await remote.run("exec", "late", "--", "echo after")).stdout).toBe("after\n");
  expect(runsOf("late")).toBe(0);
  expect((await remote.list()).map(({ name }) => name)).not.toContain("toolate");
});

test("a connection lost during a command is restored, and the answer is the command's", async () => {
  await remote.session("dev");
  const api = post(local, "/sessions/m1%2Fdev/exec", { command: held("api") });
  await until("the command to run", () => runsOf("api") === 1);
  proxy.snap();
  await startAgain();
  letEnd("api");
  expect(await api).toMatchObject({ status: 200, body: { output: "api done", exit_code: 0 } });
  expect(runsOf("api")).toBe(1);

  const person = local.run("exec", "m1/dev", "--json", "--", held("person"));
  await until("the command to run", () => runsOf("person") === 1);
  proxy.snap();
  letEnd("person");
  const { code, stdout } = await person;
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, state: "finished", output: "person done" });
  expect(runsOf("person")).toBe(1);

  const shown = local.run("exec", "m1/dev", "--", `${held("shown")}; sh -c 'exit 3'`);
  await until("the command to run", () => runsOf("shown") === 1);
  proxy.snap();
  letEnd("shown");
  expect(await shown).toEqual({ code: 3, stdout: "shown done\n", stderr: "" });
});

test("an unknown result names its request; repeating that returns the first answer", async () => {
  await remote.session("out");
  await remote.ok("wait", "out", "prompt");
  // Long enough for a busy machine to start it.
  const deadline = { "Wsh-Deadline": `${Date.now() + 6_000}` };
  const request = { command: held("out") };
  const asked = post(local, "/sessions/m1%2Fout/exec", request, deadline);
  await until("the command to run", () => runsOf("out") === 1);
  proxy.cut();
  const unknown = await asked;
  expect(unknown).toMatchObject({ status: 504, body: { error: { code: "outcome_unknown", machine: "m1" } } });
  const { request: id = "", hint } = unknown.body.error ?? {};
  expect(hint).toContain("Send it again with the same Wsh-Request");
  expect((await post(local, "/sessions/m1%2Fout/exec", request)).body.error?.code).toBe("machine_unreachable");
  letEnd("out");
  proxy.heal();
  const again = await post(local, "/sessions/m1%2Fout/exec", request, { "Wsh-Request": id });
  expect(again).toMatchObject({ status: 200, body: { output: "out done", exit_code: 0 } });
  expect(runsOf("out")).toBe(1);

  const named = { WSH_REQUEST: "0190a000-0000-7000-8000-000000000000" };
  const stale = await local.runWith({ env: named }, "exec", "m1/out", "--", `echo stale >>${log}`);
  expect(stale.stderr).toContain("no longer remembers");
  const own = { WSH_REQUEST: "mine" };
  for (let round = 0; round < 2; round++) {
    const { stdout } = await local.runWith({ env: own }, "exec", "m1/out", "--json", "--", `echo mine >>${log}`);
    expect(JSON.parse(stdout)).toMatchObject({ state: "finished", exit_code: 0 });
  }
  expect([runsOf("stale"), runsOf("mine")]).toEqual([0, 1]);
});

test("wsh exec over a connection that stays lost reports the result as unknown, with the id of what continues", async () => {
  await remote.session("gone");
  await remote.ok("wait", "gone", "prompt");
  const command = `${held("gone")}; sh -c 'exit 3'`;
  const soon = { WSH_TEST_INTERVALS: JSON.stringify({ peerAgain: 1_000, peerBegin: 5_000, peerPing: 1_000 }) };
  const asked = local.runWith({ env: soon }, "exec", "m1/gone", "--", command);
  await until("the command to run", () => runsOf("gone") === 1);
  proxy.cut();
  const { code, stderr } = await asked;
  expect({ code, stderr }).toEqual({
    code: 125,
    stderr: expect.stringMatching(/result is unknown|may or may not be running/),
  });
  expect(stderr).not.toContain("Nothing was sent");
  const [, id = ""] = /wsh exec m1\/gone --resume (\S+)/.exec(stderr) ?? [];
  proxy.heal();
  letEnd("gone");
  // Of a command that is known to have started, its own id; else the request's, with the command.
  const again = /^\d+$/.test(id) ? [id] : [id, "--", command];
  expect(await local.run("exec", "m1/gone", "--resume", ...again)).toEqual({
    code: 3,
    stdout: "gone done\n",
    stderr: "",
  });
  expect(runsOf("gone")).toBe(1);
  const request = "0190a000-0000-7000-8000-000000000001";
  const stale = await local.run("exec", "m1/gone", "--resume", request, "--", `echo late >>${log}`);
  expect([stale.code, stale.stderr]).toEqual([125, expect.stringContaining("the command may or may not be running")]);
  expect(runsOf("late")).toBe(0);
});
