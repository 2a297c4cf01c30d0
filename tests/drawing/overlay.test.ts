/** Overlays over real programs: displayed as part of the terminal, and removed without a trace. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Row } from "../../src/protocol/grid.ts";
import { Canvas } from "../support/drawing-api.ts";
import { shared } from "../support/shared.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { hasTmux, PersonTerminal } from "../support/terminals/tmux-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const withTmux = describe.skipIf(!hasTmux);
const PROMPT = /^\$ ?$/m;
/** Lines of a flood. */
const LINES = process.env.WSH_TEST_FULL === "1" ? 300_000 : 15_000;

/** Numbered lines, wide enough to be visible beside a box. */
function numbered(count: number): string {
  return Array.from({ length: count }, (_, i) => `line ${String(i + 1).padStart(4, "0")} ${"-".repeat(60)}`).join("\n");
}

function rowText(row: Row | undefined): string {
  return (row ?? [])
    .map(({ text }) => text)
    .join("")
    .trimEnd();
}

/** Columns with a red background. */
function redCells(row: Row | undefined): number[] {
  return (row ?? []).flatMap(({ style }, col) => (Bun.deepEquals(style.bg, { indexed: 1 }) ? [col] : []));
}

const wsh = shared(new Wsh());

/** A session of its own, and an attached terminal. */
async function scene(options: { rows?: number; cols?: number; env?: Record<string, string> } = {}) {
  const { rows = 24, cols = 80 } = options;
  await wsh.session("s", "--size", `${cols}x${rows}`);
  const terminal = await EmulatorTerminal.attach(wsh, "s", options);
  const canvas = new Canvas(wsh, "s");
  return {
    wsh,
    terminal,
    canvas,
    async [Symbol.asyncDispose]() {
      await terminal[Symbol.asyncDispose]();
      await wsh.kill("s");
    },
  };
}

describe("an overlay", () => {
  test("over a silent program: its removal restores every cell and colour under it", async () => {
    await using the = await scene();
    const { terminal, canvas } = the;
    const picture =
      "clear; for i in 1 2 3 4 5 6 7 8; do printf '\\e[3%dm\\e[4%dmrow %d \\e[1mbold\\e[0m \\e[38;2;1;2;%dmtrue\\e[0m 日本語 \\e[7minverse\\e[0m\\n' $i $((8-i)) $i $i; done; printf '\\e[?25l'; sleep 1000\r";
    terminal.type(picture);
    await terminal.sees("row 8 bold true 日本語 inverse\n");
    const before = await terminal.rows();
    const id = await canvas.overlay({
      x: 3,
      y: 1,
      width: 20,
      height: 5,
      background: "blue",
      spans: [{ text: "hello\nthere", fg: "yellow", bold: true }],
    });
    await terminal.sees(/hello[\s\S]*there/);
    const during = await terminal.rows();
    expect(during).not.toEqual(before);
    // Rows that it does not touch are unchanged.
    expect(during.filter((_, row) => row < 1 || row > 5)).toEqual(before.filter((_, row) => row < 1 || row > 5));
    await canvas.delete("overlay", id);
    await until("the screen to be as before", async () => Bun.deepEquals(await terminal.rows(), before));
  });

  test("two, ordered by z, are moved across each other", async () => {
    await using the = await scene();
    const { terminal, canvas } = the;
    terminal.type("clear; printf '%s\\n' aaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbb cccccccccccccccccccc\r");
    await terminal.sees("cccc");
    const back = await canvas.overlay({ x: 2, y: 0, width: 6, height: 2, z: 1, spans: [{ text: "111111\n111111" }] });
    const front = await canvas.overlay({ x: 6, y: 1, width: 6, height: 2, z: 2, spans: [{ text: "222222\n222222" }] });
    await terminal.sees("aa111111aaaaaaaaaaaa\nbb1111222222bbbbbbbb\ncccccc222222cccccccc\n");
    await canvas.patch("overlay", back, { z: 3 });
    await terminal.sees("aa111111aaaaaaaaaaaa\nbb1111112222bbbbbbbb\ncccccc222222cccccccc\n");
    await canvas.patch("overlay", front, { x: 0, y: 0 });
    await terminal.sees("22111111aaaaaaaaaaaa\n22111111bbbbbbbbbbbb\ncccccccccccccccccccc\n");
    await canvas.patch("overlay", back, { x: 10, y: 2 });
    await terminal.sees("222222aaaaaaaaaaaaaa\n222222bbbbbbbbbbbbbb\ncccccccccc111111cccc\n");
    await canvas.delete("overlay");
    await terminal.sees("aaaaaaaaaaaaaaaaaaaa\nbbbbbbbbbbbbbbbbbbbb\ncccccccccccccccccccc\n");
  });

  test("wide, joined and combining characters are cut whole at every edge", async () => {
    await using the = await scene({ rows: 8, cols: 40 });
    const { terminal, canvas } = the;
    const line = "日本語👩‍👩‍👧e\u0301🇩🇪👍🏽日本";
    terminal.type(`clear; for i in 1 2 3; do printf '%s\\n' '${line}'; done\r`);
    await terminal.sees(`${line}\n${line}\n${line}`);
    for (const width of [1, 2, 3, 4, 5]) {
      for (const x of [0, 1, 4, 5, 8, 9, 36, 37, 38, 39]) {
        const spans = [{ text: "語e\u0301👩‍👩‍👧🇫🇷x" }];
        const id = await canvas.overlay({ x, y: 1, width, height: 1, background: "red", spans });
        // Its background fills exactly its box.
        const box = Array.from({ length: Math.min(width, 40 - x) }, (_, i) => x + i);
        const { lines } = await until("the box", async () => {
          const grid = await terminal.grid();
          return Bun.deepEquals(redCells(grid.lines[1]), box) ? grid : null;
        });
        for (const row of [0, 2]) expect(rowText(lines[row])).toBe(line);
        expect(redCells(lines[0]).concat(redCells(lines[2]))).toEqual([]);
        await canvas.delete("overlay", id);
        await terminal.sees(`${line}\n${line}\n${line}`);
      }
    }
  });

  test("escape sequences in its text are neither displayed nor executed", async () => {
    await using the = await scene();
    const { terminal, canvas } = the;
    terminal.forgetBytes();
    const nasty =
      "\x1b]0;owned\x07\x1b]52;c;b3duZWQ=\x07\x1b[2J\x1b[?1049h\x9b31mA\x1b[5;5HB\x07\x00\u202eC\x1bP+q544e\x1b\\D";
    await canvas.overlay({
      x: 0,
      y: 5,
      width: 30,
      height: 2,
      spans: [{ text: nasty }],
    });
    await terminal.sees(/^ABCD$/m);
    expect(terminal.bytes).not.toMatch(/owned|b3duZWQ|\[2J|\x07|\u202e|\+q/);
    expect(terminal.screen.terminal.buffer.active.type).toBe("normal");
  });

  test("over less: pages turn under it", async () => {
    await using the = await scene();
    const { wsh, terminal, canvas } = the;
    writeFileSync(join(wsh.dir, "text"), numbered(300));
    terminal.type("less text\r");
    await terminal.sees(/^line 0001/m);
    // Elements belong to the screen mode in which they are made: less has the alternate screen.
    const id = await canvas.overlay({
      x: 10,
      y: 2,
      width: 12,
      height: 2,
      background: "green",
      spans: [{ text: "BOX" }],
    });
    await terminal.sees(/^line 0003 BOX {9}-{48}$/m);
    terminal.type(" ");
    await terminal.sees(/^line 0026 BOX {9}-{48}$/m);
    terminal.type("G");
    await terminal.sees(/^line 0280 BOX {9}-{48}$/m);
    await canvas.delete("overlay", id);
    await terminal.sees(/^line 0280 -{60}$/m);
    terminal.type("q");
    await terminal.sees(/\$ less text\n\$/);
  });

  test("over a flood: it stays in place, the end is visible, and the terminal's scrollback ends where the screen begins", async () => {
    await using the = await scene();
    const { terminal, canvas } = the;
    const id = await canvas.overlay({
      x: 60,
      y: 0,
      width: 10,
      height: 3,
      background: "red",
      spans: [{ text: "WATCH" }],
    });
    terminal.type(`seq 1 ${LINES}\r`);
    await terminal.sees(new RegExp(`WATCH[\\s\\S]*${LINES}\n\\$`));
    await canvas.delete("overlay", id);
    const shown = await terminal.sees(new RegExp(`^${LINES - 22}\n[\\s\\S]*^${LINES}\n\\$$`, "m"));
    expect(shown).not.toContain("WATCH");
    // Lines that scrolled by go there once the flood has ended.
    await until("the scrollback to end", async () => (await terminal.scrollback()).at(-1) === `${LINES - 23}`);
    const above = await terminal.scrollback();
    const numbers = above.slice(-900).map(Number);
    expect(numbers).toEqual(Array.from({ length: 900 }, (_, i) => LINES - 22 - 900 + i));
    // Passed through again, output continues in the same scrollback.
    terminal.type("seq 1 40\r");
    await terminal.sees(/^40\n\$$/m);
    await until("its lines there", async () =>
      (await terminal.scrollback())
        .slice(-25, -15)
        .join()
        .includes(`${LINES - 1},${LINES},$ seq 1 40,1,2`),
    );
  });
});

withTmux("in tmux", () => {
  test("over vim while it scrolls, and vim is complete after its removal", async () => {
    await using wsh = new Wsh();
    await Promise.all([wsh.session("s", "--size", "80x24"), wsh.server()]);
    await using person = await PersonTerminal.open(wsh);
    writeFileSync(join(wsh.dir, "text"), numbered(200));
    await person.run("wsh attach s");
    await person.sees(PROMPT);
    await person.type("vim -u NONE -N text");
    await person.sees(/^line 0001/m);
    const canvas = new Canvas(wsh, "s");
    const id = await canvas.overlay({
      x: 10,
      y: 5,
      width: 20,
      height: 3,
      background: "blue",
      spans: [{ text: "APPROVE?" }],
    });
    await person.sees(/^line 0006 APPROVE\? {12}-{40}$/m);
    for (const _ of [1, 2, 3]) await person.keys("C-e");
    await person.sees(/^line 0009 APPROVE\? {12}-{40}$/m);
    await person.keys("C-f");
    await person.sees(/^line 0030 APPROVE\?|^line 0031 APPROVE\?/m);
    await person.keys("G");
    await person.sees(/line 0200/);
    await canvas.delete("overlay", id);
    // The terminal may show a part of what is drawn.
    const whole = numbered(200).split("\n").slice(-23).join("\n");
    await person.sees((text) => text.startsWith(`${whole}\n`));
    await person.keys(":", "q", "Enter");
    await person.sees(/\$ vim -u NONE -N text\n\$/);
    expect(await person.fact("alternate_on")).toBe("0");
  });

  test("uses the terminal's colours: sixteen, and none with NO_COLOR", async () => {
    await using wsh = new Wsh();
    await Promise.all([wsh.session("s", "--size", "80x24"), wsh.server()]);
    const canvas = new Canvas(wsh, "s");
    await canvas.overlay({
      x: 0,
      y: 3,
      width: 8,
      height: 1,
      background: { bg: { r: 250, g: 10, b: 10 } },
      spans: [{ text: "red" }],
    });
    for (const [env, pattern] of [
      [{ TERM: "screen" }, /\x1b\[0;(101|41)m/],
      [{ TERM: "xterm-256color" }, /\x1b\[0;48;5;\d+m/],
      [{ TERM: "xterm-256color", COLORTERM: "truecolor" }, /\x1b\[0;48;2;250;10;10m/],
    ] as const) {
      await using terminal = await EmulatorTerminal.attach(wsh, "s", { env: { COLORTERM: "", ...env }, seen: "red" });
      expect(terminal.bytes).toMatch(pattern);
    }
    await wsh.ok("send", "s", "printf '\\033[32mgreen\\033[m\\n'\n");
    await using plain = await EmulatorTerminal.attach(wsh, "s", { env: { NO_COLOR: "1" }, seen: /^green/m });
    await plain.sees("red");
    // Programs' output keeps its colours: NO_COLOR, or its absence, is in their own environment.
    expect(plain.bytes).toMatch(/\x1b\[0;32mgreen/);
    expect(plain.bytes.replaceAll(/\x1b\[38;2;1;2;3m/g, "")).not.toMatch(/\x1b\[[\d;]*(41|48|10\d)(;|m)/);
  });
});
