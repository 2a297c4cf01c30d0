/** Clients of both generations of the SDK, over every transport, in old and new versions of the protocol. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Stdio1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { tools } from "../../src/mcp/tools/tools.ts";
import { call, McpInstance } from "../support/mcp-instance.ts";
import { program } from "../support/wsh-program.ts";

const mcp = new McpInstance();
let url: URL;

beforeAll(async () => {
  ({ url } = await mcp.startServer());
});
afterAll(() => mcp[Symbol.asyncDispose]());

describe("the SDK's second version", () => {
  for (const mode of ["legacy", "auto"] as const) {
    const version = mode === "legacy" ? "2025-11-25" : "2026-07-28";
    const connections = {
      stdio: () => mcp.client({ mode }),
      TCP: () => mcp.httpClient(url, mode),
      "the Unix socket": () => mcp.httpClient(null, mode),
    };
    for (const [where, connect] of Object.entries(connections)) {
      test(`over ${where} in ${version}`, async () => {
        const client = await connect();
        expect(client.getNegotiatedProtocolVersion()).toBe(version);
        expect(client.getServerVersion()?.name).toBe("wsh");
        expect((await client.listTools()).tools).toHaveLength(tools.length);
        expect((await client.listPrompts()).prompts).toHaveLength(10);
        expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(2);
        const answer = await call(client, "wsh_exec", { command: "echo $((6*7))" });
        expect(answer.value).toMatchObject({ state: "finished", exit_code: 0, output: "42" });
        expect(answer.structured).toEqual(answer.value);
        const list = await call(client, "wsh_list_sessions");
        expect(list.structured).toEqual(mode === "legacy" ? { result: list.value } : list.value);
        await client.close();
      });
    }
  }
});

describe("the SDK's first version, which most hosts use", () => {
  const connections = {
    stdio: () => {
      const [command = "", ...own] = program;
      return new Stdio1({ command, args: [...own, "mcp"], env: { ...mcp.env }, cwd: mcp.dir, stderr: "ignore" });
    },
    TCP: () => new Http1(url),
    "the Unix socket": () =>
      new Http1(new URL("http://localhost/mcp"), {
        fetch: (input, init) => fetch(input, { ...init, unix: mcp.instance.httpSocket } as RequestInit),
      }),
  };
  for (const [where, connect] of Object.entries(connections)) {
    test(`over ${where}`, async () => {
      const client = new Client1({ name: "test", version: "1" });
      await client.connect(connect() as Parameters<typeof client.connect>[0]);
      expect(client.getInstructions()).toContain("wsh_run_command");
      // The SDK validates every structured result against the output schema.
      await client.listTools();
      for (const [name, args] of [
        ["wsh_exec", { command: "echo hi" }],
        ["wsh_list_sessions", {}],
        ["wsh_get_status", {}],
        ["wsh_create_session", { name: `v1-${where.replaceAll(" ", "")}` }],
      ] as const) {
        const result = await client.callTool({ name, arguments: args });
        expect(result.isError).toBeUndefined();
        expect(result.structuredContent).toBeDefined();
      }
      const failed = await client.callTool({ name: "wsh_get_screen", arguments: { session: "nobody" } });
      expect(failed.isError).toBe(true);
      expect(failed.structuredContent).toBeUndefined();
      await client.close();
    });
  }
});

test.each(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])(
  "initialize answers a client of %s in its version",
  async (version) => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: { protocolVersion: version, capabilities: {}, clientInfo: { name: "old", version: "1" } },
      }),
    });
    expect(response.headers.get("content-type")).toStartWith("application/json");
    expect(await response.json()).toMatchObject({ id: 1, result: { protocolVersion: version } });
  },
);

test("a session made over HTTP is driven over MCP, and the reverse", async () => {
  const unix = mcp.instance.httpSocket;
  const headers = { "content-type": "application/json" };
  const client = await mcp.client();
  const made = await fetch("http://localhost/sessions", {
    unix,
    method: "POST",
    headers,
    body: '{"name":"over-http"}',
  });
  expect(made.status).toBe(201);
  expect((await call(client, "wsh_exec", { session: "over-http", command: "x=7; echo $x" })).value.output).toBe("7");
  await call(client, "wsh_create_session", { name: "over-mcp" });
  await call(client, "wsh_wait", { session: "over-mcp", any_of: ["prompt"] });
  const ran = await fetch("http://localhost/sessions/over-mcp/exec", {
    unix,
    method: "POST",
    headers,
    body: '{"command":"echo $((2+3))"}',
  });
  expect(await ran.json()).toMatchObject({ exit_code: 0, output: "5" });
});
