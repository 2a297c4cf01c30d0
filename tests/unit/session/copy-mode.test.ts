/** Viewed and copied text equals the output: compared with the terminal's own logical lines. */
import { describe, expect, test } from "bun:test";
import { decodeKeys, flushKeys, initialKeyState } from "../../../src/keys/decode.ts";
import { useWordSeparators } from "../../../src/protocol/word-separators.ts";
import { CopyMode } from "../../../src/session/copy-mode/copy-mode.ts";
import { Search, SearchedText } from "../../../src/session/copy-mode/search.ts";
import { type SelectionKind, selectedText, selectWord } from "../../../src/session/copy-mode/selection.ts";
import { CopyModeText, type Point } from "../../../src/session/copy-mode/text.ts";
import { copyModeSource } from "../../../src/session-process/copy-mode-source.ts";
import { TerminalModel } from "../../../src/terminal/model.ts";
import { defaultProfile } from "../../../src/terminal/profile.ts";
import { seededRandom } from "../../support/terminals/outer-screen.ts";

function terminalOf(rows: number, cols: number, historyLines = 10_000) {
  const nothing = (): void => {};
  const sink = { reply: nothing, chunk: nothing, mark: nothing, bell: nothing, title: nothing, cwd: nothing };
  const more = { alternate: nothing, clipboard: nothing, reset: nothing, retired: nothing };
  const terminal = new TerminalModel(
    { rows, cols, historyLines, historyBytes: 64e6, nonce: null, profile: defaultProfile },
    { ...sink, ...more },
  );
  const print = (text: string): Promise<void> => terminal.write(Buffer.from(text));
  return { terminal, print, source: copyModeSource(terminal, () => []) };
}

/** Copy mode whose keys are typed as text. */
function looking(source: ReturnType<typeof copyModeSource>, mode: "vi" | "emacs" = "vi") {
  const seen: string[] = [];
  const look = new CopyMode(source, mode, {
    changed: () => {},
    copied: (text) => seen.push(text),
    showMessage: (text) => seen.push(`<${text}>`),
    left: () => seen.push("<left>"),
  });
  const type = (text: string): void => {
    const { events, state } = decodeKeys(initialKeyState, Buffer.from(text));
    for (const event of [...events, ...flushKeys(state).events]) look.handleInput(event);
  };
  const shown = (): string[] =>
    look.grid().lines.map((row) =>
      row
        .map(({ text }) => text)
        .join("")
        .trimEnd(),
    );
  return { look, type, seen, shown };
}

const pieces = ["a", "word", " ", "  ", "漢字", "é", "👍🏽", "/usr/lib", "x".repeat(33), "\t", "\x1b[31mred\x1b[m", ""];

describe("random output and selections", () => {
  test("copied text equals the terminal's logical lines", async () => {
    const random = seededRandom(17);
    const below = (end: number): number => Math.floor(random() * end);
    for (let round = 0; round < 40; round++) {
      const { terminal, print, source } = terminalOf(3 + below(20), 5 + below(60), 1_500);
      for (let line = below(60) + (round % 8 === 0 ? 2_000 : 0); line >= 0; line--) {
        const text = Array.from({ length: below(8) }, () => pieces[below(pieces.length)]).join("");
        void print(line === 0 ? text : `${text}\r\n`);
      }
      await print("");
      if (round % 3 === 0) await terminal.resize(3 + below(20), 5 + below(60));
      const text = new CopyModeText(source);
      for (let turn = 0; turn < 20; turn++) {
        const place = (): Point => {
          const line = text.first + below(text.last - text.first + 1);
          return text.wholeCellAt({ line, col: below(Math.max(1, text.cells(line).length)) });
        };
        const [a, b] = [place(), place()];
        const [from, to] = a.line < b.line || (a.line === b.line && a.col <= b.col) ? [a, b] : [b, a];
        const wide = text.cells(to.line)[to.col]?.width === 2 ? 2 : 1;
        const range = (start: Point, end: Point): string =>
          terminal
            .text(start, end)
            .lines.map(({ line }) => String(line).replace(/ +$/, ""))
            .join("\n");
        // A range that ends at the beginning of a line has nothing of that line: the terminal leaves it out.
        expect(selectedText(text, { kind: "characters", anchor: a, head: b })).toBe(
          range(from, { line: to.line, col: to.col + wide }),
        );
        const whole = range({ line: from.line, col: 0 }, { line: to.line, col: Number.POSITIVE_INFINITY });
        expect(selectedText(text, { kind: "lines", anchor: a, head: b })).toBe(`${whole}\n`);
      }
      terminal.dispose();
    }
  });

  test("a rectangle has those columns of every displayed row between its corners", async () => {
    const random = seededRandom(23);
    const below = (end: number): number => Math.floor(random() * end);
    for (let round = 0; round < 40; round++) {
      const cols = 5 + below(30);
      const { terminal, print, source } = terminalOf(12, cols);
      for (let line = 0; line < 11; line++) {
        // A full stop: rows of only blanks at the end of a line do not count.
        void print(`${Array.from({ length: below(5) }, () => pieces[below(pieces.length)]).join("")}.\r\n`);
      }
      await print("");
      const { look } = looking(source);
      const grid = terminal.grid();
      const last = grid.lines.findLastIndex((cells) => cells.some(({ text: each }) => each.trim() !== ""));
      const top = below(Math.max(1, last));
      const bottom = Math.max(top, last - below(3));
      const [a, b] = [look.positionAt(top, below(cols)), look.positionAt(bottom, below(cols))];
      const { text } = look;
      const rowStart = (point: Point): number => text.starts(point.line)[text.rowOf(point)] ?? 0;
      const [left, right] = [a.col - rowStart(a), b.col - rowStart(b)].toSorted((one, other) => one - other);
      const shown: string[] = [];
      for (let row = top; row <= bottom; row++) {
        const cells = grid.lines[row] ?? [];
        let [from, to] = [left ?? 0, right ?? 0];
        if (cells[from]?.width === 0) from--;
        if (cells[to]?.width === 2) to++;
        shown.push(
          cells
            .slice(from, to + 1)
            .map(({ text: each }) => each)
            .join("")
            .trimEnd(),
        );
      }
      const copied = selectedText(text, { kind: "rectangle" satisfies SelectionKind, anchor: a, head: b });
      expect(copied).toBe(shown.join("\n"));
      terminal.dispose();
    }
  });
});

describe("searching", () => {
  test("counts the pattern's occurrences, and finds each in turn", async () => {
    const random = seededRandom(5);
    const { terminal, print, source } = terminalOf(10, 30, 5_000);
    const words = ["Error", "error", "warn", "x", "漢字 error", "İerror", "errerror"];
    for (let line = 0; line < 3_000; line++) {
      void print(`${Array.from({ length: 4 }, () => words[Math.floor(random() * words.length)]).join(" ")}\r\n`);
    }
    await print("end");
    const text = new CopyModeText(source);
    const all = [...text.texts()].map((line) => line.text);
    const searched = new SearchedText(text);
    for (const pattern of ["e", "er", "err", "error", "Error", "rerr"]) {
      const isFolded = pattern === pattern.toLowerCase();
      const wanted = all.reduce(
        (sum, line) => sum + (isFolded ? line.toLowerCase() : line).split(pattern).length - 1,
        0,
      );
      expect(`${pattern} ${new Search(searched, pattern).total}`).toBe(`${pattern} ${wanted}`);
    }
    const search = new Search(searched, "rerr");
    let at: Point = { line: text.first, col: 0 };
    for (let index = 1; index <= Math.min(search.total, 50); index++) {
      const match = search.nextMatch(text, at, true);
      if (match === null) throw new Error("a match");
      expect(search.indexAt(text, { line: match.line, col: match.col })).toBe(index);
      at = { line: match.line, col: match.col };
    }
    terminal.dispose();
  });
});

test("words between blanks, jumps to characters and brackets, the word under the cursor, as in vi", async () => {
  const { print, source } = terminalOf(6, 40);
  await print("foo.bar (baz [x y] end) foo\r\nsecond (open\r\nclose) foo");
  const vi = looking(source);
  const at = (keys: string): string => {
    vi.type(keys);
    return `${vi.look.cursor.line} ${vi.look.cursor.col}`;
  };
  expect([at("gW"), at("E"), at("B"), at("B")]).toEqual(["0 8", "0 11", "0 8", "0 0"]);
  expect([at("fo"), at(";"), at(","), at("$Fb"), at("0tb"), at("0Tq")]).toEqual([
    ...["0 1", "0 2", "0 1", "0 9", "0 3", "0 0"],
  ]);
  expect([at("2fo"), at("0f\x1b[27ul")]).toEqual(["0 2", "0 1"]);
  expect([at("0%"), at("%"), at("j0f(%"), at("%")]).toEqual(["0 22", "0 8", "2 5", "1 7"]);
  expect([at("g*"), at("n"), at("#")]).toEqual(["0 24", "2 7", "0 24"]);
});

describe("keys", () => {
  test("moves, counts and words, as in vi and emacs", async () => {
    const { print, source } = terminalOf(6, 20);
    await print("one two  three\r\n\r\nfoo.bar baz\r\nlast");
    const vi = looking(source);
    const at = (): string => `${vi.look.cursor.line} ${vi.look.cursor.col}`;
    const moves: (readonly [string, string])[] = [
      ...([
        ["g", "0 0"],
        ["w", "0 4"],
        ["e", "0 6"],
        ["2w", "2 0"],
        ["w", "2 3"],
        ["b", "2 0"],
        ["$", "2 10"],
      ] as const),
      ...([
        ["0", "2 0"],
        ["j", "3 0"],
        ["{", "1 0"],
        ["G", "3 0"],
        ["H", "0 0"],
        ["2l", "0 2"],
        ["3j", "3 2"],
      ] as const),
      ...([
        ["k", "2 2"],
        ["\x1b[H", "2 0"],
        ["99l", "3 3"],
      ] as const),
    ];
    for (const [keys, wanted] of moves) {
      vi.type(keys);
      expect(`${keys} ${at()}`).toBe(`${keys} ${wanted}`);
    }
    vi.type("Y");
    expect(vi.seen).toEqual(["last\n", "<left>"]);
    const emacs = looking(source, "emacs");
    emacs.type("\x1b<\0\x05\x1bw");
    expect(emacs.seen).toEqual(["one two  three", "<left>"]);
  });

  test("no move and no wheel leaves the text, at the oldest line that is kept and at the newest", async () => {
    const { print, source, terminal } = terminalOf(6, 20, 1_200);
    await print(Array.from({ length: 4_000 }, (_, line) => `line ${line}`).join("\r\n"));
    const { look, type, shown } = looking(source);
    const { first, last } = look.text;
    // Older ones are gone.
    expect(first).toBeGreaterThan(0);
    type("g");
    const oldest = shown();
    expect(oldest[0]).toStartWith(`line ${first}`);
    for (const keys of [
      "k",
      "9k",
      "h",
      "9h",
      "b",
      "B",
      "{",
      "\x02",
      "\x15",
      "\x19",
      "H",
      "99999k",
      "99999h",
      "0",
      "[",
      "1G",
    ]) {
      type(keys);
      expect([keys, look.cursor, shown()]).toEqual([keys, { line: first, col: 0 }, oldest]);
    }
    look.scroll(-5);
    expect(shown()).toEqual(oldest);
    type("G$");
    const newest = shown();
    for (const keys of ["j", "9j", "l", "9l", "}$", "\x06$", "\x05", "L$", "99999j", "99999l"]) {
      type(keys);
      expect([keys, look.cursor.line, shown()]).toEqual([keys, last, newest]);
    }
    terminal.dispose();
  });

  test("Escape clears the selection first, and then leaves; an unbound key does nothing", async () => {
    const { print, source } = terminalOf(6, 20);
    await print("one");
    const { type, seen, look } = looking(source);
    type("vZ~\x1b");
    expect(look.selection).toBeNull();
    type("\x1b");
    expect(seen).toEqual(["<left>"]);
  });

  test("words, paths and addresses are selected as a whole", async () => {
    const { print, source } = terminalOf(6, 60);
    await print("see https://a.example/x?y=1#z, or ./src/a-b.ts: (done)");
    const text = new CopyModeText(source);
    const word = (col: number): string => selectedText(text, selectWord(text, { line: text.first, col }));
    expect([word(0), word(10), word(36), word(49), word(3)]).toEqual([
      ...["see", "https://a.example/x?y=1#z", "./src/a-b.ts", "done", ""],
    ]);
    useWordSeparators("/:.");
    try {
      expect([word(0), word(10), word(36), word(49)]).toEqual(["see", "/", "src", "(done)"]);
    } finally {
      useWordSeparators("");
    }
  });
});

describe("the view", () => {
  test("is the screen at first, and output neither moves nor changes it", async () => {
    const { terminal, print, source } = terminalOf(5, 70, 50);
    await print("1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7");
    const { shown, type, look } = looking(source);
    const first = shown().map((row) => row.replace(/\d+ of .*$/, "").trimEnd());
    expect(first).toEqual(["3", "4", "5", "6", "7"]);
    await print("\x1b[H\x1b[2Jgone\r\n");
    for (let line = 0; line < 500; line++) void print(`${line}\r\n`);
    await print("");
    expect(shown().map((row) => row.replace(/\d+ of .*$/, "").trimEnd())).toEqual(first);
    expect(shown().join("")).toContain("new");
    type("G");
    expect(look.text.last).toBe(terminal.lastLine);
    expect(shown().join(" ")).toContain("499");
  });
});
