/** One result, with the same doubts, whatever a command is run over: the command line, HTTP, WebSocket and MCP. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fs from "node:fs";
import type { Client } from "@modelcontextprotocol/client";
import { call, McpInstance } from "../support/mcp-instance.ts";
import { until } from "../support/until.ts";
import { TestSocket } from "../support/websocket.ts";

type Fields = Readonly<Record<string, unknown>>;
const TYPED = "input was typed during the command: the output may contain its echo";
const ALTERNATE = "the command ended on the alternate screen, whose text is not in the output";

const mcp = new McpInstance();
let client: Client;
let socket: TestSocket;

beforeAll(async () => {
  client = await mcp.client();
  socket = new TestSocket(`ws+unix://${mcp.instance.httpSocket}:/ws/json`, {});
  await socket.opened;
  for (const n of ways.keys()) await mcp.ok("new", `s${n}`, "--cwd", mcp.dir);
});
afterAll(async () => {
  socket.close();
  await mcp[Symbol.asyncDispose]();
});

interface Way {
  readonly name: string;
  exec(
    session: string | null,
    command: string,
    more?: { timeout?: number; tail?: number; cwd?: string },
  ): Promise<Fields>;
  output(session: string, id: number): Promise<Fields>;
  run(session: string, input: string): Promise<Fields>;
  wait(session: string, id: number): Promise<Fields>;
}

async function http(path: string, body: object | null): Promise<Fields> {
  const sent = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  return (await mcp.fetch(path, body === null ? {} : sent)).json() as Promise<Fields>;
}

async function cli(...args: readonly string[]): Promise<Fields> {
  const { stdout, stderr } = await mcp.run(...args);
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout);
}

async function ws(method: string, session: string | null, params: Fields): Promise<Fields> {
  const answer = await socket.call(method, params, session === null ? {} : { session });
  return answer.result ?? answer.error;
}

const fieldsOf = ({ timeout, tail, cwd }: { timeout?: number; tail?: number; cwd?: string } = {}): Fields => ({
  ...(timeout === undefined ? {} : { max_wait_ms: timeout * 1000 }),
  ...(tail === undefined ? {} : { tail }),
  ...(cwd === undefined ? {} : { cwd }),
});

const ways: readonly Way[] = [
  {
    name: "HTTP",
    exec: (session, command, more) =>
      http(session === null ? "/exec" : `/sessions/${session}/exec`, { command, ...fieldsOf(more) }),
    output: (session, id) => http(`/sessions/${session}/output?command_id=${id}`, null),
    run: (session, input) => http(`/sessions/${session}/run`, { input, submit: true, format: "plain" }),
    wait: (session, id) => http(`/sessions/${session}/wait`, { any_of: ["command_finished"], command_id: id }),
  },
  {
    name: "the command line",
    exec: (session, command, { timeout, tail, cwd } = {}) =>
      cli(
        "exec",
        ...(session === null ? [] : [session]),
        "--json",
        ...(timeout === undefined ? [] : ["--timeout", `${timeout}`]),
        ...(tail === undefined ? [] : ["--tail", `${tail}`]),
        ...(cwd === undefined ? [] : ["--cwd", cwd]),
        "--",
        command,
      ),
    output: (session, id) => cli("output", session, "--command", `${id}`, "--json"),
    run: (session, input) => cli("run", session, "--json", input),
    wait: (session, id) => cli("wait", session, "command_finished", "--command-id", `${id}`, "--json"),
  },
  {
    name: "WebSocket",
    exec: (session, command, more) =>
      ws(session === null ? "exec_fresh" : "exec", session, { command, ...fieldsOf(more) }),
    output: (session, command_id) => ws("get_output", session, { command_id }),
    run: (session, input) => ws("run", session, { input, submit: true, format: "plain" }),
    wait: (session, command_id) => ws("wait", session, { any_of: ["command_finished"], command_id }),
  },
  {
    name: "MCP",
    exec: async (session, command, more) =>
      (await call(client, "wsh_exec", { ...(session === null ? {} : { session }), command, ...fieldsOf(more) })).value,
    output: async (session, command_id) => (await call(client, "wsh_get_output", { session, command_id })).value,
    run: async (session, input) => (await call(client, "wsh_run_command", { session, input, submit: true })).value,
    wait: async (session, command_id) =>
      (await call(client, "wsh_wait", { session, any_of: ["command_finished"], command_id })).value,
  },
];

/** Fields whose values differ from run to run: that they are there, and of which type, is compared. */
const VARIES = /^(duration_ms|command_id|id|output_cursor|output_start|output_end|since|generation|.*line_id|.*_at)$/;
/** What MCP leaves out because it says nothing. */
const SAYS_NOTHING: Fields = { signal: null, omitted_lines: 0, duration_ms: null, omitted_bytes: 0 };

function comparable(result: Fields): Fields {
  const { session, screen: _screen, since: _since, pane: _pane, lines: _lines, ...rest } = result;
  const entries = Object.entries(rest).filter(([key, value]) => SAYS_NOTHING[key] !== value || !(key in SAYS_NOTHING));
  const same = entries.map(([key, value]) => {
    if (value !== null && typeof value === "object" && !Array.isArray(value)) return [key, comparable(value as Fields)];
    if (key === "readable_until") return [key, "a time"];
    return [key, VARIES.test(key) ? typeof value : value];
  });
  const kind = typeof session === "string" ? session.replace(/^(exec)-\d+$/, "$1") : session;
  return { ...Object.fromEntries(same), ...(kind === undefined ? {} : { session: kind }) };
}

interface Case {
  readonly name: string;
  readonly command: string;
  readonly expected: Fields;
  /** Another client types this once the command has begun. */
  readonly typed?: string;
  readonly more?: { timeout?: number; tail?: number };
  /** Typed to end it, when it still runs at the end. */
  readonly answer?: string;
  /** It ends on the alternate screen in a session of its own, too. */
  readonly alone?: boolean;
}

const cases: readonly Case[] = [
  {
    name: "a command that fails",
    command: "echo out; (exit 3)",
    expected: { exit_code: 3, output: "out" },
    alone: true,
  },
  { name: "a change of directory", command: "cd /tmp", expected: { cwd: "/tmp" } },
  {
    name: "input while it ran",
    command: "touch begun; until [ -e typed ]; do sleep 0.05; done; sleep 0.1; echo out; read -r rest",
    typed: "abc\r",
    expected: { exit_code: 0, warnings: [TYPED] },
  },
  {
    name: "an end on the alternate screen",
    command: "printf '\\033[?1049h'; echo hidden",
    expected: { exit_code: 0, output: "", warnings: [ALTERNATE] },
    alone: true,
  },
  {
    name: "bytes that are not UTF-8",
    command: "printf 'a\\376b\\342\\202c\\n'",
    expected: { output: "a\ufffdb\ufffdc", warnings: ["2 parts of the output are not UTF-8; each is shown as U+FFFD"] },
    alone: true,
  },
  {
    name: "the last lines of an output",
    command: "seq 50",
    more: { tail: 2 },
    expected: { output: expect.stringContaining("49\n50"), total_lines: 50 },
    alone: true,
  },
  {
    name: "a command that asks at the end of the wait",
    command: "read -r answer",
    more: { timeout: 0.4 },
    expected: { state: "running", exit_code: null, waits_for: "waiting_for_input" },
    answer: "yes\r",
    alone: true,
  },
];

describe.each(cases.map((each) => [each.name, each] as const))(
  "%s",
  (_, { command, expected, more, typed, ...each }) => {
    test("has one result at a prompt", async () => {
      const results: Fields[] = [];
      const outputs: Fields[] = [];
      const waits: Fields[] = [];
      for (const [n, way] of ways.entries()) {
        const session = `s${n}`;
        for (const sign of ["begun", "typed"]) fs.rmSync(`${mcp.dir}/${sign}`, { force: true });
        await mcp.ok("exec", session, "--", `printf '\\033[?1049l'; cd ${mcp.dir}`);
        const running = way.exec(session, command, more);
        if (typed !== undefined) {
          await until("it to begin", () => Bun.file(`${mcp.dir}/begun`).exists());
          await mcp.ok("send", session, typed);
          await Bun.write(`${mcp.dir}/typed`, "");
        }
        const result = await running;
        const same = (fields: Fields): Fields => ({ ...comparable(fields), session: "the session" });
        results.push({ way: way.name, ...same(result) });
        if (each.answer !== undefined) await mcp.ok("send", session, each.answer);
        const id = result.command_id as number;
        waits.push({ way: way.name, ...same(await way.wait(session, id)) });
        if (each.answer === undefined) outputs.push({ way: way.name, ...same(await way.output(session, id)) });
      }
      expect(results[0]).toMatchObject(expected);
      for (const compared of [results, outputs, waits]) {
        for (const { way, ...result } of compared) expect({ way, ...result }).toEqual({ ...compared[0], way });
      }
    });
    const inOwn = each.alone === true ? test : test.skip;
    inOwn("has one result in a session of its own", async () => {
      const results: Fields[] = [];
      for (const way of ways) {
        results.push({ way: way.name, ...comparable(await way.exec(null, command, { ...more, cwd: mcp.dir })) });
      }
      expect(results[0]).toMatchObject({ ...expected, session: "exec" });
      for (const { way, ...result } of results) {
        const { cwd: _cwd, ...first } = results[0] ?? {};
        const { cwd: _own, ...rest } = result;
        expect({ ...rest, way }).toEqual({ ...first, way });
      }
    });
  },
);

test("run has one result", async () => {
  const results: Fields[] = [];
  for (const [n, way] of ways.entries()) {
    results.push({ ...comparable(await way.run(`s${n}`, "cd /tmp; printf '\\033[?1049h'; (exit 4)")), way: way.name });
  }
  expect(results[0]).toMatchObject({ exit_code: 4, warnings: [ALTERNATE] });
  for (const { way, ...result } of results) expect({ ...result, way }).toEqual({ ...results[0], way });
});
