/** A session whose process was killed is listed as crashed, can be read, and is restored. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { packBlock } from "../../../src/checkpoints/files/blocks.ts";
import { readText } from "../../../src/platform/readable.ts";
import { firstCommandId } from "../../../src/protocol/pane-numbers.ts";
import { Http } from "../../support/http.ts";
import { until } from "../../support/until.ts";
import { Wsh } from "../../support/wsh.ts";
import { folderOf, holdLocks, kill, lifeLocks, stored, textOf, written, writtenToPrompt } from "./crashed-sessions.ts";

/** A crashed session with a shell, a tag, 60 lines and its own directory. */
async function lose(wsh: Wsh, name = "dev"): Promise<string> {
  const directory = join(wsh.dir, `in ${name}`);
  fs.mkdirSync(directory);
  const { pane_id, id } = await wsh.session(name, "--tag", "mine", "--cwd", directory);
  await wsh.exec(name, "seq 1 60; printf '\\033[31mred\\033[0m\\n'");
  await writtenToPrompt(wsh, "red", Number(pane_id.slice(1)), Number(id.slice(2)));
  await kill(wsh);
  return directory;
}

test("it is listed, and can be read: screen, scrollback and commands", async () => {
  await using wsh = new Wsh();
  await lose(wsh);
  const [info] = await wsh.list();
  expect(info).toMatchObject({
    name: "dev",
    id: "@s1",
    pane_id: "@1",
    state: "crashed",
    running: false,
    tags: ["mine"],
  });
  expect(info?.crashed?.why).toBe("its process was killed or failed");
  expect(info?.crashed?.saved_at).toBeGreaterThan(Date.now() - 60_000);
  expect(await wsh.ok("list")).toContain("crashed: its process was killed or failed, saved now");
  // By the command line alone, and then by a server.
  expect(await wsh.screen("dev")).toContain("59\n60\nred");
  // The list says so too while a process shows it to readers.
  expect(await wsh.ok("list")).toContain("crashed: its process was killed or failed, saved now");
  expect(await wsh.ok("commands", "dev")).toContain("seq 1 60");
  await wsh.server();
  const http = new Http({ unix: wsh.instance.httpSocket });
  const { body } = await http.get("/sessions/dev/scrollback?format=plain&limit=100");
  expect((body as { lines: string[] }).lines.filter((line) => /^\d+$/.test(line))).toHaveLength(60);
  const { body: screen } = await http.get("/sessions/@1/screen?format=styled");
  expect(JSON.stringify(screen)).toContain('"text":"red","fg":{"indexed":1}');
  expect(((await http.get("/sessions")).body as { state: string }[]).map(({ state }) => state)).toEqual(["crashed"]);
  const refused = await http.post("/sessions/dev/input", { data: "x" });
  expect(refused).toMatchObject({ status: 410, body: { error: { code: "session_not_running" } } });
  expect((await wsh.run("kill", "dev")).stderr).toContain("session 'dev' crashed");
  expect((await wsh.list()).map(({ state }) => state)).toEqual(["crashed"]);

  // It is restored also while others read it, and is listed all the time.
  let isOver = false;
  const reading = (async () => {
    while (!isOver) await http.get("/sessions/dev/screen");
  })();
  try {
    expect(await wsh.ok("restore", "dev")).toBe("Session 'dev' is restored: wsh attach dev\n");
    expect(await wsh.exec("dev", "echo again")).toBe("again\n");
  } finally {
    isOver = true;
    await reading;
  }
});

test("lines that stand where the output of a command was are not shown as its output", async () => {
  await using wsh = new Wsh();
  await wsh.server();
  const http = new Http({ unix: wsh.instance.httpSocket });
  await lose(wsh);
  await wsh.ok("restore", "dev");
  await wsh.exec("dev", "printf '\\033[H'; seq 1001 1020");
  const output = `/sessions/dev/output?command_id=${firstCommandId("@1")}`;
  const reason = expect.stringContaining("before the session crashed");
  const lost = { incomplete: true, searched: "none of 61", reason };
  expect((await http.get(output)).body).toMatchObject({ ...lost, omitted_lines: 61 });
  expect((await http.get(`${output}&format=styled`)).body).toMatchObject({ ...lost, omitted_lines: 61, lines: [] });
});

test("it is restored under its name and ids, with its earlier screen above a rule, also after a second crash", async () => {
  await using wsh = new Wsh();
  const directory = await lose(wsh);
  expect(await wsh.ok("restore", "dev")).toBe("Session 'dev' is restored: wsh attach dev\n");
  const screen = await wsh.shows("dev", /── restored: above as of .*─\n\$$/m);
  expect(screen).toContain("60\nred\n$\n── restored");
  const [info] = await wsh.list();
  expect(info).toMatchObject({ name: "dev", id: "@s1", pane_id: "@1", running: true, tags: ["mine"] });
  expect(info?.windows[0]?.id).toBe("@w1");
  expect(await wsh.exec("dev", "pwd")).toBe(`${directory}\n`);
  const { stdout } = await wsh.run("commands", "dev", "--json");
  const [before, after] = JSON.parse(stdout).map(({ id }: { id: number }) => id);
  expect(before).toBe(firstCommandId("@1"));
  // Ids between them may have been assigned after the checkpoint was written.
  expect(after).toBeGreaterThan(before + 1_000);
  const again = await wsh.run("restore", "dev");
  expect(again).toMatchObject({ code: 1 });
  expect(again.stderr).toContain("session 'dev' is already running");
  // Ids are not assigned twice, and a restored session is no longer listed as crashed.
  expect((await wsh.session("next")).id).toBe("@s2");
  await wsh.exec("dev", "echo second life");
  await writtenToPrompt(wsh, "second life");
  await kill(wsh);
  await wsh.ok("restore", "dev");
  await wsh.shows("dev", /second life[\s\S]*─\n\$$/m);
  // The lines from before the first crash are still there.
  expect(textOf(wsh)).toMatch(/^1\n2\n3$/m);
});

test("an earlier cursor continues: kept output since it, once, and a report of possible gaps", async () => {
  await using wsh = new Wsh();
  await wsh.session("dev");
  await wsh.exec("dev", "seq 1 60");
  const cursor = async (): Promise<number> => JSON.parse(await wsh.ok("status", "dev", "--json")).output_cursor;
  await writtenToPrompt(wsh, "60");
  const since = await cursor();
  await wsh.exec("dev", "echo second");
  await writtenToPrompt(wsh, "second");
  const end = await cursor();
  await kill(wsh);
  const read = async (from: number) => {
    const { code, stdout, stderr } = await wsh.run("output", "dev", "--since", String(from));
    expect(code).toBe(0);
    expect(stderr).toContain("between its last checkpoint and its end is missing");
    return stdout.replace(/^── restored.*$/m, "──");
  };
  // While it has crashed, and after its restore.
  expect(await read(since)).toBe("$ echo second\nsecond\n$\n");
  await wsh.ok("restore", "dev");
  await wsh.exec("dev", "echo third");
  await wsh.shows("dev", /^third\n\$ ?$/m);
  const shown = ["$ echo second", "second", "$", "──", "$ echo third", "third", "$"];
  expect(await read(since)).toBe(`${shown.join("\n")}\n`);
  expect((await read(end)).trim()).toBe(shown.slice(3).join("\n"));
  expect((await wsh.run("wait", "dev", "--text", "second", "--since", String(since))).code).toBe(0);
  expect(await wsh.ok("output", "dev", "--since", String(await cursor()))).toBe("");
  expect((await wsh.run("output", "dev", "--since", "7")).stderr).toContain("does not belong to this pane");
});

test("a name in use is reported, and another one can be given; restored and ended, it is gone", async () => {
  await using wsh = new Wsh();
  await lose(wsh);
  await wsh.session("dev");
  expect((await wsh.run("restore", "@s1")).stderr).toContain("a session named 'dev' already exists");
  await wsh.ok("restore", "@s1", "--as", "old");
  expect((await wsh.list()).map(({ name, id, state }) => [name, id, state !== "crashed"])).toEqual([
    ["old", "@s1", true],
    ["dev", "@s2", true],
  ]);
  await wsh.ok("kill", "old", "dev");
  await until("their processes to be gone", () => wsh.hosts().length === 0);
  expect(fs.existsSync(folderOf(wsh))).toBe(false);
  expect(await wsh.ok("list")).toBe("No active sessions.\n");
  expect(await wsh.ok("restore", "--all")).toBe("No crashed sessions.\n");
});

test("all at once, over HTTP; and forgetting", async () => {
  await using wsh = new Wsh();
  await lose(wsh, "a");
  await lose(wsh, "b");
  await wsh.server();
  const http = new Http({ unix: wsh.instance.httpSocket });
  const { body } = await http.get("/checkpoints");
  expect((body as { crashed: { name: string }[] }).crashed.map(({ name }) => name)).toEqual(["a", "b"]);
  const done = await http.post("/checkpoints/restore", { all: true });
  expect((done.body as { restored: { name: string }[] }).restored.map(({ name }) => name)).toEqual(["a", "b"]);
  await until("both to run", async () => (await wsh.list()).every(({ running }) => running));
  await kill(wsh);
  expect((await wsh.run("restore")).stderr).toContain("2 sessions crashed: a, b");
  expect(await wsh.ok("forget", "a", "--yes")).toMatch(/^Deleted the checkpoints of session 'a' \(@s1\): \d+ KB\.\n$/);
  expect(fs.existsSync(folderOf(wsh, 1))).toBe(false);
  expect((await wsh.run("screen", "a")).code).toBe(1);
  await wsh.ok("forget", "--all", "--yes");
  expect(await wsh.ok("list")).toBe("No active sessions.\n");
});

test("a program is restored as a line at the prompt; a pager runs again", async () => {
  await using wsh = new Wsh();
  await wsh.session("shell");
  await wsh.enter("shell", "sleep 1000");
  await until("its checkpoint", () => stored(wsh)?.record.foreground?.line === "sleep 1000");
  await wsh.session("pager");
  fs.writeFileSync(join(wsh.dir, "text"), "some text\n".repeat(100));
  await wsh.enter("pager", `less ${wsh.dir}/text`);
  await until("its checkpoint", () => stored(wsh, 2, 2)?.record.foreground?.line.startsWith("less ") === true);
  await wsh.session("command", "--", "sleep 2000");
  await until("its checkpoint", () => stored(wsh, 3, 3)?.record.foreground?.line === "sleep 2000");
  await kill(wsh);
  await wsh.ok("restore", "--all");
  await wsh.shows("shell", /─\n\$ sleep 1000$/m);
  await wsh.shows("command", /─\n\$ sleep 2000$/m);
  await wsh.shows("pager", "some text\nsome text");
  await until(
    "less to run",
    async () => (await wsh.list()).find(({ name }) => name === "pager")?.state === "fullscreen",
  );
  expect((await wsh.list()).find(({ name }) => name === "shell")?.state).toBe("prompt");
  // A program that did not run again is not forgotten when the session crashes once more.
  await kill(wsh);
  expect(stored(wsh)?.record.foreground?.line).toBe("sleep 1000");
});

test("a checkpoint is written from a session's start, though it is never idle", async () => {
  await using wsh = new Wsh();
  await wsh.session("dev", "--tag", "mine", "--", "while :; do echo on; sleep 0.05; done");
  await until("its checkpoint", () => stored(wsh) !== null, 15_000);
  await kill(wsh);
  expect((await wsh.list())[0]).toMatchObject({
    name: "dev",
    state: "crashed",
    tags: ["mine"],
    command: expect.stringContaining("while"),
  });
});

test("ending a session leaves nothing; SIGTERM, as at shutdown, leaves it restorable", async () => {
  await using wsh = new Wsh();
  await wsh.session("a");
  await wsh.shows("a", "$");
  await until("a checkpoint", () => stored(wsh) !== null);
  await wsh.ok("kill", "a");
  await until("its checkpoint to be gone", () => !fs.existsSync(folderOf(wsh)));
  await wsh.session("b");
  await wsh.exec("b", "echo just now");
  await kill(wsh, "SIGTERM");
  expect(textOf(wsh, 2, 2)).toContain("just now");
  const [info] = await wsh.list();
  expect(info).toMatchObject({ name: "b", state: "crashed", crashed: { why: "ended by SIGTERM" } });
});

test("ended while its checkpoint is being written, it leaves nothing", async () => {
  await using wsh = new Wsh();
  for (let number = 1; number <= (process.env.WSH_TEST_FULL === "1" ? 4 : 2); number++) {
    const name = `s${number}`;
    await wsh.session(name);
    await wsh.exec(name, "seq 1 20000");
    await until("the folder", () => fs.existsSync(folderOf(wsh, number)));
    await wsh.ok("kill", name);
    await until("its process to be gone", () =>
      wsh.processes().every(({ command }) => !command.endsWith(" session-process")),
    );
    expect(fs.existsSync(folderOf(wsh, number))).toBe(false);
  }
});

test("all are restored right after the kill, before the kernel has freed their locks", async () => {
  await using wsh = new Wsh();
  for (const [name, number] of [
    ["a", 1],
    ["b", 2],
  ] as const) {
    await wsh.session(name);
    await wsh.exec(name, `echo in ${name}`);
    await writtenToPrompt(wsh, `in ${name}`, number, number);
  }
  await kill(wsh);
  const locks = [join(folderOf(wsh), "p1.lock"), ...lifeLocks(wsh)];
  const released = await holdLocks(locks);
  const output = await wsh.ok("restore", "--all");
  await released();
  expect(output).toContain("Session 'a' is restored");
  expect(output).toContain("Session 'b' is restored");
});

test("nothing is kept of a private session, or during a password prompt", async () => {
  await using wsh = new Wsh();
  await wsh.session("secret", "--private");
  await wsh.exec("secret", "echo hidden");
  await wsh.session("open");
  await wsh.exec("open", "echo seen");
  await written(wsh, "seen", 2, 2);
  expect(fs.existsSync(folderOf(wsh, 1))).toBe(false);
  await wsh.enter("open", "read -rsp 'Password: ' x; echo; echo done");
  await wsh.shows("open", /^Password:/m);
  await wsh.ok("tag", "open", "--add", "changed");
  await wsh.enter("open", "hunter2");
  await written(wsh, "done", 2, 2);
  for (const name of fs.readdirSync(folderOf(wsh, 2))) {
    expect(readText(join(folderOf(wsh, 2), name)) ?? "").not.toContain("hunter2");
  }
  expect(textOf(wsh, 2, 2)).not.toContain("hunter2");
  await wsh.ok("private", "open", "on");
  await until("it to be deleted", () => !fs.existsSync(folderOf(wsh, 2)));
  await wsh.ok("private", "open", "off");
  await written(wsh, "seen", 2, 2);
});

test("the setting limits what is kept", async () => {
  await using wsh = new Wsh({ config: 'checkpoint = "screen"\n' });
  await wsh.session("dev", "--", "seq 1 100; sleep 1000");
  await written(wsh, "100");
  expect(stored(wsh)?.record.history).toBeNull();
  expect(textOf(wsh)).not.toMatch(/^50$/m);
  await using off = new Wsh({ env: { WSH_CHECKPOINT: "off" } });
  await off.session("dev");
  await off.exec("dev", "echo x; sleep 2");
  expect(fs.existsSync(folderOf(off))).toBe(false);
  // Killed without one, it is not reported as running.
  await kill(off);
  expect((await off.run("restore", "dev")).stderr).toContain("no crashed session 'dev'");
});

test("one of a later version, and a damaged one, are named and harm no other", async () => {
  await using wsh = new Wsh();
  await lose(wsh, "a");
  await lose(wsh, "b");
  const states = fs.readdirSync(folderOf(wsh, 1)).filter((name) => name.endsWith(".state"));
  for (const name of states) {
    fs.writeFileSync(join(folderOf(wsh, 1), name), packBlock({ kind: "about", text: '{"version":99}' }));
  }
  expect((await wsh.list()).map(({ name }) => name)).toEqual(["b"]);
  expect((await wsh.run("restore", "@s1")).stderr).toContain("the checkpoint has version 99");
  for (const name of states) fs.writeFileSync(join(folderOf(wsh, 1), name), "gone");
  expect((await wsh.run("restore", "@s1")).stderr).toContain("no generation of 'p1'");
  expect(fs.readFileSync(join(folderOf(wsh, 1), states[0] ?? ""), "utf8")).toBe("gone");
  await wsh.ok("restore", "b");
});
