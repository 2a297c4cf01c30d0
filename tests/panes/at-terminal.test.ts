/** Panes at a person's terminal: names, closing, the mouse, terminals without UTF-8, an independent view. */
import { describe, expect, test } from "bun:test";
import { drag, press, release, wheelUp } from "../support/mouse.ts";
import { columns, inBackground, splitServer } from "../support/panes.ts";
import { stopProcess } from "../support/processes.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { hostOf } from "../support/wsh.ts";

const PREFIX = "\x1c";

describe("keys that ask", () => {
  test("prefix , names the window; an invalid name is refused in place; an empty one is automatic again", async () => {
    await using all = await splitServer();
    const { wsh, http } = all;
    await wsh.session("dev");
    await http.post("/sessions/dev/panes", {});
    await using person = await EmulatorTerminal.attach(wsh, "dev", { seen: /[│┃]/ });
    const name = async () => (await wsh.list())[0]?.windows[0]?.name;
    person.type(`${PREFIX},`);
    await person.sees(/Name of the window/);
    person.type(`${"\x7f".repeat(20)}work\r`);
    await until("the name", async () => (await name()) === "work");
    person.type(`${PREFIX},`);
    await person.sees(/Name of the window/);
    person.type("/play\r");
    await person.sees(/not a window's name/);
    expect(await name()).toBe("work");
    person.type(`${PREFIX},`);
    await person.sees(/Name of the window/);
    person.type(`${"\x7f".repeat(20)}\r`);
    await until("the program's name", async () => (await name()) === "bash");
    person.type("echo typed\r");
    await person.sees(/^typed/m);
  });

  test("x and & ask while a program runs, and before the last one ends the session", async () => {
    await using all = await splitServer();
    const { wsh, http, panes } = all;
    await wsh.session("dev");
    await using person = await EmulatorTerminal.attach(wsh, "dev");
    await http.expect(201, http.post("/sessions/dev/panes", { focus: true, command: "sleep 1000" }));
    await until("the split", async () => (await panes("dev"))[1]?.program === "sleep");
    person.type(`${PREFIX}x`);
    await person.sees(/Close the pane\?[\s\S]*'sleep' runs there/);
    person.type("n");
    await until("no dialog", async () => !(await person.text()).includes("Close the pane?"));
    expect(await panes("dev")).toHaveLength(2);
    person.type(`${PREFIX}x`);
    await person.sees(/Close the pane\?/);
    person.type("y");
    await until("one pane", async () => (await panes("dev")).length === 1);
    // A background job would end, too, and so would a stopped one.
    await http.expect(200, http.post("/sessions/dev/exec", { command: inBackground("sleep 1001") }));
    const { pane } = (await http.post("/sessions/dev/panes", { focus: false })).body as { pane: string };
    for (const [key, question] of [
      ["x", "Close the pane"],
      ["&", "Close the last window"],
    ]) {
      person.type(`${PREFIX}${key}`);
      await person.sees(new RegExp(`${question}\\?[\\s\\S]*'sleep' in the background`));
      person.type("n");
      await until("no dialog", async () => !(await person.text()).includes(question ?? ""));
    }
    person.type(`${PREFIX}:pane.respawn\r`);
    await person.sees(/Start it again\?[\s\S]*'sleep' in the background/);
    const { pid: before } = (await panes("dev"))[0] ?? {};
    person.type("y");
    await until("another shell", async () => (await panes("dev"))[0]?.pid !== before);
    expect(await wsh.exec("@1", "jobs")).toBe("");
    await http.expect(200, http.delete(`/sessions/${pane}/pane`));
    // A shell at its prompt has nothing to lose.
    await http.post("/sessions/dev/panes", { focus: true });
    await until("two prompts", async () => (await panes("dev")).every(({ state }) => state === "prompt"));
    person.type(`${PREFIX}x`);
    await until("one pane again", async () => (await panes("dev")).length === 1);
    await http.post("/sessions/dev/windows", { focus: true, command: "sleep 1000" });
    await until("the window", async () => (await panes("dev"))[1]?.program === "sleep");
    person.type(`${PREFIX}&`);
    await person.sees(/Close the window\?/);
    person.type("y");
    await until("one window", async () => (await panes("dev")).length === 1);
    person.type(`${PREFIX}x`);
    await person.sees(/That ends the session 'dev'/);
    person.type("\x1b");
    await until("no dialog", async () => !(await person.text()).includes("That ends"));
    person.type("echo still here\r");
    await person.sees(/^still here/m);
    person.type(`${PREFIX}x`);
    await person.sees(/That ends the session 'dev'/);
    person.type("y");
    await person.exited;
    expect(await wsh.list()).toEqual([]);
  });
});

describe("the mouse", () => {
  test("a click selects a pane, a drag moves a border, and programs get reports in their own cells", async () => {
    await using all = await splitServer();
    const { wsh, http, panes } = all;
    await wsh.session("dev");
    await using person = await EmulatorTerminal.attach(wsh, "dev");
    // Reports its input until q; a panel above moves everything down by one.
    const reader =
      "stty raw -echo; printf '\\033[?1000h\\033[?1006hready '; dd bs=1 count=18 2>/dev/null | od -An -c; sleep 1000";
    await http.post("/sessions/dev/panes", { command: reader });
    await http.post("/sessions/dev/panel", { position: "top", height: 1, spans: [{ text: "above" }] });
    await person.sees(/^above[\s\S]*ready/);
    const active = async () => (await panes("dev")).findIndex((pane) => pane.active);
    expect(await active()).toBe(0);
    // The first cell of the right pane is row 0, column 41 of the window, a row below on the screen.
    person.type(press(1 + 4, 41 + 6) + release(1 + 4, 41 + 6));
    await until("the focus", async () => (await active()) === 1);
    await until("the reports", async () =>
      columns(await person.text(), 41)
        .replace(/\s/g, "")
        .includes("033[<0;7;5M033[<0;7;5m"),
    );
    person.type(press(10, 2) + release(10, 2));
    await until("the focus", async () => (await active()) === 0);
    person.type("echo here\r");
    await until("the left pane", async () => /^here/m.test(columns(await person.text(), 0, 40)));
    person.type(press(8, 40) + drag(8, 45) + drag(8, 60));
    await until("the border", async () => (await panes("dev"))[1]?.col === 61);
    person.type(drag(8, 20) + release(8, 20));
    await until("the border", async () => (await panes("dev"))[1]?.col === 21);
    person.type(drag(8, 50));
    person.type("echo there\r");
    await until("the left pane", async () => /^there/m.test(columns(await person.text(), 0, 20)));
    expect((await panes("dev"))[1]?.col).toBe(21);
  });

  test("the wheel sends arrows to a full-screen program; mouse = off leaves all of it to the terminal", async () => {
    await using all = await splitServer();
    const { wsh, http } = all;
    await wsh.session("dev");
    await using person = await EmulatorTerminal.attach(wsh, "dev");
    await http.post("/sessions/dev/panes", { command: "seq 100 | less" });
    await person.sees(/[│┃]23/);
    person.type(`\x1b[<65;${60};${5}M`);
    await person.sees(/[│┃]26/);
    person.type(wheelUp(4, 60));
    await until("the way back", async () => /[│┃]1\s/.test(await person.text()));
    await using off = await splitServer({ config: 'mouse = "off"\n' });
    await off.wsh.session("dev");
    await using plain = await EmulatorTerminal.attach(off.wsh, "dev");
    await off.http.post("/sessions/dev/panes", {});
    await plain.sees(/[│┃]/);
    expect(person.bytes).toContain("\x1b[?1002h");
    expect(plain.bytes).not.toMatch(/\x1b\[\?100[023]h/);
  });
});

test("a terminal without UTF-8 gets dialogs, the map of keys and the switcher in ASCII characters", async () => {
  await using all = await splitServer();
  const { wsh, http, panes } = all;
  await wsh.session("dev");
  await http.post("/sessions/dev/panes", { command: "sleep 1000", focus: true });
  await until("the split", async () => (await panes("dev"))[1]?.program === "sleep");
  await using person = await EmulatorTerminal.attach(wsh, "dev", {
    ...{ seen: /\|/, env: { LANG: "C", LC_ALL: "C" } },
  });
  const isPlain = async (): Promise<void> => expect(await person.text()).toMatch(/^[\x20-\x7e\n]*$/);
  person.type(PREFIX);
  await person.sees("Ctrl+\\ and");
  await isPlain();
  person.type("?");
  await person.sees("Keys after Ctrl+\\");
  await person.sees("Alt+1-5");
  await isPlain();
  person.type("\x1b");
  await until("the table to go", async () => !(await person.text()).includes("Keys after"));
  person.type(`${PREFIX}x`);
  await person.sees("Close the pane?");
  await person.sees(/\+-+\+/);
  await isPlain();
  person.type("n");
  await until("no dialog", async () => !(await person.text()).includes("Close the pane?"));
  person.type(`${PREFIX}s`);
  await person.sees(/^>dev/m);
  await isPlain();
});

test("a terminal without UTF-8 gets lines of ASCII characters", async () => {
  await using all = await splitServer();
  const { wsh, http } = all;
  await wsh.session("dev");
  await http.post("/sessions/dev/panes", {});
  await http.post("/sessions/dev/panes", { direction: "down" });
  await using person = await EmulatorTerminal.attach(wsh, "dev", {
    seen: /\|/,
    env: { LANG: "C", LC_ALL: "C" },
    cols: 90,
    rows: 30,
  });
  await using small = await EmulatorTerminal.attach(wsh, "dev", { seen: /[│┃]/ });
  await small.sees(/[─━]{20}/);
  // The smaller terminal decides; around its picture the larger one draws a line.
  const text = await person.sees(/-{40}/);
  expect(text).toMatch(/\|/);
  expect(text).toMatch(/\+/);
  expect(text).not.toMatch(/[─-╿]/);
});

test("--independent: a separate active window, pane and zoom, while the other person sees no change", async () => {
  await using all = await splitServer();
  const { wsh, http, panes } = all;
  await wsh.session("dev");
  await http.post("/sessions/dev/panes", {});
  await http.post("/sessions/dev/windows", { name: "logs" });
  await wsh.exec("dev:0.0", "echo one");
  await wsh.exec("dev:0.1", "echo two");
  await wsh.exec("dev:logs", "echo three");
  // The prompts after the commands are part of the picture that must not change.
  await wsh.shows("dev:0.0", /^one\n\$ ?$/m);
  await wsh.shows("dev:0.1", /^two\n\$ ?$/m);
  await using person = await EmulatorTerminal.attach(wsh, "dev", { seen: /^one/m });
  await using other = await EmulatorTerminal.attach(wsh, "dev", { seen: /^one/m, flags: ["--independent"] });
  const before = await person.sees(/two/);
  const focus = JSON.stringify((await panes("dev")).map(({ active }) => active));
  other.type(`${PREFIX}n`);
  await other.sees(/^three/m);
  other.type("echo typed there\r");
  await other.sees(/^typed there/m);
  expect(await wsh.screen("dev:logs")).toContain("typed there");
  other.type(`${PREFIX}p${PREFIX}o`);
  await other.sees(/two/);
  other.type(`${PREFIX}z`);
  await until("the zoom", async () => !(await other.text()).includes("one"));
  expect(await person.text()).toBe(before);
  expect(JSON.stringify((await panes("dev")).map(({ active }) => active))).toBe(focus);
  person.type("echo mine\r");
  await until("the person's pane", async () => /^mine/m.test(columns(await person.text(), 0, 40)));
  // The focus on a pane made by its keys is its own only.
  other.type(`${PREFIX}n${PREFIX}%`);
  await until("its pane", async () => (await panes("dev")).length === 4);
  other.type("echo made here\r");
  await until("what it typed there", async () => /[│┃]made here/.test(await other.text()));
  other.type(`${PREFIX}!`);
  await until("a window of its own", async () => new Set((await panes("dev")).map(({ window }) => window)).size === 3);
  await other.sees(/^made here/m);
  other.type(`${PREFIX}c`);
  await until("another window", async () => (await panes("dev")).length === 5);
  other.type("echo newest\r");
  await other.sees(/^newest/m);
  // As by the list of windows: the first one again.
  other.type(`${PREFIX}w`);
  await other.sees("Sessions, windows and panes");
  other.type("logs\r");
  await other.sees(/^three/m);
  expect(await person.text()).toMatch(/^mine.*\n/m);
  person.type("echo still mine\r");
  await until("the person's pane", async () => /^still mine/m.test(columns(await person.text(), 0, 40)));
});

test("--independent: each window has its viewer's size; one with both viewers has the smaller one's", async () => {
  await using all = await splitServer();
  const { wsh, http } = all;
  await wsh.session("dev");
  await http.post("/sessions/dev/windows", { name: "logs", focus: false });
  await using person = await EmulatorTerminal.attach(wsh, "dev", { seen: "$", rows: 24, cols: 80 });
  const sizeIn = (window: string): Promise<string> => wsh.exec(`dev:${window}`, "stty size");
  const are = (first: string, logs: string): Promise<unknown> =>
    until(
      `sizes ${first} and ${logs}`,
      async () => (await sizeIn("0")) === `${first}\n` && (await sizeIn("logs")) === `${logs}\n`,
    );
  await using other = await EmulatorTerminal.attach(wsh, "dev", {
    ...{ seen: "$", rows: 40, cols: 120, flags: ["--independent"] },
  });
  // Both view the first one.
  expect(await sizeIn("0")).toBe("24 80\n");
  other.type(`${PREFIX}n`);
  await are("24 80", "40 120");
  other.type("printf '%0110d\\n' 7\r");
  await other.sees(/^0{109}7$/m);
  // A panel takes its rows from each.
  const panel = (await http.post("/sessions/dev/panel", { position: "bottom", height: 2, spans: [{ text: "panel" }] }))
    .body;
  await are("22 80", "38 120");
  await other.sees((text) => text.split("\n")[38] === "panel");
  expect((await http.delete(`/sessions/dev/panel/${(panel as { id: string }).id}`)).status).toBe(204);
  await are("24 80", "40 120");
  other.resize(30, 100);
  await are("24 80", "30 100");
  // A terminal that leaves the size to others leaves them this one, too.
  await using small = await EmulatorTerminal.attach(wsh, "dev", {
    ...{ seen: "$", rows: 10, cols: 40, flags: ["--independent", "--follow"] },
  });
  small.type(`${PREFIX}n`);
  await small.sees("0007");
  await are("24 80", "30 100");
  small.hangUp();
  await small.exited;
  // The person switches there, too: it fits both, and then belongs to the person alone again.
  person.type(`${PREFIX}n`);
  await until("the smaller one", async () => (await sizeIn("logs")) === "24 80\n");
  other.type(`${PREFIX}p`);
  await are("30 100", "24 80");
  person.type("echo here\r");
  await person.sees(/^here/m);
  // Nobody views the first one any more: it is unchanged.
  other.hangUp();
  await other.exited;
  await are("30 100", "24 80");
}, 60_000);

test("a terminal that was small for a moment, before it was rendered to, is rendered completely", async () => {
  await using all = await splitServer();
  const { wsh, http } = all;
  await wsh.session("dev", "--", "seq 1 40; for i in 1 2 3; do echo a line that reaches over most of it; done; cat");
  await http.post("/sessions/dev/panes", { direction: "down", command: "printf '%070d' 7; cat" });
  await using person = await EmulatorTerminal.attach(wsh, "dev", { seen: /over most[\s\S]*0007/ });
  const before = await person.text();
  const layout = hostOf((await wsh.list())[0]?.pid ?? null);
  await stopProcess(layout);
  try {
    person.resize(10, 30);
    await until("the small size", async () => (await person.text()) !== before);
    person.resize(24, 80);
  } finally {
    process.kill(layout, "SIGCONT");
  }
  await until("the picture before", async () => (await person.text()) === before).catch(async (error) => {
    const panes = (await http.get("/sessions/dev/panes")).body as { id: string }[];
    const screens = await Promise.all(panes.map(({ id }) => http.get(`/sessions/${id}/screen`)));
    throw new Error(
      `${error}:\n${await person.text()}\n--- before:\n${before}\n${JSON.stringify([panes, screens.map(({ body }) => body)])}`,
    );
  });
});

test("a program's question is complete in a pane that became narrow, and when it is wide again", async () => {
  await using all = await splitServer();
  const { wsh, http } = all;
  const question = "Do you really want to go on with this rather long question? [Y/n] ";
  await wsh.session("dev", "--", `printf '${question}'; read -r answer; echo "got $answer"; cat`);
  await using person = await EmulatorTerminal.attach(wsh, "dev", { seen: /\[Y\/n\]/ });
  const made = await http.post("/sessions/dev/panes", { direction: "right", focus: false });
  await until("the narrow pane", async () => (await person.text()).includes("│"));
  const letters = (text: string): string => text.replace(/\s/g, "");
  const left = async () => letters(columns(await person.text(), 0, 40));
  await until("the question in two rows", async () => (await left()).startsWith(letters(question)));
  person.type("yes");
  await until("the answer behind it", async () => (await left()).startsWith(letters(`${question}yes`)));
  await wsh.ok("pane", "close", (made.body as { pane: string }).pane);
  await person.sees(new RegExp(`^${RegExp.escape(question)}yes *$`, "m"));
  person.type("\r");
  await person.sees(/^got yes/m);
});
