/** wsh_script: an agent's program on its terminals, with exactly the agent's access. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { connect } from "../../src/client/client.ts";
import { WshError } from "../../src/protocol/errors.ts";
import { Gate } from "../support/held-command.ts";
import { type Answer, call, McpInstance } from "../support/mcp-instance.ts";
import { parentOf } from "../support/processes.ts";
import { until } from "../support/until.ts";

let it: McpInstance;
let url: URL;
let client: Client;
beforeAll(async () => {
  it = new McpInstance();
  url = await it.address(it.spawn(["server", "--bind", "127.0.0.1:0"]));
  client = await it.client();
  await it.session("dev");
  await it.session("secret");
});
afterAll(() => it[Symbol.asyncDispose]());

const run = (args: Record<string, unknown>, by = client): Promise<Answer> => call(by, "wsh_script", args);

test("a program asks, answers, reads and returns; unnamed sessions that it opened are removed", async () => {
  const { value } = await run({
    session: "dev",
    code: `import { open } from "wsh";
const { exit_code, output } = await t.exec("echo hi; false");
print(exit_code, output);
await t.run("for n in 1 2 3; do read -p \\"Stage hunk $n? \\" a; done; echo done: $a");
let asked: number = 0;
while (await t.expect(/Stage hunk/, { orEnd: true })) { asked++; await t.type(\`\${asked}\\n\`); }
const own = await open();
await own.run("seq 100 | less");
await own.waitFor("fullscreen");
return { asked, last: (await t.screen()).find(/done: \\d/)?.text, top: (await own.screen()).rows[0] };`,
  });
  expect(value).toEqual({ state: "finished", value: { asked: 3, last: "done: 3", top: "1" }, output: "1 hi" });
  expect((await it.list()).map(({ name }) => name).sort()).toEqual(["dev", "secret"]);
});

test("a failure reports the line, the reason and the screen, also in TypeScript", async () => {
  const plain = await run({ session: "dev", code: 'print("x");\n\nawait t.expect("never", { timeout: 50 });' });
  expect(plain.value).toMatchObject({ state: "failed", line: 3, output: "x" });
  expect(plain.value.error).toMatch(
    /^expect\("never"\): did not appear within 50 ms\nState: prompt .*\nScreen of 'dev', 80x24/,
  );
  const typed = await run({
    code: "interface A { b: number }\nconst a: A = { b: 1 };\n\nthrow new Error('b is ' + (a.b as number));",
  });
  expect(typed.value).toEqual({ state: "failed", line: 4, error: "Error: b is 1" });
  const wrong = await run({ code: "let a =\nlet b" });
  expect(wrong.value.state).toBe("failed");
  expect((await run({ code: "1", resume: "x" })).value.code).toBe("invalid_request");
  const odd =
    "print(10n, Symbol('s')); throw { get message() { throw 1; }, toString() { throw 2; }, toJSON() { throw 3; } }";
  const said = { state: "failed", error: "the program threw (a value that cannot be printed)", output: "10 Symbol(s)" };
  const lost = await run({ code: "globalThis.wsh = null;\nthrow new Error('after')" });
  expect(lost.value).toEqual({ state: "failed", line: 2, error: "Error: after" });
  expect((await run({ code: odd })).value).toEqual(said);
});

test("a rejected promise that nothing awaits fails the program, with its line; a handled one does not", async () => {
  const failing = [
    [
      '\nt.expect("never", { timeout: 50 });\nawait t.waitFor("later"); return 1',
      2,
      /^expect\("never"\): did not appear/,
    ],
    ['(async () => {\n await null;\n throw new Error("x"); })();\nreturn 1', 3, /^Error: x$/],
    ['async function f(): Promise<void> {\n throw new Error("x"); }\nf(); return 1', 2, /^Error: x$/],
    ['const o = { async m(a) {\n throw new Error("x" + a); } }; o.m(1)', 2, /^Error: x1$/],
    ['Promise.reject(new Error("x")); return 1', 1, /^Error: x$/],
    ['t.exec("true").then(() => {\n throw new Error("x"); }); await t.exec("true")', 2, /^Error: x$/],
  ] as const;
  await Promise.all(
    failing.map(async ([code, line, error]) => {
      const { value } = await run({ code: `const t = await wsh.open("dev"); ${code}` });
      expect(value).toMatchObject({ state: "failed", line, error: expect.stringMatching(error) });
    }),
  );
  const handled = `const f = async () => { throw 1; };
try { await f(); } catch {}
await f().catch(() => 0);
await Promise.allSettled([f(), (async () => f())()]);
class P extends Promise {}
try { await new P((_, no) => no(1)); } catch {}
await new P((_, no) => no(1)).catch(() => 0);
class A { n = 1; async m() { return this.n; } static async *g() { yield 2; } }
for await (const n of A.g()) print(n);
return [await new A().m(), (await (async (x) => async (y) => x + y)(1))(2) instanceof Promise, await g(3, 4)];
async function g() { return arguments.length; }`;
  expect((await run({ code: handled })).value).toEqual({ state: "finished", output: "2", value: [1, true, 2] });
});

test("after its time a program reports its position, continues, and can be stopped at any point", async () => {
  const first = await run({
    session: "dev",
    code: 'print("a");\nawait t.waitFor("GO-ON");\nprint("b"); return 5',
    max_wait_ms: 0,
  });
  const { script_id: resume, state } = first.value;
  expect(state).toBe("running");
  let printed: string = first.value.output ?? "";
  const waiting = await until("the step", async () => {
    const { value } = await run({ resume, max_wait_ms: 20 });
    printed += value.output ?? "";
    return value.at === undefined ? null : value;
  });
  expect(waiting).toMatchObject({ state: "running", script_id: resume, at: { step: 'waitFor("GO-ON")', line: 2 } });
  expect(printed).toBe("a");
  await it.enter("dev", "echo GO-ON");
  expect((await run({ resume })).value).toEqual({ state: "finished", value: 5, output: "b" });
  expect((await run({ resume })).value.code).toBe("command_not_found");
  const endless = await run({ code: "for (;;) {}", max_wait_ms: 100 });
  expect(endless.value.state).toBe("running");
  expect((await run({ resume: endless.value.script_id, stop: true })).value).toEqual({ state: "stopped" });
  // The call is cancelled: so is its program, but not its commands in the session.
  const given = new AbortController();
  const gate = new Gate(it.dir);
  const code = `await t.exec("echo be''gun; ${gate.wait}; echo kept"); await t.exec("echo never")`;
  const params = { name: "wsh_script", arguments: { session: "dev", code } };
  const lost = client.callTool(params, { signal: given.signal }).catch(() => "cancelled");
  await it.shows("dev", /^begun$/m);
  given.abort();
  expect(await lost).toBe("cancelled");
  // Behind the cancellation: the server has received it.
  await client.ping();
  gate.open();
  await it.shows("dev", /^kept$/m);
  await it.exec("dev", "echo after");
  expect(await it.screen("dev")).not.toContain("never");
});

test("a result, a command and a screen print their answer; the whole is in a copy", async () => {
  const code = `const r = await t.exec("printf '\\u250c\\u2500 Box \\u2500\\u2510\\n\\n \\u2502  a       b  \\u2502\\n'; (exit 3)");
    print(r, [await t.exec("true")]);
    const [command] = (await t.commands()).slice(-2);
    print(command, await t.ended(), (await t.screen()).findAll("Box").at(-1));
    print(await t.status());
    print(await t.exec("seq 3000"));
    await t.exec("clear; tput cup 3; printf '\\u2502 1         2 \\u2502\\n--------------------\\n'");
    print(await t.screen());
    print(await t.waitFor(/\\b2/));
    return [r, Object.keys({ ...r }).includes("command_id")];`;
  const { output, value } = (await run({ session: "dev", code })).value;
  const [first, second, third, ...rest] = output.split("\n");
  const box = "┌─ Box ─┐\n\n │  a       b  │";
  expect(first).toBe(`${JSON.stringify({ exit_code: 3, output: box })} [{"exit_code":0,"output":""}]`);
  expect(second).toMatch(
    /^\{"id":\d+,"command":"printf.*","exit_code":3\} \{"exit_code":0\} \{"text":"Box","row":\d+,"col":3\}$/,
  );
  expect(JSON.parse(third)).toEqual({
    state: "prompt",
    why: expect.any(String),
    last_command: { command: "true", state: "finished", exit_code: 0 },
  });
  expect(rest[0].length).toBeLessThan(2_600);
  expect(rest[0]).toMatch(/characters: print\(result\.output\)/);
  expect(rest.slice(1)).toEqual(["1  2", "---…", "$", "1  2"]);
  expect(value).toEqual([{ exit_code: 3, output: box }, true]);
});

test("printed output is bounded", async () => {
  const { value } = await run({
    code: 'for (let i = 0; i < 3000; i++) print("line " + i); return "x".repeat(5000)',
    output_limit: 500,
  });
  expect(value.output.length).toBeLessThan(700);
  expect(value.output).toMatch(/^line 0\n[\s\S]*bytes omitted[\s\S]*line 2999$/);
  expect(value.value.length).toBeLessThan(700);
});

test("a program reaches terminals and nothing else", async () => {
  const { value } = await run({
    code: `const names = ["fetch", "WebSocket", "XMLHttpRequest", "process", "Bun", "require", "Deno", "std", "os", "setTimeout", "Worker", "WebAssembly", "__ask", "__end", "__run"];
const there = names.filter((name) => typeof globalThis[name] !== "undefined");
const imported = [];
for (const name of ["fs", "node:fs", "bun", "./x.js", "https://example.com/x.js"]) await import(name).then(() => imported.push(name), () => {});
const made = (() => {}).constructor("return typeof process + typeof Bun")();
return { there, imported, made };`,
  });
  expect(value).toEqual({ state: "finished", value: { there: [], imported: [], made: "undefinedundefined" } });
  const greedy = await run({ code: "const a = [];\nfor (;;) a.push(new Uint8Array(4_000_000).fill(7));" });
  expect(greedy.value).toEqual({ state: "failed", line: 2, error: "InternalError: out of memory" });
});

/** In the error of a wait beyond the limit of its session. */
const REFUSED = "waits are pending|resource_limit_reached";

test("a session that ends in the middle of a wait: one answer from every interface, and none reports a timeout", async () => {
  // Four interfaces wait, and two programs three times each: one more is refused.
  await using own = new McpInstance({}, { config: "max_waiters = 10" });
  // A client starts a server too, if there is none: one after the other.
  await own.server();
  const agent = await own.client();
  using ws = await connect({ socket: own.instance.httpSocket });
  const asked = { any_of: [{ type: "text" as const, text: "never" }], max_wait_ms: 20_000 };
  const ways: Readonly<Record<string, (name: string, pid: number) => unknown>> = {
    exit: (name) => own.ok("send", name, "exit 3", "--enter"),
    kill: (name) => own.ok("kill", name),
    crash: (_, pid) => process.kill(pid, "SIGKILL"),
  };
  for (const [way, end] of Object.entries(ways)) {
    const name = `ends-${way}`;
    const { pid } = await own.session(name);
    // The end of the shell's start would answer `ended`.
    await own.ok("wait", name, "prompt");
    // A wait is refused where the probe below takes the last place for a moment: it begins again.
    const code = `const t = await wsh.open("${name}");
const begun = async (step) => { for (;;) { const said = await step().catch((error) => error.message); if (!/${REFUSED}/.test(said)) return typeof said === "string" ? said.split("\\n")[0] : said; } };
print(...(await Promise.all([begun(() => t.expect("never")), begun(() => t.waitFor("never")), begun(() => t.ended())])));`;
    const begun = async <T>(wait: () => Promise<T>): Promise<T> => {
      for (;;) {
        const answer = await wait();
        if (!new RegExp(REFUSED).test(JSON.stringify(answer))) return answer;
      }
    };
    const answers = Promise.all([
      begun(() =>
        fetch(`http://localhost/sessions/${name}/wait`, {
          ...{ method: "POST", unix: own.instance.httpSocket, body: JSON.stringify(asked) },
          headers: { "Content-Type": "application/json" },
        }).then(async (response) => JSON.parse(await response.text())),
      ),
      begun(() => ws.call("wait", asked, name).catch((thrown) => ({ error: WshError.from(thrown).bodyAt("http") }))),
      begun(() =>
        call(agent, "wsh_wait", { session: name, ...asked }).then(({ isError, value }) =>
          isError ? { error: value } : value,
        ),
      ),
      begun(() => own.run("wait", name, "--text", "never", "--json").then(({ stdout, stderr }) => stdout || stderr)),
      own.ok("script", "-e", code),
      call(agent, "wsh_script", { code, max_wait_ms: 20_000 }).then(({ value }) => `${value.output}\n`),
    ]);
    await until("ten waits", async () => {
      const { code } = await ws.call("wait", { ...asked, max_wait_ms: 0 }, name).catch((thrown) => thrown);
      return code === "resource_limit_reached" || null;
    });
    await end(name, parentOf(pid ?? 0) ?? 0);
    const [http, socket, mcp, cli, script, sandbox] = await answers;
    expect(socket).toEqual(http);
    expect(mcp).toEqual(http);
    if (way === "crash") {
      expect(http.error).toMatchObject({ code: "session_crashed", session: name });
      expect(cli).toContain(http.error.message);
    } else {
      expect(http).toMatchObject({ session: name, decided_by: "exited", state: "exited" });
      expect(JSON.parse(cli)).toEqual(http);
    }
    const ended = "the program has ended, and it did not appear";
    const exit = `{"exit_code":${way === "exit" ? 3 : null}}`;
    if (way !== "crash") expect(script).toBe(`expect("never"): ${ended} waitFor("never"): ${ended} ${exit}\n`);
    for (const printed of [script, sandbox])
      expect(printed).toMatch(/^expect\("never"\): the (session process|program) /);
    for (const printed of [script, sandbox]) expect(printed).not.toContain("within");
    if (way !== "crash") expect(sandbox).toBe(script);
  }
});

test("it has exactly its caller's access: a token of one session reaches nothing else", async () => {
  const by = async (access: string): Promise<Client> => {
    const token = (await it.ok("token", "create", `one-${access}`, "--access", access, "--session", "dev")).trim();
    const requestInit = { headers: { Authorization: `Bearer ${token}` } };
    return it.connect("legacy", new StreamableHTTPClientTransport(url, { requestInit }));
  };
  const guest = await by("operate");
  const tries = `const said = {};
const attempt = async (name, act) => { try { said[name] = await act(); } catch (error) { said[name] = error.code ?? error.message; } };
await attempt("list", async () => (await wsh.sessions()).map((s) => s.name));
for (const name of ["secret", "@s2", "@2", "secret:0.0"]) await attempt(name, () => wsh.open(name));
await attempt("create", () => wsh.open("secret", { create: true }));
await attempt("new", () => wsh.open());
await attempt("own", async () => (await (await wsh.open("dev")).exec("echo mine")).output);
return said;`;
  const denied = {
    secret: "session_not_found",
    "@s2": "session_not_found",
    "@2": "session_not_found",
    "secret:0.0": "session_not_found",
  };
  expect((await run({ code: tries }, guest)).value).toEqual({
    state: "finished",
    value: { list: ["dev"], ...denied, create: "access_denied", new: "access_denied", own: "mine" },
  });
  // Nor does it continue with another's program.
  const other = await run({ code: 'const t = await wsh.open("secret"); await t.expect("never")', max_wait_ms: 50 });
  expect((await run({ resume: other.value.script_id }, guest)).value.code).toBe("command_not_found");
  expect((await run({ resume: other.value.script_id, stop: true })).value.state).toBe("stopped");
  const looker = await by("observe");
  const { tools } = await looker.listTools();
  expect(tools.map(({ name }) => name)).not.toContain("wsh_script");
});
