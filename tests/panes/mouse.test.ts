/** The mouse in panes whose programs do not use it: scrolling, selecting, copying, switching; and in the others. */
import { describe, expect, test } from "bun:test";
import { click, drag, press, release, rightClick, wheelDown, wheelUp } from "../support/mouse.ts";
import { columns } from "../support/panes.ts";
import { copied, copies, personAt } from "../support/person.ts";
import { until } from "../support/until.ts";

const PREFIX = "\x1c";
const LABEL = /\d+ of \d+ lines up/;

/** The cell at which a text is on the screen. */
function cellOf(text: string, wanted: string): { readonly row: number; readonly col: number } {
  const row = text.split("\n").findIndex((line) => line.includes(wanted));
  if (row < 0) throw new Error(`the screen does not show '${wanted}':\n${text}`);
  return { row, col: (text.split("\n")[row] ?? "").indexOf(wanted) };
}

describe("in panes whose programs did not ask for it", () => {
  test("the wheel scrolls the pane below it in copy mode, and the end leaves it; input continues", async () => {
    await using all = await personAt();
    const { person } = all;
    person.type("seq 1 300\r");
    await person.sees(/^300$/m);
    person.type(`${PREFIX}%`);
    await person.sees(/[│┃]\$/);
    // The active pane is another one.
    person.type(wheelUp(5, 5) + wheelUp(5, 5));
    await person.sees(LABEL);
    await until("six rows up", async () => /^295 /m.test(await person.text()) && !/^296 /m.test(await person.text()));
    person.type(wheelDown(5, 5).repeat(3));
    await until("the end", async () => !LABEL.test(await person.text()) && /^300 /m.test(await person.text()));
    person.type("echo beside\r");
    await person.sees(/[│┃]beside/);
  });

  test("a drag selects and copies in its pane alone, and the next key reaches the program", async () => {
    await using all = await personAt();
    const { person } = all;
    person.type("clear; echo one two three\r");
    await person.sees(/^one two three/m);
    person.type(`${PREFIX}%`);
    await person.sees(/[│┃]\$/);
    person.type(`${PREFIX}\x1b[D`);
    const { row } = cellOf(await person.text(), "one two three");
    person.type(press(row, 4) + drag(row, 5) + drag(row, 70) + release(row, 70));
    await copies(person, "two three");
    await person.sees((text) => !LABEL.test(text));
    person.type("echo typed\r");
    await until("the program", async () => /^typed/m.test(columns(await person.text(), 0, 40)));
    // A double click selects a word, a click clears it.
    person.type(`clear; echo see /etc/hosts.conf: fine\r`);
    await until("a path", async () => /^see \/etc/m.test(columns(await person.text(), 0, 40)));
    const path = cellOf(await person.text(), "/etc/hosts");
    person.type(click(path.row, path.col + 2) + click(path.row, path.col + 2));
    await copies(person, "/etc/hosts.conf");
    person.type(click(path.row, path.col + 20));
    person.type("echo 'and'more\r");
    await until("the program", async () => /^andmore/m.test(columns(await person.text(), 0, 40)));
  });

  test("a drag above the edge scrolls, and stays in copy mode", async () => {
    await using all = await personAt({ rows: 12 });
    const { person } = all;
    person.type("seq 1 200\r");
    await person.sees(/^200$/m);
    person.type(`${PREFIX}%`);
    await person.sees(/[│┃]\$/);
    person.type(press(9, 1) + drag(8, 0) + drag(0, 0));
    // It scrolls until the button is released, by then perhaps further.
    await person.sees((text) => Number(/^(\d+) /.exec(text)?.[1] ?? 200) <= 150);
    person.type(release(0, 0));
    await until("a copy", () => (copied(person) ?? "").split("\n").length > 30);
    await person.sees(LABEL);
    person.type("q");
    await until("leaving", async () => !LABEL.test(await person.text()));
  });

  test("reports that arrive in pieces are parsed, and are never input text", async () => {
    // Longer than any pause between two pieces.
    await using all = await personAt({ config: "escape_ms = 5000\n" });
    const { person } = all;
    person.type("seq 1 300\r");
    await person.sees(/^300$/m);
    person.type(`${PREFIX}%`);
    await person.sees(/[│┃]\$/);
    for (const piece of ["\x1b[<6", "4;5;", "5M\x1b[<64", ";5;5M"]) {
      person.type(piece);
      await Bun.sleep(2);
    }
    await until("six rows up", async () => /^295 /m.test(await person.text()) && !/^296 /m.test(await person.text()));
    person.type("echo beside\r");
    await person.sees(/[│┃]beside/);
    expect(await person.text()).not.toContain("<6");
  });
});

describe("the status line", () => {
  test("a click switches, the wheel cycles, the right button offers actions", async () => {
    await using all = await personAt({ status: "auto" });
    const { person, wsh } = all;
    person.type(`${PREFIX}c`);
    await person.sees(/ 0:\S+ 1:\S+\*/);
    const { row, col } = cellOf(await person.text(), " 0:");
    person.type(click(row, col + 1));
    await person.sees(/ 0:\S+\* 1:\S+/);
    person.type(wheelDown(row, 60));
    await person.sees(/ 0:\S+ 1:\S+\*/);
    person.type(rightClick(row, col + 1));
    const menu = await person.sees(/Window[\s\S]*rename the window[\s\S]*close the window/);
    const name = cellOf(menu, "rename the window");
    person.type(click(name.row, name.col));
    await person.sees("Name of the window");
    person.type("\x15logs\r");
    await person.sees(/ 0:logs\* 1:\S+/);
    person.type(click(row, 1));
    const list = await person.sees(/Sessions, windows and panes[\s\S]*logs/);
    const other = cellOf(list, "1: bash");
    person.type(click(other.row, other.col) + click(other.row, other.col));
    await person.sees(/ 0:logs 1:\S+\*/);
    expect((await wsh.list())[0]?.windows.map(({ name: each }) => each)).toEqual(["logs", "bash"]);
  });

  test("the right button in a pane offers its actions", async () => {
    await using all = await personAt({ status: "auto" });
    const { person, wsh } = all;
    person.type(`${PREFIX}%`);
    await person.sees(/[│┃]\$/);
    person.type(rightClick(5, 5));
    const menu = await person.sees(/Pane[\s\S]*split below/);
    const below = cellOf(menu, "split below");
    person.type(click(below.row, below.col));
    await until("three panes", async () => (await wsh.list())[0]?.windows[0]?.panes.length === 3);
    person.type(rightClick(5, 60));
    await person.sees(/Pane[\s\S]*split below/);
    person.type("\x1b");
    await until("no menu", async () => !(await person.text()).includes("split below"));
  });
});

describe("one pane", () => {
  test("auto leaves the mouse to the terminal until something needs it", async () => {
    await using all = await personAt();
    const { person } = all;
    person.type("seq 1 100\r");
    await person.sees(/^100$/m);
    expect(person.bytes).not.toMatch(/\x1b\[\?100[0-3]h/);
    person.type(`${PREFIX}[`);
    await person.sees(LABEL);
    // Modes are written after the rows.
    await until("the mouse to be wsh's", () => person.bytes.includes("\x1b[?1002h"));
    person.type("q");
    await until("leaving", async () => !LABEL.test(await person.text()));
    await until("the mouse is the terminal's", () => person.screen.terminal.modes.mouseTrackingMode === "none");
  });

  test("on: the wheel scrolls and a drag copies, below a panel too; off: a dialog leaves it, too", async () => {
    await using all = await personAt({ config: 'mouse = "on"\nstatus_position = "top"\n', status: "on" });
    const { person } = all;
    await person.sees(/^ dev /m);
    person.type("seq 1 100; echo one two\r");
    await person.sees(/^one two$/m);
    expect(person.bytes).toContain("\x1b[?1002h");
    const { row } = cellOf(await person.text(), "one two");
    person.type(press(row, 0) + drag(row, 2) + release(row, 2));
    await copies(person, "one");
    person.type("echo typed\r");
    await person.sees(/^typed$/m);
    person.type(wheelUp(5, 5));
    await person.sees(LABEL);
    const shown = cellOf(await person.text(), "90");
    person.type(press(shown.row, 0) + drag(shown.row, 1) + release(shown.row, 1));
    await copies(person, "90");
    await using off = await personAt({ config: 'mouse = "off"\n' });
    off.person.type(`${PREFIX}[`);
    await off.person.sees(LABEL);
    off.person.type(`q${PREFIX}x`);
    await off.person.sees(/That ends the session/);
    expect(off.person.bytes).not.toMatch(/\x1b\[\?100[0-3]h/);
  });
});

test("while the palette is open the mouse is the palette's; after it the program has its modes and gets its reports", async () => {
  await using all = await personAt();
  const { person, wsh } = all;
  const tracking = (wanted: string) =>
    until(`the mode ${wanted}`, () => person.screen.terminal.modes.mouseTrackingMode === wanted);
  person.type("stty -icanon -echo; printf '\\033[?1003h'; cat -v\r");
  await tracking("any");
  person.forgetBytes();
  person.type(`${PREFIX}:`);
  await person.sees(/^ :/m);
  // Clicks and the wheel, in SGR: the program's motion and encoding are not what the palette reads.
  await tracking("vt200");
  await until("its encoding", () => person.bytes.includes("\x1b[?1006h"));
  person.forgetBytes();
  person.type(click(3, 70) + wheelDown(3, 70));
  person.type("\x1b");
  await tracking("any");
  await until("the program's encoding", () => /\x1b\[\?[\d;]*\b1006\b[\d;]*l/.test(person.bytes));
  person.type("\x1b[M !!");
  await person.sees("^[[M !!");
  expect((await wsh.screen("dev")).split("^[[").length - 1).toBe(1);
});

describe("under much activity", () => {
  test("the wheel scrolls back in a flood, and the flood continues below", async () => {
    await using all = await personAt();
    const { person, wsh } = all;
    person.type(`${PREFIX}%`);
    await person.sees(/[│┃]\$/);
    person.type("seq 1 60000; echo all 'is'there\r");
    await person.sees(/[│┃]\d{3}/);
    person.type(wheelUp(5, 60).repeat(4));
    await person.sees(LABEL);
    await until("the end of the flood", async () => (await wsh.screen("dev:0.1")).includes("all isthere"));
    await person.sees(LABEL);
    person.type("q");
    await person.sees("all isthere");
  });

  test("a terminal that is resized, made tiny and switched while a button is down works as before", async () => {
    await using all = await personAt({ status: "auto" });
    const { person } = all;
    person.type("seq 1 100\r");
    await person.sees(/^100$/m);
    person.type(`${PREFIX}%`);
    await person.sees(/^ dev /m);
    person.type(press(5, 40) + drag(5, 45));
    person.resize(10, 30);
    person.type(drag(5, 10) + drag(9, 29) + drag(300, 300));
    person.resize(3, 5);
    person.type(drag(1, 1) + release(1, 1) + click(2, 3) + wheelUp(0, 0));
    person.resize(24, 80);
    await person.sees(/^ dev /m);
    // Any pane may be in copy mode by now.
    person.type(`${PREFIX}[q`);
    await until("no look back", async () => !LABEL.test(await person.text()));
    person.type(`${PREFIX}c`);
    await person.sees(/ 0:\S+ 1:\S+\*/);
    // Press in one window, release in another.
    person.type(press(5, 5));
    person.type(`${PREFIX}0`);
    await person.sees(/ 0:\S+\* 1:\S+/);
    person.type(drag(6, 6) + release(6, 6));
    person.type(`${PREFIX}1`);
    await person.sees(/ 0:\S+ 1:\S+\*/);
    person.type("echo still 'typ'ing\r");
    await person.sees(/^still typing/m);
    expect(await person.text()).not.toContain("[<");
  });
});
