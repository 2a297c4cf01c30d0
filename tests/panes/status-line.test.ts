/** The status line shows windows and their activity, and takes no row while it is empty. */
import { describe, expect, test } from "bun:test";
import type { PaneInfo, WindowInfo } from "../../src/protocol/session.ts";
import { segmentNames } from "../../src/protocol/status-segments.ts";
import { composeStatusText } from "../../src/viewer/status/line-layout.ts";
import { parseSegments, type StatusFacts } from "../../src/viewer/status/segments.ts";
import { personAt } from "../support/person.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";

const PREFIX = "\x1c";
const lastRow = (text: string): string => text.trimEnd().split("\n").at(-1) ?? "";

describe("under auto", () => {
  test("a single pane has every row; several windows have the line, which marks activity in the others", async () => {
    await using all = await personAt({ status: "auto" });
    const { person, wsh } = all;
    person.type("stty size\r");
    await person.sees(/^24 80$/m);
    person.type(`${PREFIX}c`);
    await until("the line", async () => /^ dev +0:\S+ 1:\S+\* +$/.test(lastRow(await person.text()).padEnd(80)));
    person.type("stty size\r");
    await person.sees(/^23 80$/m);
    // In another window, a bell rings.
    await wsh.enter("dev:0", "printf '\\a'");
    await until("the mark of a bell", async () => / 0:\S+!/.test(lastRow(await person.text())));
    person.type(`${PREFIX}0`);
    await until("no mark, and the other window", async () => / 0:[^ !]+\* 1:\S+/.test(lastRow(await person.text())));
    person.type(`${PREFIX}z`);
    person.type(`${PREFIX}n`);
    person.type("exit\r");
    await until("no line", async () => !/^ dev +0:/m.test(await person.text()));
    person.type("stty size\r");
    await until("every row again", async () => (await person.text()).match(/^24 80$/gm)?.length === 2);
  });

  test("shows how many panes a window is too small for, until it has room", async () => {
    await using all = await personAt({ status: "auto" });
    const { person } = all;
    person.type(`${PREFIX}%`);
    await until("the line", async () => / 0:\S+\* *$/.test(lastRow(await person.text())));
    person.resize(24, 4);
    person.resize(6, 40);
    await until("both", async () => / 0:\S+\* *$/.test((await person.text()).split("\n")[5] ?? ""));
    person.type(`${PREFIX}"${PREFIX}"${PREFIX}"`);
    await until("hidden ones", async () => / 0:\S+\* \(\d hidden\)/.test((await person.text()).split("\n")[5] ?? ""));
    person.resize(24, 80);
    await until("all of them", async () => / 0:\S+\* *$/.test((await person.text()).split("\n")[23] ?? ""));
  });

  test("stays complete at a terminal that is made tiny and large again at once", async () => {
    await using all = await personAt({ status: "auto" });
    const { person } = all;
    person.type(`${PREFIX}%`);
    await until("the line", async () => /^ dev /.test(lastRow(await person.text())));
    for (const [rows, cols] of [
      [10, 30],
      [3, 5],
      [24, 80],
    ] as const)
      person.resize(rows, cols);
    await until("the line again", async () => / 0:\S+\*/.test((await person.text()).split("\n")[23] ?? ""));
  });

  test("messages appear in the line's place for a moment", async () => {
    await using all = await personAt({ status: "auto" });
    const { person } = all;
    person.type(`${PREFIX}%`);
    await until("the line", async () => /^ dev /.test(lastRow(await person.text())));
    person.type(`${PREFIX}~`);
    await until("a message", async () => lastRow(await person.text()).includes("~ is not bound"));
    await until("the line again", async () => /^ dev /.test(lastRow(await person.text())));
  });
});

test("settings: always, at the top, with a command's output, without colours", async () => {
  const config = [
    "status_position = 'top'",
    "status_segments = ['session', 'gap', 'command']",
    "status_command = 'echo load is low; echo more'",
  ];
  await using all = await personAt({ config: `${config.join("\n")}\n[theme]\nstatus = 'default'\n`, status: "on" });
  const { person } = all;
  await until("the line", async () =>
    /^ dev +load is low $/.test((await person.text()).split("\n")[0]?.padEnd(80) ?? ""),
  );
  const [first] = (await person.grid()).lines;
  expect(first?.every(({ style }) => style.bg === null)).toBe(true);
  person.type("stty size\r");
  await person.sees(/^23 80$/m);
  person.type(`${PREFIX}%`);
  await person.sees(/[│┃]\$/);
  await until("one line", async () => (await person.text()).match(/load is low/g)?.length === 1);
});

describe("the line", () => {
  const window = (index: number, more: Partial<WindowInfo> = {}): WindowInfo => ({
    ...{ id: `@w${index}`, index, name: `window${index}`, active: index === 1, rows: 24, cols: 80, panes: [] },
    ...more,
  });
  const facts: StatusFacts = {
    session: "dev",
    windows: [window(0), window(1, { zoomed: true }), window(2)],
    marks: (id) => ({ bell: id === "@w0", activity: id === "@w2", finished: id === "@w2" }),
    people: 2,
    devices: [],
    ...{ host: "box", user: "me", home: "/home/me", marked: null },
    output: () => ({ text: "\x1b[31mred\x07", failure: "" }),
    now: new Date(2026, 0, 1, 9, 5),
  };
  const usual = { argv: ["sh"], label: "status_command", seconds: 15, timeoutMs: 5_000 };
  const all = parseSegments(
    segmentNames.filter((name) => name !== "host"),
    usual,
  );
  const line = (cols: number): string =>
    composeStatusText(facts, all, cols)
      .spans.map(({ text }) => text)
      .join("");

  test("has the parts that fit in its width, and no control sequences", () => {
    const right = " 2 attached  red  09:05 ";
    expect(line(90)).toBe(` dev  0:window0! 1:window1*Z 2:window2#+ ${right.padStart(90 - 41)}`);
    for (let cols = 20; cols < 100; cols++) expect(line(cols).length).toBe(Math.max(cols, line(1).length));
    expect(line(30)).toContain("1:window1*Z");
    expect(line(30)).not.toContain("window0");
  });

  test("keeps the current window in view when there is no room for all", () => {
    const windows = Array.from({ length: 40 }, (_, i) => window(i, { active: i === 30 }));
    const narrow = (cols: number): string =>
      composeStatusText({ ...facts, windows }, all, cols)
        .spans.map(({ text }) => text)
        .join("");
    expect(narrow(40)).toBe(" dev  < 27 28 29 30:window30* 31 32 > ".padEnd(40));
    for (let cols = 11; cols < 60; cols++) {
      expect(narrow(cols)).toContain(" 30:window30*");
      expect(narrow(cols).length).toBe(Math.max(cols, 13));
    }
  });

  test("counts panes without room, but not in a zoomed window", () => {
    const pane = (index: number, hidden: boolean): PaneInfo => ({
      ...{ id: `@${index}`, index, pid: 1, command: "bash", cwd: "/", title: "", rows: 5, cols: 5 },
      ...{ active: !hidden, state: "prompt" },
      ...(hidden ? { hidden } : {}),
    });
    const panes = [pane(0, false), pane(1, true), pane(2, true)];
    const shown = (more: Partial<WindowInfo>): string =>
      composeStatusText({ ...facts, windows: [window(1, { panes, ...more })] }, parseSegments(["windows"], null), 80)
        .spans.map(({ text }) => text)
        .join("")
        .trim();
    expect(shown({})).toBe("1:window1* (2 hidden)");
    expect(shown({ zoomed: true })).toBe("1:window1*Z");
  });
});

test("each terminal has its own complete line, whoever decides the size, and marks the window that it shows", async () => {
  await using all = await personAt({ status: "auto", rows: 20, cols: 100 });
  const { person, wsh } = all;
  const last = (text: string): string => text.split("\n").at(-1) ?? "";
  await wsh.ok("window", "new", "dev", "--name", "second");
  const flags = ["--follow"];
  await using small = await EmulatorTerminal.attach(wsh, "dev", { rows: 10, cols: 60, flags });
  // The note of the session's size is displayed for four seconds.
  const seen = " session 100x20";
  await using large = await EmulatorTerminal.attach(wsh, "dev", { rows: 30, cols: 120, flags, seen });
  for (const terminal of [person, small, large])
    await terminal.sees((text) => /^ dev {2}0:bash\*? 1:second\*? .* 3 attached $/.test(`${last(text)} `));
  // A click is on the visible line.
  small.type("\x1b[<0;7;10M\x1b[<0;7;10m");
  await small.sees((text) => last(text).includes(" 0:bash*"));
  await using own = await EmulatorTerminal.attach(wsh, "dev", { rows: 20, cols: 100, flags: ["--independent"] });
  own.type("\x1c1");
  await own.sees((text) => /0:bash 1:second\*/.test(last(text)));
  await person.sees((text) => /0:bash\* 1:second /.test(last(text)));
});

test("the command of the line ends with its children once nobody sees the line", async () => {
  const config = `status_command = 'sleep 987 & sleep 987'\nstatus_segments = ['command']\n`;
  await using all = await personAt({ config, status: "on" });
  const { person, wsh } = all;
  const sleeping = (): number => wsh.processes().filter(({ command }) => command === "sleep 987").length;
  await until("the command to hang", () => sleeping() === 2);
  person.type("\x1c\x1c");
  await until("nothing to be left", () => sleeping() === 0);
});
