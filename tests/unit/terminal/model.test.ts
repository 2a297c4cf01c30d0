/** The terminal model: a program's output as all other parts of wsh see it. */
import { describe, expect, test } from "bun:test";
import { type Chunk, type Mark, TerminalModel, type TerminalSink } from "../../../src/terminal/model.ts";
import { defaultProfile, withColors } from "../../../src/terminal/profile.ts";

interface Recorded {
  replies: string;
  chunks: Chunk[];
  marks: Mark[];
  events: string[];
  retired: Map<number, string>;
}

function open(
  rows = 24,
  cols = 80,
  historyLines = 10_000,
): { terminal: TerminalModel; seen: Recorded; print: (text: string) => Promise<void> } {
  const seen: Recorded = { replies: "", chunks: [], marks: [], events: [], retired: new Map() };
  const sink: TerminalSink = {
    reply: (bytes) => {
      seen.replies += Buffer.from(bytes).toString();
    },
    chunk: (chunk) => seen.chunks.push({ offset: chunk.offset, bytes: chunk.bytes.slice() }),
    mark: (mark) => seen.marks.push(mark),
    bell: () => seen.events.push("bell"),
    title: (title) => seen.events.push(`title ${title}`),
    cwd: (path) => seen.events.push(`cwd ${path}`),
    alternate: (active) => seen.events.push(`alternate ${active}`),
    clipboard: (selection, base64) => seen.events.push(`clipboard ${selection} ${base64}`),
    reset: (reason) => seen.events.push(`reset ${reason}`),
    retired: (lines) => {
      for (let at = 0; at < lines.count; at++) {
        const before = lines.beginsLine(at) ? "" : seen.retired.get(lines.lineId(at));
        seen.retired.set(lines.lineId(at), (before ?? "") + lines.text(at));
      }
    },
  };
  const terminal = new TerminalModel(
    {
      rows,
      cols,
      historyLines,
      historyBytes: 64e6,
      nonce: "N0NCE",
      profile: { ...defaultProfile, cell: { width: 8, height: 16 } },
    },
    sink,
  );
  return { terminal, seen, print: (text) => terminal.write(Buffer.from(text)) };
}

const shown = (seen: Recorded): string => Buffer.concat(seen.chunks.map((chunk) => chunk.bytes)).toString();

describe("a screen", () => {
  test("shows text, styles and the cursor, parsed before write returns", () => {
    const { terminal, print } = open(3, 20);
    void print("plain \x1b[1;31mred\x1b[0m\r\n日本 \x1b[48;2;1;2;3m  \x1b[m\r\n\x1b[2mf");
    expect(terminal.screen("plain").lines).toEqual(["plain red", "日本", "f"]);
    expect(terminal.screen("styled")).toEqual({
      epoch: terminal.epoch,
      first_line_index: 0,
      total_lines: 3,
      lines: [
        [{ text: "plain " }, { text: "red", fg: { indexed: 1 }, bold: true }],
        [{ text: "日本 " }, { text: "  ", bg: { rgb: { r: 1, g: 2, b: 3 } } }],
        [{ text: "f", faint: true }],
      ],
      cursor: { row: 2, col: 1, visible: true },
      cols: 20,
      rows: 3,
      alternate_active: false,
    });
  });

  test("has titles without control characters", async () => {
    const { terminal, seen, print } = open();
    await print("\x1b]2;one\ttwo\x7f\x02three\x1b\\");
    expect([terminal.title, ...seen.events]).toEqual(["onetwothree", "title onetwothree"]);
  });

  test("reports a pending wrap", async () => {
    const { terminal, print } = open(2, 5);
    await print("12345");
    expect(terminal.screen("plain").cursor.col).toBe(5);
  });

  test("measures graphemes", async () => {
    const { terminal, print } = open(2, 20);
    await print("👩‍👩‍👧 é e\u0301 🇩🇪|");
    expect(terminal.screen("plain").lines[0]).toBe("👩‍👩‍👧 é e\u0301 🇩🇪|");
    expect(terminal.screen("plain").cursor.col).toBe(10);
  });
});

describe("queries", () => {
  test("kitty's keyboard protocol is available if the person's terminal has it; another colour scheme is reported", async () => {
    const { terminal, seen, print } = open(2, 20);
    await print("\x1b[?u\x1b[>5u");
    expect(seen.replies).toBe("");
    const colors = { background: { r: 250, g: 250, b: 250 }, kitty: true };
    terminal.setProfile(withColors(terminal.profile, colors));
    expect(seen.replies).toBe("");
    await print("\x1b[?u\x1b[?2031h\x1b[16t");
    terminal.setProfile(withColors(terminal.profile, { background: { r: 0, g: 0, b: 0 } }));
    expect(seen.replies).toBe("\x1b[?5u\x1b[6;16;8t\x1b[?997;1n");
  });

  test("DECRQM reports synchronized output, clusters, colour schemes and size reports correctly", async () => {
    const { seen, print } = open(2, 20);
    const asked = "\x1b[?2026$p\x1b[?2027$p\x1b[?2031$p\x1b[?2048$p";
    await print(asked);
    await print(`\x1b[?2026h\x1b[?2027h\x1b[?2031h\x1b[?2048h${asked}\x1b[?2026l`);
    const answer = (values: readonly number[]) =>
      [2026, 2027, 2031, 2048].map((mode, at) => `\x1b[?${mode};${values[at]}$y`).join("");
    expect(seen.replies).toBe(`${answer([2, 2, 2, 2])}\x1b[48;2;20;32;160t${answer([1, 1, 1, 1])}`);
  });

  test("a program that wants sizes in band gets each, in pixels of the person's terminal, and others get none", async () => {
    const { terminal, seen, print } = open(2, 20);
    await print("\x1b[?2048h\x1b[18t");
    terminal.setProfile(withColors(terminal.profile, { cell: { width: 9, height: 19 } }));
    await terminal.resize(3, 30);
    await print("\x1b[16t\x1b[14t\x1b[?2048l");
    await terminal.resize(2, 20);
    expect(seen.replies).toBe("\x1b[48;2;20;32;160t\x1b[8;2;20t\x1b[48;3;30;57;270t\x1b[6;19;9t\x1b[4;57;270t");
    expect(shown(seen)).not.toContain("2048");
  });

  test("are answered once, in order, and are not passed on", async () => {
    const { seen, print } = open(24, 80);
    await print(
      "a\x1b[cb\x1b[6nc\x1b]11;?\x1b\\d\x1b[>qe\x1b[18tf\x1b[14tg\x1b[?996nh\x1b[=ci\x1bP+q524742\x1b\\j\x1bP$q q\x1b\\k\x05l",
    );
    expect(shown(seen)).toBe("abcdefghijkl");
    expect(seen.replies).toBe(
      "\x1b[?1;2c\x1b[1;3R\x1b]11;rgb:1010/1010/1010\x1b\\\x1bP>|wsh\x1b\\\x1b[8;24;80t\x1b[4;384;640t\x1b[?997;1n\x1bP!|00000000\x1b\\\x1bP1+r524742=382f382f38\x1b\\\x1bP1$r1 q\x1b\\",
    );
  });

  test("device control strings are not passed on: without a proper end some terminals swallow all later output", async () => {
    const { seen, print } = open(3, 40);
    await print("\x1bPzabc");
    await print("\x1b[1mbold\x1b[m\x1bPz#0~~\x1b\\ \x1b[?3hwide\x1b[?3;4l\x1b[?25l.");
    expect(shown(seen)).toBe("\x1b[1mbold\x1b[m wide\x1b[?25l.");
  });

  test("that would type the program's own text, or read the clipboard, stay unanswered", async () => {
    const { seen, print } = open();
    await print("\x1b]2;evil\x07\x1b[21t\x1b]52;c;?\x07\x1b[?u\x1b[20t\x05\x1b_Gi=1,a=q;AAAA\x1b\\.");
    expect(seen.replies).toBe("");
    expect(shown(seen)).toBe("\x1b]2;evil\x07.");
  });
});

describe("marks", () => {
  test("of ours are reported with their position and removed; others stay", async () => {
    const { seen, print } = open();
    await print(
      "\x1b]133;A;wsh=N0NCE\x07$ \x1b]633;E;echo \\x3b\\\\;N0NCE\x07\x1b]133;C;id=7;wsh=N0NCE\x07\r\nout\r\n\x1b]133;D;3;wsh=N0NCE;id=7\x07\x1b]133;D;1\x07",
    );
    expect(shown(seen)).toBe("$ \r\nout\r\n\x1b]133;D;1\x07");
    expect(
      seen.marks.map(({ kind, nonce, exitCode, position }) => [kind, nonce, exitCode, position.line, position.col]),
    ).toEqual([
      ["A", "N0NCE", null, 0, 0],
      ["E", "N0NCE", null, 0, 2],
      ["C", "N0NCE", null, 0, 2],
      ["D", "N0NCE", 3, 2, 0],
      ["D", null, 1, 2, 0],
    ]);
    expect(seen.marks[1]?.commandLine).toBe("echo ;\\");
    expect(seen.marks[0]?.offset).toBe("\x1b]133;A;wsh=N0NCE\x07".length);
    expect(seen.marks[2]?.params).toEqual({ id: "7", wsh: "N0NCE" });
  });
});

describe("history", () => {
  test("keeps every line of a flood of short lines", async () => {
    const { terminal, seen, print } = open(24, 80);
    const count = 50_000;
    await print(Array.from({ length: count }, (_, i) => `${i}\r\n`).join(""));
    const screen = terminal.screen("plain");
    expect(screen.total_lines).toBe(10_024);
    expect(screen.lines[22]).toBe(String(count - 1));
    const all = terminal.scrollback({ offset: 0, limit: 10_000, format: "plain" });
    expect(all.first_line_id).toBe(count + 1 - 10_024);
    expect(all.lines).toEqual(Array.from({ length: 10_000 }, (_, i) => String(count + 1 - 10_024 + i)));
    expect(terminal.scrollback({ offset: -3, limit: 10, format: "plain" }).lines).toEqual([
      String(count - 2),
      String(count - 1),
      "",
    ]);
    expect(terminal.position()).toEqual({ line: count, col: 0 });
    // Dropped lines were passed on, each once and complete.
    expect([...seen.retired]).toEqual(Array.from({ length: count + 1 - 10_024 }, (_, i) => [i, String(i)]));
  });

  test("the cursor's line is rewrapped with the cursor in it, wherever the cursor is", async () => {
    for (const text of ["Continue? ".repeat(9), "日本語, ".repeat(21), "a".repeat(80), "short"]) {
      for (const above of [0, 3, 40]) {
        for (const back of [0, 1, 30]) {
          const { terminal, print } = open(10, 80);
          await print("a line above that is longer than some\r\n".repeat(above) + text);
          if (back > 0 && text.length > 40) await print(`\x1b[${back}D`);
          const before = terminal.position();
          expect(before.line).toBe(above);
          for (const [rows, cols] of [
            [10, 45],
            [4, 45],
            [4, 11],
            [23, 200],
            [10, 20],
            [10, 80],
          ] as const) {
            await terminal.resize(rows, cols);
            expect(terminal.position()).toEqual(before);
            expect(terminal.text({ line: above, col: 0 }).lines.map(({ line }) => line)).toEqual([text.trimEnd()]);
          }
          await print("!");
          expect(terminal.position()).toEqual({ line: above, col: before.col + 1 });
        }
      }
    }
  });

  test("the cursor's line is cut for a program that redraws it itself", async () => {
    const { terminal, print } = open(10, 80);
    await print("0123456789".repeat(7));
    await terminal.resize(10, 40, true);
    expect(terminal.screen("plain").lines.slice(0, 2)).toEqual(["0123456789".repeat(4), ""]);
    await print(`\r\x1b[K${"0123456789".repeat(7)}`);
    expect(terminal.screen("plain").lines.slice(0, 3)).toEqual(["0123456789".repeat(4), "0123456789".repeat(3), ""]);
  });

  test("a taller screen shows the lines that left a small one", async () => {
    const { terminal, print } = open(24, 80);
    await print(Array.from({ length: 3_000 }, (_, i) => `${i}\r\n`).join(""));
    for (const rows of [24, 3, 60, 3, 200]) await terminal.resize(rows, rows + 20);
    const shown = Array.from({ length: 199 }, (_, i) => String(2_801 + i));
    expect(terminal.screen("plain").lines).toEqual([...shown, ""]);
    const all = terminal.text({ line: 0, col: 0 }).lines.map(({ line }) => line);
    expect(all.slice(0, 3_000)).toEqual(Array.from({ length: 3_000 }, (_, i) => String(i)));
  });

  test("is exact across a resize, however it wraps", async () => {
    const { terminal, print } = open(10, 40);
    const line = (i: number): string =>
      `${i} ${`\x1b[3${i % 8}m`}${"word ".repeat(i % 40)}\x1b[m${i % 7 === 0 ? "日本語".repeat(i % 20) : ""}.`;
    const plain = (i: number): string => `${i} ${"word ".repeat(i % 40)}${i % 7 === 0 ? "日本語".repeat(i % 20) : ""}.`;
    let next = 0;
    for (const [rows, cols] of [
      [10, 40],
      [30, 17],
      [5, 120],
      [50, 80],
      [24, 33],
    ] as const) {
      await terminal.resize(rows, cols);
      const lines: string[] = [];
      for (let i = 0; i < 700; i++) lines.push(`${line(next++)}\r\n`);
      await print(lines.join(""));
    }
    const { first_line_id } = terminal.scrollback({ offset: 0, limit: 1, format: "plain" });
    const { lines, dropped } = terminal.text({ line: 0, col: 0 });
    expect(dropped).toBe(first_line_id === 0 ? 0 : (lines[0]?.id ?? -1));
    for (const { id, line: text } of lines.slice(dropped > 0 ? 1 : 0)) if (id < next) expect(text).toBe(plain(id));
    expect(terminal.lastLine).toBe(next);
    const styled = terminal.text({ line: next - 3, col: 0 }, { line: next - 3, col: 9 }, "styled").lines[0]?.line;
    expect(styled).toBeArray();
  });
});
