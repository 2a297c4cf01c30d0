/** `wsh script` and `wsh test`: programs that drive terminals, run by the Bun in the executable. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { McpInstance } from "../support/mcp-instance.ts";
import { shared } from "../support/shared.ts";
import { until } from "../support/until.ts";

const wsh = shared(new McpInstance());
const full = process.env.WSH_TEST_FULL === "1";

/**
 * Runs a code that fills `all`, by `wsh script` or by the tool `wsh_script`, or by both in the full sizes: the language
 * is the same, and its names are compared in both below. @returns what is in `all`, for each
 */
async function filled(code: string, way: "script" | "tool"): Promise<string[]> {
  const found: string[] = [];
  if (full || way === "script") {
    const printed = await wsh.ok("script", "-e", `${code} console.log(JSON.stringify(all))`);
    found.push(printed.trimEnd());
  }
  if (full || way === "tool") {
    const client = await wsh.client();
    const { structuredContent } = await client.callTool({
      name: "wsh_script",
      arguments: { code: `${code} return JSON.stringify(all)` },
    });
    found.push(String((structuredContent as { value?: unknown }).value));
  }
  return found;
}

function written(name: string, text: string): string {
  const path = join(wsh.dir, name);
  fs.writeFileSync(path, text);
  return path;
}

test("a script runs commands, answers questions, reads a screen, and leaves no session", async () => {
  const file = written(
    "dialog.ts",
    `import { open } from "wsh";
interface Said { readonly args: readonly string[] }
// Programs of a script do not run as Bun.
if (Bun.spawnSync(["sh", "-c", "printf %s $BUN_BE_BUN"]).stdout.length > 0) throw new Error("BUN_BE_BUN is inherited");
const t = await open();
const { output, exit_code: exitCode } = await t.exec("echo hi; false");
await t.run("read -p 'Name? ' n; read -p 'Age? ' a; echo got π1👍 $n $a; seq 200 | less");
await t.expect(/Name\\? $/);
await t.type("bob\\n");
await t.expect("Age?");
await t.type("41\\n");
const [, name, age] = await t.expect(/got π1👍 (\\w+) (\\d+)/);
await t.waitFor("fullscreen");
await t.press("Space");
const screen = await t.waitFor({ screen: (s) => s.rows[0] === "24" });
await t.press("q");
await t.waitFor("prompt");
const commands = await t.commands();
const said: Said = { args: process.argv.slice(2) };
console.log(JSON.stringify({ output, exitCode, name, age, row: screen.find("30")?.row, codes: commands.map((c) => c.exit_code), ...said }));
`,
  );
  const before = (await wsh.list()).length;
  const { code, stdout, stderr } = await wsh.run("script", file, "one", "--two");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(JSON.parse(stdout)).toEqual({
    ...{ output: "hi", exitCode: 1, name: "bob", age: "41", row: 6, codes: [1, 0] },
    args: ["one", "--two"],
  });
  expect((await wsh.list()).length).toBe(before);
});

test("a failure reports the line, the awaited condition, the state with its reason, and the screen", async () => {
  const file = written(
    "fails.ts",
    `import { open } from "wsh";\n\nconst t = await open();\nawait t.run("cat"); await t.waitFor("input");\nawait t.expect(/never/, { timeout: 200 });\n`,
  );
  const failed = await wsh.run("script", "--trace", join(wsh.dir, "trace"), file);
  expect(failed.code).toBe(1);
  expect(failed.stderr).toStartWith(`${file}:5: expect(/never/): did not appear within 200 ms\n`);
  expect(failed.stderr).toMatch(
    /State: waiting_for_input \(cat .*\)\nScreen of 'script-\d+', 80x24, cursor at row 1, col 0 \(from 0\)\n│ \$ cat/,
  );
  const page = fs.readFileSync(join(wsh.dir, "trace.html"), "utf8");
  expect(page).toContain("run(&#34;cat&#34;)");
  const [head, ...events] = fs
    .readFileSync(join(wsh.dir, "trace.cast"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(head).toMatchObject({ version: 2, width: 80, height: 24 });
  expect(events.filter(([, kind]) => kind === "m").map(([, , text]) => text)).toEqual([
    'run("cat")',
    'waitFor("input")',
    "expect(/never/)",
  ]);
  expect(
    events
      .filter(([, kind]) => kind === "o")
      .map(([, , text]) => text)
      .join(""),
  ).toContain("cat");
  const early = await wsh.run(
    "script",
    "-e",
    `const t = await wsh.open();\nawait t.run("exit 3 | (exit 4)");\nawait t.expect("x")`,
  );
  expect(early.stderr).toStartWith('line 3: expect("x"): the command has ended (exit code 4), and it did not appear');
});

test("a refused call names the option as written, and shows no screen; a failure shows the rows around the cursor", async () => {
  const code = `
    const t = await open();
    const said = [];
    const attempt = async (act) => said.push(await act().then(() => "done", (e) => e.message));
    await attempt(() => t.expect("x", { timeout: NaN }));
    await attempt(() => t.waitFor("x", { timeout: Infinity }));
    await attempt(() => t.ended({ timeout: "5" }));
    await attempt(() => t.exec("true", { timeout: -1 }));
    await attempt(() => t.resize({ cols: NaN, rows: 2 }));
    await attempt(() => t.waitFor({ idle: NaN }));
    await attempt(() => open({ timeout: NaN }));
    await attempt(() => t.expect(""));
    await attempt(() => t.waitFor({ text: 5 }));
    await attempt(() => t.expect(/(?=x)/));
    await t.exec("clear; seq 20");
    // The prompt is printed after the command's end.
    await t.waitFor({ screen: (s) => s.rows[20] === "$" });
    await attempt(() => t.expect("never", { timeout: 1 }));
    print(JSON.stringify(said));`;
  const said = JSON.parse(await wsh.ok("script", "-e", code));
  const wrong = (name: string, value: string) => `'${name}' must be a finite number from 0, not ${value}`;
  expect(said.slice(0, 9)).toEqual([
    `expect("x"): ${wrong("timeout", "NaN")} (invalid_request)`,
    `waitFor("x"): ${wrong("timeout", "Infinity")} (invalid_request)`,
    `ended(): ${wrong("timeout", '"5"')} (invalid_request)`,
    `exec("true"): ${wrong("timeout", "-1")} (invalid_request)`,
    `resize({"cols":"NaN","rows":2}): ${wrong("cols", "NaN")} (invalid_request)`,
    `waitFor({"idle":"NaN"}): ${wrong("idle", "NaN")} (invalid_request)`,
    wrong("timeout", "NaN"),
    'expect(""): give a text or a regular expression, not an empty text (invalid_request)',
    'waitFor({"text":5}): give a text or a regular expression, not 5 (invalid_request)',
  ]);
  expect(said[9]).toMatch(/^expect\(.*\(invalid_request\)[^\n]*$/);
  const rows = said[10].split("\n").slice(3);
  expect(rows).toEqual(["[… 9 rows]", ...Array.from({ length: 11 }, (_, n) => `│ ${n + 10}`), "│ $"]);
});

test("a key, and a text, have been read and answered on the screen when the call returns", async () => {
  const slow = `while read -rsn1 k; do sleep 0.1; n=$((n+1)); printf "\\rcount $n "; done`;
  const code = `
    const t = await open();
    await t.run(${JSON.stringify(slow)});
    const seen = [];
    for (let n = 1; n <= 3; n++) {
      await (n === 2 ? t.type("x") : t.press("x"));
      seen.push((await t.screen()).find(/count \\d/)?.text);
    }
    print(seen);`;
  expect(await wsh.ok("script", "-e", code)).toBe('["count 1","count 2","count 3"]\n');
});

test("an unawaited failure ends a script at once, with its line, and no session stays; so does a signal", async () => {
  const cases = [
    [
      'const t = await open(); t.expect("never", { timeout: 50 });\nawait t.waitFor("later");',
      /^line 1: expect\("never"\): did not/,
    ],
    ['(async () => {\nawait null; throw new Error("x"); })();', /^line 2: Error: x\n$/],
    [
      'setTimeout(() => {\nthrow new Error("timer"); }, 20); await (await open()).waitFor("never");',
      /^line 2: Error: timer\n/,
    ],
    ["const f = () => { throw null; };\nf();", /^the program threw null\n$/],
    ["let a =", /^line 1: Unexpected end of file\n$/],
    ['import x from "nothing"; print(x);', /^Cannot find package 'nothing'/],
    ["const t = await open(); await t.kill();\nawait t.screen();", /^line 2: screen\(\): session .* was ended/],
    [
      'const h = (n) => { if (n === 0) throw new Error("d"); h(n - 1); };\nh(9);',
      /^line 1: Error: d(\n {2}called at line 1){3}\n$/,
    ],
  ] as const;
  const ends = await Promise.all(cases.map(([code]) => wsh.run("script", "-e", code)));
  for (const [n, { code, stderr }] of ends.entries()) {
    expect(stderr).toMatch(cases[n]?.[1] ?? "");
    expect(code).toBe(1);
  }
  expect(await wsh.run("script", "nofile.ts")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("'nofile.ts' does not exist"),
  });
  const untraced = await wsh.run("script", "--trace", "/proc/none/x.html", "-e", 'print("ran")');
  expect(untraced).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^the trace cannot be written: /),
  });
  const own = async () => (await wsh.list()).filter(({ name }) => name.startsWith("script-"));
  for (const [signal, code] of [
    ["SIGTERM", 143],
    ["SIGKILL", 137],
  ] as const) {
    const waiting = wsh.spawn([
      "script",
      "-e",
      'await open(); await (await open({ tags: ["second"] })).waitFor("never")',
    ]);
    await until("both sessions", async () => (await own()).some(({ tags }) => tags.includes("second")) || null);
    waiting.kill(signal);
    expect(await waiting.exited).toBe(code);
    // The program of a killed `wsh` ends soon.
    await until("no session", async () => (await own()).length === 0 || null);
  }
});

test("a server killed in the middle of a step fails the script and the tool, and no step is done twice", async () => {
  await using own = new McpInstance();
  const server = own.spawn(["server", "--bind", "127.0.0.1:0"]);
  await own.address(server);
  const agent = await own.client();
  const steps = `for (let n = 0; n < 9; n++) await t.exec("echo n >> FILE; until [ -e go ]; do sleep 0.05; done"); print("finished")`;
  const program = (file: string): string =>
    `const t = await wsh.open({ cwd: "${own.dir}" }); ${steps.replace("FILE", file)}`;
  const script = own.run("script", "-e", program("one"));
  const tool = agent
    .callTool({ name: "wsh_script", arguments: { code: program("two"), max_wait_ms: 30_000 } })
    .then((result) => JSON.stringify(result), String);
  const done = (file: string): string => fs.readFileSync(join(own.dir, file), "utf8");
  await until("both steps", () => (fs.existsSync(join(own.dir, "one")) && fs.existsSync(join(own.dir, "two"))) || null);
  server.kill("SIGKILL");
  const { code, stdout, stderr } = await script;
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(
    /^line 1: exec\(.*: the server ended the connection before it answered .*server_unavailable.*may have been carried out/,
  );
  expect(stderr).toMatch(/\nstill running: script-\d+: end with wsh kill NAME\n$/);
  expect(await tool).toMatch(/ended before it answered; the request may have been carried out/);
  fs.writeFileSync(join(own.dir, "go"), "");
  await until("both shells", async () => (await own.list()).every(({ state }) => state === "prompt") || null);
  expect([done("one"), done("two")]).toEqual(["n\n", "n\n"]);
});

test("a script is read from standard input, drives an existing session, and exits with the code it sets", async () => {
  await wsh.session("mine");
  const input = `const t = await wsh.open("mine"); console.log((await t.exec("echo $((40+2))")).output); process.exitCode = 7;`;
  expect(await wsh.runWith({ input }, "script", "-")).toMatchObject({ code: 7, stdout: "42\n" });
  expect((await wsh.list()).map(({ name }) => name)).toContain("mine");
  const none = await wsh.run("script", "-e", `await wsh.open("nobody")`);
  expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining("no session 'nobody'") });
});

test("tests get a terminal each, in every size and TERM; failures leave a trace; snapshots are kept and compared", async () => {
  written(
    "some.test.ts",
    `import { test, expect } from "wsh/test";
test("asks", async (t) => {
  await t.run("tput cols; read -p 'Ready? ' x; exit 3");
  await expect(t).toShow(/Ready\\?/);
  await t.press("Enter");
  await expect(t).toHaveExited(3);
  await expect(t).not.toShow("nothing of it");
  await expect(t).toMatchScreen("end");
});
test("draws", { command: "printf '\\\\033[1mbold\\\\033[0m \\\\033[7m%s\\\\033[0m' $SHOWN; read x", env: { SHOWN: process.env.SHOWN ?? "one" }, timeout: 3000 }, async (t) => {
  await expect(t).toShow("bold");
  await expect(t).toMatchScreen();
});
test("fails", { timeout: 200 }, async (t) => {
  await expect(t).toShow("never");
});
`,
  );
  const passed = await wsh.run(
    "test",
    "some.test.ts",
    "-t",
    "asks|draws",
    "--size",
    "80x24",
    "--size",
    "40x10",
    "--term",
    "xterm",
  );
  expect(passed.stderr).toMatch(
    /\(pass\) asks \[80x24 xterm\][\s\S]*\(pass\) asks \[40x10 xterm\][\s\S]*\(pass\) draws \[80x24 xterm\]/,
  );
  expect(passed.code).toBe(0);
  const kept = join(wsh.dir, "__terminals__/some.test.ts-draws-1-80x24-xterm");
  expect(fs.readFileSync(`${kept}.txt`, "utf8")).toBe("80x24, cursor 1:9\n│bold one\n1:1-4 bold\n1:6-8 inverse\n");
  expect(fs.readFileSync(`${kept}.svg`, "utf8")).toContain(">bold</text>");
  const shorter = { SHOWN: "two" };
  const differs = await wsh.runWith(
    { env: shorter },
    "test",
    "some.test.ts",
    "-t",
    "draws|fails",
    "--term",
    "xterm",
    "--junit",
    "out.xml",
  );
  expect(differs.code).toBe(1);
  expect(differs.stderr).toContain("- │bold one\n+ │bold two");
  expect(differs.stderr).toMatch(/toShow|never/);
  expect(differs.stderr).toContain(`Trace: ${join(wsh.dir, "test-results/some.test.ts-fails-80x24-xterm.html")}`);
  expect(fs.existsSync(join(wsh.dir, "test-results/some.test.ts-fails-80x24-xterm.cast"))).toBe(true);
  expect(fs.readFileSync(join(wsh.dir, "out.xml"), "utf8")).toContain("<testsuites");
  written(
    "left.test.ts",
    `import { expect, test } from "wsh/test";
test("left", async (t) => { t.expect("never", { timeout: 50 }); await t.waitFor("never"); });
test("killed", async (t) => { const shown = expect(t).toShow("never"); await t.kill(); await shown; });\n`,
  );
  const left = await wsh.run("test", "left.test.ts", "--timeout", "2000");
  expect(left.code).toBe(1);
  expect(left.stderr).toMatch(/toShow\("never"\): (session '.*' was ended|did not appear; the program has ended)/);
  expect(left.stderr).not.toContain("// @bun");
  expect((await wsh.list()).filter(({ name }) => name.startsWith("script-"))).toEqual([]);
  for (const module of ["wsh/test", "bun:test"]) {
    written("none.test.ts", `import { test } from "${module}";\nexport const own = test;\n`);
    const none = await wsh.run("test", "--parallel", "none.test.ts");
    expect(none).toMatchObject({ code: 1, stderr: expect.stringMatching(/\nwsh: no tests: the files call no test/) });
  }
}, 60_000);

test("an editor finds the language's types", async () => {
  written("wsh.d.ts", await wsh.ok("script", "--types"));
  written(
    "typed.ts",
    `import wsh from "wsh";
import { expect, test } from "wsh/test";
const t = await wsh.open("m", { create: true });
const [, name] = await t.expect(/got (\\w+)/);
const text: string | null | undefined = name;
// @ts-expect-error
await t.run(5);
test("shows", { command: "true" }, async (term) => expect(term).toShow(/x/));
export { text };
`,
  );
  // Every member of the declaration is one of the language, and vice versa.
  const source = join(import.meta.dir, "../../src/client/terminal");
  written(
    "equal.ts",
    `import type * as D from "wsh";
import type * as L from "${source}/language.ts";
type Own<T, E = never> = Exclude<keyof T, E | "toString" | "toJSON">;
declare function same<A, B>(..._: [Exclude<A, B>, Exclude<B, A>] extends [never, never] ? [] : [Exclude<A, B>, Exclude<B, A>]): void;
declare function accepts<T, U extends T>(): void;
// The rest is for matchers.
same<Own<D.Terminal>, Own<L.Terminal, "target" | "timeout" | "holding" | "until">>();
same<Own<D.Screen>, Own<L.Screen, "showing">>();
same<Own<D.Found>, Own<L.Found>>();
same<Own<D.SpanStyle>, Own<L.SpanStyle>>();
same<Own<typeof D.wsh>, Own<L.Language>>();
accepts<D.Terminal, L.Terminal>();
accepts<D.Screen, L.Screen>();
accepts<D.ExecOutcome, L.ExecOutcome>();
accepts<D.OpenOptions, L.OpenOptions>();
accepts<L.OpenOptions, D.OpenOptions>();
accepts<D.StepOptions, L.StepOptions>();
accepts<L.StepOptions, D.StepOptions>();
accepts<D.ExecOptions, L.ExecOptions>();
accepts<L.ExecOptions, D.ExecOptions>();
accepts<D.OutputOptions, L.OutputOptions>();
accepts<L.OutputOptions, D.OutputOptions>();
accepts<D.Matched, L.Matched>();
accepts<L.Matched, D.Matched>();
same<keyof D.Awaited, keyof L.Awaited>();
accepts<L.Awaited, D.Awaited>();
same<keyof D.ExpectOptions, keyof NonNullable<Parameters<L.Terminal["expect"]>[1]>>();
`,
  );
  const options = [
    "--ignoreConfig",
    ...["--checkers", "1"],
    "--noEmit",
    "--strict",
    "--skipLibCheck",
    "--target",
    "esnext",
    "--module",
    "esnext",
  ];
  const more = [
    "--moduleResolution",
    "bundler",
    "--lib",
    "esnext,dom",
    "--allowImportingTsExtensions",
    "--types",
    "bun",
  ];
  const tsc = Bun.spawnSync(
    [
      "bun",
      "x",
      "tsc",
      ...options,
      ...more,
      join(wsh.dir, "wsh.d.ts"),
      join(wsh.dir, "typed.ts"),
      join(wsh.dir, "equal.ts"),
    ],
    {
      cwd: join(import.meta.dir, "../.."),
    },
  );
  expect(tsc.stdout.toString()).toBe("");
});

test("a code with a time limit is typed in time, repeatedly", async () => {
  const code = `
    const t = await wsh.open();
    for (let n = 0; n < ${full ? 10 : 3}; n++) {
      await t.run("c=$RANDOM$RANDOM; read -t 3 -p \\"Code $c: \\" x && [ $x = $c ]");
      const [, code] = await t.expect(/Code (\\d+): /);
      await t.type(code + "\\n");
      if ((await t.ended()).exit_code !== 0) throw new Error("round " + n);
    }`;
  await wsh.ok("script", "-e", code);
});

test.if(process.platform === "linux")("typing at a program that does not read is said", async () => {
  const code = `const t = await wsh.open(); await t.run("sleep 1000"); await t.type("y\\n"); await t.press("Ctrl+C");`;
  const { code: exit, stderr } = await wsh.run("script", "-e", code);
  expect({ exit, stderr }).toMatchObject({
    exit: 0,
    stderr: expect.stringMatching(/^warning: type\("y\\n"\): sleep does not read/),
  });
});

test("expect finds text that has left the history", async () => {
  const code = `
    const t = await wsh.open();
    await t.run("echo code 4711; seq 13000");
    await t.ended();
    console.log((await t.expect(/^code \\d+/)).text, (await t.expect("1234")).text, (await t.expect(/^12999$/m)).text);`;
  expect(await wsh.ok("script", "-e", code)).toBe("code 4711 1234 12999\n");
});

test("a loop over matches sees each once, also those printed at once, in scripts and in wsh_script", async () => {
  const code = `
    const t = await wsh.open();
    const all = [];
    for (const what of ["echo one 1; echo two 2 three 3; printf four' '4", "seq 9000 | sed 's/^/n /; 5,8997d'"]) {
      await t.run(what);
      for (let m = null; (m = await t.expect(/(\\w+) (\\d+)/, { orEnd: true, ...(m && { since: m.cursor }) })); ) all.push(m[2]);
    }`;
  const wanted = JSON.stringify("1 2 3 4 1 2 3 4 8998 8999 9000".split(" "));
  for (const found of await filled(code, "tool")) expect(found).toBe(wanted);
});

test("waitFor sees screens that are replaced at once, and knows the end, in scripts and in wsh_script", async () => {
  const code = String.raw`
    const t = await wsh.open();
    const all = [];
    const draws = { "frame 70.": "\\e[?1049h\\e[H\\e[2Jframe %d.", "70 %": "\\e[H\\e[2J%d %%", "70": "\\r%d  " };
    for (const [text, draw] of Object.entries(draws)) {
      await t.run("clear; read x; printf '" + draw + "' {1..99}; read x; printf '\\e[?1049l'; echo bye");
      await t.waitFor("input");
      const seen = t.waitFor({ screen: (s) => s.rows.includes(text) });
      await t.type("\n");
      all.push((await seen).rows.includes(text));
      all.push(await t.waitFor("never", { orEnd: true, timeout: 1 }).catch((thrown) => thrown.message.split("\n")[0]));
      await t.type("\n");
      all.push(await t.waitFor({ screen: (s) => s.find("never"), idle: 60_000 }, { orEnd: true }));
    }
    all.push((await t.waitFor(/^.*bye$/, { orEnd: true })).find("bye").text);
    all.push(await t.waitFor(/never/, { orEnd: true }));
    all.push(await t.waitFor({ screen: (s) => s.rows[99].length }).catch((thrown) => thrown.name));
    await t.type("exit\n");
    all.push(await t.waitFor({ screen: (s) => s.find("never"), text: "no" }, { orEnd: true }));`;
  const each = [true, 'waitFor("never"): did not appear within 1 ms', null];
  const wanted = JSON.stringify([...each, ...each, ...each, "bye", null, "TypeError", null]);
  for (const found of await filled(code, "script")) expect(found).toBe(wanted);
});

test("a shell whose start takes longer than the server waits for a prompt is waited for", async () => {
  written(".bash_profile", "sleep 6\n");
  const code = `const t = await wsh.open({ env: { HOME: "${wsh.dir}" } }); console.log((await t.exec("echo ready")).output);`;
  expect(await wsh.ok("script", "-e", code)).toBe("ready\n");
  fs.rmSync(join(wsh.dir, ".bash_profile"));
});

test("an ended session is known at once: to expect, and to a later script", async () => {
  const began = `const t = await wsh.open("again", { create: true }); await t.run("echo asked; cat; false"); await t.expect("asked");`;
  await wsh.ok("script", "-e", began);
  const code = `
    const t = await wsh.open("again");
    await t.press("Ctrl+C");
    const { exit_code, signal } = await t.ended();
    const seen = [exit_code, signal, await t.expect("never", { orEnd: true })];
    await t.exec("(exit 7)");
    seen.push(await t.expect("never", { orEnd: true, timeout: 5_000 }), (await t.ended()).command);
    await t.type("sleep 0.2; echo la''te\\n");
    seen.push((await t.expect("late", { orEnd: true })).text);
    console.log(JSON.stringify(seen));`;
  expect(JSON.parse(await wsh.ok("script", "-e", code))).toEqual([130, "SIGINT", null, null, "(exit 7)", "late"]);
});

test("every name of the declaration exists, in scripts and in wsh_script", async () => {
  const types = await wsh.ok("script", "--types");
  const members = (name: string) => {
    const [, body = ""] = new RegExp(`export interface ${name} [^{]*\\{([\\s\\S]*?)\\n  \\}`).exec(types) ?? [];
    return [...new Set([...body.matchAll(/^ {4}(?:readonly )?(\w+)[(:?]/gm)].map(([, member]) => member))];
  };
  const named = { terminal: members("Terminal"), screen: members("Screen") };
  expect(named.terminal.length).toBeGreaterThan(15);
  const code = `
    import { open, sessions, TerminalFailure, wsh } from "wsh";
    const named = ${JSON.stringify(named)};
    const t = await open();
    const screen = await t.screen();
    const missing = [...named.terminal.filter((name) => !(name in t)), ...named.screen.filter((name) => !(name in screen))];
    const kinds = [open, sessions, TerminalFailure, wsh.open, print, globalThis.open].map((each) => typeof each).join();`;
  expect(await wsh.ok("script", "-e", `${code} print([missing, kinds]);`)).toBe(
    '[[],"function,function,function,function,function,function"]\n',
  );
  const client = await wsh.client();
  const result = await client.callTool({ name: "wsh_script", arguments: { code: `${code} return [missing, kinds];` } });
  expect(result.structuredContent).toMatchObject({
    value: [[], "function,function,function,function,function,function"],
  });
});
