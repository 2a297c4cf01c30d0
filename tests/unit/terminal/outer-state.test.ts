/**
 * Filtering for a person's terminal never changes the meaning of the rest: for any output, with queries and
 * unfinished sequences inside each other, that terminal shows the screen of the session's emulator, and answers nothing.
 */
import { describe, expect, test } from "bun:test";
import { UNDERLINE } from "../../../src/protocol/grid.ts";
import { PLACEHOLDER } from "../../../src/protocol/placeholder.ts";
import { TerminalModel, type TerminalSink } from "../../../src/terminal/model.ts";
import { defaultProfile } from "../../../src/terminal/profile.ts";
import { OuterScreen, seededRandom } from "../../support/terminals/outer-screen.ts";

const SEEDS = process.env.WSH_TEST_FULL === "1" ? 20_000 : 500;
const ROWS = 6;
const COLS = 24;

/** Sequences that are cut, in all lengths of introduction and end. */
const queries = [
  "\x1b[6n",
  "\x1b[c",
  "\x1b[>0q",
  "\x1b[?996n",
  "\x1b[?2026$p",
  "\x1b[18t",
  "\x1bZ",
  "\x05",
  "\x1b]11;?\x07",
  "\x1b]4;1;?\x1b\\",
  "\x1b]60\x1b\\",
  "\x1b]61;x\x07",
  "\x1b]22;?__current__\x07",
  "\x1b]52;c;?\x07",
  "\x1bP$qm\x1b\\",
  "\x1bP+q544e\x1b\\",
  "\x1b_Ga=q,i=1;AAAA\x1b\\",
  "\x1b[?u",
  "\x1b]133;A;wsh=N\x07",
  "\u009b6n",
  "\x1bktitle\x1b\\",
  "\x1b]66;s=2;big\x07",
  "\x1b]1337;File=inline=1:AAAA\x07",
  "\x1b]5113;ac=send\x1b\\",
  "\x1b[42;1;1;3;3$x",
  "\x1b[2;5s",
  "\x1b[?3h",
  "\x1bV",
];
/** Sequences that stay open, until something ends them. */
const unfinished = [
  "\x1b",
  "\x1b[",
  "\x1b[3",
  "\x1b[1;3",
  "\x1b[?25",
  "\x1b[\x0a2",
  "\x1b(",
  "\x1b#",
  "\x1b]0;title",
  "\x1b]8;;http://x.example",
  "\x1b]2;a\nb",
  "\x1bPq#0",
  "\x1b_apc",
  "\x1b^pm",
  "\x1bXsos",
  "\x1bkname",
  "\u009b3",
  "\u009d0;c1",
  "\x1b[3\xff1",
];
const endings = ["m", "\x07", "\x1b\\", "\x18", "\x1a", "\u009c", "\r\n", "é", "H", "\x1b[m", "K", "\x7f", "\0", "漢"];
const text = [
  "\u0301",
  "plain",
  "rm -rf important\r\n",
  "second line\r\n",
  "0",
  " ",
  "漢字",
  "e\u0301",
  "r",
  "5",
  "\b",
  "\t",
];
const whole = [
  "\x1b[31m",
  "\x1b[2;5H",
  "\x1b[K",
  "\x1b(0",
  "\x1b(B",
  "\x1b[?7l",
  "\x1b[?7h",
  "\x1b]2;t\x07",
  "\x1b[2\n;3H",
  "\x1b7",
  "\x1b8",
  "\x1b[\n6n",
];
/** Not characters, in bytes of Latin-1. */
const broken = ["\xff", "\xe2\x82", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80"];

function pick<T>(from: readonly T[], random: () => number): T {
  const item = from[Math.floor(random() * from.length)];
  if (item === undefined) throw new RangeError("an empty list");
  return item;
}

function printed(random: () => number): Buffer {
  const parts: Buffer[] = [];
  for (let n = 3 + Math.floor(random() * 12); n > 0; n--) {
    const kind = random();
    if (kind < 0.06) parts.push(Buffer.from(pick(broken, random), "latin1"));
    else {
      const all = kind < 0.35 ? queries : kind < 0.55 ? unfinished : kind < 0.7 ? endings : kind < 0.88 ? text : whole;
      const piece = pick(all, random);
      parts.push(piece.includes("\xff") ? Buffer.from(piece, "latin1") : Buffer.from(piece));
    }
  }
  // At rest at last.
  parts.push(Buffer.from("\x1b\\\x18\r\n\x1b[m."));
  return Buffer.concat(parts);
}

function open() {
  const out: Uint8Array[] = [];
  const quiet = (): void => {};
  const sink: TerminalSink = {
    reply: quiet,
    chunk: ({ bytes }) => out.push(bytes.slice()),
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
  };
  const limits = { historyLines: 100, historyBytes: 1e6 };
  const terminal = new TerminalModel({ rows: ROWS, cols: COLS, ...limits, nonce: "N", profile: defaultProfile }, sink);
  return { terminal, out };
}

async function differs(bytes: Uint8Array, cut: number): Promise<string | null> {
  const { terminal, out } = open();
  await terminal.write(bytes.slice(0, cut));
  await terminal.write(bytes.slice(cut));
  const stream = Buffer.concat(out);
  const outer = new OuterScreen(ROWS, COLS);
  let answered = "";
  outer.terminal.onData((data) => {
    answered += data;
  });
  await outer.write(stream);
  const inner = terminal.grid();
  const shown = outer.grid();
  const cells = (lines: typeof inner.lines): unknown[] =>
    lines.map((row) =>
      row.map(({ text, width, style: { fg, bg, flags } }) => {
        // A picture's parts have its number as their colour, which also stays in the empty cell after them.
        const isBlank = text.startsWith(PLACEHOLDER) || (text.trim() === "" && width === 1);
        // The public interface says of every link that it is underlined.
        const shownFlags = flags & ~UNDERLINE;
        return [isBlank ? " " : text, width, isBlank && shownFlags === 0 ? null : fg, bg, shownFlags];
      }),
    );
  const same =
    Bun.deepEquals(cells(inner.lines), cells(shown.lines)) &&
    inner.cursor.row === shown.cursor.row &&
    inner.cursor.col === shown.cursor.col &&
    answered === "";
  if (same) return null;
  const rows = terminal.screen("plain").lines;
  return JSON.stringify(
    {
      printed: Buffer.from(bytes).toString("latin1"),
      stream: stream.toString("latin1"),
      rows,
      shown: outer.text(),
      answered,
    },
    null,
    1,
  );
}

describe("a person's terminal shows the session's screen", () => {
  test("after a query in an unfinished title, as a script left it", async () => {
    const bytes = Buffer.from("start\n\x1b]0;x\x1b[6nrm -rf important\nsecond line\n");
    expect(await differs(bytes, 9)).toBeNull();
  });

  test("for any sequence inside any other", async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = seededRandom(seed);
      const bytes = printed(random);
      const difference = await differs(bytes, Math.floor(random() * bytes.length));
      if (difference !== null) throw new Error(`seed ${seed}: ${difference}`);
    }
  });

  test("when a sequence is longer than the wait", async () => {
    for (const begin of ["\x1b]0;", "\x1b]8;;", "\x1bP$q", "\x1b[", "\x1b]4;1;"]) {
      for (const end of ["\x1b[31mred", "\x18x", "\x1b\\y", "\x07z", "\u009b6nw", "6nv"]) {
        const bytes = Buffer.from(`a${begin}${"1".repeat(70_000)}\x1b[6n${end}\x1b\\\x18\r\n\x1b[m.`);
        expect([begin, end, await differs(bytes, 5)]).toEqual([begin, end, null]);
      }
    }
  });

  test("counts are bounded in any notation", async () => {
    const { terminal } = open();
    for (const count of ["21\x0047483647S", "\xff2147483647S", "2147483647\x7fb", "00000000002147483647T"]) {
      await terminal.write(Buffer.from(`x\x1b[${count}`, "latin1"));
    }
    await terminal.write(Buffer.from("\x1b[Hend"));
    expect(terminal.screen("plain").lines[0]).toStartWith("end");
  });
});
