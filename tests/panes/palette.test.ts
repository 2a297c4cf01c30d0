/** The command palette: a person runs operations by name, gets fitting suggestions, and sees errors in place. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { contentOf } from "../support/content-of.ts";
import { splitServer } from "../support/panes.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const PREFIX = "\x1c";
const CLEAR = "\x15";

async function opened(wsh: Wsh, name: string, options: Parameters<typeof EmulatorTerminal.attach>[2] = {}) {
  const person = await EmulatorTerminal.attach(wsh, name, options);
  person.type(`${PREFIX}:`);
  await person.sees(/^ :/m);
  return person;
}

describe("the palette", () => {
  test("finds operations by letters and by their effect, completes parameters and values, and runs the line", async () => {
    await using all = await splitServer();
    const { wsh, panes } = all;
    await wsh.session("dev");
    await using person = await opened(wsh, "dev");
    await person.sees(/view\.keys +all keys +\?/);
    person.type("new pane");
    await person.sees(/pane\.split +Start a program in a new pane.* % \|/);
    person.type(`${CLEAR}close window`);
    await person.sees(/^>window\.close +End the programs of a window/m);
    person.type(`${CLEAR}psp`);
    await person.sees(/^>pane\.split/m);
    person.type("\tdir");
    await person.sees(/^>direction= +side of the target/m);
    person.type("\t");
    await person.sees(/^ : pane\.split direction=$/m);
    await person.sees(/^ up$/m);
    person.type("do\t");
    await person.sees(/^ : pane\.split direction=down$/m);
    person.type('command="sleep 1000" percent=30\r');
    await until("the split", async () => (await panes("dev"))[1]?.program === "sleep");
    const [above, below] = await panes("dev");
    expect([above?.row, (below?.row ?? 0) > 10, below?.active]).toEqual([0, true, true]);
    // It is remembered without the command to run, and the palette is closed.
    await until("the palette to close", async () => !(await person.text()).includes("Command palette"));
    person.type(`${PREFIX}:`);
    await person.sees(/^ pane\.split direction=down command= percent=30/m);
    person.type("layout.preset\r");
    await person.sees(/^ : layout\.preset preset=$/m);
    person.type("even-h\r");
    await until("the preset", async () => (await panes("dev"))[1]?.row === 0);
  });

  test("shows an error below the line, which stays; an answer can be read", async () => {
    await using wsh = new Wsh();
    await wsh.session("dev");
    await using person = await opened(wsh, "dev");
    for (const [line, wrong] of [
      ["pane.splt x=1", "no operation 'pane.splt'; near: pane.list"],
      ["pane.split direction=sideways", "direction"],
      ["pane.split directon=right", "has no parameter 'directon'"],
      ["pane.split right", "'right' is not NAME=VALUE"],
      ['pane.split command="x', 'unterminated quotation mark "'],
      ["view.keys x=1", "view.keys takes no parameters"],
      ["status.get session=nowhere", "no session 'nowhere'"],
      ["view.go session=nowhere", "no session 'nowhere'"],
      ["pane.split cwd=/nowhere/at/all", "directory '/nowhere/at/all'"],
    ] as const) {
      // Escape discards the suggestion: the typed text is called.
      person.type(`${CLEAR}${line}\r`);
      await person.sees((text) => text.includes(wrong) && text.includes(` : ${line}`));
    }
    expect(await wsh.list()).toHaveLength(1);
    person.type(`${CLEAR}status.get\r`);
    await person.sees(/^ state: prompt$/m);
    person.type("\x1b");
    await person.sees("Command palette");
    person.type("\x1b");
    await until("the palette to close", async () => !(await person.text()).includes("Command palette"));
    person.type("echo typed\r");
    await person.sees(/^typed$/m);
  });

  test("calls operations of other sessions and the server, confirms before an end, and switches to another session", async () => {
    await using all = await splitServer();
    const { wsh } = all;
    await wsh.session("dev");
    await wsh.session("build");
    await wsh.exec("build", "echo in build");
    await using person = await opened(wsh, "dev");
    person.type("session.update session=bu");
    await person.sees(/^ build +session/m);
    person.type("\tname=nightly\r");
    await until("the name", async () => (await wsh.list()).some(({ name }) => name === "nightly"));
    await until("the palette to close", async () => !(await person.text()).includes("Command palette"));
    person.type(`${PREFIX}:sessions.create name=made\r`);
    await person.sees(/^ name: made$/m);
    expect((await wsh.list()).map(({ name }) => name).toSorted()).toEqual(["dev", "made", "nightly"]);
    person.type(`${CLEAR}session.kill session=made\r`);
    await person.sees(/session\.kill session=made\?/);
    person.type("n");
    await until("no dialog", async () => !(await person.text()).includes("session.kill"));
    expect(await wsh.list()).toHaveLength(3);
    person.type(`${PREFIX}:session.kill session=made\r`);
    await person.sees(/session\.kill session=made\?/);
    person.type("y");
    await until("its end", async () => (await wsh.list()).length === 2);
    person.type(`${PREFIX}:session.kill\r`);
    await person.sees("End the session 'dev'?");
    person.type("n");
    await until("no dialog", async () => !(await person.text()).includes("End the session"));
    person.type(`${PREFIX}:view.go session=nightly\r`);
    await person.sees(/^in build$/m);
    person.type("echo still typed\r");
    await person.sees(/^still typed$/m);
    expect(await wsh.screen("nightly")).toContain("still typed");
  });

  test("takes clicks and the wheel; a long answer can be scrolled and stays", async () => {
    await using wsh = new Wsh();
    await wsh.session("dev");
    await using person = await opened(wsh, "dev");
    const rowOf = (text: string, wanted: RegExp) => text.split("\n").findIndex((line) => wanted.test(line));
    const click = (row: number) => `\x1b[<0;5;${row + 1}M\x1b[<0;5;${row + 1}m`;
    // Below the last item there is nothing to choose: the arrow moves on from the first one.
    person.type("buffer.");
    await person.sees(/^>buffer\.list/m);
    const last = rowOf(await person.sees(/^ buffer\.paste/m), /^ buffer\.paste/);
    person.type(`${click(last + 1)}\x1b[B`);
    await person.sees(/^>buffer\.get/m);
    person.type(CLEAR);
    const row = rowOf(await person.sees(/^ view\.keys/m), /^ view\.keys/);
    person.type(click(row));
    const chosen = rowOf(await person.sees(/^>view\.keys/m), /^>view\.keys/);
    person.type(click(chosen));
    await person.sees("Keys after Ctrl+\\");
    person.type("\x1b");
    await until("the table to go", async () => !(await person.text()).includes("Keys after"));
    person.type(`${PREFIX}:status.get\r`);
    await person.sees(/^ alive: true$/m);
    person.type(`\x1b[<65;5;20M`.repeat(200));
    await until("the end of it", async () => !(await person.text()).includes("alive: true"));
    // As many steps back as there are lines above, not as many as the wheel's turns.
    person.type(`\x1b[<64;5;20M`.repeat(60));
    await person.sees(/^ alive: true$/m);
  });

  test("a slow call is cancelled by Escape, and output continues meanwhile", async () => {
    await using wsh = new Wsh();
    await wsh.session("dev");
    await using person = await EmulatorTerminal.attach(wsh, "dev");
    person.type("for i in $(seq 1 100000); do echo tick $i; sleep 0.05; done\r");
    await person.sees(/^tick \d+$/m);
    person.type(`${PREFIX}:idle.await timeout_ms=60000 max_wait_ms=60000\r`);
    await person.sees("Esc cancels");
    const ticks = async () =>
      Math.max(0, ...[...(await person.text()).matchAll(/^tick (\d+)$/gm)].map(([, n]) => Number(n)));
    const before = await ticks();
    await until("more output above the palette", async () => (await ticks()) > before + 3);
    person.type("\x1b");
    await person.sees("the wait was cancelled");
  });

  test("input after Enter is typed where the line leads, also after a yes; not where it failed", async () => {
    await using wsh = new Wsh();
    for (const name of ["one", "two"]) await wsh.session(name);
    await using person = await EmulatorTerminal.attach(wsh, "one");
    const run = async (line: string, then: string): Promise<void> => {
      person.type(`${PREFIX}:`);
      await person.sees("Command palette");
      person.type(`${line}\r${then}`);
    };
    // To a process that is started for it, within that, and to another session.
    await run("pane.split focus=true", "echo s''plit $COLUMNS\r");
    await person.sees(/│split 39/);
    await run("pane.split direction=down focus=true", "echo b''elow $LINES \x1b[200~pasted\x1b[201~\r");
    await person.sees(/below 1[01] pasted/);
    await run("view.go session=two", "echo o''ver\r");
    await person.sees(/^over$/m);
    expect(await wsh.screen("two")).toContain("over");
    await run("view.go session=one", "sleep 1000\r");
    await person.sees("sleep 1000");
    await until("sleep", async () => JSON.stringify(await wsh.list()).includes('"program":"sleep"'));
    person.type(`${PREFIX}xyecho behi''nd\r`);
    await person.sees(/│behind/);
    await run("view.go session=none", "echo no''where\r");
    await person.sees("none");
    person.type("\x1b");
    await person.sees((text) => !text.includes("Command palette"));
    person.type("echo f''ine\r");
    expect(await person.sees(/│fine/)).not.toContain("nowhere");
  });

  test("no secret and nothing of a private session is kept; the file is the user's alone", async () => {
    await using wsh = new Wsh();
    await wsh.session("dev");
    await using person = await opened(wsh, "dev");
    const file = wsh.instance.paletteFile;
    person.type("input.send session=dev data=hunter2 submit=true\r");
    await until("the line to be kept", () => contentOf(file) !== "");
    expect(fs.readFileSync(file, "utf8")).toBe("input.send session=dev data= submit=true\n");
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    await until("the palette to close", async () => !(await person.text()).includes("Command palette"));
    await wsh.ok("private", "dev", "on");
    person.type(`${PREFIX}:pane.list\r`);
    await person.sees("id:");
    expect(fs.readFileSync(file, "utf8")).not.toContain("pane.list");
    // A damaged file, or a symbolic link of another user, does no harm.
    fs.rmSync(file);
    fs.symlinkSync("/etc/passwd", file);
    person.type("\x1b");
    await person.sees("Command palette");
    person.type("\x1b");
    await until("the palette to close", async () => !(await person.text()).includes("Command palette"));
    person.type(`${PREFIX}:`);
    await person.sees(/view\.detach/);
    expect(await person.text()).not.toContain("root:");
  });

  test("in a terminal of any size, without colours and without UTF-8", async () => {
    await using wsh = new Wsh();
    await wsh.session("dev");
    for (const [rows, cols] of [
      [10, 40],
      [3, 20],
      [1, 10],
      [60, 200],
    ] as const) {
      await using person = await EmulatorTerminal.attach(wsh, "dev", {
        ...{ rows, cols, env: { LANG: "C", LC_ALL: "C", NO_COLOR: "1" } },
      });
      person.type(`${PREFIX}:zoo`);
      await person.sees(/^ : zoo$/m);
      if (rows > 2) await person.sees(/^>pane\.zoom/m);
      const text = await person.text();
      expect(text).toMatch(/^[\x20-\x7e\n]*$/);
      const { lines } = await person.grid();
      expect(lines.flat().every(({ style }) => style.fg === null && style.bg === null)).toBe(true);
      person.type("\x1b");
      await until("the palette to close", async () => !(await person.text()).includes(": zoo"));
    }
  });

  test("can be bound like any other key, and a read-only terminal may look but not act", async () => {
    await using wsh = new Wsh({ config: '[keys]\n"P" = "view.command"\n"g" = "view.go session=other"\n' });
    await wsh.session("dev");
    await wsh.session("other");
    await wsh.exec("other", "echo in other");
    await using person = await EmulatorTerminal.attach(wsh, "dev", { flags: ["--read-only"] });
    person.type(`${PREFIX}P`);
    await person.sees(/^ :/m);
    person.type("status.get\r");
    await person.sees(/^ state: prompt$/m);
    person.type(`${CLEAR}pane.split\r`);
    await person.sees("this caller has 'observe'");
    expect((await wsh.list())[0]?.windows[0]?.panes).toHaveLength(1);
    person.type("\x1b");
    await until("the palette to close", async () => !(await person.text()).includes("Command palette"));
    person.type(`${PREFIX}g`);
    await person.sees(/^in other$/m);
  });
});
