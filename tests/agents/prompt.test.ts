/** Prompts for AI agents: delivery is confirmed, and commands or keys that are not prompts are refused. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Wsh } from "../support/wsh.ts";
import { program } from "../support/wsh-program.ts";

setDefaultTimeout(60_000);

let wsh: Wsh;
beforeAll(() => {
  wsh = new Wsh();
  copyFileSync(join(import.meta.dir, "../support/fake-agent.ts"), join(wsh.dir, "claude.ts"));
});
afterAll(() => wsh[Symbol.asyncDispose]());

interface Result {
  readonly code: number;
  readonly stderr: string;
  readonly delivered?: string;
  readonly why?: string;
  readonly turn?: object;
}

const log = (name: string): string => join(wsh.dir, `${name}.log`);
const got = (name: string): unknown[] =>
  existsSync(log(name))
    ? readFileSync(log(name), "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
    : [];

async function start(behaviour: string, name = behaviour): Promise<string> {
  const hook = `FAKE_HOOK=${program.join(" ")} hook claude`;
  const line = ["--", process.execPath, join(wsh.dir, "claude.ts"), behaviour];
  await wsh.ok("new", name, "--env", `FAKE_LOG=${log(name)}`, "--env", hook, ...line);
  await wsh.shows(name, /^> /m);
  await wsh.ok("wait", name, "--agent", behaviour === "silent" ? "needs_input" : "idle");
  return name;
}

async function prompt(name: string, ...args: readonly string[]): Promise<Result> {
  const { code, stdout, stderr } = await wsh.run("agent", "prompt", name, "--json", ...args);
  return { code, stderr, ...(stdout === "" ? {} : JSON.parse(stdout)) };
}

test("a prompt is confirmed by the agent's hook, and --wait returns its answer", async () => {
  const name = await start("plain");
  const first = await prompt(name, "--wait", "fix the 日本語 test");
  expect(first).toMatchObject({
    code: 0,
    delivered: "hook",
    turn: { ended: "done", message: "did: fix the 日本語 test" },
  });
  // Lines and tabs are one prompt, and so is a huge one.
  const lines = "first\n\tsecond\n\nthird\\";
  expect(await prompt(name, lines)).toMatchObject({ code: 0, delivered: "hook" });
  expect(got(name)).toEqual(["fix the 日本語 test", `${lines} `]);
  // A prompt that the agent would execute as a command is not typed.
  for (const text of ["!rm -rf x", "  /clear", "\u0003", " "]) expect((await prompt(name, text)).code).not.toBe(0);
  expect(got(name)).toHaveLength(2);
  expect(await prompt(name, "--command", "/compact")).toMatchObject({ code: 0, delivered: "hook" });
  // Two at once are two prompts.
  const both = await Promise.all([prompt(name, "alpha one"), prompt(name, "beta two")]);
  expect(both.map(({ delivered }) => delivered)).toEqual(["hook", "hook"]);
  expect(got(name).slice(-2).toSorted()).toEqual(["alpha one", "beta two"]);
});

test("without a hook the screen confirms it, also for a slow agent", async () => {
  await Promise.all([start("silent"), start("slow")]);
  expect(await prompt("silent", "go on")).toMatchObject({ code: 0, delivered: "screen" });
  expect(await prompt("slow", "go on")).toMatchObject({ code: 0, delivered: "hook" });
  expect([...got("silent"), ...got("slow")]).toEqual(["go on", "go on"]);
});

test("an agent that works takes a prompt into its queue, and its own turn is awaited", async () => {
  const name = await start("queue");
  expect(await prompt(name, "long work")).toMatchObject({ delivered: "hook" });
  await wsh.ok("wait", name, "--agent", "working");
  const second = await prompt(name, "--wait", "then this");
  expect(second).toMatchObject({ code: 0, queued: true, turn: { ended: "done", message: "did: then this" } });
  expect(got(name)).toEqual(["long work", "then this"]);
});

test("a failed delivery is reported: Enter without effect, a line end, an agent that ends", async () => {
  await Promise.all(["swallow", "newline", "dies"].map((name) => start(name)));
  const results = await Promise.all(["swallow", "newline", "dies"].map((name) => prompt(name, "go on")));
  for (const result of results) expect(result).toMatchObject({ delivered: "not_delivered" });
  expect(results[0]?.why).toContain("Enter had no effect");
  expect(results[0]?.code).toBe(3);
});

test("a question is not answered, and a person's half-typed text is not sent", async () => {
  await Promise.all([start("modal"), start("draft"), start("asks"), start("plain", "typed")]);
  expect(await prompt("modal", "go on")).toMatchObject({ code: 1 });
  const draft = await prompt("draft", "go on");
  expect(draft.stderr).toContain("half typed");
  await wsh.type("typed", "my own");
  await wsh.shows("typed", "> my own");
  expect((await prompt("typed", "go on")).stderr).toContain("my own");
  await wsh.call("typed", "input.send", { keys: ["Ctrl+U"] });
  await wsh.shows("typed", "> Type here");
  expect(await prompt("typed", "go on")).toMatchObject({ delivered: "hook" });
  await prompt("asks", "go on");
  await wsh.ok("wait", "asks", "--agent", "needs_input");
  expect((await prompt("asks", "yes")).stderr).toContain("claude asks: may I?");
  expect([got("modal"), got("draft"), got("asks")]).toEqual([[], [], ["go on"]]);
  await wsh.ok("new", "shell");
  expect((await prompt("shell", "rm -rf x")).stderr).toContain("no AI agent is known");
});
