/** Crashed sessions are offered: at attach, at plain `wsh`, by a persistent server, and to agents. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { sessionSocket } from "../../../src/instance/paths.ts";
import { McpInstance } from "../../support/mcp-instance.ts";
import { EmulatorTerminal } from "../../support/terminals/emulator-terminal.ts";
import { until } from "../../support/until.ts";
import { Wsh } from "../../support/wsh.ts";
import { kill, writtenToPrompt } from "./crashed-sessions.ts";

async function lose(wsh: Wsh, ...names: readonly string[]): Promise<void> {
  for (const name of names) {
    const { id, pane_id } = await wsh.session(name);
    await wsh.exec(name, `echo in ${name}`);
    await writtenToPrompt(wsh, `in ${name}`, Number(pane_id.slice(1)), Number(id.slice(2)));
  }
  await kill(wsh);
}

test("attach asks, remembers a no, and restores after a yes", async () => {
  await using wsh = new Wsh();
  await lose(wsh, "dev");
  {
    await using no = EmulatorTerminal.run(wsh, ["attach", "dev"]);
    await no.sees("Session 'dev' crashed (its process was killed or failed). Restore it? [y/N]");
    no.type("n\r");
    await no.sees("session 'dev' crashed");
    expect(await no.exited).toBe(1);
  }
  // Where nobody can be asked, and where the answer is known, it is an error.
  expect((await wsh.run("attach", "dev")).stderr).toContain("`wsh restore` restores it");
  await using again = EmulatorTerminal.run(wsh, ["attach", "dev"]);
  await again.sees("session 'dev' crashed");
  expect(await again.exited).toBe(1);
  await wsh.ok("restore", "dev");
  await wsh.exec("dev", "echo newer");
  await writtenToPrompt(wsh, "newer");
  await kill(wsh);
  // Another checkpoint is another question.
  await using yes = EmulatorTerminal.run(wsh, ["attach", "dev"]);
  await yes.sees("[y/N]");
  yes.type("y\r");
  await yes.sees(/restored: above/);
  await yes.sees(/^\$/m);
});

test("plain wsh offers crashed sessions, and attaches to the restored one: of several the last, no new one", async () => {
  await using wsh = new Wsh();
  await lose(wsh, "old", "dev");
  await using terminal = EmulatorTerminal.run(wsh, []);
  await terminal.sees(/Crashed sessions: \S+, \S+\. Restore them\?/);
  terminal.type("y\r");
  await terminal.sees(/restored: above/);
  await terminal.sees(/^\$ $|^\$$/m);
  expect((await wsh.list()).map(({ name, attached }) => [name, attached]).sort()).toEqual([
    ["dev", 1],
    ["old", 0],
  ]);
});

test("restore = never asks nobody; nor does auto, and a persistent server restores all", async () => {
  await using wsh = new Wsh({ config: 'restore = "never"\n' });
  await lose(wsh, "a", "b", "c");
  await using terminal = EmulatorTerminal.run(wsh, ["attach", "a"]);
  await terminal.sees("session 'a' crashed");
  expect(await terminal.exited).toBe(1);
  await Bun.write(`${wsh.env.HOME}/.config/wsh/config.toml`, 'restore = "auto"\n');
  await using attached = EmulatorTerminal.run(wsh, ["attach", "a"]);
  await attached.sees(/restored: above/);
  // An obstacle at first.
  const place = sessionSocket(wsh.instance, 2);
  fs.rmSync(place, { force: true });
  fs.mkdirSync(place);
  await wsh.server();
  await until("another to be restored", async () =>
    (await wsh.list()).some(({ name, running }) => name === "c" && running),
  );
  fs.rmdirSync(place);
  await until("all to run", async () => (await wsh.list()).every(({ running }) => running));
  expect((await wsh.list()).map(({ name }) => name)).toEqual(["a", "b", "c"]);
});

test("an agent lists a crashed session, reads it, and restores it", async () => {
  await using wsh = new McpInstance();
  await lose(wsh, "a", "b");
  const client = await wsh.client();
  const call = async (name: string, args: Record<string, unknown>) =>
    JSON.stringify(await client.callTool({ name, arguments: args }));
  expect(await call("wsh_list_sessions", {})).toContain("crashed");
  expect(await call("wsh_get_screen", { session: "a" })).toContain("in a");
  expect(await call("wsh_send_input", { session: "a", text: "x" })).toContain("wsh_checkpoint restore");
  expect(await call("wsh_checkpoint", { session: "a", action: "restore" })).toContain("restored");
  expect((await wsh.list("--all")).map(({ name, running }) => [name, running])).toEqual([
    ["a", true],
    ["b", false],
  ]);
  // A new session of that name: the crashed one stays, and each interface reports it.
  const said = /an earlier session 'b' crashed: `wsh restore @s2 --as NAME` brings it back/;
  expect(await call("wsh_create_session", { name: "b" })).toMatch(said);
  await wsh.ok("kill", "b");
  const headers = { "Content-Type": "application/json" };
  const response = await wsh.fetch("/sessions", { method: "POST", body: JSON.stringify({ name: "b" }), headers });
  expect(await response.json()).toMatchObject({ warnings: [expect.stringMatching(said)] });
  await wsh.ok("kill", "b");
  expect((await wsh.run("new", "b")).stderr).toMatch(said);
});
