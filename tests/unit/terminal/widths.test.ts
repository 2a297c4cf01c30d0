/** History is counted in logical lines: no width, however narrow and for however short a time, drops one. */
import { describe, expect, test } from "bun:test";
import { TerminalModel, type TerminalSink } from "../../../src/terminal/model.ts";
import { defaultProfile } from "../../../src/terminal/profile.ts";
import { seededRandom } from "../../support/terminals/outer-screen.ts";

const SEEDS = process.env.WSH_TEST_FULL === "1" ? 300 : 10;

function open(rows: number, cols: number, historyLines: number) {
  const retired = new Set<number>();
  const quiet = (): void => {};
  const sink: TerminalSink = {
    reply: quiet,
    chunk: quiet,
    mark: quiet,
    bell: quiet,
    title: quiet,
    cwd: quiet,
    alternate: quiet,
    clipboard: quiet,
    reset: quiet,
    crashed: (error) => {
      throw error;
    },
    retired: (lines) => {
      for (let at = 0; at < lines.count; at++) retired.add(lines.id(at));
    },
  };
  const limits = { historyLines, historyBytes: 64e6 };
  const terminal = new TerminalModel({ rows, cols, ...limits, nonce: null, profile: defaultProfile }, sink);
  return { terminal, retired };
}

/** Everything that is kept, by lines. */
function kept(terminal: TerminalModel): string[] {
  const { lines } = terminal.text({ line: terminal.firstLine, col: 0 });
  return lines.map(({ line }) => (typeof line === "string" ? line : ""));
}

describe("a narrower terminal", () => {
  test.each([
    ["plain", "x".repeat(170)],
    ["wide", "漢".repeat(85)],
    ["coloured", `\x1b[31m${"y".repeat(100)}\x1b[m${"z".repeat(70)}`],
  ])("keeps 9,000 lines of %s text, and shows them all", async (_, text) => {
    const { terminal, retired } = open(24, 200, 10_000);
    const count = 9_000;
    for (let n = 0; n < count; n += 100) {
      const lines = Array.from({ length: 100 }, (_, k) => `${n + k} ${text}\r\n`);
      await terminal.write(Buffer.from(lines.join("")));
    }
    const before = kept(terminal);
    expect(before.length).toBe(count + 1);
    for (const cols of [80, 40, 3, 200, 2, 199, 200]) {
      await terminal.resize(24, cols);
      // What comes after it is held to the limits anew.
      await terminal.write(Buffer.from("\x1b[m"));
      expect(terminal.firstLine).toBe(0);
      expect(retired.size).toBe(0);
    }
    expect(kept(terminal)).toEqual(before);
    const { lines } = terminal.scrollback({ offset: 0, limit: 3, format: "plain" });
    expect(lines[0]).toStartWith("0 ");
  });

  test("has as many logical lines above its screen as the limit says, at every width", async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = seededRandom(seed);
      const limit = [0, 1, 20, 300, 2_000][Math.floor(random() * 5)] ?? 0;
      const rows = 2 + Math.floor(random() * 12);
      const { terminal } = open(rows, 60, limit);
      const printed: string[] = [];
      let first = 0;
      for (let step = 0; step < 12; step++) {
        let text = "";
        for (let n = Math.floor(random() * 600); n > 0; n--) {
          const length = random() < 0.8 ? Math.floor(random() * 40) : Math.floor(random() * 500);
          const line = `${printed.length}:${(random() < 0.3 ? "漢" : "a").repeat(length)}`;
          printed.push(line);
          text += `${random() < 0.2 ? `\x1b[1m${line}\x1b[m` : line}\r\n`;
        }
        await terminal.write(Buffer.from(text));
        first = Math.max(first, terminal.top.line + (terminal.top.col > 0 ? 1 : 0) - limit);
        if (random() < 0.6) await terminal.resize(rows, 2 + Math.floor(random() * 90));
        await terminal.write(Buffer.from("\x1b[m"));
        const lines = kept(terminal);
        // The cursor's line is empty.
        expect(lines.pop()).toBe("");
        const wanted = lines.length === 0 ? [] : printed.slice(-lines.length);
        expect([seed, lines.slice(1)]).toEqual([seed, wanted.slice(1)]);
        // Of a line beyond the limit the emulator may still hold the end.
        expect([seed, wanted[0]?.endsWith(lines[0] ?? "") ?? true]).toEqual([seed, true]);
        const { top, firstLine } = terminal;
        // A wider or emptier screen takes lines from above it, and those that are gone do not come back.
        const begun = top.line + (top.col > 0 ? 1 : 0);
        first = Math.max(first, begun - limit);
        // A line that the screen's edge cuts is kept whole, and the emulator may still hold one that was beyond.
        const held = { lost: Math.max(0, firstLine - first), tooMany: Math.max(0, begun - firstLine - limit - 1) };
        expect({ seed, step, ...held }).toEqual({ seed, step, lost: 0, tooMany: 0 });
        first = firstLine;
      }
    }
  });
});
