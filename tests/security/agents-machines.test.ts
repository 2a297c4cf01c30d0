/** An AI agent's calls that touch sessions of several machines: every permission is asked for before the first effect. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { TestFleet } from "../support/nats-fleet.ts";
import { testWith } from "../support/programs.ts";
import { answerDialog } from "../support/terminals/dialog-answer.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { TwoMachines } from "../support/two-machines.ts";
import { until } from "../support/until.ts";
import type { Wsh } from "../support/wsh.ts";
import { program } from "../support/wsh-program.ts";

setDefaultTimeout(60_000);

const testSsh = testWith("sshd");
let machines: TwoMachines;
let claude: string;
beforeAll(async () => {
  if (testSsh !== test) return;
  machines = await (await TwoMachines.start()).add();
  claude = join(machines.local.dir, "claude");
  const self = program.map((word) => `'${word}'`).join(" ");
  fs.writeFileSync(claude, `#!/bin/bash\n${self} "$@"\n`, { mode: 0o700 });
  await machines.local.server();
});
afterAll(async () => {
  await machines?.[Symbol.asyncDispose]();
});

async function byAgent(...args: readonly string[]) {
  const { dir, env } = machines.local;
  const child = Bun.spawn([claude, ...args], { cwd: dir, env, stdout: "pipe", stderr: "pipe" });
  const [output, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, output, error };
}

/** Calls a tool by MCP over HTTP. */
async function byMcp(name: string, args: object): Promise<string> {
  let session = "";
  const post = async (body: object): Promise<string> => {
    const headers = {
      "Content-Type": "application/json",
      Accept: "application/json",
      ...(session && { "Mcp-Session-Id": session }),
    };
    const answer = await machines.local.fetch("/mcp", { method: "POST", headers, body: JSON.stringify(body) });
    session = answer.headers.get("mcp-session-id") ?? session;
    return answer.text();
  };
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "claude", version: "1" } };
  await post({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  return post({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } });
}

/** A person's session on the other machine, with the person at its terminal. */
async function personThere(name: string): Promise<EmulatorTerminal> {
  await machines.remote.session(name, "--", "sh", "-c", "echo begun; exec cat");
  return EmulatorTerminal.attach(machines.remote, name, { seen: "begun", rows: 24, cols: 100 });
}

const ending = "End the session";

const here = async (): Promise<string[]> => (await machines.local.list()).map(({ name }) => name);
const there = async (): Promise<string[]> => (await machines.remote.list()).map(({ name }) => name);

testSsh(
  "of sessions here and there nothing ends once the person there says no; after a yes all end, with one question",
  async () => {
    for (const [kill, name] of [
      [() => byAgent("kill", "mine-1", "m1/first").then(({ error }) => error), "first"],
      [() => byMcp("wsh_manage_session", { session: ["mine-1", "m1/second"], action: "kill" }), "second"],
    ] as const) {
      await using terminal = await personThere(name);
      if (!(await here()).includes("mine-1"))
        expect((await byAgent("new", "mine-1", "--", "sleep", "300")).code).toBe(0);
      const refused = kill();
      await answerDialog(terminal, ending, "4");
      expect(await refused).toContain("the person has not allowed it");
      expect(await here()).toContain("mine-1");
      expect(await there()).toContain(name);
    }
    for (const [kill, name] of [
      [() => byAgent("kill", "mine-1", "m1/third").then(({ error }) => error), "third"],
      [() => byMcp("wsh_manage_session", { session: ["mine-1", "m1/fourth"], action: "kill" }), "fourth"],
    ] as const) {
      await using terminal = await personThere(name);
      if (!(await here()).includes("mine-1"))
        expect((await byAgent("new", "mine-1", "--", "sleep", "300")).code).toBe(0);
      const allowed = kill();
      await answerDialog(terminal, ending, "1");
      await allowed;
      await until("both have ended", async () => !(await here()).includes("mine-1") && !(await there()).includes(name));
    }
  },
);

testSsh("with nobody there nothing ends; a view of a session there is asked about there", async () => {
  await machines.remote.session("alone", "--", "sh", "-c", "echo begun; exec cat");
  await byAgent("new", "mine-2", "--", "sleep", "300");
  expect((await byAgent("kill", "mine-2", "m1/alone")).error).toContain("nobody is attached");
  expect(await here()).toContain("mine-2");
  await using terminal = await personThere("seen");
  const { code, output } = await byAgent("split", "mine-2", "--view", "m1/seen");
  expect(code).toBe(0);
  await answerDialog(terminal, "Attach a terminal", "4");
  const pane = output.trim();
  await until(
    "its terminal has ended",
    async () => !(await machines.local.ok("pane", "list", "mine-2", "--json")).includes(pane),
  );
  await byAgent("kill", "mine-2");
});

/** Terminals, waits and WebSockets of an agent at a session of another machine, from when it becomes private. */
async function endsThere(local: Wsh, remote: Wsh): Promise<void> {
  const agent = join(local.dir, "claude");
  const self = program.map((word) => `'${word}'`).join(" ");
  fs.writeFileSync(agent, `#!/bin/bash\n${self} "$@"\n`, { mode: 0o700 });
  await remote.session("watched", "--", "sh", "-c", "echo begun; exec cat");
  await until("it is known here", async () => (await local.run("screen", "m1/watched")).code === 0);
  const look = { seen: "begun", rows: 24, cols: 100, flags: ["--read-only"] };
  await using its = await EmulatorTerminal.attach(local, "m1/watched", { ...look, wsh: [agent] });
  await using persons = await EmulatorTerminal.attach(local, "m1/watched", look);
  const child = Bun.spawn([agent, "wait", "m1/watched", "exited"], { env: local.env, stdout: "pipe", stderr: "pipe" });
  await remote.ok("private", "watched", "on");
  expect(await its.exited).not.toBe(0);
  expect(await its.text()).toContain("is private now");
  expect(await child.exited).not.toBe(0);
  // Refused, or broken off, if it had begun.
  expect(await new Response(child.stderr).text()).toMatch(/claude.* may not/);
  await remote.ok("send", "watched", "later");
  await persons.sees("later");
  expect(its.bytes).not.toContain("later");
  await remote.ok("private", "watched", "off");
}

testSsh("an agent's streams over ssh end when the session there becomes private", async () => {
  await endsThere(machines.local, machines.remote);
});

testWith("nats-server")("so do those over a fleet's NATS servers", async () => {
  const users = [
    { name: "bob", role: "admin" },
    { name: "m1", role: "machine" },
  ] as const;
  await using fleet = await TestFleet.start(users);
  await endsThere(fleet.hub("bob"), fleet.machine("m1"));
});
