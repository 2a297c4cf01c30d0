/** Hostile or unlucky output harms neither the terminal nor its history. */
import { describe, expect, test } from "bun:test";
import { Terminal } from "@xterm/headless";
import { containing, TerminalModel, type TerminalSink } from "../../../src/terminal/model.ts";
import { defaultProfile } from "../../../src/terminal/profile.ts";
import { cellText, cellWidth, storedRow, usedCells } from "../../../src/terminal/rows/xterm-row.ts";
import { processorMs } from "../../support/timing-retries.ts";

function open(rows = 24, cols = 80, historyLines = 10_000, historyBytes = 64e6, mark = () => {}) {
  const out: Uint8Array[] = [];
  const events: string[] = [];
  const sink: TerminalSink = {
    reply: (bytes) => events.push(`reply ${Buffer.from(bytes)}`),
    chunk: ({ bytes }) => out.push(bytes.slice()),
    mark,
    crashed: (error) => events.push(`crashed ${error}`),
    bell: () => {},
    title: (title) => events.push(`title ${title.length}`),
    cwd: () => {},
    alternate: () => {},
    clipboard: (_, data) => events.push(`clipboard ${data.length}`),
    reset: (reason) => events.push(reason),
  };
  const terminal = new TerminalModel(
    { rows, cols, historyLines, historyBytes, nonce: null, profile: defaultProfile },
    sink,
  );
  return {
    terminal,
    events,
    passed: () => Buffer.concat(out).toString(),
    print: (text: string) => terminal.write(Buffer.from(text)),
  };
}

describe("limits", () => {
  test("a line without end is kept in pieces and read as one", async () => {
    const { terminal, print } = open(10, 80);
    const text = Array.from({ length: 30_000 }, (_, i) => String(i % 10)).join("");
    await print(`first\r\n${text}\r\nlast`);
    await terminal.resize(10, 33);
    await terminal.resize(20, 100);
    const { lines } = terminal.text({ line: 1, col: 0 }, { line: 1, col: Number.POSITIVE_INFINITY });
    expect(lines).toEqual([{ id: 1, line: text }]);
    expect(terminal.text({ line: 1, col: 25_000 }, { line: 1, col: 25_007 }).lines[0]?.line).toBe(
      text.slice(25_000, 25_007),
    );
    expect(terminal.text({ line: 2, col: 0 }).lines[0]).toEqual({ id: 2, line: "last" });
  });

  test("a line much longer than the hot window is exact", async () => {
    const { terminal, print } = open(10, 80, 100_000);
    const text = Array.from({ length: 400_000 }, (_, i) => String.fromCharCode(97 + (i % 26))).join("");
    await print(`first\r\n${text}\r\n`);
    for (const [rows, cols] of [
      [10, 61],
      [30, 200],
      [8, 33],
    ] as const) {
      await terminal.resize(rows, cols);
      const { lines, dropped } = terminal.text({ line: 1, col: 0 });
      expect(dropped).toBe(0);
      expect(lines.map(({ line }) => line === text)).toEqual([true, false]);
    }
  });

  test("history is bounded by rows and by bytes", async () => {
    const few = open(5, 40, 7);
    await few.print(Array.from({ length: 3_000 }, (_, i) => `${i}\r\n`).join(""));
    expect(few.terminal.screen("plain").total_lines).toBe(12);
    expect(few.terminal.scrollback({ offset: 0, limit: 3, format: "plain" }).lines).toEqual(["2989", "2990", "2991"]);
    const small = open(5, 40, 100_000, 20_000);
    await small.print("0123456789012345678901234567890\r\n".repeat(20_000));
    expect(small.terminal.historyBytes).toBeLessThan(20_001);
    const none = open(5, 40, 0);
    await none.print("x\r\n".repeat(5_000));
    expect(none.terminal.screen("plain").total_lines).toBe(5);
    await none.terminal.resize(9, 20);
    expect(none.terminal.position().line).toBe(5_000);
  });

  test("counts beyond the screen are obeyed as far as they matter, quickly", async () => {
    const { terminal, print } = open(5, 10);
    const began = processorMs();
    await print(
      "a\x1b[2147483647b\x1b[2147483647S\x1b[4000000000T\x1b[2147483647L\x1b[2147483647M\x1b[99999999999I\x1b[2147483647Zb",
    );
    expect(processorMs() - began).toBeLessThan(1_000);
    expect(terminal.screen("plain").lines.join().includes("b")).toBe(true);
  });

  test("erasing above the last corner works", async () => {
    const { terminal, events, print } = open(3, 5);
    await print("aaaaabbbbbccccc\x1b[3;5H\x1b[1Jz");
    expect(terminal.screen("plain").lines).toEqual(["", "", "    z"]);
    expect(events).toEqual([]);
  });

  test("line feeds inside a sequence lose no line", async () => {
    const { terminal, print } = open(5, 10);
    await print(Array.from({ length: 2_000 }, (_, i) => `${i}\r\n`).join(""));
    await print(`\x1b[${"\n".repeat(30_000)}m`);
    const { lines } = terminal.scrollback({ offset: 0, limit: 2_000, format: "plain" });
    expect(lines.slice(0, 1_999)).toEqual(Array.from({ length: 1_999 }, (_, i) => String(i)));
  });

  test("an overlong sequence is passed on, and snapshots wait for its end", async () => {
    const { terminal, events, passed, print } = open();
    const data = "A".repeat(200_000);
    await print(`a\x1b]52;c;${data}`);
    let rested = false;
    void terminal.whenAtRest(() => {
      rested = true;
    });
    expect(rested).toBe(false);
    await print("\x1b\\b");
    expect(rested).toBe(true);
    expect(events).toEqual(["clipboard 200000"]);
    expect(passed()).toBe(`a\x1b]52;c;${data}\x1b\\b`);
    await print(`\x1bP+q${data}`);
    await print(`\x1b\\c\x1b]2;${"t".repeat(3_000_000)}`);
    await print("\x07d");
    expect(terminal.screen("plain").lines[0]).toBe("abcd");
    // Too long to be passed on, it is still answered; a title of megabytes is invalid.
    expect(events.slice(1)).toEqual(["reply \x1bP0+r\x1b\\"]);
    expect(passed().includes("+q")).toBe(false);
  });

  test("a link left open under a flood does not slow it", async () => {
    const { terminal, print } = open();
    await print("\x1b]8;;https://example.org/\x1b\\");
    const began = processorMs();
    await print(`${"linked text ".repeat(6)}\r\n`.repeat(10_000));
    expect(processorMs() - began).toBeLessThan(3_000);
    expect(terminal.cells(0)[0]?.style.link).toBe("https://example.org/");
  });

  test("the alternate screen hides history and restores it", async () => {
    const { terminal, print } = open(5, 20);
    await print(`${Array.from({ length: 1_500 }, (_, i) => `${i}\r\n`).join("")}\x1b[?1049hfull${"\r\nx".repeat(100)}`);
    expect(terminal.scrollback({ offset: 0, limit: 100, format: "plain" })).toMatchObject({
      total_lines: 5,
      lines: ["x", "x", "x", "x", "x"],
    });
    await terminal.resize(8, 11);
    await print("\x1b[?1049l");
    expect(terminal.screen("plain").total_lines).toBe(1_501);
    await print(Array.from({ length: 1_500 }, (_, i) => `${i + 1_500}\r\n`).join(""));
    expect(terminal.text({ line: 0, col: 0 }).lines.map(({ line }) => line)).toEqual([
      ...Array.from({ length: 3_000 }, (_, i) => String(i)),
      "",
    ]);
  });

  test("clearing screen and scrollback is reported, and the count of lines continues", async () => {
    const { terminal, events, print } = open(5, 20);
    await print(`${Array.from({ length: 2_000 }, (_, i) => `${i}\r\n`).join("")}\x1b[H\x1b[2J\x1b[3J`);
    expect(events).toEqual(["clear_screen", "clear_scrollback"]);
    expect(terminal.screen("plain").total_lines).toBe(5);
    expect(terminal.position()).toEqual({ line: 2_000, col: 0 });
    await print("again\x1bc");
    // The earlier screen is above it now, and no line has its number.
    expect(terminal.lineText(2_000)).toBe("again");
    expect(terminal.position()).toEqual({ line: 2_001, col: 0 });
    expect(events.slice(2)).toEqual(["hard_reset"]);
    await terminal.clear();
    expect(terminal.screen("plain").lines).toEqual(["", "", "", "", ""]);
  });

  test("rows that have left the screen since the last rendering can be read", async () => {
    const { terminal, print } = open(5, 10);
    await print(Array.from({ length: 1_490 }, (_, i) => `${i}\r\n`).join(""));
    const { screenTop } = terminal;
    await print(Array.from({ length: 20 }, (_, i) => `${i + 1_490}\r\n`).join(""));
    const text = (limit: number) =>
      terminal.rowsAbove(screenTop, limit).map((row) =>
        row
          .map((cell) => cell.text)
          .join("")
          .trimEnd(),
      );
    expect(text(100)).toEqual(Array.from({ length: 20 }, (_, i) => String(i + 1_486)));
    expect(text(2)).toEqual(["1504", "1505"]);
    expect(terminal.rowsAbove(terminal.screenTop, 10)).toEqual([]);
  });

  test("grep finds logical lines in history and on the screen", async () => {
    const { terminal, print } = open(5, 10);
    await print(Array.from({ length: 3_000 }, (_, i) => `line number ${i}\r\n`).join(""));
    const found = terminal.grep(containing("NUMBER 29", true), { limit: 3, format: "plain" });
    expect(found).toEqual([2_997, 2_998, 2_999].map((id) => ({ id, line: `line number ${id}` })));
    expect(terminal.grep((line) => /r 7$/.test(line), { limit: 3, format: "plain" })).toEqual([
      { id: 7, line: "line number 7" },
    ]);
  });

  test("only changed rows are rendered", async () => {
    const { terminal, print } = open(5, 10);
    await print("one\r\ntwo\r\nthree");
    const { epoch } = terminal;
    const before = terminal.grid();
    await print("\x1b[2;1H\x1b[31mTwo");
    expect(terminal.epoch).toBeGreaterThan(epoch);
    expect(terminal.changedRows(epoch)).toEqual([1]);
    const after = terminal.grid();
    expect(after.lines.map((row, y) => row === before.lines[y])).toEqual([true, false, true, true, true]);
  });
});

test("rows are read as the emulator's public interface reads them", () => {
  const terminal = new Terminal({ rows: 6, cols: 30, allowProposedApi: true });
  terminal.input("", true);
  terminal.write(
    "\x1b[1;3;31mab\x1b[m日本 e\u0301 \x1b[44m \x1b[38;5;99;48;2;1;2;3mz\x1b[m\r\n\x1b[43m\x1b[K\x1b[m\x1b[5Ctail  ",
  );
  for (let y = 0; y < 6; y++) {
    const line = terminal.buffer.active.getLine(y);
    const row = storedRow(terminal.buffer.active, y);
    let used = 0;
    for (let x = 0; x < 30; x++) {
      const cell = line?.getCell(x);
      expect(cellText(row, x)).toBe(cell?.getChars() ?? "?");
      expect(cellWidth(row._data[x * 3] ?? 0)).toBe((cell?.getWidth() ?? -1) as 0 | 1 | 2);
      if (
        cell !== undefined &&
        ((cell.getChars() !== "" && cell.getChars() !== " ") || cell.getWidth() === 0 || !cell.isAttributeDefault())
      )
        used = x + 1;
    }
    expect(usedCells(row)).toBe(used);
  }
});

test("an emulator that throws is replaced: history and the count of lines continue", async () => {
  // Simulates a defect of the emulator: a callback during parsing throws.
  const { terminal, events, print } = open(5, 20, 10_000, 64e6, () => {
    throw new Error("made up");
  });
  await print(Array.from({ length: 2_000 }, (_, i) => `${i}\r\n`).join(""));
  await print("lost\x1b]133;A\x07after ");
  await print("\x1b[?1hback\r\n");
  expect(events).toEqual(["crashed Error: made up", "parser_restart"]);
  expect(terminal.screen("plain").lines[0]).toBe("after back");
  const { lines } = terminal.text({ line: 1_990, col: 0 });
  expect(lines.slice(0, 2)).toEqual([
    { id: 1_990, line: "1990" },
    { id: 1_991, line: "1991" },
  ]);
  expect(lines.map(({ line }) => line)).toContain("after back");
});
