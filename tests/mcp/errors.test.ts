/** Errors over MCP name tools, are true, and name the way out. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Client } from "@modelcontextprotocol/client";
import { type Answer, call, McpInstance } from "../support/mcp-instance.ts";
import { givenTime } from "../support/timing-retries.ts";
import { until } from "../support/until.ts";

const mcp = new McpInstance();
let client: Client;
beforeAll(async () => {
  client = await mcp.client();
});
afterAll(() => mcp[Symbol.asyncDispose]());

let count = 0;
async function shell(): Promise<string> {
  const session = `e${count++}`;
  await call(client, "wsh_create_session", { name: session, shell: "bash" });
  await call(client, "wsh_wait", { session, any_of: ["prompt"] });
  return session;
}

const run = (session: string, input: string) => call(client, "wsh_run_command", { session, input, submit: true });

/** Every tool that a hint names exists, and no other interface is named. */
async function expectOurWords({ isError, value }: Answer): Promise<void> {
  expect(isError).toBe(true);
  const { tools } = await client.listTools();
  const names = new Set(tools.map(({ name }) => name));
  const said = `${value.message} ${value.hint}`;
  expect([...said.matchAll(/wsh_\w+/g)].map(([name]) => name).filter((name) => !names.has(name))).toEqual([]);
  expect(said).not.toMatch(/\/docs|--clear-line|`wsh |\bwith run\b|\{\w+\}|List the session's commands/);
}

test("hints name tools", async () => {
  const session = await shell();
  for (const [name, args] of [
    ["wsh_exec", { session: "nobody", command: "true" }],
    ["wsh_exec", { session }],
    ["wsh_get_output", { session, command_id: 77 }],
    ["wsh_run_command", { session, input: 5 }],
    ["wsh_run_command", { session, input: "x", since: 9_999_999 }],
    ["wsh_wait", { session, any_of: ["soon"] }],
    ["wsh_overlay", { session, id: "none" }],
  ] as const) {
    await expectOurWords(await call(client, name, args));
  }
  await call(client, "wsh_send_input", { session, input: "half a line" });
  const open = await call(client, "wsh_exec", { session, command: "true" });
  await expectOurWords(open);
  expect(open.value).toMatchObject({ code: "prompt_not_empty", hint: expect.stringContaining("clear_line") });
});

test("a nested shell is at its own prompt: reported, with the way out instead of waiting", async () => {
  const session = await shell();
  await run(session, "PS1='in> ' bash --norc");
  const refused = await call(client, "wsh_exec", { session, command: "true" });
  await expectOurWords(refused);
  expect(refused.value).toMatchObject({ code: "not_at_prompt", state: "prompt", nested: true });
  expect(refused.value.message).toContain("its own prompt");
  expect(refused.value.hint).toMatch(/Waiting does not (help|change it).*wsh_run_command.*exit/);
});

test("a session that was created with a command reports it", async () => {
  const session = `e${count++}`;
  await call(client, "wsh_create_session", { name: session, command: "bash --norc" });
  const refused = await call(client, "wsh_exec", { session, command: "true" });
  await expectOurWords(refused);
  expect(refused.value).toMatchObject({ code: "no_shell_integration" });
  expect(refused.value.message).toContain("created with a command");
});

test("a command that asks, without an answer, is not waited for to the deadline", async () => {
  const patient = { max_wait_ms: 50_000 };
  const session = await shell();
  const asks = await call(client, "wsh_exec", { session, command: "read -p 'Sure? ' x; exit 3", ...patient });
  expect(asks.value).toMatchObject({ state: "running", waits_for: "waiting_for_input", output: "Sure?" });
  const nested = await shell();
  const [alone, inner, answered] = await Promise.all([
    call(client, "wsh_exec", { command: "read -s -p 'Secret: ' x", ...patient }),
    call(client, "wsh_exec", { session: nested, command: "bash --norc --noprofile", ...patient }),
    call(client, "wsh_exec", { command: "for n in 1 2 3 4; do sleep 1.5; echo $n; done; exit 4", ...patient }),
  ]);
  expect(alone.value).toMatchObject({ state: "running", waits_for: "password" });
  expect(inner.value).toMatchObject({ state: "running", waits_for: "prompt" });
  expect(answered.value).toMatchObject({ state: "finished", exit_code: 4 });
});

test("at its deadline a command is named that waits for input, and one that ignores the interrupt", async () => {
  const named = (args: () => Promise<object>) =>
    givenTime("the question", async (max_wait_ms) => {
      const { value } = await call(client, "wsh_exec", { max_wait_ms, ...(await args()) });
      expect(value.state).toBe("running");
      return value.waits_for === undefined ? null : value;
    });
  const asks = await named(async () => ({ session: await shell(), command: "read -s -p 'Secret: ' x" }));
  expect(asks).toMatchObject({ state: "running", waits_for: "password", output: "Secret:" });
  const alone = await named(async () => ({ command: "read x" }));
  expect(alone).toMatchObject({ state: "running", waits_for: "waiting_for_input" });
  for (const where of [async () => ({ session: await shell() }), async () => ({})]) {
    const deaf = await givenTime("the trap", async (max_wait_ms) => {
      const command = "trap '' INT; echo deaf; sleep 30";
      const args = { command, max_wait_ms, on_timeout: "interrupt", ...(await where()) };
      const { value } = await call(client, "wsh_exec", args);
      return value.output === "deaf" ? value : null;
    });
    expect(deaf).toMatchObject({ state: "running", warnings: [expect.stringContaining("still runs")] });
  }
});

test("a run that times out has state, command and message; ended sessions are listed on request", async () => {
  const { isError, value } = await givenTime("the command", async (max_wait_ms) => {
    const args = { session: await shell(), input: "sleep 60", submit: true, max_wait_ms };
    const answer = await call(client, "wsh_run_command", args);
    return typeof answer.value.command_id === "number" ? answer : null;
  });
  expect(isError).toBe(true);
  expect(value).toMatchObject({ code: "idle_timeout", state: "running", command_id: expect.any(Number), output: "" });
  expect(value.message).toBe(value.error);
  const { value: ended } = await call(client, "wsh_exec", { command: "true" });
  const names = async (all: boolean) =>
    (await call(client, "wsh_list_sessions", { all })).value.map((info: { name: string }) => info.name);
  expect(await names(false)).not.toContain(ended.session);
  expect(await names(true)).toContain(ended.session);
});

test("an exec without a session does not announce a changed list; a new session does", async () => {
  let announced = 0;
  client.setNotificationHandler("notifications/resources/list_changed", () => void announced++);
  for (let n = 0; n < 3; n++) await call(client, "wsh_exec", { command: "true" });
  expect(announced).toBe(0);
  await call(client, "wsh_create_session", { name: "announced" });
  await until("the announcement", async () => announced === 1);
});
