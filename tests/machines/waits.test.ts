/** Waits over machines whose connection is lost meanwhile, and over machines that know each other. */
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { CutProxy } from "../support/cut-proxy.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(60_000);

/** Longest wait, in ms: far longer than anything here takes. */
const LONG_MS = 50_000;

let remote: Wsh;
let local: Wsh;
let proxy: CutProxy;

beforeAll(async () => {
  remote = new Wsh();
  local = new Wsh();
  const urls: string[] = [];
  for (const wsh of [remote, local]) {
    urls.push(await wsh.tcpServer());
  }
  const [remoteUrl = "", localUrl = ""] = urls;
  proxy = await CutProxy.to(Number(new URL(remoteUrl).port));
  const token = (await remote.ok("token")).trim();
  await local.ok("servers", "add", `http://127.0.0.1:${proxy.port}`, "--name", "m1", "--token", token);
  await remote.ok("servers", "add", localUrl, "--name", "back", "--token", (await local.ok("token")).trim());
  await local.session("one", "--tag", "job");
  await remote.session("two", "--tag", "job");
  for (const [wsh, name] of [
    [local, "one"],
    [remote, "two"],
  ] as const)
    await wsh.ok("wait", name, "prompt");
});
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await local[Symbol.asyncDispose]();
  await remote[Symbol.asyncDispose]();
});
afterEach(() => {
  proxy.heard = null;
  proxy.heal();
});

async function post(path: string, body: object): Promise<{ status: number; body: Record<string, unknown> }> {
  const init = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const response = await local.fetch(path, init);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** The remote machine has reported the output position from which a wait counts. @param act at that moment */
function waitBegun(act?: () => void): Promise<true> {
  let said = "";
  let hasBegun = false;
  proxy.heard = (bytes) => {
    said += bytes.toString("latin1");
    if (hasBegun || !said.includes("output_cursor")) return;
    hasBegun = true;
    act?.();
  };
  return until("the wait to have begun", () => hasBegun);
}

/** The shell there prints WORD-42, which nobody typed. */
async function printThere(word: string): Promise<void> {
  await remote.enter("two", `echo ${word}-$((40+2))`);
  await remote.shows("two", `${word}-42`);
}

test("a wait continues over a lost connection, misses nothing, and ignores earlier output", async () => {
  await printThere("old");
  const any_of = ["old-42", "api-42"].map((text) => ({ type: "text", text }));
  const begun = waitBegun();
  const waited = post("/sessions/m1%2Ftwo/wait", { any_of, max_wait_ms: LONG_MS });
  await begun;
  proxy.cut();
  await printThere("api");
  proxy.heal();
  expect(await waited).toMatchObject({
    status: 200,
    body: { session: "m1/two", decided_by: "text", match: "api-42" },
  });

  const again = waitBegun();
  const person = local.run("wait", "m1/two", "--text", "cli-42", "--timeout", "50", "--json");
  await again;
  proxy.cut();
  await printThere("cli");
  proxy.heal();
  const { code, stdout } = await person;
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, decided_by: "text", match: "cli-42" });
});

test("a wait over several machines continues as well, by name and by tag", async () => {
  for (const [word, where] of [
    ["names", { sessions: ["one", "m1/two"] }],
    ["tags", { tag: ["job"] }],
  ] as const) {
    const begun = waitBegun();
    const waited = post("/wait", { any_of: [{ type: "text", text: `${word}-42` }], ...where, max_wait_ms: LONG_MS });
    await begun;
    proxy.snap();
    await printThere(word);
    expect((await waited).body).toMatchObject({ session: "m1/two", decided_by: "text", match: `${word}-42` });
  }
});

test("a wait that times out without the machine reports it, and one by tag names the machine", async () => {
  const any_of = [{ type: "text", text: "never-42" }];
  const cut = waitBegun(() => proxy.cut());
  const waited = post("/sessions/m1%2Ftwo/wait", { any_of, max_wait_ms: 1_000 });
  await cut;
  expect((await waited).body.error).toMatchObject({ code: "machine_unreachable", machine: "m1" });
  expect((await post("/wait", { any_of, tag: ["job"], max_wait_ms: 100 })).body).toMatchObject({
    session: null,
    decided_by: "timeout",
    output_cursors: { one: expect.any(Number) },
    warnings: [expect.stringContaining("m1")],
  });
});

test("of two machines that know each other, each answers for its own sessions alone", async () => {
  const timeout = await post("/wait", { any_of: ["bell"], tag: ["job"], max_wait_ms: 100 });
  expect(Object.keys(Object(timeout.body.output_cursors)).sort()).toEqual(["m1/two", "one"]);
  // Only a machine one step further has it.
  await local.session("own", "--tag", "mine");
  const idle = await local.fetch("/idle?tag=mine&timeout_ms=50&max_wait_ms=20000&server=m1");
  expect(((await idle.json()) as { error: { code: string } }).error.code).toBe("no_sessions");
  const named = await post("/wait?server=m1", { any_of: ["prompt"], sessions: ["back/own"] });
  expect(named.body.error).toMatchObject({ code: "access_denied" });
});
