/** Everything that a client can make grow has a configurable, displayed limit with an error code; dead peers are closed. */
import { beforeAll, describe, expect, test } from "bun:test";
import { firstCommandId } from "../../src/protocol/pane-numbers.ts";
import { createToken, revokeToken } from "../../src/secrets/named-tokens.ts";
import { Gateway } from "../support/server.ts";
import { sharedGateway } from "../support/shared.ts";
import { SlowSocket } from "../support/slow-websocket.ts";
import { Person } from "../support/terminals/attached-peer.ts";
import { until } from "../support/until.ts";

/** Tokens of an instance at most. */
const TOKENS = 100;

const config = `
max_sessions = 4
max_clients = 2
max_websockets = 2
max_subscriptions = 1
max_tickets = 2
max_waiters = 3
max_overlays = 2
max_panels = 1
max_spans = 3
max_span_bytes = 10
max_commands = 2
max_input_bytes = 70000
`;

const gateway = sharedGateway({ config });
beforeAll(async () => {
  await gateway.create({ name: "s" });
});

const post = (path: string, json: unknown) => gateway.tcp(path, { json });
const code = async (response: Response): Promise<string> => (await response.json()).error?.code ?? "";
const overlay = (spans: readonly { text: string }[] = []) => ({ x: 0, y: 0, width: 1, height: 1, spans });

describe("past the limit", () => {
  test("of sessions", async () => {
    for (const name of ["a", "b"]) await gateway.create({ name, command: "sleep 60" });
    // One of two finds room, and the result is reported.
    // Long enough for the other's start to be refused.
    const steps = [{ command: "sleep 2; echo ran" }, { command: "sleep 2; echo ran" }];
    const both = await (await post("/exec", { mode: "parallel", steps })).json();
    expect(both.steps.map(({ state }: { state: string }) => state).sort()).toEqual(["finished", "skipped"]);
    expect(JSON.stringify(both.steps)).toContain("(max_sessions_reached)");
    await until("its end", async () => (await (await gateway.tcp("/sessions")).json()).length === 3);
    await gateway.create({ name: "c", command: "sleep 60" });
    const response = await post("/sessions", {});
    expect(response.status).toBe(503);
    expect(await code(response)).toBe("max_sessions_reached");
    for (const name of ["a", "b", "c"]) await gateway.unix(`/sessions/${name}`, { method: "DELETE" });
    await gateway.create({ name: "d", command: "true" });
  });

  test("of clients of a session: before the upgrade, of every kind, and the place is free again", async () => {
    using person = await Person.attach(gateway.instance, "s");
    const json = await gateway.ws("/sessions/s/ws/json");
    person.type("");
    for (const path of ["/sessions/s/ws/json", "/sessions/s/ws/raw"]) {
      const response = await gateway.tcp(path, { headers: { Upgrade: "websocket" } });
      expect(response.status).toBe(429);
      expect(await code(response)).toBe("resource_limit_reached");
    }
    const server = await gateway.ws("/ws/json");
    const refused = await server.call("subscribe", { events: ["lines"] }, { session: "s" });
    expect(refused.error.code).toBe("resource_limit_reached");
    expect(Person.attach(gateway.instance, "s")).rejects.toMatchObject({ code: "resource_limit_reached" });
    json.close();
    await until(
      "the place",
      async () => (await server.call("subscribe", { events: ["lines"] }, { session: "s" })).error === undefined,
    );
    server.close();
  });

  test("of server-level WebSockets and their subscriptions", async () => {
    const clients = async () => (await (await gateway.unix("/metrics")).text()).includes("wsh_websockets 0\n");
    await until("no WebSockets", clients);
    const [one, two] = [await gateway.ws("/ws/json"), await gateway.ws("/ws/json")];
    const response = await gateway.tcp("/ws/json", { headers: { Upgrade: "websocket" } });
    expect(response.status).toBe(429);
    expect(await code(response)).toBe("resource_limit_reached");
    await gateway.create({ name: "other", command: "sleep 60" });
    expect((await one.call("subscribe", { events: ["lines"] }, { session: "s" })).error).toBeUndefined();
    expect((await one.call("subscribe", { events: ["cursor"] }, { session: "s" })).error).toBeUndefined();
    const second = await one.call("subscribe", { events: ["lines"] }, { session: "other" });
    expect(second.error.code).toBe("resource_limit_reached");
    one.close();
    two.close();
  });

  test("of tickets", async () => {
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => gateway.tcp("/auth/ws-ticket", { method: "POST" })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 429, 429]);
  });

  test("of tokens: one that is revoked makes room", async () => {
    const { instance } = gateway;
    const create = (n: number) => createToken(instance, { name: `t${n}`, access: "observe" });
    for (let n = 0; n < TOKENS; n++) await create(n);
    await expect(create(TOKENS)).rejects.toThrow(`the limit of ${TOKENS} tokens is reached`);
    await revokeToken(instance, "t0");
    await create(TOKENS);
  });

  test("of waits in a session", async () => {
    const ended = new AbortController();
    const wait = () =>
      gateway
        .tcp("/sessions/s/wait", { json: { any_of: ["exited"], max_wait_ms: 300_000 }, signal: ended.signal })
        .then(code)
        .catch(() => "ended");
    const waits = Array.from({ length: 6 }, wait);
    expect(await Promise.race(waits)).toBe("resource_limit_reached");
    ended.abort();
    expect((await Promise.all(waits)).filter((one) => one === "ended").length).toBeGreaterThanOrEqual(3);
    await until("free places", async () => (await post("/sessions/s/wait", { any_of: ["exited"], max_wait_ms: 0 })).ok);
  });

  test("of overlays, panels, spans and their text", async () => {
    expect((await post("/sessions/s/overlay", overlay())).status).toBe(201);
    const { id } = await (await post("/sessions/s/overlay", overlay([{ text: "x" }]))).json();
    expect(await code(await post("/sessions/s/overlay", overlay()))).toBe("resource_limit_reached");
    expect((await post("/sessions/s/panel", { position: "top", height: 1 })).status).toBe(201);
    expect(await code(await post("/sessions/s/panel", { position: "top", height: 1 }))).toBe("resource_limit_reached");
    const four = Array.from({ length: 4 }, () => ({ text: "x" }));
    for (const spans of [four, [{ text: "eleven chars" }]]) {
      const response = await gateway.tcp(`/sessions/s/overlay/${id}`, { method: "PUT", json: { spans } });
      expect(response.status).toBe(400);
      expect(await code(response)).toBe("invalid_overlay");
    }
    for (const kind of ["overlay", "panel"]) await gateway.tcp(`/sessions/s/${kind}`, { method: "DELETE" });
    expect(await code(await post("/sessions/s/overlay", overlay(four)))).toBe("resource_limit_reached");
  });

  test("of command records: the oldest is evicted", async () => {
    await gateway.unix("/sessions/other", { method: "DELETE" });
    const { pane_id } = await gateway.create({ name: "shell", shell: "bash", env: {} });
    const first = firstCommandId(pane_id);
    await post("/sessions/shell/wait", { any_of: ["prompt"] });
    for (const n of [1, 2, 3]) await post("/sessions/shell/exec", { command: `echo ${n}` });
    const records: { id: number }[] = await (await gateway.tcp("/sessions/shell/commands")).json();
    expect(records.map(({ id }) => id)).toEqual([first + 1, first + 2]);
    expect(await code(await gateway.tcp(`/sessions/shell/commands/${first}`))).toBe("command_not_found");
    await gateway.unix("/sessions/shell", { method: "DELETE" });
  });

  test("of input that the program does not read", async () => {
    await gateway.create({ name: "deaf", command: "stty raw -echo; echo raw; sleep 60" });
    await gateway.shows("deaf", "raw");
    const response = await gateway.tcp("/sessions/deaf/input", { method: "POST", body: "x".repeat(200_000) });
    expect(response.status).toBe(500);
    expect(await code(response)).toBe("input_send_failed");
    await gateway.unix("/sessions/deaf", { method: "DELETE" });
  });
});

test("all of them are shown by wsh info, with the consequence of exceeding them", async () => {
  const { limits } = JSON.parse(await gateway.ok("info", "--json"));
  expect(limits).toMatchObject({ max_sessions: 4, max_clients: 2, max_overlays: 2, max_input_bytes: 70_000 });
  const text = await gateway.ok("info");
  expect(text).toMatch(/^max_sessions +4 +max_sessions_reached /m);
  expect(text).toMatch(/^max_spans +3 +resource_limit_reached /m);
  expect(text).toContain(gateway.origin);
});

describe("keep-alive", () => {
  test("a peer that answers pings stays, a silent one is closed", async () => {
    // Long enough for one that answers on a stalled machine.
    await using own = await Gateway.start({ config: "ws_ping_ms = 200\nws_pong_ms = 4000\n" });
    await own.create({ name: "s" });
    const alive = await own.ws("/sessions/s/ws/json");
    const dead = await SlowSocket.open(own.origin, "/sessions/s/ws/json", own.bearer);
    // It reads, but does not answer.
    await dead.wait(() => dead.pings > 0 && dead.ended);
    expect((await alive.call("get_focus")).result).toEqual({ focused: null });
  });
});
