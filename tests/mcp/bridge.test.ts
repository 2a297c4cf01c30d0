/** `wsh mcp` as an AI host uses it: lines in, lines out, across failures. */

import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { servedTools, tools } from "../../src/mcp/tools/tools.ts";
import { firstCommandId } from "../../src/protocol/pane-numbers.ts";
import { initialize, Lines, request, toolCall } from "../support/bridge-lines.ts";
import { Gate } from "../support/held-command.ts";
import { call, McpInstance } from "../support/mcp-instance.ts";
import { until } from "../support/until.ts";

/** Shared by cases that need no separate instance. */
const mcp = new McpInstance();
afterAll(() => mcp[Symbol.asyncDispose]());

describe("starting", () => {
  test("echo '{…}' | wsh mcp answers, and tools/list needs no initialize", async () => {
    await using first = new Lines(mcp);
    first.send(initialize);
    first.child.stdin.end();
    expect(await first.child.exited).toBe(0);
    expect((await first.answer(1)).result.serverInfo.name).toBe("wsh");

    await using second = new Lines(mcp);
    second.send(request("a", "tools/list"));
    second.child.stdin.end();
    expect(await second.child.exited).toBe(0);
    expect((await second.answer("a")).result.tools).toHaveLength(tools.length);
  });

  test("several at once make one server", async () => {
    await using mcp = new McpInstance();
    const bridges = Array.from({ length: process.env.WSH_TEST_FULL === "1" ? 8 : 4 }, () => new Lines(mcp));
    for (const bridge of bridges) bridge.send(initialize, toolCall(2, "wsh_get_status", {}));
    const pids = await Promise.all(bridges.map(async (b) => (await b.answer(2, 60_000)).result.structuredContent.pid));
    expect(new Set(pids).size).toBe(1);
    for (const bridge of bridges) await bridge[Symbol.asyncDispose]();
  }, 90_000);

  test("sessions start in the agent's directory with its environment, and without wsh's variables", async () => {
    await using mcp = new McpInstance({ AGENT_VARIABLE: "from the agent", WSH_TOKEN: "0123456789abcdef" });
    await using bridge = new Lines(mcp);
    bridge.send(initialize, toolCall(2, "wsh_exec", { command: 'pwd; echo "$AGENT_VARIABLE" "[$WSH_TOKEN]"' }));
    expect((await bridge.answer(2)).result.structuredContent.output).toBe(`${mcp.dir}\nfrom the agent []`);
  });

  test("no server available: open requests get an error with its reason, within six seconds", async () => {
    await using mcp = new McpInstance();
    await Bun.write(mcp.instance.runtimeDir, "a file where the directory should be");
    await using bridge = new Lines(mcp);
    const started = performance.now();
    bridge.send(initialize);
    const { error } = await bridge.answer(1);
    expect(error).toMatchObject({ code: -32603, data: { code: "unsafe_path" } });
    expect(performance.now() - started).toBeLessThan(6_000);
    bridge.child.stdin.end();
    expect(await bridge.child.exited).toBe(0);
  });

  test("--tools core, --read-only and --session are passed on to the server", async () => {
    const core = await mcp.client({ args: ["--tools", "core"] });
    expect((await core.listTools()).tools).toHaveLength(servedTools("core", "admin").length);
    expect(core.getInstructions()).not.toContain("wsh_overlay");

    await call(core, "wsh_create_session", { name: "dev" });
    const at = await mcp.client({ args: ["--session", "dev"] });
    expect((await call(at, "wsh_get_screen", { format: "plain" })).value.rows).toBe(24);
    const { tools: listed } = await at.listTools();
    expect(listed.find((tool) => tool.name === "wsh_get_screen")?.inputSchema).not.toHaveProperty("required");

    const looking = await mcp.client({ args: ["--read-only"] });
    expect((await looking.listTools()).tools.map((tool) => tool.name)).not.toContain("wsh_exec");
    expect(looking.callTool({ name: "wsh_exec", arguments: { command: "id" } })).rejects.toMatchObject({
      code: -32602,
    });
    const names = (await call(looking, "wsh_list_sessions")).value.map(({ name }: { name: string }) => name);
    expect(names).toContain("dev");
  });
});

describe("an invalid message", () => {
  test("is answered, and the connection stays open", async () => {
    await using bridge = new Lines(mcp);
    bridge.send(
      initialize,
      "",
      "garbage",
      "[1]",
      '"text"',
      '{"jsonrpc":"2.0","id":7}',
      '{"id":8,"method":"ping"}',
      '{"jsonrpc":"2.0","id":null,"method":"ping"}',
      request(9, "ping"),
    );
    expect((await bridge.answer(9)).result).toEqual({});
    const codes = bridge.messages.flatMap(({ id, error }) => (error === undefined ? [] : [[id, error.code]]));
    expect(codes).toEqual([
      [null, -32700],
      [null, -32600],
      [null, -32600],
      [7, -32600],
      [8, -32600],
      [null, -32600],
    ]);
  });

  test("a line of more than 10 MB is refused, one of a megabyte is not", async () => {
    await using bridge = new Lines(mcp);
    bridge.send(initialize, request(2, "ping", { padding: "x".repeat(1024 * 1024) }));
    expect((await bridge.answer(2)).result).toEqual({});
    bridge.send(request(3, "ping", { padding: "x".repeat(11 * 1024 * 1024) }), request(4, "ping"));
    expect((await bridge.answer(4)).result).toEqual({});
    expect((await bridge.answer(null)).error?.code).toBe(-32600);
    expect(bridge.messages.some((message) => message.id === 3)).toBe(false);
  });

  test("unknown methods and tools are protocol errors", async () => {
    await using bridge = new Lines(mcp);
    bridge.send(
      initialize,
      request(2, "no/such"),
      toolCall(3, "wsh_nothing", {}),
      request(4, "prompts/get", { name: "x" }),
    );
    expect((await bridge.answer(2)).error?.code).toBe(-32601);
    expect((await bridge.answer(3)).error?.code).toBe(-32602);
    expect((await bridge.answer(4)).error?.message).toContain("unknown prompt");
  });
});

describe("the end", () => {
  test("of stdin waits for open answers", async () => {
    await using bridge = new Lines(mcp);
    bridge.send(initialize, toolCall(2, "wsh_exec", { command: "sleep 1; echo late" }));
    bridge.child.stdin.end();
    expect(await bridge.child.exited).toBe(0);
    expect((await bridge.answer(2)).result.structuredContent.output).toBe("late");
  });

  test("by SIGTERM answers what is open and exits 0 at once", async () => {
    await using bridge = new Lines(mcp);
    bridge.send(initialize, toolCall(2, "wsh_exec", { command: "sleep 30" }));
    await bridge.answer(1);
    const started = performance.now();
    bridge.child.kill("SIGTERM");
    expect(await bridge.child.exited).toBe(0);
    // A second for itself, and the delay of a stalled machine: far from the end of the command.
    expect(performance.now() - started).toBeLessThan(10_000);
    expect((await bridge.answer(2)).error).toMatchObject({ code: -32603, data: { code: "cancelled" } });
  });

  test("of stdout's reader ends the bridge quietly", async () => {
    const child = mcp.spawn(["mcp"]);
    child.stdin.write(`${initialize}\n`);
    child.stdin.flush();
    const reader = child.stdout.getReader();
    await reader.read();
    await reader.cancel();
    for (let id = 2; child.exitCode === null && id < 200; id++) {
      child.stdin.write(`${request(id, "tools/list")}\n`);
      child.stdin.flush();
      await Promise.race([child.exited, Bun.sleep(50)]);
    }
    expect(await child.exited).toBe(0);
    expect(await new Response(child.stderr).text()).toBe("");
  });

  test("of the bridge leaves its sessions listed", async () => {
    await using bridge = new Lines(mcp);
    bridge.send(initialize, toolCall(2, "wsh_create_session", { name: "stays" }));
    await bridge.answer(2);
    bridge.child.kill("SIGKILL");
    await bridge.child.exited;
    expect((await mcp.run("list")).stdout).toContain("stays");
  });
});

describe("the server's end", () => {
  test("by SIGKILL in the middle of calls: the error names the possible outcome, the next call works, the session lives", async () => {
    await using mcp = new McpInstance();
    const { pid } = await mcp.startServer();
    const gate = new Gate(mcp.dir);
    await using bridge = new Lines(mcp);
    bridge.send(initialize, JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }));
    bridge.send(toolCall(2, "wsh_create_session", { name: "dev" }));
    await bridge.answer(2);
    bridge.send(toolCall(3, "wsh_wait", { session: "dev", any_of: ["prompt"] }));
    await bridge.answer(3);
    bridge.send(toolCall(4, "wsh_exec", { session: "dev", command: `${gate.wait}; echo survived` }));
    bridge.send(toolCall(5, "wsh_wait", { session: "dev", any_of: [{ type: "text", text: "never" }] }));
    let probe = 50;
    await until("the command to run", async () => {
      bridge.send(toolCall(++probe, "wsh_get_status", { session: "dev" }));
      return (await bridge.answer(probe)).result.structuredContent.state === "running";
    });
    process.kill(pid, "SIGKILL");
    expect((await bridge.answer(4)).error?.message).toContain("may have been carried out");
    expect((await bridge.answer(5)).error?.message).toContain("nothing was changed");
    gate.open();

    bridge.send(
      toolCall(6, "wsh_wait", { session: "dev", any_of: ["command_finished"], command_id: firstCommandId("@1") }),
    );
    const waited = await bridge.answer(6);
    expect(waited.result.structuredContent).toMatchObject({
      decided_by: "command_finished",
      command: { exit_code: 0 },
    });
    // The answers of the replayed initialize were not for the client.
    expect(bridge.messages.filter((message) => message.id === 1)).toHaveLength(1);
    expect(bridge.messages.filter((m) => typeof m.id === "string")).toEqual([]);
  });
});

describe("large amounts", () => {
  test("fifty calls at once are answered, each with its own result", async () => {
    await using bridge = new Lines(mcp);
    bridge.send(initialize, toolCall(2, "wsh_create_session", { name: "fifty" }));
    await bridge.answer(2);
    const ids = Array.from({ length: 50 }, (_, index) => 100 + index);
    bridge.send(
      ...ids.map((id) => toolCall(id, "wsh_get_screen", { session: "fifty", format: "plain", rows: id % 7 })),
    );
    for (const id of ids) expect((await bridge.answer(id)).result).toBeDefined();
  });

  test("a screen of 1000 × 1000 and results of megabytes arrive complete", async () => {
    const client = await mcp.client();
    await call(client, "wsh_create_session", { name: "big", rows: 1000, cols: 1000 });
    const command = "for i in $(seq 1 990); do printf '\\033[3%dm%0990d\\033[m\\n' $((i % 8)) $i; done";
    const ran = await call(client, "wsh_run_command", {
      session: "big",
      input: command,
      submit: true,
      include: ["screen"],
      format: "styled",
    });
    expect(ran.isError).toBe(false);
    expect(ran.value.screen.lines).toHaveLength(1000);
    expect(ran.texts[0]?.length).toBeGreaterThan(900_000);
    expect(ran.structured).toEqual(ran.value);
  });

  test("a stalled reader costs the bridge little memory, and gets everything in the end", async () => {
    await using mcp = new McpInstance();
    const client = await mcp.client();
    await call(client, "wsh_create_session", { name: "big", rows: 500, cols: 500 });
    const fill = "for i in $(seq 1 490); do printf '%0490d\\n' $i; done";
    await call(client, "wsh_run_command", { session: "big", input: fill, submit: true, format: "plain" });
    const memory = (pid: number) =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
    // Memory of a bridge that has started and answered: of the stalled one that moment is not visible.
    await using other = new Lines(mcp);
    other.send(initialize, toolCall(2, "wsh_get_screen", { session: "big", format: "plain" }));
    await other.answer(2);
    const before = memory(other.child.pid);
    const child = mcp.spawn(["mcp"]);
    const send = (line: string) => child.stdin.write(`${line}\n`);
    send(initialize);
    const calls = 60;
    for (let id = 10; id < 10 + calls; id++) send(toolCall(id, "wsh_get_screen", { session: "big", format: "plain" }));
    child.stdin.flush();
    // No condition to wait for: it must stay small however long nobody reads.
    await Bun.sleep(1_500);
    expect(memory(child.pid) - before).toBeLessThan(60);
    child.stdin.end();
    const lines = (await new Response(child.stdout).text()).trim().split("\n");
    const answered = new Set(lines.map((line) => JSON.parse(line).id).filter((id) => id >= 10));
    expect(answered.size).toBe(calls);
    expect(await child.exited).toBe(0);
  }, 60_000);

  test("a cancelled call gets no answer, ends at once on the server, and its command continues", async () => {
    const client = await mcp.client();
    const session = "cancelled";
    await call(client, "wsh_create_session", { name: session });
    await call(client, "wsh_wait", { session, any_of: ["prompt"] });
    const command_id = firstCommandId((await call(client, "wsh_list_sessions", { session })).value.pane_id);
    const cancel = new AbortController();
    const gate = new Gate(mcp.dir);
    const begun = join(mcp.dir, "begun");
    const running = client.callTool(
      { name: "wsh_exec", arguments: { session, command: `touch '${begun}'; ${gate.wait}; echo went on` } },
      { signal: cancel.signal },
    );
    await until("the command to run", () => existsSync(begun));
    cancel.abort("enough");
    await expect(running).rejects.toThrow();
    gate.open();
    const ended = await call(client, "wsh_wait", {
      session,
      any_of: ["command_finished"],
      command_id,
    });
    expect(ended.value).toMatchObject({ decided_by: "command_finished", command: { exit_code: 0 } });
    expect((await call(client, "wsh_get_output", { session, command_id })).value.text).toBe("went on");
  });
});
