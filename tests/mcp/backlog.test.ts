/** A client of `/mcp` that lost its stream of events, and the events kept for it meanwhile. */
import { expect, test } from "bun:test";
import net from "node:net";
import { Gateway, TOKEN } from "../support/server.ts";
import { until } from "../support/until.ts";

/** More than are kept for a reconnecting client. */
const CHANGES = 300;

test("a reconnecting client is notified once that something changed, however often it did", async () => {
  await using gateway = await Gateway.start();
  await gateway.create({ name: "a0", command: "cat" });
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
  const made = await gateway.tcp("/mcp", { json: { jsonrpc: "2.0", id: 0, method: "initialize", params } });
  const session = made.headers.get("mcp-session-id") ?? "";
  await made.text();
  const { port } = new URL(gateway.origin);
  const socket = net.connect(Number(port), "127.0.0.1");
  let heard = "";
  socket.on("data", (bytes) => {
    heard += bytes;
  });
  socket.write(
    `GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${TOKEN}\r\n` +
      `Accept: text/event-stream\r\nMcp-Session-Id: ${session}\r\n\r\n`,
  );
  const count = (): number => heard.split("list_changed").length - 1;
  const rename = async (from: number, to: number): Promise<void> => {
    const renamed = await gateway.unix(`/sessions/a${from}`, { method: "PATCH", json: { name: `a${to}` } });
    expect(renamed.status).toBe(200);
  };
  await until("the stream", () => heard.includes(": connected"));
  await rename(0, 1);
  await until("the first change", () => count() === 1);
  await rename(1, 2);
  await until("the second change", () => count() === 2);
  socket.destroy();
  // Nobody reads from here on.
  for (let i = 2; i < 2 + CHANGES; i++) await rename(i, i + 1);
  const back = await gateway.tcp("/mcp", {
    headers: { Accept: "text/event-stream", "Mcp-Session-Id": session, "Last-Event-ID": "1" },
  });
  expect(back.status).toBe(200);
  const reader = back.body?.getReader();
  let replayed = "";
  await until("what came meanwhile", async () => {
    const { value } = (await reader?.read()) ?? {};
    replayed += new TextDecoder().decode(value);
    return replayed.includes("list_changed");
  });
  expect(replayed.split("list_changed").length - 1).toBeLessThan(5);
  const now = 2 + CHANGES;
  const before = replayed.split("list_changed").length;
  await rename(now, now + 1);
  await until("the next change", async () => {
    const { value } = (await reader?.read()) ?? {};
    replayed += new TextDecoder().decode(value);
    return replayed.split("list_changed").length > before;
  });
  await reader?.cancel();
});
