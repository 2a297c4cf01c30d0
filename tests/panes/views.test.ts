/** A pane that shows another session, which is renamed, hangs and ends; and the keyboard capture of a split session. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { columns, splitServer } from "../support/panes.ts";
import { stopProcess } from "../support/processes.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { TestSocket } from "../support/websocket.ts";
import { hostOf } from "../support/wsh.ts";

setDefaultTimeout(60_000);

test("a view follows a session that is renamed, freezes while it hangs, and closes at its end", async () => {
  await using all = await splitServer();
  const { wsh, http, panes } = all;
  await wsh.session("dev");
  const shown = await wsh.session("shown");
  await using person = await EmulatorTerminal.attach(wsh, "dev");
  expect((await http.post("/sessions/dev/panes", { view: "shown" })).status).toBe(201);
  await wsh.exec("shown", "echo first");
  const right = async () => columns(await person.text(), 41);
  await until("the view", async () => /^first/m.test(await right()));
  await wsh.ok("rename", "shown", "other");
  await wsh.exec("other", "echo renamed");
  await until("the renamed session", async () => /^renamed/m.test(await right()));
  await until("its new name", async () => (await panes("dev"))[1]?.view === "other");
  expect(await wsh.ok("layout", "save", "dev", "-")).toContain('view = "other"');
  await wsh.exec("other", "printf '\\033]9;build is done\\007'");
  await until("its notification", () => person.bytes.includes("\x1b]9;build is done\x07"));

  const process_ = hostOf(shown.pid);
  await stopProcess(process_);
  // Typing beside it, splitting and closing need nothing of the hung session.
  person.type("echo beside\r");
  await until("the own pane", async () => /^beside/m.test(columns(await person.text(), 0, 40)));
  expect((await http.post("/sessions/dev/panes", { direction: "down" })).status).toBe(201);
  await until("another pane", async () => (await panes("dev")).length === 3);
  process.kill(process_, "SIGCONT");
  await wsh.exec("other", "echo again");
  await until("the view again", async () => /^again/m.test(await right()));
  await wsh.ok("kill", "other");
  await until("the view to be gone", async () => (await panes("dev")).every(({ view }) => view === undefined));
  person.type("echo alone\r");
  await until("the own pane", async () => /^alone/m.test(columns(await person.text(), 0, 40)));
});

test("a view of a session that hangs is closed at once, and a request about it is answered", async () => {
  await using all = await splitServer();
  const { wsh, panes } = all;
  await wsh.session("dev");
  const { pid } = await wsh.session("shown");
  await wsh.ok("split", "dev", "--view", "shown");
  const process_ = hostOf(pid);
  await stopProcess(process_);
  expect(await wsh.run("status", "dev:0.1")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("the session process of 'shown' does not answer"),
  });
  await wsh.ok("pane", "close", "dev:0.1");
  expect((await panes("dev")).length).toBe(1);
  process.kill(process_, "SIGCONT");
  expect(await wsh.exec("shown", "echo unharmed")).toBe("unharmed\n");
});

test("a captured keyboard stays so through the first split, and is free when its holder is gone", async () => {
  await using all = await splitServer();
  const { wsh, http } = all;
  await wsh.session("dev");
  const socket = new TestSocket(`ws+unix://${wsh.instance.httpSocket}:/ws/json`, {});
  await socket.opened;
  await using person = await EmulatorTerminal.attach(wsh, "dev");
  await socket.call("capture_input", {}, { session: "dev" });
  expect((await http.get("/sessions/dev/input/mode")).body).toMatchObject({ mode: "capture" });
  await http.post("/sessions/dev/panel", { position: "top", height: 1, spans: [{ text: "panel" }] });
  await person.sees(/^panel/m);
  await http.post("/sessions/dev/panes", {});
  await person.sees(/[│┃]/);
  await person.sees(/^panel/m);
  expect((await http.get("/sessions/dev/input/mode")).body).toMatchObject({ mode: "capture" });
  person.type("not for the program");
  expect(await wsh.exec("dev:0.0", "echo quiet")).toBe("quiet\n");
  socket.close();
  await until("the keyboard to be free", async () => {
    const { body } = await http.get("/sessions/dev/input/mode");
    return (body as { mode?: string }).mode === "passthrough";
  });
  await person.sees(/^panel/m);
  await until("a person who can type", async () => {
    person.type("echo mine\r");
    await Bun.sleep(100);
    return /^mine/m.test(columns(await person.text(), 0, 40));
  });
});

test("kill -9 of a pane's program closes that pane alone", async () => {
  await using all = await splitServer();
  const { wsh, http, panes } = all;
  await wsh.session("dev");
  await http.post("/sessions/dev/panes", { command: "exec sleep 1000" });
  const [, second] = await panes("dev");
  process.kill(second?.pid ?? Number.NaN, "SIGKILL");
  await until("one pane", async () => (await panes("dev")).length === 1);
  expect(await wsh.exec("dev", "echo lives")).toBe("lives\n");
});

test("a view sizes its source only while it has no other viewer; it shows the part around the cursor", async () => {
  await using all = await splitServer();
  const { wsh, http } = all;
  await wsh.session("shown");
  const size = async () => {
    const { rows, cols } = await http.expect<{ rows: number; cols: number }>(200, http.get("/sessions/shown"));
    return `${cols}x${rows}`;
  };
  await wsh.session("dev");
  await using looking = await EmulatorTerminal.attach(wsh, "dev");
  await http.expect(201, http.post("/sessions/dev/panes", { view: "shown", focus: true }));
  const view = async () => columns(await looking.text(), 41);
  // A column is the line between the panes.
  await until("the view's own size", async () => (await size()) === "39x24");
  {
    await using person = await EmulatorTerminal.attach(wsh, "shown");
    await until("the person's size", async () => (await size()) === "80x24");
    person.type("echo left in the row");
    await until("the left part", async () => /^\$ echo left in the row$/m.test(await view()));
    person.type(`${" ".repeat(40)}right`);
    await until("the right part", async () => /^ {30,}right$/m.test(await view()));
    // A key in the view does not request a size.
    looking.type("most\r");
    await person.sees(/^left in the row rightmost$/m);
    await until("the left part", async () => /^left in the row rightmost$/m.test(await view()));
    expect(await size()).toBe("80x24");
  }
  await until("the view's own size again", async () => (await size()) === "39x24");
});
