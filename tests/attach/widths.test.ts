/** On a terminal that counts the cells of some characters differently, everything else is in its right place. */
import { describe, expect, test } from "bun:test";
import { capsFromEnvironment } from "../../src/attach/render/modes.ts";
import { render } from "../../src/attach/render/render.ts";
import { type Answers, TerminalProbe } from "../../src/attach/terminal-probe.ts";
import { defaultWidths } from "../../src/attach/width-probe.ts";
import { hasAgreedWidth } from "../../src/protocol/agreed-width.ts";
import { type Frame, initialFrameModes, noEvents } from "../../src/protocol/frame.ts";
import { type Cell, plainStyle } from "../../src/protocol/grid.ts";
import { LegacyScreen } from "../support/terminals/legacy-screen.ts";
import { seededRandom } from "../support/terminals/outer-screen.ts";

/** Characters on which terminals differ, and the cells that wsh gives them. */
const odd = [
  ["कि", 1],
  ["กำ", 1],
  ["👍🏽", 2],
  ["\u00ad", 1],
  ["❤️", 2],
  ["⚠️", 2],
  ["1️⃣", 2],
  ["👨‍👩‍👧", 2],
  ["🇩🇪", 2],
  ["⚠", 1],
  ["𝐀", 1],
  ["\u200b", 1],
] as const;

const rows = 4;
const cols = 30;

function frameOf(below: (n: number) => number, before: Frame | null): Frame {
  const lines = Array.from({ length: rows }, (_, row) => {
    const old = before?.lines[row];
    if (old !== undefined && below(3) === 0) return old;
    const cells: Cell[] = [];
    // A part of the row is kept, as when a program changes some cells.
    const kept = old === undefined ? 0 : below(cols);
    while (old !== undefined && cells.length < kept) cells.push(old[cells.length] ?? blank);
    if (cells.at(-1)?.width === 2) cells.pop();
    // The last cells contain nothing that could not fit there.
    while (cells.length < cols - 5) {
      const [text, width] = below(3) === 0 ? (odd[below(odd.length)] ?? odd[0]) : ([letter(below(27)), 1] as const);
      cells.push({ text, width, style: plainStyle });
      if (width === 2) cells.push({ text: "", width: 0, style: plainStyle });
    }
    while (cells.length < cols) cells.push(blank);
    return cells;
  });
  const cursor = { row: 0, col: 0, visible: true, shape: "block", blink: false } as const;
  return { rows, cols, lines, cursor, modes: initialFrameModes, title: null };
}

const blank: Cell = { text: " ", width: 1, style: plainStyle };
const letter = (n: number): string => (n === 0 ? " " : String.fromCharCode(0x60 + n));

describe("cells of agreed width", () => {
  for (let seed = 1; seed <= 40; seed++) {
    test(`are where the frame has them, however the terminal counts the others (opinion ${seed})`, () => {
      const random = seededRandom(seed);
      const below = (n: number): number => Math.floor(random() * n);
      const opinions = new Map<string, 0 | 1 | 2>();
      const width = (point: string): 0 | 1 | 2 => {
        if (hasAgreedWidth(point)) return 1;
        const known = opinions.get(point) ?? ([0, 1, 2] as const)[below(3)] ?? 1;
        opinions.set(point, known);
        return known;
      };
      const screen = new LegacyScreen(rows, cols, width);
      const caps = capsFromEnvironment({ TERM: "xterm-256color" });
      let shown: Frame | null = null;
      for (let step = 0; step < 50; step++) {
        const next = frameOf(below, shown);
        screen.write(render(shown, next, noEvents, caps));
        shown = next;
        for (const [row, line] of next.lines.entries()) {
          for (const [col, cell] of line.entries()) {
            if (cell.width !== 1 || !hasAgreedWidth(cell.text)) continue;
            const [base = ""] = screen.at(row, col);
            expect([step, row, col, base]).toEqual([step, row, col, cell.text]);
          }
        }
        for (const [row, line] of next.lines.entries()) {
          for (const [col, cell] of line.entries()) {
            // Nor is there a letter where the frame has none.
            if (!hasAgreedWidth(cell.text)) expect(screen.at(row, col)).not.toMatch(/^[a-z]/);
          }
        }
      }
    });
  }
});

describe("the terminal is queried once for its counting", () => {
  function answered(columns: readonly number[]): Answers {
    let learned: Answers = {};
    const probe = new TerminalProbe((answers) => {
      learned = answers;
    });
    const asked = new TextDecoder().decode(probe.buildQuestions({ depth: false, graphics: false, widths: true }));
    expect(asked.match(/\x1b\[6n/g)).toHaveLength(columns.length);
    // Nothing of it remains: its row is erased in the same write.
    expect(asked.indexOf("\x1b[2;1H\x1b[2K")).toBeGreaterThan(asked.lastIndexOf("\x1b[6n"));
    for (const col of columns) probe.handleReply(new TextEncoder().encode(`\x1b[2;${col}R`));
    probe.handleReply(new TextEncoder().encode("\x1b[?62c"));
    return learned;
  }

  test("a terminal with clusters is treated as usual", () => {
    expect(answered([2, 2, 3, 3, 2]).widths).toEqual(defaultWidths);
  });

  test("one without clusters draws the part that fits, and no more", () => {
    const widths = answered([2, 2, 5, 5, 3]).widths ?? defaultWidths;
    expect(widths).toEqual({ eastAsian: false, skinTones: false, joined: false, spacingMarks: false });
    const caps = { ...capsFromEnvironment({ TERM: "tmux-256color" }), widths };
    const line: Cell[] = [
      { text: "👍🏽", width: 2, style: plainStyle },
      { text: "", width: 0, style: plainStyle },
      { text: "x", width: 1, style: plainStyle },
    ];
    const cursor = { row: 0, col: 0, visible: true, shape: "block", blink: false } as const;
    const frame: Frame = { rows: 1, cols: 3, lines: [line], cursor, modes: initialFrameModes, title: null };
    const bytes = new TextDecoder().decode(render(null, frame, noEvents, caps));
    expect(bytes).toContain("👍\x1b[3Gx");
  });

  test("where narrow characters are drawn wide, the cursor is placed after each of them", () => {
    const widths = answered([3, 3, 3, 3, 2]).widths ?? defaultWidths;
    expect(widths.eastAsian).toBe(true);
    expect(hasAgreedWidth("─", true)).toBe(false);
    expect(hasAgreedWidth("─")).toBe(true);
  });
});
