/** An agent's commands in panes beside a person, who watches them and continues to work. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { contentOf } from "../support/content-of.ts";
import { call, McpInstance } from "../support/mcp-instance.ts";
import { testWith } from "../support/programs.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";

interface Step {
  readonly name: string;
  readonly session: string;
  readonly pane: string;
  readonly state?: string;
  readonly exit_code: number | null;
  readonly output?: string;
}

async function agent() {
  const mcp = new McpInstance();
  const client = await mcp.client();
  const use = (name: string, args: Record<string, unknown> = {}) => call(client, name, args);
  const must = async (name: string, args: Record<string, unknown> = {}) => {
    const { isError, value } = await use(name, args);
    if (isError) throw new Error(`${name}: ${JSON.stringify(value)}`);
    return value;
  };
  const panes = async (session: string): Promise<{ id: string; active?: boolean; title?: string; state: string }[]> =>
    (await must("wsh_layout", { session, action: "get" })).windows[0].panes;
  return { mcp, use, must, panes, [Symbol.asyncDispose]: () => mcp[Symbol.asyncDispose]() };
}

testWith("vim")("an agent puts three builds beside a person in vim, who loses no key and no focus", async () => {
  await using all = await agent();
  const { mcp, must, panes } = all;
  await must("wsh_create_session", { name: "dev", rows: 40, cols: 120 });
  const own = (await must("wsh_list_sessions", { session: "dev" })).pane_id as string;
  await using person = await EmulatorTerminal.attach(mcp, "dev", { rows: 40, cols: 120 });
  person.type("vim -u NONE -N -n -c 'set showmode' typed.txt\r");
  await person.sees(/^~/m);
  person.type("i");
  await person.sees(/INSERT/);

  let typed = "";
  let over = false;
  const typing = (async () => {
    for (let line = 0; !over || line < 25; line++) {
      const text = `${String(line).padStart(4, "0")} the quick brown fox jumps\r`;
      typed += text;
      // Keys one by one, as from a keyboard.
      for (const key of text) {
        person.type(key);
        await Bun.sleep(1);
      }
    }
  })();
  const build = (n: number, end: string) => ({
    name: `build ${n}`,
    command: `for i in $(seq 300); do echo "build ${n}: step $i"; done; sleep 0.5; ${end}`,
  });
  const { steps } = (await must("wsh_exec", {
    mode: "parallel",
    show: true,
    keep: "failed",
    steps: [build(1, "true"), build(2, "exit 2"), build(3, "true")],
    output: "all",
  })) as { steps: Step[] };
  expect(steps.map(({ name, session, exit_code }) => [name, session, exit_code])).toEqual([
    ["build 1", "dev", 0],
    ["build 2", "dev", 2],
    ["build 3", "dev", 0],
  ]);
  for (const [n, { output }] of steps.entries()) expect(output).toContain(`build ${n + 1}: step 300`);
  expect(new Set(steps.map(({ pane }) => pane)).size).toBe(3);
  over = true;
  await typing;

  // The failed one stays visible; the person is in vim and keeps the keys.
  await until("two panes", async () => (await panes("dev")).length === 2);
  expect(await panes("dev")).toMatchObject([
    { id: own, active: true },
    { id: steps[1]?.pane, title: "build 2", state: "exited" },
  ]);
  await person.sees(/build 2: step 300/);
  person.type("\x1b:wq\r");
  const wanted = typed.replaceAll("\r", "\n").trimEnd();
  const written = () => contentOf(join(mcp.dir, "typed.txt")).trimEnd();
  // It makes the file before it writes to it.
  await until("vim to have written", () => written() === wanted).catch(() => expect(written()).toBe(wanted));
  expect((await must("wsh_get_output", { session: steps[1]?.pane })).text).toContain("build 2: step 300");
});

describe("commands that are shown", () => {
  test("are beside the named pane, close at their end, and have their own directory and variables", async () => {
    await using all = await agent();
    const { must, panes } = all;
    await must("wsh_create_session", { name: "dev" });
    const steps = [
      { name: "one", command: "pwd; echo $KEY; until [ -e go ]; do sleep 0.05; done" },
      { name: "two", command: "until [ -e go ]; do sleep 0.05; done; echo two" },
    ];
    const more = { mode: "parallel", show: true, beside: "dev", env: { KEY: "value" }, output: "all" };
    const running = must("wsh_exec", { steps, ...more });
    await until("three panes", async () => (await panes("dev")).length === 3);
    expect((await panes("dev")).map(({ title, active }) => [title, active])).toEqual([
      [undefined, true],
      ["one", undefined],
      ["two", undefined],
    ]);
    fs.writeFileSync(join(all.mcp.dir, "go"), "");
    expect(await running).toMatchObject({
      steps: [
        { name: "one", session: "dev", exit_code: 0, output: `${all.mcp.dir}\nvalue` },
        { name: "two", session: "dev", exit_code: 0, output: "two" },
      ],
    });
    await until("the panes to close", async () => (await panes("dev")).length === 1);
  });

  test("have complete results however quick a step is, readable after the panes have gone", async () => {
    await using all = await agent();
    const { mcp, must, panes } = all;
    await must("wsh_create_session", { name: "dev" });
    const steps = [{ command: "echo first; exit 1" }, { command: "exit 2" }, { command: "sleep 0.3; exit 3" }];
    const { steps: results } = (await must("wsh_exec", { mode: "parallel", show: true, beside: "dev", steps })) as {
      steps: Step[];
    };
    expect(results.map(({ exit_code }) => exit_code)).toEqual([1, 2, 3]);
    await until("the panes to close", async () => (await panes("dev")).length === 1);
    expect((await must("wsh_get_output", { session: results[0]?.pane })).text).toContain("first");
    const { code, stdout } = await mcp.run("exec", "dev", "--show", "--", "echo quick; exit 4");
    expect([code, stdout]).toEqual([4, "quick\n"]);
    await until("the pane to close", async () => (await panes("dev")).length === 1);
  });

  test("one command is shown, too, and kept on request", async () => {
    await using all = await agent();
    const { must, panes } = all;
    await must("wsh_create_session", { name: "dev" });
    const shown = await must("wsh_exec", { command: "echo seen", show: true, beside: "dev", keep: "all" });
    expect(shown).toMatchObject({
      session: "dev",
      pane: expect.stringMatching(/^@\d+$/),
      exit_code: 0,
      output: "seen",
    });
    expect(await panes("dev")).toMatchObject([{}, { id: shown.pane, state: "exited" }]);
  });

  test("run without panes while no terminal is attached, and report it", async () => {
    await using all = await agent();
    const { must } = all;
    await must("wsh_create_session", { name: "dev" });
    const ran = await must("wsh_exec", { command: "echo alone", show: true });
    expect(ran).toMatchObject({
      exit_code: 0,
      output: "alone",
      warnings: [expect.stringContaining("no terminal is attached")],
    });
    expect(ran.session).toStartWith("exec-");
  });

  test("start all or none", async () => {
    await using all = await agent();
    const { use, must, panes } = all;
    await must("wsh_create_session", { name: "dev" });
    const steps = [{ command: "sleep 60" }, { command: "sleep 60" }];
    for (const [more, code] of [
      [{ beside: "none" }, "session_not_found"],
      [{ beside: "dev", cwd: "/none" }, "cwd_not_found"],
      [{ beside: "dev", session: "dev" }, "invalid_request"],
    ] as const) {
      const { isError, value } = await use("wsh_exec", { steps, mode: "parallel", show: true, ...more });
      expect([more, isError, value.code]).toEqual([more, true, code]);
    }
    expect(await panes("dev")).toHaveLength(1);
  });
});
