/** Sessions that any machine with some tags may run, and sessions that a machine lets others start. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { call, McpInstance } from "../support/mcp-instance.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(120_000);

const settings = {
  gpu1: 'accept = "placed"\nmachine_tags = ["gpu"]\nmax_sessions = 2\n',
  gpu2: 'accept = "placed"\nmachine_tags = ["gpu", "big"]\n',
  shy: 'machine_tags = ["gpu"]\n',
  shut: 'accept = "none"\nmachine_tags = ["shut"]\n',
} as const;
type Name = keyof typeof settings;
const remote = {} as Record<Name, Wsh>;
let local: McpInstance;

beforeAll(async () => {
  local = new McpInstance();
  await local.server();
  for (const name of Object.keys(settings) as Name[]) {
    const machine = new Wsh({ config: settings[name] });
    remote[name] = machine;
    const url = await machine.tcpServer();
    await local.ok("servers", "add", url, "--name", name, "--token", (await machine.ok("token")).trim());
  }
});
afterAll(async () => {
  for (const machine of Object.values(remote)) await machine[Symbol.asyncDispose]();
  await local[Symbol.asyncDispose]();
});

async function post(body: object) {
  const headers = { "Content-Type": "application/json" };
  const response = await local.fetch("/sessions", { method: "POST", headers, body: JSON.stringify(body) });
  return { status: response.status, body: await response.json() };
}

test("a session is placed by tags, and named as callers here must name it", async () => {
  expect((await local.ok("new", "a", "--place", "tag=big")).trim()).toBe("gpu2/a");
  expect(await local.ok("exec", "gpu2/a", "--", "echo there")).toBe("there\n");
  const made = await post({ name: "b", place: { tags: ["gpu", "big"], strategy: "least_loaded" } });
  expect(made).toMatchObject({ status: 201, body: { name: "gpu2/b", server: "gpu2" } });
  const client = await local.client();
  const tool = await call(client, "wsh_create_session", { name: "c", place: { tags: ["big"] } });
  expect(tool).toMatchObject({ value: { session: "gpu2/c" } });
});

test("a full machine is followed by the next; requests that name it alone are refused", async () => {
  for (let at = 0; at < 3; at++) await local.ok("new", "--place", "gpu");
  expect((await remote.gpu1.list()).length).toBeLessThanOrEqual(2);
  expect(await remote.shy.list()).toEqual([]);
  // Full, however many were placed by chance.
  while ((await remote.gpu1.list()).length < 2) await local.ok("new", "gpu1/");
  const before = (await remote.gpu2.list()).length;
  for (let at = 0; at < 2; at++) await local.ok("new", "--place", "gpu");
  expect((await remote.gpu2.list()).length).toBe(before + 2);
});

test("an impossible placement is refused with the missing tags", async () => {
  expect(await post({ place: { tags: ["quantum"] } })).toMatchObject({
    status: 404,
    body: { error: { code: "machine_not_found", message: expect.stringContaining("with 'quantum'") } },
  });
  expect((await local.run("new", "--place", "shut")).stderr).toContain("shut takes none");
  expect(await post({ place: { tags: ["gpu"] }, server: "gpu1" })).toMatchObject({ status: 400 });
  expect(await post({ place: { tags: ["gpu"] }, server: "local" })).toMatchObject({ status: 400 });
  expect(await post({ place: { tags: ["gpu"] }, name: "gpu1/x" })).toMatchObject({ status: 400 });
  expect(await post({ place: { tag: "gpu" } })).toMatchObject({ status: 422 });
  expect(await post({ place: { tags: [], strategy: "first" } })).toMatchObject({ status: 422 });
  expect((await local.run("new", "--place", "a b")).code).not.toBe(0);
});

test("a machine starts for others only what its setting permits, by any operation", async () => {
  expect((await local.ok("new", "shy/own")).trim()).toBe("shy/own");
  expect((await local.run("new", "shut/own")).stderr).toContain("does not start sessions for other machines");
  const client = await local.client();
  const tool = await call(client, "wsh_exec", { session: "shut/x", command: "true", create: true });
  expect(tool).toMatchObject({ isError: true, value: { code: "machine_busy" } });
  // Local callers start anything, and their sessions may be used.
  await remote.shut.session("mine");
  expect(await local.ok("exec", "shut/mine", "--", "echo used")).toBe("used\n");
});

test("a request repeated by its id is placed once", async () => {
  const headers = { "Content-Type": "application/json", "Wsh-Request": "once-1" };
  const body = JSON.stringify({ place: { tags: ["big"] } });
  const ask = async () => (await local.fetch("/sessions", { method: "POST", headers, body })).json();
  const first = await ask();
  await local.killServer();
  await local.server();
  expect((await ask()).id).toBe(first.id);
});

test("the command line repeats a placement by WSH_REQUEST", async () => {
  const env = { WSH_REQUEST: "placed-once" };
  const again = () => local.runWith({ env }, "new", "asked", "--place", "big");
  const first = await again();
  expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/\/asked\n$/) });
  expect(await again()).toEqual(first);
  expect((await local.run("new", "asked", "--place", "big")).code).toBe(1);
});
