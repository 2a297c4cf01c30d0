/** wsh_ask_user: at a terminal with a person, else through a client that offers elicitation. */
import { describe, expect, test } from "bun:test";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { ServerRequests } from "../../src/mcp/bridge/server-requests.ts";
import { call, type Era, McpInstance } from "../support/mcp-instance.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { program } from "../support/wsh-program.ts";

interface Asked {
  readonly message: string;
  readonly requestedSchema: unknown;
}

/** A client that answers elicitations by itself. */
async function elicitingClient(wsh: McpInstance, mode: Era, answer: (asked: Asked) => object): Promise<Client> {
  const client = new Client(
    { name: "test", version: "1" },
    { versionNegotiation: { mode }, capabilities: { elicitation: { form: {} } } },
  );
  client.setRequestHandler("elicitation/create", ({ params }) => answer(params as Asked) as never);
  const [command = "", ...own] = program;
  const args = [...own, "mcp"];
  await client.connect(new StdioClientTransport({ command, args, env: { ...wsh.env }, cwd: wsh.dir, stderr: "pipe" }));
  return client;
}

describe.each(["legacy", "auto"] as const)("over `wsh mcp`, era %s", (mode) => {
  test("without a person attached the client is asked a choice, several, a text and yes or no, and may decline", async () => {
    await using wsh = new McpInstance();
    const asked: Asked[] = [];
    const answers: object[] = [];
    const client = await elicitingClient(wsh, mode, (each) => {
      asked.push(each);
      return answers.shift() ?? { action: "cancel" };
    });
    try {
      await wsh.session("s");
      const ask = async (args: Record<string, unknown>, answer?: unknown): Promise<unknown> => {
        answers.push(answer === undefined ? { action: "decline" } : { action: "accept", content: { answer } });
        return (await call(client, "wsh_ask_user", args)).value;
      };
      const by = { state: "answered", decided_by: "answered", answered_by: "mcp_client" };
      expect(await ask({ question: "Which?", choices: ["a", "b"], detail: "More." }, "b")).toMatchObject({
        ...by,
        answer: "b",
      });
      expect(asked[0]?.message).toBe("Which?\n\nMore.");
      expect(await ask({ session: "s", question: "All?", choices: ["a", "b"], multiple: true }, ["a"])).toMatchObject({
        answer: ["a"],
      });
      expect(await ask({ question: "Name?" }, "x")).toMatchObject({ ...by, answer: "x" });
      expect(await ask({ question: "Sure?", kind: "confirm" }, true)).toMatchObject({ ...by, answer: true });
      expect(await ask({ question: "Sure?", kind: "confirm" })).toMatchObject({
        state: "closed",
        decided_by: "dismissed",
      });
      const count = asked.length;
      answers.length = 0;
      expect(
        (await call(client, "wsh_ask_user", { session: "s", question: "Key?", kind: "secret" })).value,
      ).toMatchObject({
        code: "no_password_prompt",
      });
      expect(
        (await call(client, "wsh_ask_user", { session: "s", question: "You?", kind: "hand_over" })).value,
      ).toMatchObject({
        decided_by: "nobody_attached",
      });
      expect(asked.length).toBe(count);
    } finally {
      await client.close();
    }
  });
});

test("a person at a terminal is asked, not the client; a pending question is resumed by wsh_wait without a session", async () => {
  await using wsh = new McpInstance();
  let asked = 0;
  const client = await elicitingClient(wsh, "legacy", () => {
    asked++;
    return { action: "cancel" };
  });
  try {
    await wsh.session("s");
    await wsh.session("other");
    await using terminal = await EmulatorTerminal.attach(wsh, "s", { seen: "$" });
    const pending = (await call(client, "wsh_ask_user", { question: "Which branch?", max_wait_ms: 0 })).value;
    expect(pending).toMatchObject({ session: "s", state: "pending" });
    await terminal.sees(/"test" asks[\s\S]*Which branch\?[\s\S]*Esc dismisses/);
    const waited = call(client, "wsh_wait", {
      any_of: [{ type: "answer", ask_id: pending.ask_id }],
      max_wait_ms: 20_000,
    });
    terminal.type("main\r");
    expect((await waited).value).toMatchObject({ session: "s", decided_by: "answer", ask: { answer: "main" } });
    expect(asked).toBe(0);
  } finally {
    await client.close();
  }
});

test("a client without elicitation learns that no terminal is attached", async () => {
  await using wsh = new McpInstance();
  const client = await wsh.client();
  await wsh.session("s");
  expect((await call(client, "wsh_ask_user", { question: "Anybody?" })).value).toMatchObject({
    decided_by: "nobody_attached",
  });
});

test("the bridge gives a server's requests its own ids, drops answers to a former server, and cancels its requests", () => {
  const requests = new ServerRequests();
  const text = (line: Uint8Array): string => new TextDecoder().decode(line);
  const line = (message: object): Uint8Array => new TextEncoder().encode(`${JSON.stringify(message)}\n`);
  const asks = { jsonrpc: "2.0", id: 0, method: "elicitation/create", params: { message: "?" } };
  const first = JSON.parse(text(requests.passOn(line(asks)))) as { id: string };
  expect(first).toMatchObject({ method: "elicitation/create", params: { message: "?" } });
  expect(requests.cancelAll().map((each) => JSON.parse(each))).toEqual([
    {
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: first.id, reason: "the wsh server ended" },
    },
  ]);
  const second = JSON.parse(text(requests.passOn(line(asks)))) as { id: string };
  expect(second.id).not.toBe(first.id);
  const answer = (id: string) => JSON.stringify({ jsonrpc: "2.0", id, result: { action: "accept" } });
  expect(requests.answer(first.id, answer(first.id))).toBeNull();
  expect(JSON.parse(requests.answer(second.id, answer(second.id)) ?? "")).toEqual({
    ...{ jsonrpc: "2.0", id: 0, result: { action: "accept" } },
  });
  expect(requests.answer(second.id, answer(second.id))).toBeNull();
  const third = JSON.parse(text(requests.passOn(line({ ...asks, id: 7 })))) as { id: string };
  const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } };
  expect(JSON.parse(text(requests.passOn(line(cancelled))))).toMatchObject({ params: { requestId: third.id } });
  const notification = line({ jsonrpc: "2.0", method: "notifications/progress", params: {} });
  expect(requests.passOn(notification)).toBe(notification);
});
