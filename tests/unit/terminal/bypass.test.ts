/** Much output at once gives the same screen, history and positions as the same output bit by bit. */
import { describe, expect, test } from "bun:test";
import { TerminalModel, type TerminalSink } from "../../../src/terminal/model.ts";
import { defaultProfile } from "../../../src/terminal/profile.ts";
import { seededRandom } from "../../support/terminals/outer-screen.ts";

const SEEDS = process.env.WSH_TEST_FULL === "1" ? 400 : 2;
/** Too little to be taken for a flood. */
const SIP = 1_000;

class Watched {
  readonly log: string[] = [];
  readonly places: string[] = [];
  readonly terminal: TerminalModel;
  private readonly retired = new Map<number, string>();

  constructor(rows: number, cols: number, historyLines: number) {
    const sink: TerminalSink = {
      reply: (bytes) => this.log.push(`reply ${Buffer.from(bytes)}`),
      chunk: () => {},
      mark: (mark) => this.log.push(`mark ${JSON.stringify(mark)}`),
      bell: () => this.log.push("bell"),
      title: (title) => this.log.push(`title ${title}`),
      cwd: (path) => this.log.push(`cwd ${path}`),
      alternate: (active) => this.log.push(`alternate ${active}`),
      clipboard: () => {},
      reset: (reason) => this.log.push(`reset ${reason}`),
      crashed: (error) => this.log.push(`crashed ${error}`),
      retired: (lines) => {
        for (let at = 0; at < lines.count; at++) {
          const before = lines.beginsLine(at) ? "" : (this.retired.get(lines.lineId(at)) ?? "");
          this.retired.set(lines.lineId(at), before + lines.text(at));
        }
      },
    };
    this.terminal = new TerminalModel(
      { rows, cols, historyLines, historyBytes: 64e6, nonce: "N", profile: defaultProfile },
      sink,
    );
  }

  async write(bytes: Uint8Array, step: number): Promise<void> {
    for (let at = 0; at < bytes.length; at += step) await this.terminal.write(bytes.slice(at, at + step));
  }

  /** Where a long line's rows begin in history, and whether blank ones at its end count, depends on when they went there. */
  state(withRows: boolean): object {
    const { terminal } = this;
    const { epoch: _, ...screen } = terminal.screen("styled");
    const { epoch: __, ...all } = terminal.scrollback({ offset: 0, limit: 100_000, format: "styled" });
    const grid = terminal.grid();
    return {
      offset: terminal.offset,
      position: terminal.position(),
      lastLine: terminal.lastLine,
      screen: withRows ? screen : screen.lines,
      lines: this.lines(),
      cells: grid.lines.map((row) => row.map(({ text, width, style }) => [text === "" ? " " : text, width, style])),
      cursor: grid.cursor,
      modes: terminal.modes,
      rows: withRows && {
        all,
        newest: terminal.newestRows(400).map((row) => row.map(({ text, style }) => [text, style])),
      },
      // The position of a saved cursor after a resize depends on the emulator's rows above the screen.
      serialized: withRows && Buffer.from(terminal.serialize({ history: 0 })).toString(),
      log: this.log,
    };
  }

  /** Every line so far, including those that history has dropped: it may keep a few more than it must. */
  private lines(): string[] {
    const { lines } = this.terminal.text({ line: 0, col: 0 });
    // Read one by one they are the same, and so is what stands before a column; of the first the beginning may be gone.
    for (const { id, line } of lines.slice(1).slice(-60)) {
      expect([id, this.terminal.lineText(id)]).toEqual([id, String(line)]);
      const before = /^[ -~]*$/.test(String(line)) ? 7 : this.terminal.unitsBefore({ line: id, col: 7 });
      expect([id, this.terminal.unitsBefore({ line: id, col: 7 })]).toEqual([id, before]);
    }
    const all = new Map(this.retired);
    for (const [at, { id, line }] of lines.entries()) {
      // Of a long line, the beginning may be missing.
      const before = at === 0 && this.terminal.text({ line: id, col: 0 }).dropped > 0 ? (all.get(id) ?? "") : "";
      all.set(id, `${before}${line}`);
    }
    return [...all].map(([id, line]) => `${id} ${line}`.trimEnd());
  }
}

const WORDS = ["alpha", "be", "  ", "gamma-delta", "e", " ", "[zeta]", "x=1;", "the quick brown fox", "%~"];
const STYLES = [
  "\x1b[m",
  "\x1b[0m",
  "\x1b[01;34m",
  "\x1b[38;5;208m",
  "\x1b[38;2;1;22;255m",
  "\x1b[48;5;17m",
  "\x1b[7m",
  "\x1b[27;9;2m",
  "\x1b[22;23;24;25;28;29;39;49m",
  "\x1b[91;107m",
  "\x1b[K",
  "\x1b[;3;8;5m",
  "\x1b[48;2;9;8;7;1m",
];
/** Not plain: the emulator has to process it in place. */
const OTHERS = [
  "\x1b[4mline\x1b[24m",
  "naïve 日本 👩‍👩‍👧\r\n",
  "\x07",
  "\x1b[3A",
  "over\rwrite\r\n",
  "\b\b#",
  "\n\n",
  "\x1b[2;10r\r\n\r\n\x1b[r\x1b[99;1H",
  "\x1b[?1049h alt \x1b[?1049l",
  "\x1b[?7llong\x1b[?7h\r\n",
  "\x1b[44m\r\n\x1b[m\r\n",
  "\x1b]133;A\x07$ \x1b]2;t\x07",
  "\x1b7",
  "\x1b8\x1b[999;1H\r\n",
  "\x1b[6n",
  "\x1b(0qq\x1b(B\r\n",
  "\x1b[5b",
  "\x1b[2J\x1b[3J\x1b[999;1H",
  "\x1b[1;38:2::1:2:3mcolons\x1b[m\r\n",
];

const LEFT_OPEN = "left open";

/** Lines of up to `width` columns or so, or without a limit. */
function output(next: (below: number) => number, width: number | null): Uint8Array {
  let text = "";
  const runs = 1 + next(6);
  for (let run = 0; run < runs; run++) {
    const lines = [3, 60, 700, 1_300, 4_000][next(5)] ?? 0;
    const styled = next(3) === 0;
    const carriages = next(3) === 0 ? "\r\r" : "\r";
    const long = width === null && next(3) === 0;
    for (let at = 0; at < lines; at++) {
      let line = "";
      let columns = 0;
      for (let words = next(long ? 60 : 9); words > 0; words--) {
        if (styled && next(3) === 0) line += STYLES[next(STYLES.length)];
        const word = next(12) === 0 ? "\t" : (WORDS[next(WORDS.length)] ?? "");
        columns += word === "\t" ? 8 : word.length;
        if (width === null || columns <= width) line += word;
      }
      if (styled && next(12) !== 0) line += "\x1b[0m";
      text += `${line}${carriages}\n`;
      if (next(1_500) === 0) text += OTHERS[next(OTHERS.length)];
    }
    text += next(2) === 0 ? (OTHERS[next(OTHERS.length)] ?? "") : LEFT_OPEN;
  }
  return Buffer.from(text);
}

describe("a flood at once equals a flood in small pieces", () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    test(`seed ${seed}`, async () => {
      const random = seededRandom(seed);
      const next = (below: number): number => Math.floor(random() * below);
      const rows = 1 + next(30);
      const wraps = next(2) === 0;
      const cols = wraps ? 2 + next(90) : 24 + next(70);
      const history = [0, 40, 10_000, 20_000][next(4)] ?? 0;
      const gulps = new Watched(rows, cols, history);
      const sips = new Watched(rows, cols, history);
      let withRows = !wraps;
      const rounds = 1 + next(4);
      for (let round = 0; round < rounds; round++) {
        const bytes = output(next, wraps ? null : cols - LEFT_OPEN.length);
        await gulps.write(bytes, [3_000, 4_095, 65_536, 131_072][next(4)] ?? 1);
        await sips.write(bytes, SIP);
        expect(gulps.terminal.position()).toEqual(sips.terminal.position());
        if (next(3) === 0) expect(gulps.state(withRows)).toEqual(sips.state(withRows));
        // The line at the limit of a small history may lose its beginning in a resize, sooner or later.
        if (history > 40 && next(3) === 0) {
          const [height, width] = [1 + next(30), 2 + next(90)];
          withRows = false;
          await gulps.terminal.resize(height, width);
          await sips.terminal.resize(height, width);
        }
      }
      expect(gulps.state(withRows)).toEqual(sips.state(withRows));
    });
  }
});

describe("crafted output at once equals the same in small pieces", () => {
  const plain = (count: number): string => "plain line\r\n".repeat(count);
  const full = plain(3_040);
  /** A bar: earlier text is read. */
  const cases: [name: string, text: string, cols?: number][] = [
    [
      "a line of many tabs, then many lines",
      `${plain(300)}${`a${"\t".repeat(10)}b`.repeat(200)}\r\n${plain(3_000)}end`,
    ],
    ["a line of many tabs among the last", `${full}${`a${"\t".repeat(10)}b`.repeat(200)}\r\n${plain(30)}end`],
    ["many tabs that make rows", `${full}${`a${"\t".repeat(10)}b`.repeat(1_600)}\r\nend`],
    ["tabs without stops", `${full}\x1b[3g${"a\tb".repeat(3_000)}\r\nend`],
    ["jumps to the last column", `${full}${"\x1b[999Gab".repeat(1_500)}\r\nend`],
    ["jumps to a place that was saved", `${full}\x1b[999G\x1b7${"\x1b8ab".repeat(2_500)}\r\nend`],
    ["one tall line", `${full}|${"x".repeat(4_000)}\r\n`, 2],
    ["one tall line that goes on", `${full}${"x".repeat(4_000)}`, 3],
    ["a line that is not as tall", `${full}|${"x".repeat(4_000)}\r\n`, 5],
    ["more parameters than are read", `${plain(300)}\x1b[${"1;".repeat(33)}0mX\r\n${plain(3_000)}end`],
    ["as many parameters as are read", `${plain(300)}\x1b[${"1;".repeat(31)}0mX\r\n${plain(3_000)}end`],
    ["a colour for underlines to come", `\x1b[58;5;1m${plain(300)}\x1b[0mX\r\n${plain(3_000)}\x1b[4mend`],
  ];
  test.each(cases)("%s", async (_, text, cols = 80) => {
    const gulps = new Watched(24, cols, 20_000);
    const sips = new Watched(24, cols, 20_000);
    for (const part of `${"\r\n".repeat(30)}${text}`.split("|")) {
      await gulps.write(Buffer.from(part), 65_536);
      await sips.write(Buffer.from(part), 500);
      expect(gulps.terminal.lastLine).toBe(sips.terminal.lastLine);
    }
    expect(gulps.terminal.position()).toEqual(sips.terminal.position());
    expect(gulps.state(false)).toEqual(sips.state(false));
    expect(Buffer.from(gulps.terminal.serialize({ history: 0 }))).toEqual(
      Buffer.from(sips.terminal.serialize({ history: 0 })),
    );
  });
});
