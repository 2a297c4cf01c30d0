/** A client with an open elicitation when the server dies: the request is cancelled there, and its answer is discarded. */
import { expect, test } from "bun:test";
import { initialize, Lines, type Message, request, toolCall } from "../support/bridge-lines.ts";
import { McpInstance } from "../support/mcp-instance.ts";
import { until } from "../support/until.ts";

interface Asked extends Message {
  readonly params?: { readonly message?: string; readonly requestId?: string };
}

test("a killed server's question is withdrawn at the client; a late answer to it is dropped", async () => {
  await using wsh = new McpInstance();
  await wsh.session("s");
  await using bridge = new Lines(wsh);
  const messages = bridge.messages as Asked[];
  const elicits = JSON.parse(initialize) as { params: { capabilities: object } };
  elicits.params.capabilities = { elicitation: {} };
  bridge.send(JSON.stringify(elicits), JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }));
  await bridge.answer(1);
  const asked = (question: string) =>
    until(`the question ${question}`, () =>
      messages.find(({ method, params }) => method === "elicitation/create" && params?.message === question),
    );
  const answer = (id: unknown, text: string): void =>
    bridge.send(JSON.stringify({ jsonrpc: "2.0", id, result: { action: "accept", content: { answer: text } } }));

  bridge.send(toolCall(2, "wsh_ask_user", { question: "First?" }));
  const first = await asked("First?");
  await wsh.killServer();
  await until("the withdrawal", () =>
    messages.some(({ method, params }) => method === "notifications/cancelled" && params?.requestId === first.id),
  );
  // Open calls are answered: the host does not wait for ever.
  const lost = await bridge.answer(2);
  expect(JSON.stringify(lost)).toContain("server");
  expect(lost.result?.structuredContent?.answer).toBeUndefined();

  bridge.send(toolCall(3, "wsh_ask_user", { question: "Second?" }));
  const second = await asked("Second?");
  expect(second.id).not.toBe(first.id);
  answer(first.id, "stale");
  answer(second.id, "fresh");
  const { result } = await bridge.answer(3);
  expect(JSON.parse(result.content[0].text)).toMatchObject({ answer: "fresh", answered_by: "mcp_client" });
  answer(second.id, "twice");
  bridge.send(request(4, "tools/list"));
  await bridge.answer(4);
  expect(messages.filter(({ id, method }) => id === 3 && method === undefined)).toHaveLength(1);
});

test("a host that ends meanwhile leaves no question and no call behind", async () => {
  await using wsh = new McpInstance();
  await wsh.session("s");
  await using bridge = new Lines(wsh);
  const elicits = JSON.parse(initialize) as { params: { capabilities: object } };
  elicits.params.capabilities = { elicitation: {} };
  bridge.send(JSON.stringify(elicits), JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }));
  await bridge.answer(1);
  bridge.send(toolCall(2, "wsh_ask_user", { question: "Anybody?" }));
  await until("the question", () => bridge.messages.some(({ method }) => method === "elicitation/create"));
  bridge.child.kill("SIGKILL");
  await bridge.child.exited;
  await until("no question", async () => (await wsh.ok("ask", "--list", "--json")) === "[]\n");
  expect((await wsh.run("exec", "s", "--", "echo alive")).stdout).toBe("alive\n");
});
