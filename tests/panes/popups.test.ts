/** Floating panes and popups at a person's terminal, by calls and by keys. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { drag, press, release } from "../support/mouse.ts";
import { personAt } from "../support/person.ts";
import { until } from "../support/until.ts";
import { program } from "../support/wsh-program.ts";

const PREFIX = "\x1c";

describe("a popup", () => {
  test("gets the keys, returns its program's exit code and standard output", async () => {
    await using all = await personAt({ rows: 24, cols: 80, status: "auto" });
    const { person, wsh } = all;
    const popup = `${program.join(" ")} popup`;
    person.type(`clear; ${popup} --width 40 --height 8 -- 'echo hi; read x; exit 7'; echo code $?\r`);
    await person.sees(/^ {20}┏━ .* ━+┓$/m);
    // The program below keeps its size: no status line comes for a popup.
    await person.sees(/^ {20}┃hi {36}┃$/m);
    expect((await person.text()).split("\n")).toHaveLength(24);
    person.type("typed\r");
    await person.sees(/^code 7$/m);
    person.type(`clear; ${popup} --print 'printf "draw "; read x </dev/tty; echo "got $x"' | tr a-z A-Z\r`);
    await until("the popup", async () => /"popup":true/.test(await wsh.ok("pane", "list", "dev", "--json")));
    person.type("this\r");
    await person.sees(/^DRAW GOT THIS$/m);
    await until("its end", async () => !/popup/.test(await wsh.ok("pane", "list", "dev", "--json")));
    const flood = wsh.run("popup", "dev", "--print", "--", "yes | head -c 50000000; read x </dev/tty; exit 5");
    const directory = join(wsh.instance.stateDir, "stdin");
    // The file of the popup before may go meanwhile.
    const sizes = () =>
      fs.readdirSync(directory).flatMap((name) => fs.statSync(join(directory, name), { throwIfNoEntry: false }) ?? []);
    await until("a flood", () => sizes().some(({ size }) => size > 20_000_000));
    await until("what is too much to leave the disk", () => sizes().every(({ blocks }) => blocks * 512 < 5_000_000));
    person.type("\r");
    const { code, stdout, stderr } = await flood;
    expect({ code, stderr }).toEqual({ code: 5, stderr: expect.stringContaining("more than 1 MiB") });
    expect(stdout).toHaveLength(1_048_576);
    // A program that puts a pipe in the place of its output stops nothing.
    const replaces = 'f=$(readlink /proc/$$/fd/1); chmod 0 "$f"; rm "$f"; mkfifo "$f"; echo own';
    expect(await wsh.run("popup", "dev", "--print", "--", replaces)).toMatchObject({ code: 0, stdout: "own\n" });
  });

  test("is refused without a terminal that shows its window, and ends with a killed program, with its caller, or by a key", async () => {
    await using all = await personAt({ rows: 24, cols: 80 });
    const { person, wsh } = all;
    await wsh.session("alone");
    expect(await wsh.run("popup", "alone", "--", "true")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no terminal is attached"),
    });
    const killed = wsh.run("popup", "dev", "--", "echo one; kill -9 $$");
    expect((await killed).code).toBe(137);
    const waiting = wsh.spawn(["popup", "dev", "--", "echo two; exec sleep 1000"]);
    await person.sees(/┃two/);
    // Another one opens above it, and has the keys until it ends.
    const above = wsh.run("popup", "dev", "--width", "20", "--height", "5", "--", "read x; exit 3");
    await until(
      "a second one",
      async () => (await person.text()).match(/┏/g)?.length === 1 && /┌/.test(await person.text()),
    );
    person.type("\r");
    expect((await above).code).toBe(3);
    waiting.kill();
    await until("the popup to be gone", async () => !/two/.test(await person.text()));
    const kept = wsh.run("popup", "dev", "--keep", "--", "echo three; exit 4");
    await person.sees(/exited: 4/);
    person.type("x\x1b");
    expect((await kept).code).toBe(4);
    // tmux counts a row by its lower edge.
    const tmux = wsh.run(
      "tmux",
      "display-popup",
      "-t",
      "dev",
      "-EE",
      "-w",
      "20",
      "-h",
      "25%",
      "-x",
      "3",
      "-y",
      "10",
      "-T",
      "mine",
      "exit 7",
    );
    await person.sees(/exited: 7/);
    expect((await person.text()).split("\n").findIndex((line) => /^ {3}┗━{18}┛/.test(line))).toBe(9);
    expect(await wsh.ok("tmux", "list-panes", "-t", "dev", "-F", "#{pane_active}")).toBe("1\n");
    expect((await wsh.run("tmux", "display-popup", "-t", "dev", "true")).code).toBe(0);
    await wsh.ok("tmux", "display-popup", "-t", "dev", "-C");
    expect((await tmux).code).toBe(7);
    expect((await wsh.run("tmux", "display-popup", "-t", "dev", "-BE", "exit 5")).code).toBe(5);
    expect(await wsh.run("tmux", "display-popup", "-t", "alone", "true")).toMatchObject({
      code: 1,
      stderr: "no current client\n",
    });
    expect(await wsh.run("tmux", "popup", "-t", "dev", "-w", "200", "true")).toMatchObject({
      code: 1,
      stderr: "width too large\n",
    });
  });
});

describe("a floating pane", () => {
  test("is opened, moved, hidden, shown and tiled by keys, and dragged by its frame", async () => {
    await using all = await personAt({ rows: 24, cols: 80 });
    const { person, wsh } = all;
    person.type(`${PREFIX}F`);
    await person.sees(/^ {12}┏━.*┓$/m);
    person.type("echo inside\r");
    await person.sees(/┃inside/);
    // Its title is dragged to the upper left corner, its lower right corner to the middle.
    person.type(press(3, 20) + drag(2, 15) + drag(0, 8) + release(0, 8));
    await person.sees(/^┏━.*┓/);
    person.type(press(16, 55) + drag(12, 39) + release(12, 39));
    await person.sees(/^┗━{38}┛/m);
    person.type(`${PREFIX}\x1b[1;2B`);
    await person.sees(/^┏.*┓/m);
    await until("two rows below", async () => (await person.text()).split("\n")[2]?.startsWith("┏") === true);
    const [, pane] = JSON.parse(await wsh.ok("pane", "list", "dev", "--json"));
    expect(pane).toMatchObject({ row: 3, col: 1, rows: 11, cols: 38, z: 1, active: true });
    const layout = JSON.parse(await wsh.ok("layout", "get", "dev", "--json"));
    expect(layout.windows[0].floats).toEqual([{ pane: pane.id, x: 0, y: 2, width: 40, height: 13 }]);
    person.type(`${PREFIX}\x1bf`);
    await until("it to be hidden", async () => !/┏/.test(await person.text()));
    person.type("echo below\r");
    await person.sees(/^below/m);
    person.type(`${PREFIX}\x1bf`);
    await person.sees(/┃inside/);
    person.type(`${PREFIX}\x06`);
    await until("it beside the other", async () => /[│┃]/.test((await person.text()).split("\n")[20] ?? ""));
    person.type(`${PREFIX}\x06`);
    await person.sees(/^ {12}┏━.*┓$/m);
  });
});
