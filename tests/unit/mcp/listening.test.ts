/** A stream of `subscriptions/listen` that fails to open takes no place of the limit, and nothing is watched for it. */
import { expect, mock, test } from "bun:test";
import * as sdk from "@modelcontextprotocol/server";
import type { Changes } from "../../../src/mcp/resources/changes.ts";
import type { Call } from "../../../src/operations/call.ts";

/** The first version whose listeners have streams of their own. */
const PROTOCOL = "2026-07-28";
const own = { ...sdk };
let fails = false;
mock.module("@modelcontextprotocol/server", () => ({
  ...own,
  createMcpHandler(...given: Parameters<typeof own.createMcpHandler>) {
    const made = own.createMcpHandler(...given);
    return {
      ...made,
      fetch: (...request: Parameters<typeof made.fetch>) =>
        fails ? Promise.reject(new Error("it failed")) : made.fetch(...request),
    };
  },
}));
const { createMcpHttp } = await import("../../../src/mcp/http/http.ts");

test("more than the limit fail with the failure, and the next one opens", async () => {
  let watches = 0;
  const watch = (): Disposable => {
    watches++;
    return { [Symbol.dispose]: () => void watches-- };
  };
  const changes = { onSessions: watch, onResource: watch } as unknown as Changes;
  const call = (async () => ({ windows: [], tags: [] })) as unknown as Call;
  const mcp = createMcpHttp({ changes, call });
  const meta = {
    "io.modelcontextprotocol/protocolVersion": PROTOCOL,
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const listen = () =>
    mcp.handle(
      new Request("http://localhost/mcp", {
        method: "POST",
        headers: {
          "Content-Type": "application/json",
          Accept: "application/json, text/event-stream",
          "MCP-Protocol-Version": PROTOCOL,
          "Mcp-Method": "subscriptions/listen",
        },
        body: JSON.stringify({
          ...{ jsonrpc: "2.0", id: 1, method: "subscriptions/listen" },
          params: { notifications: { resourcesListChanged: true }, _meta: meta },
        }),
      }),
      { access: "admin", via: { token: "t", id: "t", peer: null } },
    );
  fails = true;
  for (let i = 0; i < 257; i++) expect(await listen().catch(String)).toBe("Error: it failed");
  expect(watches).toBe(0);
  fails = false;
  const opened = await listen();
  expect([opened.status, watches]).toEqual([200, 1]);
  await opened.body?.cancel();
  expect(watches).toBe(0);
  await mcp.stop();
});
