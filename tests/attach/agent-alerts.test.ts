/** Attached terminals are told of agents that need a person, unless the person looks at them. */
import { expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Http } from "../support/http.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const FAKE = `#!/bin/bash
while read -r -p '> ' what; do printf '\\e]%s\\e\\\\' "$what"; done
`;

async function scene(alert: string) {
  const wsh = new Wsh({ config: `agent_alert = "${alert}"\n` });
  await wsh.server();
  const claude = join(wsh.dir, "claude");
  writeFileSync(claude, FAKE);
  chmodSync(claude, 0o755);
  await wsh.session("s");
  const http = new Http({ unix: wsh.instance.httpSocket });
  const made = (await http.post("/sessions/s/windows", { command: claude })).body as { pane: string };
  const panes = async () =>
    (await http.get("/sessions/s/panes")).body as { id: string; agent?: { name: string; state: string } }[];
  await until("the agent", async () => (await panes()).some(({ agent }) => agent?.name === "claude"));
  const say = (what: string) => wsh.ok("send", made.pane, what, "--keys", "Enter");
  const is = (state: string) => until(state, async () => (await panes()).some(({ agent }) => agent?.state === state));
  return { wsh, http, ...made, say, is, [Symbol.asyncDispose]: () => wsh[Symbol.asyncDispose]() };
}

const notified = ({ bytes }: EmulatorTerminal): string[] => bytes.match(/\x1b\]9;wsh [^\x1b]*/g) ?? [];

test("a notification for each change at a terminal that shows another window; none where its pane was typed into", async () => {
  await using the = await scene("notify");
  await using away = await EmulatorTerminal.attach(the.wsh, "s", { flags: ["--independent"] });
  await using here = await EmulatorTerminal.attach(the.wsh, "s", { flags: ["--independent"], seen: "$" });
  here.type("\x1cn");
  await here.sees(/^>/m);
  await the.say("9;may I?");
  await until("the notification", () => notified(away).length > 0);
  await the.say("9;once more");
  await the.is("needs_input");
  expect(notified(away)).toEqual(["\x1b]9;wsh s: claude needs input: may I?"]);
  // One of a program is not passed on as ours; and this person was there.
  expect(notified(here)).toEqual([]);
  away.type("echo still 'here'\r");
  await away.sees(/^still here/m);
});

test("a bell, once, at a terminal that is painted", async () => {
  await using the = await scene("bell");
  await using terminal = await EmulatorTerminal.attach(the.wsh, "s");
  terminal.forgetBytes();
  await the.say("9;look");
  await until("the bell", () => terminal.bytes.includes("\x07"));
  expect(terminal.bytes.split("\x07")).toHaveLength(2);
});

test("a terminal that shows the agent is told, between the bytes of its programs, once it has lost the focus", async () => {
  const wsh = new Wsh({ config: `agent_alert = "notify"\n` });
  await using _ = wsh;
  const claude = join(wsh.dir, "claude");
  writeFileSync(claude, FAKE);
  chmodSync(claude, 0o755);
  // It asks for reports of the focus; a terminal that loses it is looked at by nobody.
  await wsh.session("s", "--", "bash", "-c", `printf '\\e[?1004h'; exec '${claude}'`);
  await using terminal = await EmulatorTerminal.attach(wsh, "s", { seen: /^>/m });
  await until("the agent", async () => (await wsh.ok("agents", "--json")).includes('"claude"'));
  terminal.type("\x1b[O");
  await terminal.sees(/\^\[\[O/);
  await wsh.ok("send", "s", "--keys", "Enter");
  await wsh.ok("send", "s", "9;may I?", "--keys", "Enter");
  await until("the notification", () => notified(terminal).length > 0);
  expect(notified(terminal)).toEqual(["\x1b]9;wsh s: claude needs input: may I?"]);
});
