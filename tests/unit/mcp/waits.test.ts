/** A tool call without max_wait_ms waits for the time that the tool's schema promises. */
import { expect, test } from "bun:test";
import { createMcpHttp } from "../../../src/mcp/http/http.ts";
import type { Changes } from "../../../src/mcp/resources/changes.ts";
import type { Call } from "../../../src/operations/call.ts";
import { defined } from "../../../src/protocol/defined.ts";

const PROTOCOL = "2026-07-28";

/** The input of the tool's first operation. */
async function inputOf(tool: string, parameters: object, maxWaitMs?: number): Promise<unknown> {
  let given: unknown;
  const call = (async (_: string, input: unknown) => {
    given ??= input;
    return {};
  }) as unknown as Call;
  const mcp = createMcpHttp({ changes: {} as unknown as Changes, call, ...defined({ maxWaitMs }) });
  const meta = {
    "io.modelcontextprotocol/protocolVersion": PROTOCOL,
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const request = new Request("http://localhost/mcp", {
    method: "POST",
    headers: {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": PROTOCOL,
      "mcp-method": "tools/call",
      "mcp-name": tool,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: tool, arguments: parameters, _meta: meta },
    }),
  });
  const answer = await mcp.handle(request, { access: "admin", via: { token: "t", id: "t", peer: null } });
  await answer.text();
  await mcp.stop();
  return given;
}

test("wsh_agent waits for a turn as long as it says, others 30 s, and all as long as the setting says", async () => {
  expect(await inputOf("wsh_agent", { session: "a", text: "hi" })).toMatchObject({ max_wait_ms: 50_000 });
  expect(await inputOf("wsh_exec", { session: "a", command: "ls" })).toMatchObject({ max_wait_ms: 30_000 });
  expect(await inputOf("wsh_agent", { session: "a", text: "hi" }, 7)).toMatchObject({ max_wait_ms: 7 });
});
