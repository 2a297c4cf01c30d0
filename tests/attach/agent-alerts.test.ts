/** Attached terminals notify their person of agents that need input, unless the agent is in view. */
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
  const say = (what: string) => wsh.call(made.pane, "input.send", { data: what, keys: ["Enter"] });
  const is = (state: string) => until(state, async () => (await panes()).some(({ agent }) => agent?.state === state));
  return { wsh, http, ...made, say, is, [Symbol.asyncDispose]: () => wsh[Symbol.asyncDispose]() };
}

const notified = ({ bytes }: EmulatorTerminal): string[] => bytes.match(/\x1b\]9;wsh [^\x1b]*/g) ?? [];

test("a terminal that shows another window is notified of each change; one whose person typed into the pane is not", async () => {
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
  // A notification of a program is not sent as ours; and this person was present.
  expect(notified(here)).toEqual([]);
  away.type("echo still 'here'\r");
  await away.sees(/^still here/m);
});

test("a rendered terminal gets one bell", async () => {
  await using the = await scene("bell");
  await using terminal = await EmulatorTerminal.attach(the.wsh, "s");
  terminal.forgetBytes();
  await the.say("9;look");
  await until("the bell", () => terminal.bytes.includes("\x07"));
  expect(terminal.bytes.split("\x07")).toHaveLength(2);
});

test("a terminal that shows the agent is notified after it has lost the focus, between the bytes of its programs", async () => {
  const wsh = new Wsh({ config: `agent_alert = "notify"\n` });
  await using _ = wsh;
  const claude = join(wsh.dir, "claude");
  writeFileSync(claude, FAKE);
  chmodSync(claude, 0o755);
  // The program asks for focus reports; nobody views a terminal without focus.
  await wsh.session("s", "--", "bash", "-c", `printf '\\e[?1004h'; exec '${claude}'`);
  await using terminal = await EmulatorTerminal.attach(wsh, "s", { seen: /^>/m });
  await until("the agent", async () => (await wsh.call("s", "session.get", {})).agent?.name === "claude");
  terminal.type("\x1b[O");
  await terminal.sees(/\^\[\[O/);
  await wsh.call("s", "input.send", { keys: ["Enter"] });
  await wsh.call("s", "input.send", { data: "9;may I?", keys: ["Enter"] });
  await until("the notification", () => notified(terminal).length > 0);
  expect(notified(terminal)).toEqual(["\x1b]9;wsh s: claude needs input: may I?"]);
});
