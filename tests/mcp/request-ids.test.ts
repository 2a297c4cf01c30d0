/** Every request over MCP is answered once, under its own id, for any ids of a client. */
import { afterAll, describe, expect, test } from "bun:test";
import { answeredId } from "../../src/mcp/bridge/link.ts";
import { initialize, Lines, request, toolCall } from "../support/bridge-lines.ts";
import { McpInstance } from "../support/mcp-instance.ts";
import { until } from "../support/until.ts";

const ids = [
  0,
  -1,
  1.5,
  1e21,
  1e-7,
  2 ** 53,
  "",
  "1",
  "x".repeat(600),
  "x".repeat(100_000),
  'q"\\\n,"result":',
  "ü€😀",
];

describe("through the bridge", () => {
  const mcp = new McpInstance();
  afterAll(() => mcp[Symbol.asyncDispose]());

  test("an answer has its request's id, however it is written", () => {
    for (const id of ids) {
      for (const rest of [{ result: { text: '","error":' } }, { error: { code: 1, message: "x" } }]) {
        const line = JSON.stringify({ jsonrpc: "2.0", id, ...rest });
        expect(answeredId(Buffer.from(`${line}\n`))).toBe(id);
      }
      const theirs = JSON.stringify({ jsonrpc: "2.0", id, method: "ping" });
      expect(answeredId(Buffer.from(theirs))).toBeNull();
    }
    for (const line of [
      "",
      "{}",
      '{"jsonrpc":"2.0","id":',
      '{"jsonrpc":"2.0","id":"',
      '{"jsonrpc":"2.0","id":"\\',
      '{"jsonrpc":"2.0","id":null,"result":1}',
    ]) {
      expect(answeredId(Buffer.from(line))).toBeNull();
    }
  });

  test("each is answered once, and not again when the server ends", async () => {
    await using bridge = new Lines(mcp);
    bridge.send(initialize, toolCall(2, "wsh_get_status", {}));
    const { pid } = (await bridge.answer(2)).result.structuredContent;
    for (const id of ids) bridge.send(request(id as number, "ping"));
    for (const id of ids) await bridge.answer(id);
    process.kill(pid, "SIGKILL");
    bridge.send(request("after", "ping"));
    await bridge.answer("after");
    for (const id of ids) {
      expect(
        bridge.messages.filter((m) => m.id === id),
        String(id).slice(0, 20),
      ).toHaveLength(1);
    }
  });

  test("one in use is refused, and its request is answered regardless", async () => {
    await using bridge = new Lines(mcp);
    bridge.send(initialize, toolCall(2, "wsh_create_session", { command: "cat" }));
    const session = (await bridge.answer(2)).result.structuredContent.name;
    const wait = { session, any_of: [{ type: "text", text: "it" }], max_wait_ms: 60_000 };
    bridge.send(toolCall(7, "wsh_wait", wait), request(7, "ping"));
    expect((await bridge.answer(null)).error).toMatchObject({ code: -32600, message: expect.stringContaining("id 7") });
    bridge.send(toolCall(8, "wsh_send_input", { session, input: "it\n" }));
    expect((await bridge.answer(7)).result.structuredContent).toMatchObject({ decided_by: "text", match: "it" });
    bridge.send(request(7, "ping"));
    await until("the second answer", () => bridge.messages.filter((m) => m.id === 7).length === 2);
  });

  test("one that JSON cannot express is refused", async () => {
    await using bridge = new Lines(mcp);
    bridge.send('{"jsonrpc":"2.0","id":1e999,"method":"ping"}');
    expect((await bridge.answer(null)).error).toMatchObject({ code: -32600 });
  });
});

describe("in a session over HTTP", () => {
  test("an id in use is refused, and free again after its answer or cancellation", async () => {
    await using mcp = new McpInstance();
    const { url } = await mcp.startServer();
    const headers: Record<string, string> = { "content-type": "application/json" };
    const post = (body: string): Promise<Response> => fetch(url, { method: "POST", headers, body });
    const made = await post(initialize);
    headers["mcp-session-id"] = made.headers.get("mcp-session-id") ?? "";
    await made.text();
    const created = await (await post(toolCall(2, "wsh_create_session", { command: "cat" }))).json();
    const session = created.result.structuredContent.name;
    const wait = (text: string): string =>
      toolCall(3, "wsh_wait", { session, any_of: [{ type: "text", text }], max_wait_ms: 60_000 });
    const events = { ...headers, accept: "application/json, text/event-stream" };
    // A stream begins once its request is in progress. Two posts at once arrive in any order.
    const first = await fetch(url, { method: "POST", headers: events, body: wait("one") });
    const second = await post(wait("two"));
    expect({ status: second.status, code: (await second.json()).error?.code }).toEqual({ status: 400, code: -32600 });
    const other = await fetch(url, {
      method: "POST",
      headers: events,
      body: wait("two").replace('"id":3', '"id":4'),
    });
    await (await post(toolCall(5, "wsh_send_input", { session, input: "two\n" }))).text();
    const answered = async (stream: Response): Promise<unknown> => {
      const [, answer] = /^data: (\{.*\})$/m.exec(await stream.text()) ?? [];
      return JSON.parse(answer ?? "null");
    };
    expect(await answered(other)).toMatchObject({ id: 4, result: { structuredContent: { match: "two" } } });
    await (await post(toolCall(5, "wsh_send_input", { session, input: "one\n" }))).text();
    expect(await answered(first)).toMatchObject({
      id: 3,
      result: { structuredContent: { decided_by: "text", match: "one" } },
    });

    expect((await post(request(3, "ping"))).status).toBe(200);
    const left = new AbortController();
    const stream = await fetch(url, { method: "POST", headers: events, body: wait("never"), signal: left.signal });
    expect((await post(request(3, "ping"))).status).toBe(400);
    await post(JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 3 } }));
    expect((await post(request(3, "ping"))).status).toBe(200);
    expect(stream.status).toBe(200);
    left.abort();
    const twice = `[${request(9, "ping")},${request(9, "ping")}]`;
    expect((await post(twice)).status).toBe(400);
  });
});
