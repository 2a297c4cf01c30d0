/** Every tool with real programs: one good call, and each kind of invalid call. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import { firstCursor } from "../../src/protocol/pane-numbers.ts";
import { Gate } from "../support/held-command.ts";
import { type Answer, call, McpInstance } from "../support/mcp-instance.ts";
import { givenTime } from "../support/timing-retries.ts";
import { until } from "../support/until.ts";

// Progress is reported only where it is asked for.
const mcp = new McpInstance({ WSH_MCP_PROGRESS_MS: "100" });
let client: Client;

beforeAll(async () => {
  client = await mcp.client();
});
afterAll(() => mcp[Symbol.asyncDispose]());

let count = 0;
/** A shell at its prompt, in a separate session. */
async function shell(args: Record<string, unknown> = {}): Promise<string> {
  const name = `s${count++}`;
  await good("wsh_create_session", { name, ...args });
  await good("wsh_wait", { session: name, any_of: ["prompt"] });
  return name;
}

let usual: Promise<string> | null = null;
/** The same for tests that leave it at its prompt, and ask nothing of its earlier output: one session for all of them. */
function usualShell(): Promise<string> {
  usual ??= shell();
  return usual;
}

async function good(name: string, args: Record<string, unknown> = {}): Promise<Answer["value"]> {
  const answer = await call(client, name, args);
  if (answer.isError) throw new Error(`${name} ${JSON.stringify(args)}: ${answer.texts[0]}`);
  expect(answer.structured).toEqual(Array.isArray(answer.value) ? { result: answer.value } : answer.structured);
  return answer.value;
}

/** The error code of an invalid call, whose message names the error. */
async function bad(name: string, args: Record<string, unknown>): Promise<string> {
  const answer = await call(client, name, args);
  expect(answer.isError).toBe(true);
  expect(answer.structured).toBeUndefined();
  const { code, message, error, hint } = answer.value;
  expect([typeof code, typeof (message ?? error), typeof hint]).toEqual(["string", "string", "string"]);
  return code;
}

async function screen(session: string): Promise<string> {
  return (await good("wsh_get_screen", { session })).screen;
}

describe("wsh_create_session, wsh_list_sessions, wsh_manage_session", () => {
  test("make, show, rename, tag, resize, signal, clear, restart, detach and end a session", async () => {
    const made = await good("wsh_create_session", { name: "life", rows: 30, cols: 100, tags: ["b", "a"] });
    expect(made).toMatchObject({
      session: "life",
      name: "life",
      rows: 30,
      cols: 100,
      tags: ["a", "b"],
      output_cursor: firstCursor(made.pane_id ?? (await good("wsh_list_sessions", { session: "life" })).pane_id),
    });
    expect(made.pid).toBeGreaterThan(1);
    await good("wsh_wait", { session: "life", any_of: ["prompt"] });

    const manage = (action: string, more: object = {}) =>
      good("wsh_manage_session", { session: "life", action, ...more });
    expect(await manage("resize", { rows: 20, cols: 70 })).toMatchObject({ status: "resized", rows: 20, cols: 70 });
    expect((await good("wsh_exec", { session: "life", command: "stty size" })).output).toBe("20 70");
    expect(await manage("add_tags", { tags: ["c"] })).toMatchObject({ status: "tags_added", tags: ["a", "b", "c"] });
    expect(await manage("remove_tags", { tags: ["a", "x"] })).toMatchObject({
      status: "tags_removed",
      tags: ["b", "c"],
    });
    expect((await good("wsh_list_sessions", { tag: ["c", "z"] })).map((s: { name: string }) => s.name)).toEqual([
      "life",
    ]);

    const asleep = await good("wsh_exec", { session: "life", command: "sleep 60", background: true });
    // Before that the signal reaches the shell, which ignores it.
    const foreground = async () => (await good("wsh_get_status", { session: "life" })).foreground?.name;
    await until("the command to hold the terminal", async () => (await foreground()) === "sleep");
    expect(await manage("signal", { signal: "TERM" })).toMatchObject({ status: "signalled", signal: "SIGTERM" });
    const ended = await good("wsh_wait", {
      session: "life",
      any_of: ["command_finished"],
      command_id: asleep.command_id,
    });
    expect(ended.command.exit_code).toBe(143);

    expect(await manage("clear")).toMatchObject({ status: "cleared", output_cursor: expect.any(Number) });
    expect(await screen("life")).not.toContain("stty");
    expect(await manage("detach")).toMatchObject({ status: "detached", detached: 0 });
    const renamed = await manage("rename", { new_name: "life2" });
    expect(renamed).toMatchObject({
      success: true,
      status: "renamed",
      session: "life2",
      old_name: "life",
      new_name: "life2",
    });
    const names = () => good("wsh_list_sessions").then((list) => list.map((s: { name: string }) => s.name));
    expect(await names()).toContain("life2");
    expect(await names()).not.toContain("life");
    const restarted = await good("wsh_manage_session", { session: "life2", action: "restart" });
    expect(restarted.pid).not.toBe(made.pid);
    expect(await good("wsh_manage_session", { session: "life2", action: "kill" })).toMatchObject({ status: "killed" });
    expect(await names()).not.toContain("life2");
  });

  test("report errors", async () => {
    const name = await usualShell();
    expect(await bad("wsh_create_session", { name })).toBe("session_name_conflict");
    expect((await good("wsh_create_session", { name, if_exists: "attach" })).session).toBe(name);
    expect(await bad("wsh_create_session", { name: "a:b" })).toBe("invalid_session_name");
    expect(await bad("wsh_create_session", { name: "" })).toBe("invalid_session_name");
    expect(await bad("wsh_create_session", { tags: [""] })).toBe("invalid_tag");
    expect(await bad("wsh_create_session", { cwd: "/no/such" })).toBe("cwd_not_found");
    expect(await bad("wsh_create_session", { shell: "no-shell" })).toBe("unknown_shell");
    expect(await bad("wsh_create_session", { rows: "many" })).toBe("invalid_request");
    expect(await bad("wsh_create_session", { if_exists: "maybe" })).toBe("invalid_request");
    expect(await bad("wsh_list_sessions", { session: "nobody" })).toBe("session_not_found");
    expect(await bad("wsh_manage_session", { session: name })).toBe("invalid_request");
    expect(await bad("wsh_manage_session", { session: name, action: "explode" })).toBe("invalid_request");
    expect(await bad("wsh_manage_session", { session: name, action: "rename" })).toBe("invalid_request");
    expect(await bad("wsh_manage_session", { session: name, action: "rename", new_name: "a/b" })).toBe(
      "invalid_session_name",
    );
    expect(await bad("wsh_manage_session", { session: name, action: "add_tags", tags: [] })).toBe("invalid_request");
    expect(await bad("wsh_manage_session", { session: name, action: "resize", rows: 5 })).toBe("invalid_request");
    expect(await bad("wsh_manage_session", { session: name, action: "signal" })).toBe("invalid_request");
    expect(await bad("wsh_manage_session", { session: "nobody", action: "kill" })).toBe("session_not_found");
  });

  test("unknown parameters are ignored and named, null counts as absent", async () => {
    const name = await usualShell();
    const answer = await call(client, "wsh_get_screen", { session: name, format: null, wait_for_previous: true });
    expect(answer.value.warnings).toEqual(["unknown parameter 'wait_for_previous' was ignored"]);
    const list = await call(client, "wsh_list_sessions", { odd: 1 });
    expect(Array.isArray(list.value)).toBe(true);
    expect(JSON.parse(list.texts[1] ?? "")).toEqual({ warnings: ["unknown parameter 'odd' was ignored"] });
  });
});

describe("wsh_exec", () => {
  test("runs a separate command to its end", async () => {
    const result = await good("wsh_exec", { command: "echo out; echo err >&2; exit 3" });
    expect(result).toMatchObject({ state: "finished", exit_code: 3, output: "out\nerr" });
    // No signal, nothing omitted: neither is mentioned.
    expect(Object.keys(result)).not.toContain("signal");
    expect(Object.keys(result)).not.toContain("omitted_lines");
    expect(result.session).toStartWith("exec-");
    expect((await good("wsh_get_output", { session: result.session })).text.trim()).toBe("out\nerr");
    expect((await good("wsh_exec", { command: "kill -9 $$" })).signal).toBe("SIGKILL");
    const own = await good("wsh_exec", { command: "pwd; echo $A; cat", cwd: "/", env: { A: "b" }, stdin: "in\n" });
    expect(own.output).toBe("/\nb\nin");
  });

  test("a trivial result is at most 80 tokens of text", async () => {
    const { texts } = await call(client, "wsh_exec", { command: "echo hello" });
    console.log(`a trivial wsh_exec result: ${Math.ceil((texts[0]?.length ?? 0) / 4)} tokens (4 characters each)`);
    expect((texts[0]?.length ?? 0) / 4).toBeLessThanOrEqual(80);
  });

  test("keeps directory and variables of a session", async () => {
    const session = await usualShell();
    await good("wsh_exec", { session, command: "cd /tmp; x='späß €'" });
    const result = await good("wsh_exec", { session, command: 'echo "$PWD $x"; false' });
    expect(result).toMatchObject({
      session,
      exit_code: 1,
      output: "/tmp späß €",
      cwd: "/tmp",
      command_id: expect.any(Number),
    });
  });

  test("runs steps until one fails, or side by side", async () => {
    const steps = [{ command: "echo a", name: "first" }, { command: "false" }, { command: "echo c" }];
    const states = (result: { steps: { state: string; exit_code: number | null }[] }) =>
      result.steps.map(({ state, exit_code }) => `${state} ${exit_code}`);
    const stopped = await good("wsh_exec", { steps });
    expect(states(stopped)).toEqual(["finished 0", "finished 1", "skipped null"]);
    expect(stopped.steps[0]).toMatchObject({ name: "first", output: "a" });
    expect(states(await good("wsh_exec", { steps, stop_on_error: false })).at(-1)).toBe("finished 0");
    const session = await usualShell();
    expect(states(await good("wsh_exec", { session, steps }))).toEqual(["finished 0", "finished 1", "skipped null"]);
    // Each continues when all have begun.
    const begun = join(mcp.dir, "begun");
    const meets = (n: number) =>
      `mkdir -p '${begun}'; touch '${begun}/${n}'; until [ "$(ls '${begun}' | wc -l)" = 2 ]; do sleep 0.05; done`;
    const met = await good("wsh_exec", { steps: [1, 2].map((n) => ({ command: meets(n) })), mode: "parallel" });
    expect(states(met)).toEqual(Array(2).fill("finished 0"));
  });

  test("past its deadline still runs and can be waited for", async () => {
    const session = await usualShell();
    const gate = new Gate(mcp.dir);
    const first = await good("wsh_exec", { session, command: `${gate.wait}; echo end`, max_wait_ms: 100 });
    expect(first).toMatchObject({ state: "running", exit_code: null });
    gate.open();
    const { command } = await good("wsh_wait", {
      session,
      any_of: ["command_finished"],
      command_id: first.command_id,
      since: first.output_cursor,
    });
    expect(command).toMatchObject({ id: first.command_id, exit_code: 0 });
    const after = await good("wsh_get_output", { session, command_id: first.command_id });
    expect(after).toMatchObject({ text: "end", exit_code: 0 });
    const background = await good("wsh_exec", { command: "sleep 30", background: true });
    expect(background.state).toBe("running");
    expect(await good("wsh_exec", { command: "sleep 30", max_wait_ms: 100, on_timeout: "kill" })).toMatchObject({
      state: "killed",
    });
  });

  test("cuts long output in the middle and reports how much", async () => {
    const result = await good("wsh_exec", { command: "seq 1 20000", output_limit: 1000 });
    expect(result.output.length).toBeLessThan(1_200);
    expect(result.output).toStartWith("1\n2\n");
    expect(result.output).toEndWith("\n20000");
    expect(result.omitted_lines).toBeGreaterThan(19_000);
  });

  test("does not type where it must not, and reports the reason", async () => {
    const session = await shell();
    await good("wsh_exec", { session, command: "cat", max_wait_ms: 0 });
    await good("wsh_wait", { session, any_of: ["waiting_for_input"] });
    expect(await bad("wsh_exec", { session, command: "echo no" })).toBe("not_at_prompt");
    await good("wsh_send_input", { session, keys: ["Ctrl+D"] });
    await good("wsh_wait", { session, any_of: ["prompt"] });
    await good("wsh_send_input", { session, input: "echo typed by a person" });
    await until("the typed text", async () => (await screen(session)).includes("by a person"));
    expect(await bad("wsh_exec", { session, command: "echo no" })).toBe("prompt_not_empty");
    const plain = (await good("wsh_create_session", { command: "cat" })).session;
    expect(await bad("wsh_exec", { session: plain, command: "echo no" })).toBe("no_shell_integration");
    expect(await bad("wsh_exec", {})).toBe("invalid_request");
    expect(await bad("wsh_exec", { command: "a", steps: [{ command: "b" }] })).toBe("invalid_request");
    expect(await bad("wsh_exec", { session, command: "a", cwd: "/" })).toBe("invalid_request");
    expect(await bad("wsh_exec", { command: "a", cwd: "/no/such" })).toBe("cwd_not_found");
    expect(await bad("wsh_exec", { command: "a", mode: "sideways" })).toBe("invalid_request");
    expect(await bad("wsh_exec", { session: "nobody", command: "a" })).toBe("session_not_found");
  });
});

describe("wsh_run_command, wsh_send_input, wsh_await_quiesce, wsh_get_screen", () => {
  test("run does the same as send, wait and read", async () => {
    const session = await shell();
    const typed = await good("wsh_send_input", { session, input: "echo one", submit: true });
    expect(typed).toMatchObject({ success: true, status: "sent", bytes: 9 });
    // The silence before the shell's answer would be one, too.
    await good("wsh_wait", { session, since: typed.output_cursor, any_of: ["command_finished"] });
    await good("wsh_wait", { session, any_of: ["prompt"] });
    const quiet = await good("wsh_await_quiesce", { session, timeout_ms: 100 });
    expect(quiet).toMatchObject({ status: "idle", decided_by: "idle" });
    const seen = await screen(session);
    const other = await shell();
    const ran = await good("wsh_run_command", {
      session: other,
      input: "echo one\n",
      include: ["output", "screen"],
    });
    expect(ran).toMatchObject({ exit_code: 0, output: "one", decided_by: "command_finished", screen: seen });
  });

  test("python and its prompt, a password, a question", async () => {
    const session = await usualShell();
    await good("wsh_run_command", { session, input: "python3 -q", submit: true });
    const sum = await good("wsh_run_command", { session, input: "6*7", submit: true });
    expect(sum).toMatchObject({ output: "42", prompt: ">>> " });
    await good("wsh_send_input", { session, keys: ["Ctrl+D"] });
    await good("wsh_wait", { session, any_of: ["prompt"] });
    const ask = await good("wsh_run_command", { session, input: "read -s -p 'Secret: ' x", submit: true });
    expect(ask.decided_by).toBe("password");
    await good("wsh_run_command", { session, input: "hidden", submit: true });
    expect((await good("wsh_exec", { session, command: "printenv x || echo $x | wc -c" })).output).toBe("7");
  });

  test("vim: edit a file by keys", async () => {
    const session = await usualShell();
    await good("wsh_run_command", { session, input: `vim -u NONE -N ${mcp.dir}/note.txt`, submit: true });
    await good("wsh_wait", { session, any_of: ["fullscreen"] });
    expect((await good("wsh_get_status", { session })).state).toBe("fullscreen");
    await good("wsh_run_command", { session, input: "ihello from a tool", keys: ["Escape"] });
    await good("wsh_send_input", { session, input: ":wq", submit: true });
    await good("wsh_wait", { session, any_of: ["prompt"] });
    expect((await good("wsh_exec", { session, command: `cat ${mcp.dir}/note.txt` })).output).toBe("hello from a tool");
  });

  test("less: page by keys", async () => {
    const session = await usualShell();
    await good("wsh_run_command", { session, input: "seq 1 200 | less", submit: true });
    await good("wsh_wait", { session, any_of: ["fullscreen"] });
    const { output_cursor } = await good("wsh_send_input", { session, keys: ["PageDown"] });
    await good("wsh_wait", { session, since: output_cursor, any_of: [{ type: "regex", pattern: "^46$" }] });
    expect(await screen(session)).toStartWith("24\n");
    await good("wsh_send_input", { session, input: "q" });
    await good("wsh_wait", { session, any_of: ["prompt"] });
  });

  test("bytes are sent unchanged, invalid ones are refused", async () => {
    const session = await usualShell();
    const command = "stty raw -echo; echo raw; head -c 4 | xxd -p; stty sane";
    const { output_cursor } = await good("wsh_send_input", { session, input: command, submit: true });
    await good("wsh_wait", { session, since: output_cursor, any_of: [{ type: "regex", pattern: "^raw" }] });
    const bytes = Uint8Array.of(0x80, 0xff, 0x00, 0xc3);
    await good("wsh_send_input", { session, input: bytes.toBase64(), encoding: "base64" });
    await good("wsh_wait", { session, any_of: ["prompt"] });
    expect(await screen(session)).toContain("80ff00c3");
    expect(await bad("wsh_send_input", { session, input: "%%%", encoding: "base64" })).toBe("invalid_request");
    expect(await bad("wsh_send_input", { session, input: "x", encoding: "rot13" })).toBe("invalid_request");
    expect(await bad("wsh_send_input", { session, keys: ["Ctrl+Banana"] })).toBe("unknown_key");
    expect(await bad("wsh_send_input", { session: "nobody", input: "x" })).toBe("session_not_found");
    expect(await bad("wsh_send_input", { session, input: "x".repeat(1_048_577) })).toBe("payload_too_large");
  });

  test("a wait that times out is an error that reports what it saw", async () => {
    const run = await givenTime("the command", async (max_wait_ms) => {
      const input = "yes | head -c 20000000 > /dev/null; sleep 60\n";
      const answer = await call(client, "wsh_run_command", { session: await shell(), input, max_wait_ms });
      return answer.value.command_id === undefined ? null : answer;
    });
    expect(run.isError).toBe(true);
    expect(run.value).toMatchObject({ code: "idle_timeout", decided_by: "timeout", error: expect.any(String) });
    for (const key of ["hint", "output", "state", "command_id", "message", "generation", "output_cursor"])
      expect(run.value).toHaveProperty(key);
    const busy = await shell();
    await good("wsh_send_input", { session: busy, input: "while :; do echo x; sleep 0.05; done", submit: true });
    const quiet = await call(client, "wsh_await_quiesce", { session: busy, timeout_ms: 20_000, max_wait_ms: 300 });
    expect(quiet.isError).toBe(true);
    expect(quiet.value).toMatchObject({ code: "idle_timeout", generation: expect.any(Number), decided_by: "timeout" });
    expect(await bad("wsh_await_quiesce", { session: busy, timeout_ms: -1 })).toBe("invalid_request");
    expect(await bad("wsh_run_command", { session: busy, input: "x", format: "html" })).toBe("invalid_format");
    expect(await bad("wsh_get_screen", { session: busy, format: "html" })).toBe("invalid_format");
  });
});

describe("wsh_wait, wsh_get_output, wsh_get_scrollback, wsh_get_status", () => {
  test("text and patterns after a cursor, in any of several sessions", async () => {
    const [one, two] = [await usualShell(), await shell({ tags: ["pair"] })];
    await good("wsh_manage_session", { session: one, action: "add_tags", tags: ["pair"] });
    const { output_cursor } = await good("wsh_get_status", { session: two });
    await good("wsh_send_input", { session: two, input: "echo port=$((8000+80)) ready", submit: true });
    const found = await good("wsh_wait", {
      sessions: [one, two],
      since: { [two]: output_cursor },
      any_of: [{ type: "regex", pattern: "port=(\\d+)" }, "exited"],
    });
    expect(found).toMatchObject({ session: two, decided_by: "regex", match: "port=8080", groups: ["8080"] });
    const tagged = await good("wsh_wait", { tag: "pair", any_of: ["prompt"] });
    expect([one, two]).toContain(tagged.session);
    const none = await good("wsh_wait", { session: one, any_of: [{ type: "text", text: "never" }], max_wait_ms: 0 });
    expect(none.decided_by).toBe("timeout");
    expect(await bad("wsh_wait", { session: one, any_of: [] })).toBe("invalid_request");
    expect(await bad("wsh_wait", { session: one, any_of: ["sunrise"] })).toBe("invalid_request");
    expect(await bad("wsh_wait", { session: one, sessions: [two], any_of: ["prompt"] })).toBe("invalid_request");
    expect(await bad("wsh_wait", { session: one, any_of: ["bell"], since: 99_999_999 })).toBe("invalid_cursor");
    expect(await bad("wsh_wait", { tag: "nobody-has-it", any_of: ["prompt"] })).toBe("no_sessions");
    expect(await bad("wsh_wait", { session: one, any_of: ["command_finished"], command_id: 99 })).toBe(
      "command_not_found",
    );
  });

  test("output since a cursor misses nothing and repeats nothing", async () => {
    const session = await usualShell();
    const first = await good("wsh_exec", { session, command: "echo one" });
    await good("wsh_exec", { session, command: "printf 'two\\nthree\\n'" });
    // The prompt is output too, and arrives after the command's end.
    await good("wsh_wait", { session, any_of: ["prompt"] });
    const since = await good("wsh_get_output", { session, since: first.output_cursor });
    expect(since.text).toContain("two\nthree");
    expect(since.text).not.toContain("one\n");
    expect((await good("wsh_get_output", { session, since: since.output_cursor })).text).toBe("");
    expect((await good("wsh_get_output", { session, lines: 50, grep: "thr" })).text).toContain("three");
    expect(await bad("wsh_get_output", { session, since: 99_999_999 })).toBe("invalid_cursor");
    expect(await bad("wsh_get_output", { session, command_id: 99 })).toBe("command_not_found");
    expect(await bad("wsh_get_output", { session, format: "html" })).toBe("invalid_format");
  });

  test("history from both ends, and searched", async () => {
    const session = await shell();
    await good("wsh_exec", { session, command: "seq 1 500" });
    const all = await good("wsh_get_scrollback", { session, limit: 10_000, format: "plain" });
    expect(all.lines.filter((line: string) => /^\d+$/.test(line))).toHaveLength(500);
    const found = await good("wsh_get_scrollback", { session, grep: "499", format: "plain" });
    expect(found.lines).toEqual(["499"]);
    expect((await good("wsh_get_scrollback", { session, offset: -30, limit: 2 })).lines).toHaveLength(2);
    expect(await bad("wsh_get_scrollback", { session, limit: -1 })).toBe("invalid_request");
  });

  test("status reports the running program and how that is known", async () => {
    const session = await shell();
    expect(await good("wsh_get_status", { session })).toMatchObject({
      alive: true,
      state: "prompt",
      human_typing: false,
    });
    await good("wsh_exec", { session, command: "sleep 60", max_wait_ms: 0 });
    await until("sleep", async () => (await good("wsh_get_status", { session })).foreground?.name === "sleep");
    expect((await good("wsh_get_status", { session })).state).toBe("running");
    expect(await good("wsh_get_status")).toMatchObject({ version: expect.any(String), sessions: expect.any(Number) });
    const short = (await good("wsh_create_session", { command: "echo bye; exit 7" })).session;
    await good("wsh_wait", { session: short, any_of: ["exited"] });
    expect(await good("wsh_get_status", { session: short })).toMatchObject({
      alive: false,
      state: "exited",
      exit_code: 7,
    });
    expect(await screen(short)).toContain("bye");
    expect(await bad("wsh_send_input", { session: short, input: "x" })).toBe("session_ended");
    expect(await bad("wsh_get_status", { session: "nobody" })).toBe("session_not_found");
  });
});

test("progress grows, names the state and stops with the answer", async () => {
  const session = await usualShell();
  const seen: { progress: number; total?: number | undefined; message?: string | undefined }[] = [];
  const gate = new Gate(mcp.dir);
  const args = { session, command: `echo working; ${gate.wait}`, max_wait_ms: 20_000 };
  const onprogress = (progress: (typeof seen)[number]): void => void seen.push(progress);
  const answer = client.callTool({ name: "wsh_exec", arguments: args }, { onprogress });
  await until("progress", () => seen.length >= 3 && seen.some(({ message }) => message === "running: working"));
  gate.open();
  await answer;
  const before = seen.length;
  expect(before).toBeGreaterThanOrEqual(3);
  expect(seen.every(({ progress }, i) => i === 0 || progress > (seen[i - 1]?.progress ?? 0))).toBe(true);
  expect(seen).toContainEqual(expect.objectContaining({ total: 20_000, message: "running: working" }));
  await client.ping();
  expect(seen).toHaveLength(before);
});
