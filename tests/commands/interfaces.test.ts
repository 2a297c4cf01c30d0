/**
 * A command has one result, with the same doubts, on every interface: the command line, HTTP, WebSocket, MCP, the client
 * library and scripts.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fs from "node:fs";
import type { Client } from "@modelcontextprotocol/client";
import { connect, type OperationName, terminals, type WshClient } from "../../src/client/client.ts";
import { call, McpInstance } from "../support/mcp-instance.ts";
import { givenTime } from "../support/timing-retries.ts";
import { until } from "../support/until.ts";
import { TestSocket } from "../support/websocket.ts";

type Fields = Readonly<Record<string, unknown>>;
const TYPED = "input was typed during the command: the output may contain its echo";
const ALTERNATE = "the command ended on the alternate screen, whose text is not in the output";

const mcp = new McpInstance();
let client: Client;
let socket: TestSocket;
let library: WshClient;

beforeAll(async () => {
  client = await mcp.client();
  socket = new TestSocket(`ws+unix://${mcp.instance.httpSocket}:/ws/json`, {});
  await socket.opened;
  library = await connect({ socket: mcp.instance.httpSocket });
  for (const n of ways.keys()) await mcp.ok("new", `s${n}`, "--cwd", mcp.dir);
});
afterAll(async () => {
  socket.close();
  library.close();
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

function asked(operation: OperationName, session: string, input: Fields): Promise<Fields> {
  return library.call(operation, input as never, session) as Promise<Fields>;
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

/** Fields whose values differ from run to run: only their presence and type are compared. */
const VARIES = /^(duration_ms|command_id|id|output_cursor|output_start|output_end|since|generation|.*line_id|.*_at)$/;
/** Fields that MCP leaves out when they are empty. */
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
  /** Typed to end it, if it still runs at the end. */
  readonly answer?: string;
  /** It ends on the alternate screen in a separate session, too. */
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
    /** The result of a command; one that asks gets time until it does. @param end ends one that has not */
    const resultOf = (
      exec: (more: Case["more"]) => Promise<Fields>,
      end: (result: Fields) => Promise<unknown>,
    ): Promise<Fields> => {
      if (each.answer === undefined) return exec(more);
      const inTime = async (ms: number): Promise<Fields | null> => {
        const result = await exec({ ...more, timeout: ms / 1000 });
        if (result.waits_for !== undefined) return result;
        await end(result);
        return null;
      };
      return givenTime("its question", inTime, (more?.timeout ?? 0) * 1000);
    };

    test("has one result at a prompt", async () => {
      const results: Fields[] = [];
      const outputs: Fields[] = [];
      const waits: Fields[] = [];
      for (const [n, way] of ways.entries()) {
        const session = `s${n}`;
        for (const sign of ["begun", "typed"]) fs.rmSync(`${mcp.dir}/${sign}`, { force: true });
        await mcp.exec(session, `printf '\\033[?1049l'; cd ${mcp.dir}`);
        const running = resultOf(
          (more) => way.exec(session, command, more),
          async () => {
            await mcp.ok("send", session, each.answer ?? "");
            await mcp.prompt(session);
          },
        );
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
        const result = await resultOf(
          (more) => way.exec(null, command, { ...more, cwd: mcp.dir }),
          ({ session }) => mcp.ok("kill", String(session)),
        );
        results.push({ way: way.name, ...comparable(result) });
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

test("the client library and scripts have the same result of a command, and its output", async () => {
  const command = "echo out; (exit 3)";
  const [first] = ways;
  const expected = comparable((await first?.exec("s0", command)) ?? {});
  expect(comparable(await asked("exec", "s0", { command }))).toEqual(expected);
  await using terminal = await terminals(library).open("s0");
  const result = { ...(await terminal.exec(command)) };
  expect(comparable(result)).toEqual(expected);
  expect(await terminal.output({ command: result.command_id ?? 0 })).toBe("out");
});

interface Question {
  readonly http: readonly [path: string, body: object | null];
  readonly cli: readonly string[];
  readonly ws: readonly [method: string, params: Fields];
  readonly library: readonly [operation: OperationName, input: Fields];
  readonly mcp: readonly [tool: string, params: Fields];
  readonly expected: Fields;
}

test("output reads, waits, typing and a broken terminal have one answer each", async () => {
  const session = "s0";
  const exec = (command: string) => asked("exec", session, { command, max_wait_ms: 20_000 });
  const written = await exec(String.raw`printf '[1] step\rnote: cached\r[2] step of two !!\ndone\n'`);
  const record = await asked("commands.get", session, { id: written.command_id });
  const long = await exec("printf '%040000d needle=42 %040000d\\n' 1 2");
  const many = await exec("seq 3000");
  const output = (
    flags: readonly string[],
    input: Readonly<Record<string, string | number>>,
  ): Omit<Question, "expected"> => ({
    http: [`output?${new URLSearchParams(Object.entries(input).map(([key, value]) => [key, `${value}`]))}`, null],
    cli: ["output", session, ...flags, "--json"],
    ws: ["get_output", input],
    library: ["output.get", input],
    mcp: ["wsh_get_output", input],
  });
  const wait = { any_of: [{ type: "text", text: "note: cached" }], since: record.output_start };
  const several = { input: "true\nfalse", submit: true };
  const lines: Record<string, Question> = {
    "what was written over is found": {
      ...output(["--command", `${written.command_id}`, "--grep", "note"], {
        command_id: written.command_id as number,
        grep: "note",
      }),
      expected: { text: "1:note: cached", matches: 1 },
    },
    "also by a wait since then": {
      http: ["wait", wait],
      cli: ["wait", session, "--text", "note: cached", "--since", `${record.output_start}`, "--json"],
      ws: ["wait", wait],
      library: ["wait", wait],
      mcp: ["wsh_wait", wait],
      expected: { decided_by: "text", match: "note: cached" },
    },
    "a long line is shown around its match": {
      ...output(["--command", `${long.command_id}`, "--grep", "needle", "--max-bytes", "400"], {
        command_id: long.command_id as number,
        grep: "needle",
        max_bytes: 400,
      }),
      expected: { text: expect.stringMatching(/^.{0,400}needle=42.{0,400}$/s), matches: 1 },
    },
    "an output has a limit, and says what it leaves out": {
      ...output(["--command", `${many.command_id}`, "--max-bytes", "200"], {
        command_id: many.command_id as number,
        max_bytes: 200,
      }),
      expected: {
        total_lines: 3000,
        omitted_bytes: expect.any(Number),
        text: expect.stringMatching(/^1\n2\n[\s\S]*omitted[\s\S]*\n3000$/),
      },
    },
    "one answer lists all commands that ended": {
      http: ["run", several],
      cli: ["run", session, "--json", several.input],
      ws: ["run", several],
      library: ["run", several],
      mcp: ["wsh_run_command", several],
      expected: {
        commands: [
          expect.objectContaining({ command: "true", exit_code: 0 }),
          expect.objectContaining({ command: "false", exit_code: 1 }),
        ],
      },
    },
    "a dialog whose end is not there yet still runs": {
      http: ["run", { input: "", keys: ["Enter"], until: ["exited"], max_wait_ms: 100 }],
      cli: ["run", session, "--json", "--until", "exited", "--timeout", "0.1", "--keys", "Enter"],
      ws: ["run", { input: "", keys: ["Enter"], until: ["exited"], max_wait_ms: 100 }],
      library: ["run", { input: "", keys: ["Enter"], until: ["exited"], max_wait_ms: 100 }],
      mcp: ["wsh_run_command", { input: "", keys: ["Enter"], until: ["exited"], max_wait_ms: 100 }],
      expected: { decided_by: "timeout", state: "prompt" },
    },
  };
  for (const [name, { expected, ...question }] of Object.entries(lines)) await answered(name, question, expected);
  await asked("exec", session, { command: "sleep 60", background: true });
  // The answer arrives when the line is typed; until the program runs, the shell reads.
  await until(
    "sleep to run",
    async () => /sleep/.test(JSON.stringify((await asked("status.get", session, {})).foreground)) || null,
  );
  const [typed, unread] = [{ data: "a" }, [expect.stringContaining("sleep does not read its input now")]];
  await answered(
    "typing at what does not read is said",
    {
      http: ["input", typed],
      cli: ["send", session, "a", "--json"],
      ws: ["send_input", typed],
      library: ["input.send", typed],
      mcp: ["wsh_send_input", { input: "a" }],
    },
    { warnings: unread },
  );
  await asked("input.send", session, { keys: ["Ctrl+C"] });
  await asked("wait", session, { any_of: ["prompt"] });
  await asked("run", session, { input: "PS1='in$ ' exec sh -i", submit: true });
  await asked("run", session, { input: String.raw`printf '\033[5;7r\033(0'`, submit: true });
  const disorder = ["scroll region", "line drawing or another character set"];
  await answered(
    "a broken terminal is said to be so",
    {
      http: ["status", null],
      cli: ["status", session, "--json"],
      ws: ["get_status", {}],
      library: ["status.get", {}],
      mcp: ["wsh_get_status", {}],
    },
    { disorder },
  );
  expect(await mcp.ok("reset-terminal", session)).toBe(`${disorder.join("\n")}\n`);

  async function answered(
    name: string,
    { http: [path, body], ...question }: Omit<Question, "expected">,
    expected: Fields,
  ): Promise<void> {
    const response = await mcp.fetch(
      `/sessions/${session}/${path}`,
      body === null
        ? {}
        : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) },
    );
    const warning = response.headers.get("wsh-warning");
    const answers: Record<string, Fields> = {
      HTTP: response.status === 204 ? { warnings: [warning] } : ((await response.json()) as Fields),
      "the command line": await cli(...question.cli),
      WebSocket: await ws(question.ws[0], session, question.ws[1]),
      "the client library": await asked(question.library[0], session, question.library[1]),
      MCP: (await call(client, question.mcp[0], { session, ...question.mcp[1] })).value,
    };
    for (const [way, answer] of Object.entries(answers))
      expect({ name, way, ...answer }).toMatchObject({ name, way, ...expected });
  }
}, 60_000);
