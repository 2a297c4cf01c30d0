/** Events and waits over several machines. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { CutProxy } from "../support/cut-proxy.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { TestSocket } from "../support/websocket.ts";
import { Wsh } from "../support/wsh.ts";

/** Longer than a question waits before it takes a key (session/questions), in ms. */
const PAUSE_MS = 500;

setDefaultTimeout(60_000);

let remote: Wsh;
let local: Wsh;
let proxy: CutProxy;
let address = "";
let token = "";

beforeAll(async () => {
  remote = new Wsh();
  local = new Wsh();
  const url = await remote.tcpServer();
  proxy = await CutProxy.to(Number(new URL(url).port));
  const access = (await remote.ok("token")).trim();
  await local.ok("servers", "add", `http://127.0.0.1:${proxy.port}`, "--name", "m1", "--token", access);
  address = await local.tcpServer();
  token = (await local.ok("token")).trim();
});
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await local[Symbol.asyncDispose]();
  await remote[Symbol.asyncDispose]();
});

async function socketTo(path: string, bearer = token): Promise<TestSocket> {
  const socket = new TestSocket(`${address.replace("http", "ws")}${path}`, { Authorization: `Bearer ${bearer}` });
  await socket.opened;
  return socket;
}

test("one stream has the events of all machines, each with its machine, and reports a lost one and its return", async () => {
  const socket = await socketTo("/ws/json");
  socket.socket.send(JSON.stringify({ id: 1, method: "subscribe_machines", params: {} }));
  await socket.next("the answer", ({ id, result }) => id === 1 && result.machines === "all");
  const first = await socket.next("the machine", ({ event }) => event === "machine_reached");
  expect(first).toEqual({ event: "machine_reached", server: "m1", params: { missed_ms: null } });

  await local.session("here");
  await remote.session("there", "--tag", "gpu");
  await socket.next("a session there", ({ event, server }) => event === "session_created" && server === "m1");
  await remote.ok("rename", "there", "thither");
  const here = await socket.next("an event here", ({ event, server }) => event === "session_created" && !server);
  expect(here.params.name).toBe("here");
  const renamed = await socket.next("a rename there", ({ event }) => event === "session_renamed");
  expect(renamed).toMatchObject({
    server: "m1",
    params: {
      old_name: "m1/there",
      new_name: "m1/thither",
      session: { id: "m1/@s1", name: "m1/thither", server: "m1" },
    },
  });

  proxy.cut();
  const lost = await socket.next("the machine to be lost", ({ event }) => event === "machine_lost");
  expect(lost).toMatchObject({ server: "m1", params: { code: "machine_unreachable" } });
  await remote.ok("kill", "thither");
  const from = socket.messages.length;
  proxy.heal();
  const back = await socket.next("the machine to be back", ({ event }) => event === "machine_reached", from);
  expect(back.params.missed_ms).toBeGreaterThan(0);
  expect(socket.messages.some(({ event, server }) => event === "session_destroyed" && server === "m1")).toBe(false);

  socket.socket.send(JSON.stringify({ id: 2, method: "subscribe_machines", params: { machines: ["m2"] } }));
  const unknown = await socket.next("the answer", ({ id }) => id === 2);
  expect(unknown.error.code).toBe("machine_not_found");
  socket.socket.send(JSON.stringify({ id: 3, method: "subscribe_machines", params: { machines: [] } }));
  await socket.next("the answer", ({ id }) => id === 3);
  const count = socket.messages.length;
  await remote.session("unheard");
  await local.session("heard");
  await socket.next("what happens here", ({ params }) => params?.name === "heard", count);
  expect(socket.messages.slice(count).some(({ server }) => server !== undefined)).toBe(false);
  socket.socket.close();

  const one = (await local.ok("token", "create", "one", "--session", "here")).trim();
  const limited = await socketTo("/ws/json", one);
  limited.socket.send(JSON.stringify({ id: 1, method: "subscribe_machines", params: {} }));
  expect((await limited.next("the answer", ({ id }) => id === 1)).error.code).toBe("access_denied");
  limited.socket.close();
});

test("silence in a session with a tag is awaited on every machine, and the first wins", async () => {
  await local.session("busy", "--tag", "job", "--", "while :; do echo busy; sleep 0.05; done");
  await remote.session("quiet", "--tag", "job");
  // Longer than a busy machine keeps the noisy program from its processor.
  const asked = await local.fetch("/idle?tag=job&timeout_ms=2500&max_wait_ms=20000");
  expect({ status: asked.status, body: await asked.json() }).toMatchObject({
    status: 200,
    body: { session: "m1/quiet" },
  });
  const none = await local.fetch("/idle?tag=nowhere&timeout_ms=100");
  expect(((await none.json()) as { error: { code: string } }).error.code).toBe("no_sessions");
  await local.ok("kill", "busy");
});

test("a question to any person reaches the one at another machine, once", async () => {
  await remote.session("desk");
  await using person = await EmulatorTerminal.attach(remote, "desk");
  await until("the person", async () => (await remote.list()).find(({ name }) => name === "desk")?.attached === 1);
  const body = JSON.stringify({ kind: "confirm", question: "Go on there?", max_wait_ms: 30_000 });
  const init = { method: "POST", headers: { "Content-Type": "application/json" }, body };
  expect((await local.fetch("/servers")).status).toBe(200);
  const asked = local.fetch("/ask", init);
  await person.sees(/Go on there\?/);
  let answer: Record<string, unknown> | null = null;
  void asked.then(async (response) => {
    answer = (await response.json()) as Record<string, unknown>;
  });
  // Keys meant for the program when the question came are not its answer: it waits for a pause first.
  await until("the answer", async () => {
    await Bun.sleep(PAUSE_MS);
    if (answer === null) person.type("y");
    return answer;
  });
  expect(answer).toMatchObject({ session: "m1/desk", state: "answered", answer: true });
});
