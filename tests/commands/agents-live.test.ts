/** `wsh agents` on a terminal, as a person uses it; and the events that subscribers receive of the same agents. */
import { expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { TestSocket } from "../support/websocket.ts";
import { Wsh } from "../support/wsh.ts";

/** Prints the notification sequence that each input line names, as agents do. */
const FAKE = `#!/bin/bash
while read -r -p '> ' what; do printf '\\e]%s\\e\\\\' "$what"; [ "$what" = bye ] && exit; done
`;

async function scene(config = "") {
  const wsh = new Wsh({ config });
  await wsh.server();
  const fake = async (session: string, name: string): Promise<void> => {
    const file = join(wsh.dir, name);
    writeFileSync(file, FAKE);
    chmodSync(file, 0o755);
    await wsh.session(session, "--", file);
    await until(name, async () => (await wsh.call(session, "session.get", {})).agent !== undefined);
  };
  const say = (session: string, what: string) => wsh.call(session, "input.send", { data: what, keys: ["Enter"] });
  return { wsh, fake, say, [Symbol.asyncDispose]: () => wsh[Symbol.asyncDispose]() };
}

test("the view is live: it sorts by urgency, keeps the selection, attaches, returns, and quits", async () => {
  await using the = await scene('agent_alert = "bell"\n');
  await using view = EmulatorTerminal.run(the.wsh, ["agents"], { rows: 12, cols: 90 });
  await view.sees("No agents are running.");
  await the.fake("one", "claude");
  await the.fake("two", "codex");
  await view.sees(/claude +one/);
  await view.sees(/codex +two/);
  const order = async () => ((await view.text()).match(/(?:claude|codex) +(?:one|two)/g) ?? []).join();
  view.forgetBytes();
  await the.say("two", "9;may I push?");
  await view.sees(/needs input \(screen\) +\d+s +codex +two +may I push\?/);
  await until("the urgent one first", async () => (await order()).startsWith("codex"));
  await view.sees(/2 agents, \d waiting for you/);
  await until("the bell", () => view.bytes.includes("\x07"));
  expect(view.bytes.split("\x07")).toHaveLength(2);
  view.type("j");
  await view.sees(/^>.*claude/m);
  view.type("k");
  await view.sees(/^>.*codex/m);
  view.type("\r");
  await view.sees(/^> ?9;may I push\?/m);
  view.type("\x1c\x1c");
  await view.sees("q quit");
  view.type("q");
  expect(await view.exited).toBe(0);
  expect(view.bytes.lastIndexOf("\x1b[?1049l")).toBeGreaterThan(view.bytes.lastIndexOf("\x1b[?1049h"));
});

test("it fits small terminals and resizes; agents' names and words are never executed", async () => {
  await using the = await scene();
  await the.fake("one", "claude");
  await the.say("one", "9;ha\\e]0;owned\\aha 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字");
  await using view = EmulatorTerminal.run(the.wsh, ["agents"], { rows: 5, cols: 20 });
  await view.sees(/> needs/);
  for (const line of (await view.text()).split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(20);
  view.resize(30, 200);
  await view.sees("漢字漢字");
  expect(view.bytes).not.toContain("\x1b]0;owned");
  view.resize(1, 10);
  view.resize(24, 80);
  await view.sees("q quit");
});

test("a subscriber receives an agent's state at first and at each change, and its end", async () => {
  await using the = await scene();
  await the.fake("one", "claude");
  const socket = new TestSocket(`ws+unix://${the.wsh.instance.httpSocket}:/sessions/one/ws/json`, {});
  await socket.opened;
  socket.socket.send(JSON.stringify({ id: 1, method: "subscribe", params: { events: ["agent"] } }));
  const told = (what: string, is: (agent: { name: string; state: string; message?: string } | null) => boolean) =>
    socket.next(what, ({ event, agent }) => event === "agent_state" && is(agent));
  await told("it at first", (agent) => agent?.name === "claude");
  await the.say("one", "777;notify;Claude Code;Claude is waiting for your input");
  await told("that it asks", (agent) => agent?.state === "needs_input" && agent.message?.includes("waiting") === true);
  await the.say("one", "bye");
  await told("that it has gone", (agent) => agent === null);
  socket.socket.close();
});

test.each([
  ["OSC 9 of iTerm2", "9;Codex wants to edit src/main.ts", "needs_input", "Codex wants to edit src/main.ts"],
  ["OSC 777 of Ghostty", "777;notify;Claude Code;Claude needs your permission", "needs_input", "permission"],
  ["OSC 99 of kitty", "99;i=7:d=1;Claude Code", "needs_input", "Claude Code"],
  ["progress, OSC 9;4, that ends in a pause", "9;4;4;50", "needs_input", ""],
  ["progress, OSC 9;4, that runs", "9;4;3;", "working", ""],
])("what agents print: %s", async (_, sequence, state, message) => {
  await using the = await scene();
  await the.fake("one", "claude");
  await the.say("one", sequence);
  const agent = await until("the state", async () => {
    const [found] = JSON.parse(await the.wsh.ok("agents", "--json")) as {
      state: string;
      source: string;
      message?: string;
    }[];
    return found?.state === state && found.source !== "program" && found;
  });
  expect(agent.source).toBe(sequence.startsWith("9;4") ? "progress" : "notification");
  if (message !== "") expect(agent.message).toContain(message);
});
