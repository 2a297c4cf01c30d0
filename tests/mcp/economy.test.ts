/**
 * The costs of an agent: twelve tasks of a terminal, done by a scripted agent in few calls and little text, every fact read
 * from the tools' answers.
 */
import { afterAll, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { makeTasks } from "../support/agent-tasks.ts";
import { CountedCalls } from "../support/counted-calls.ts";
import { freePort } from "../support/free-ports.ts";
import { call, McpInstance } from "../support/mcp-instance.ts";
import { testWith } from "../support/programs.ts";
import { doTasks } from "../support/task-script.ts";

const MAX_CALLS = 22;
const MAX_BYTES = 8_000;
const JOB_SECONDS = 2;
const SEEDS = process.env.WSH_TEST_FULL === "1" ? [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] : [1];

for (const seed of SEEDS) {
  testWith(
    "git",
    "vim",
    "python3",
    "curl",
  )(`the twelve tasks of seed ${seed}, in few calls and little text`, async () => {
    await using mcp = new McpInstance();
    const directory = join(mcp.dir, "tasks");
    mkdirSync(directory);
    const tasks = makeTasks(directory, { seed, port: freePort(), jobSeconds: JOB_SECONDS });
    const calls = new CountedCalls(await mcp.client());
    const answers = await doTasks(calls, directory, tasks);
    for (const [n, facts] of tasks.facts.entries()) {
      for (const fact of facts) expect(answers[n], `task ${n + 1}`).toMatch(new RegExp(fact));
    }
    expect(tasks.wrong()).toEqual([]);
    console.log(`twelve tasks of seed ${seed}: ${calls.calls.length} calls, ${calls.bytes} bytes of results`);
    expect(calls.calls.length).toBeLessThanOrEqual(MAX_CALLS);
    expect(calls.bytes).toBeLessThanOrEqual(MAX_BYTES);
  });
}

const mcp = new McpInstance();
afterAll(() => mcp[Symbol.asyncDispose]());

test("the text of a result is counted in UTF-8 bytes, errors too", async () => {
  const calls = new CountedCalls(await mcp.client());
  const { output } = await calls.must("wsh_exec", { command: "printf %s äöü" });
  const [good] = calls.calls;
  expect(output).toBe("äöü");
  expect(calls.bytes).toBe(Buffer.byteLength(good?.seen ?? ""));
  expect(calls.bytes).toBe((good?.seen.length ?? 0) + 3);
  const { seen, isError } = await calls.use("wsh_get_screen", { session: "none" });
  expect(isError).toBe(true);
  expect(Object.keys(JSON.parse(seen))).toContain("hint");
  expect(calls.bytes).toBe(Buffer.byteLength((good?.seen ?? "") + seen));
});

test("the history comes in pages of bounded size, and commands return no pages", async () => {
  const client = await mcp.client();
  await call(client, "wsh_exec", {
    session: "m",
    create: true,
    command: `head -c 60000 /dev/zero | tr '\\0' x; echo; seq 6000`,
  });
  const { value } = await call(client, "wsh_get_scrollback", { session: "m", limit: 10_000 });
  expect(Buffer.byteLength(JSON.stringify(value))).toBeLessThan(100_000);
  expect(value.warnings.join()).toMatch(/lines are omitted past 32768 bytes: continue with offset \d+/);
  const { value: env } = await call(client, "wsh_exec", { command: "echo $PAGER $GIT_PAGER $MANPAGER $SYSTEMD_PAGER" });
  expect(env.output).toBe("cat cat cat cat");
  // A tmux driver drives the sessions of agents; those of people only with permission.
  const { value: tmux } = await call(client, "wsh_exec", { command: "echo $TMUX $TMUX_PANE" });
  expect(tmux.output).toMatch(/\/\d+\.tmux\/tmux-\d+\/default,\d+,\d+ %\d+$/);
  await mcp.session("person");
  expect(await mcp.ok("exec", "person", "--", "echo ${TMUX-none}")).toBe("none\n");
  const own = await call(client, "wsh_exec", { command: "echo $PAGER", env: { PAGER: "more" } });
  expect(own.value.output).toBe("more");
});
