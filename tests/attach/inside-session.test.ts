/** `wsh attach` typed inside a session switches the terminal at which it was typed, and no other. */
import { expect, test } from "bun:test";
import { splitServer } from "../support/panes.ts";
import { testWith } from "../support/programs.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";
import { program } from "../support/wsh-program.ts";

const PREFIX = "\x1c";
const wshIn = program.map((word) => `'${word}'`).join(" ");
const attached = async (wsh: Wsh, wanted: Readonly<Record<string, number>>): Promise<void> => {
  await until(`attached: ${JSON.stringify(wanted)}`, async () => {
    const all = await wsh.list();
    return Object.entries(wanted).every(([name, count]) => all.find((each) => each.name === name)?.attached === count);
  });
};

async function two(): Promise<Wsh> {
  const wsh = new Wsh();
  for (const name of ["one", "two"]) {
    await wsh.session(name);
    await wsh.exec(name, `echo this is ${name}`);
  }
  return wsh;
}

test("the terminal switches without nesting, and of two at the session only the one that typed", async () => {
  await using wsh = await two();
  await using first = await EmulatorTerminal.attach(wsh, "one", { seen: /this is one/ });
  await using second = await EmulatorTerminal.attach(wsh, "one", { seen: /this is one/ });
  first.type("echo from first\r");
  await second.sees(/^from first$/m);
  second.type(`${wshIn} attach two\r`);
  await second.sees(/^this is two$/m);
  await attached(wsh, { one: 1, two: 1 });
  // And back: to the session attached last besides this one.
  second.type(`${wshIn} attach -l\r`);
  await attached(wsh, { one: 2, two: 0 });
  second.type(`${wshIn} attach -l\r`);
  await attached(wsh, { one: 1, two: 1 });
  second.type("echo typed there\r");
  await second.sees(/^typed there$/m);
  expect(await wsh.screen("two")).toContain("typed there");
  await first.sees("[switched to session 'two']");
  first.type("echo still here\r");
  await first.sees(/^still here$/m);
  expect(await wsh.screen("two")).not.toContain("still here");
  // And back, by the key for it as well.
  second.type(`${wshIn} a one\r`);
  await second.sees(/^still here$/m);
  second.type(`${PREFIX}${PREFIX}`);
  await second.sees("[detached from session 'one']");
});

test("a command that a program sent or ran switches no terminal, with a message; the session itself is refused", async () => {
  await using wsh = await two();
  await using person = await EmulatorTerminal.attach(wsh, "one", { seen: /this is one/ });
  person.type("echo mine\r");
  await person.sees(/^mine$/m);
  await wsh.ok("send", "one", `${wshIn} attach two`, "--enter");
  await person.sees("a program cannot switch a person's terminal");
  await until("the prompt", async () => (await wsh.list()).find(({ name }) => name === "one")?.state === "prompt");
  const ran = await wsh.run("exec", "one", "--", `${wshIn} attach two </dev/tty`);
  expect(ran.code).not.toBe(0);
  expect(ran.stdout).toContain("a program cannot switch a person's terminal");
  await person.sees((text) => text.split("a program cannot switch a person's terminal").length > 2);
  await attached(wsh, { one: 1, two: 0 });
  person.type("clear\r");
  person.type(`${wshIn} attach one\r`);
  await person.sees("this terminal is already in session 'one'");
  person.type(`clear; ${wshIn} attach --read-only two\r`);
  await person.sees("--read-only cannot be used when switching a terminal");
  person.type(`clear; ${wshIn} attach nowhere\r`);
  await person.sees("no session 'nowhere'");
  person.type(`clear; ${wshIn} attach --nested two\r`);
  await person.sees(/^this is two$/m);
  await attached(wsh, { one: 1, two: 1 });
});

test("in a session of several panes, the terminal that typed in that pane switches", async () => {
  await using all = await splitServer();
  const { wsh, http, panes } = all;
  for (const name of ["one", "two"]) await wsh.session(name);
  await wsh.exec("two", "echo this is two");
  await http.post("/sessions/one/panes", {});
  await http.post("/sessions/two/panes", {});
  await using first = await EmulatorTerminal.attach(wsh, "one", { seen: /[│┃]/ });
  await using second = await EmulatorTerminal.attach(wsh, "one", { seen: /[│┃]/, flags: ["--independent"] });
  const ids = (await panes("one")).map(({ id }) => id);
  second.type(`${PREFIX}o`);
  // Both press Enter, each in its own pane.
  second.type("echo in the second pane\r");
  await until("the second pane", async () => (await wsh.ok("screen", ids[1] ?? "")).includes("\nin the second pane"));
  first.type(`sleep 1; ${wshIn} attach two\r`);
  second.type("echo later\r");
  await first.sees(/this is two/);
  await attached(wsh, { one: 1, two: 1 });
  await second.sees(/later/);
  first.type(`${wshIn} attach one\r`);
  await attached(wsh, { one: 2, two: 0 });
});

testWith("tmux")("a tmux inside the session is a separate terminal: it shows the other session there", async () => {
  await using wsh = await two();
  await using person = await EmulatorTerminal.attach(wsh, "one", { seen: /this is one/ });
  const socket = `${wsh.dir}/t`;
  person.type(`tmux -S ${socket} -f /dev/null new-session 'PS1="in tmux " exec bash --norc --noprofile'\r`);
  await person.sees(/^in tmux/m);
  try {
    person.type(`${wshIn} attach two\r`);
    await person.sees(/^this is two$/m);
    await attached(wsh, { one: 1, two: 1 });
  } finally {
    Bun.spawnSync(["tmux", "-S", socket, "kill-server"]);
  }
});
