/** Streams of `/mcp` that resume after an event: errors where that is impossible. */
import { expect, test } from "bun:test";
import { Gateway } from "../support/server.ts";

/** Requests whose answers are more events than a session keeps. */
const REQUESTS = 300;

test("resuming after a removed or unknown event is refused with the reason", async () => {
  await using gateway = await Gateway.start();
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
  const accept = { Accept: "application/json, text/event-stream" };
  const made = await gateway.tcp("/mcp", {
    json: { jsonrpc: "2.0", id: 0, method: "initialize", params },
    headers: accept,
  });
  const session = made.headers.get("mcp-session-id") ?? "";
  await made.text();
  const headers = { ...accept, "Mcp-Session-Id": session };
  const resume = async (id: string): Promise<{ status: number; message: string }> => {
    const response = await gateway.tcp("/mcp", {
      headers: { Accept: "text/event-stream", "Mcp-Session-Id": session, "Last-Event-ID": id },
    });
    const { error } = (await response.json()) as { error: { message: string } };
    return { status: response.status, message: error.message };
  };
  for (const id of ["999999", "-1", "x"]) {
    expect(await resume(id)).toEqual({ status: 400, message: expect.stringContaining(`has not sent event '${id}'`) });
  }
  for (let id = 1; id <= REQUESTS; id++) {
    await (await gateway.tcp("/mcp", { json: { jsonrpc: "2.0", id, method: "ping" }, headers })).text();
  }
  const { status, message } = await resume("0");
  expect(status).toBe(400);
  expect(message).toContain("event 0 is no longer kept");
  expect(message).toContain("without Last-Event-ID");
});
