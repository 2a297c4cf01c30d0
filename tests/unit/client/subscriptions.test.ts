/** Subscriptions of the TypeScript client, over a socket that the test answers. */
import { expect, test } from "bun:test";
import { WshClient } from "../../../src/client/client.ts";

test("a refused subscription leaves the earlier one, also if the session was renamed meanwhile", async () => {
  const listeners = new Map<string, (event: { data: string }) => void>();
  const sent: { id: number }[] = [];
  const socket = {
    readyState: WebSocket.OPEN,
    addEventListener: (name: string, listener: (event: { data: string }) => void) => listeners.set(name, listener),
    send: (text: string) => sent.push(JSON.parse(text)),
  };
  const receive = (message: object) => listeners.get("message")?.({ data: JSON.stringify(message) });
  const client = new WshClient(socket as unknown as WebSocket);
  const heard: string[] = [];
  const first = client.subscribe("a", { events: ["activity"] }, () => heard.push("first"));
  receive({ id: sent.at(-1)?.id, result: {} });
  await first;
  const second = client.subscribe("a", { events: ["activity"], interval_ms: -1 }, () => heard.push("second"));
  receive({ event: "session_renamed", params: { old_name: "a", new_name: "b" } });
  receive({ id: sent.at(-1)?.id, error: { code: "invalid_request", message: "no" } });
  await expect(second).rejects.toThrow("no");
  receive({ event: "activity", session: "b" });
  expect(heard).toEqual(["first"]);
});
