/** `/mcp` over HTTP: accepted requests, the form of their answers, and the end of sessions. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { RecentEvents } from "../../src/mcp/http/event-store.ts";
import { acceptedForm } from "../../src/mcp/http/http.ts";
import { tools } from "../../src/mcp/tools/tools.ts";
import { McpInstance } from "../support/mcp-instance.ts";
import { until } from "../support/until.ts";

const mcp = new McpInstance();
let url: URL;

beforeAll(async () => {
  ({ url } = await mcp.startServer());
});
afterAll(() => mcp[Symbol.asyncDispose]());

const json = { "content-type": "application/json" };
const both = { ...json, accept: "application/json, text/event-stream" };
const hello = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};

function post(body: unknown, headers: Record<string, string> = json): Promise<Response> {
  return fetch(url, { method: "POST", headers, body: typeof body === "string" ? body : JSON.stringify(body) });
}

async function session(): Promise<Record<string, string>> {
  const response = await post(hello);
  const id = response.headers.get("mcp-session-id");
  await response.text();
  return { ...json, "mcp-session-id": id ?? "" };
}

describe("a request", () => {
  test("with only a content type is answered with one JSON body", async () => {
    const response = await post(hello);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toStartWith("application/json");
    expect(await response.json()).toMatchObject({ jsonrpc: "2.0", id: 1, result: { serverInfo: { name: "wsh" } } });
    expect(response.headers.get("mcp-session-id")).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("that accepts events gets them", async () => {
    const response = await post(hello, both);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const data = (await response.text()).split("\n").filter((line) => line.startsWith("data:") && line.length > 6);
    expect(JSON.parse(data.at(-1)?.slice(5) ?? "")).toMatchObject({ id: 1 });
  });

  test.each([
    [null, "json"],
    ["", "json"],
    ["*/*", "json"],
    ["application/json", "json"],
    ["application/json, text/event-stream", "events"],
    ["text/event-stream;q=0.9, */*", "events"],
    ["text/event-stream", null],
    ["text/html", null],
  ] as const)("accepting %j is answered as %j", (accept, form) => {
    expect(acceptedForm(accept)).toBe(form);
  });

  test("that accepts neither is 406, no JSON 415, broken JSON 400, another method 405", async () => {
    expect((await post(hello, { ...json, accept: "text/html" })).status).toBe(406);
    expect((await post(hello, { "content-type": "text/plain" })).status).toBe(415);
    const broken = await post("{ oops");
    expect([broken.status, await broken.json()]).toMatchObject([400, { error: { code: -32700 } }]);
    const put = await fetch(url, { method: "PUT" });
    expect([put.status, put.headers.get("allow")]).toEqual([405, "GET, POST, DELETE"]);
  });

  test("over a megabyte is 413 with the standard error", async () => {
    const response = await post({ ...hello, padding: "x".repeat(1024 * 1024) });
    expect([response.status, await response.json()]).toMatchObject([413, { error: { code: "payload_too_large" } }]);
  });

  test("from another origin is refused", async () => {
    expect((await post(hello, { ...json, origin: "http://evil.example" })).status).toBe(403);
    expect((await post(hello, { ...json, "sec-fetch-site": "cross-site" })).status).toBe(403);
  });
});

describe("a session", () => {
  test("is needed, must exist, and need not be initialized twice", async () => {
    const list = { jsonrpc: "2.0", id: 2, method: "tools/list" };
    expect((await post(list)).status).toBe(400);
    expect((await post(list, { ...json, "mcp-session-id": "unknown" })).status).toBe(404);
    const response = await post(list, await session());
    expect((await response.json()).result.tools).toHaveLength(tools.length);
  });

  test("acknowledges notifications with 202 and nothing", async () => {
    const response = await post({ jsonrpc: "2.0", method: "notifications/initialized" }, await session());
    expect([response.status, await response.text()]).toEqual([202, ""]);
  });

  test("answers a batch in its order", async () => {
    const headers = await session();
    const batch = [3, 4].map((id) => ({ jsonrpc: "2.0", id, method: "ping" }));
    const answers = await (await post(batch, { ...headers, "mcp-protocol-version": "2025-03-26" })).json();
    expect(answers.map((answer: { id: number }) => answer.id)).toEqual([3, 4]);
  });

  test("ends by DELETE", async () => {
    const headers = await session();
    expect((await fetch(url, { method: "DELETE", headers })).status).toBe(202);
    expect((await post({ jsonrpc: "2.0", id: 2, method: "ping" }, headers)).status).toBe(404);
    expect((await fetch(url, { method: "DELETE" })).status).toBe(400);
  });

  test("streams unsolicited messages to a GET, once", async () => {
    const headers = { ...(await session()), accept: "text/event-stream" };
    const stream = await fetch(url, { headers });
    expect(stream.status).toBe(200);
    expect((await fetch(url, { headers })).status).toBe(409);
    await fetch(new URL("/sessions", url), { method: "POST", headers: json, body: "{}" });
    const reader = stream.body?.getReader();
    let text = "";
    while (!text.includes("resources/list_changed")) text += new TextDecoder().decode((await reader?.read())?.value);
    await reader?.cancel();
    expect((await fetch(url, { headers: { ...headers, accept: "application/json" } })).status).toBe(406);
  });
});

test.each([
  ["an unused session is dropped after a time", "mcp_idle_seconds = 1\n"],
  ["a session past the limit takes the place of the oldest", "max_mcp_sessions = 2\n"],
])("%s", async (_, config) => {
  await using other = new McpInstance();
  await Bun.write(other.instance.configFile, config);
  const server = await other.startServer();
  const open = async () => {
    const response = await fetch(server.url, { method: "POST", headers: json, body: JSON.stringify(hello) });
    await response.text();
    return response.headers.get("mcp-session-id") ?? "";
  };
  const ping = async (id: string) => {
    const headers = { ...json, "mcp-session-id": id };
    const response = await fetch(server.url, {
      method: "POST",
      headers,
      body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    });
    await response.text();
    return response.status;
  };
  const ids = [await open(), await open(), await open()];
  if (config.includes("max_mcp_sessions")) {
    expect(await Promise.all(ids.map(ping))).toEqual([404, 200, 200]);
    return;
  }
  // A request keeps a session alive, so each comes after it must have ended.
  await until("a session to be dropped", async () => {
    await Bun.sleep(2_500);
    return (await ping(ids[0] ?? "")) === 404;
  });
});

test("with a token configured: none is 401, a wrong one 403, the right one 200", async () => {
  await using other = new McpInstance({ WSH_TOKEN: "0123456789abcdef0123" });
  const address = await other.address(other.spawn(["server", "--bind", "127.0.0.1:0"]));
  const status = async (authorization?: string) => {
    const headers = authorization === undefined ? json : { ...json, authorization };
    return (await fetch(address, { method: "POST", headers, body: JSON.stringify(hello) })).status;
  };
  const right = `Bearer ${other.env.WSH_TOKEN}`;
  expect([await status(), await status("Bearer wrong"), await status(right)]).toEqual([401, 403, 200]);
});

test("events are kept within bounds, and replayed after the given one, for their stream alone", async () => {
  const events = new RecentEvents();
  const message = (id: number) => ({ jsonrpc: "2.0" as const, id, result: {} });
  const ids = [];
  for (let id = 0; id < 300; id++) ids.push(await events.storeEvent(id % 2 === 0 ? "even" : "odd", message(id)));
  expect(await events.getStreamIdForEventId(ids[0] ?? "")).toBeUndefined();
  const replayed: unknown[] = [];
  const stream = await events.replayEventsAfter(ids[290] ?? "", {
    send: async (_id, sent) => void replayed.push(sent),
  });
  expect(stream).toBe("even");
  expect(replayed).toEqual([292, 294, 296, 298].map(message));
});
