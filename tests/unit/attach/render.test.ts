/** A person's terminal shows exactly the frame after frames were rendered on it, to the cell and colour. */
import { describe, expect, test } from "bun:test";
import * as v from "valibot";
import { downConvert } from "../../../src/attach/render/color-depth.ts";
import { capsFromEnvironment, colorDepth, type OuterCaps, restoreTerminal } from "../../../src/attach/render/modes.ts";
import { render } from "../../../src/attach/render/render.ts";
import { parseDepth } from "../../../src/attach/terminal-probe.ts";
import { defaultWidths } from "../../../src/attach/width-probe.ts";
import { composeFrame } from "../../../src/compositor/compose.ts";
import { clusters } from "../../../src/compositor/graphemes.ts";
import { layoutPanels } from "../../../src/compositor/panel-layout.ts";
import type { ElementColor, ElementSpan, Overlay, Panel } from "../../../src/protocol/drawing.ts";
import { type Frame, type FrameEvents, initialFrameModes, noEvents } from "../../../src/protocol/frame.ts";
import { applyFrame, encodeFrame, FrameUpdateSchema } from "../../../src/protocol/frame-codec.ts";
import type { Cell, Grid, Row } from "../../../src/protocol/grid.ts";
import { describeRows, OuterScreen, seededRandom } from "../../support/terminals/outer-screen.ts";

const trueColor: OuterCaps = {
  colors: "truecolor",
  synchronized: true,
  bce: true,
  altScreen: false,
  hyperlinks: true,
  underlineStyles: true,
  kittyKeyboard: false,
  widths: defaultWidths,
};
const plain = { fg: null, bg: null, flags: 0, link: null } as const;

function rowOf(text: string, cols: number, style: Row[number]["style"] = plain): Row {
  return Array.from({ length: cols }, (_, col) => ({ text: text[col] ?? " ", width: 1, style }) as const);
}

function viewOf(frame: Grid, more: Partial<Frame> = {}): Frame {
  return { ...frame, modes: initialFrameModes, title: null, ...more };
}

function textView(texts: readonly string[], cols: number, more: Partial<Frame> = {}): Frame {
  const cursor = { row: 0, col: 0, visible: true, shape: "block", blink: false } as const;
  return viewOf({ rows: texts.length, cols, lines: texts.map((text) => rowOf(text, cols)), cursor }, more);
}

const bytesOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

describe("rendering", () => {
  test("an unchanged frame writes nothing, one changed cell writes little", () => {
    const before = textView(["one", "two", "three"], 40);
    expect(render(before, { ...before }, noEvents, trueColor)).toHaveLength(0);
    const after = { ...before, lines: [before.lines[0] ?? [], rowOf("twO", 40), before.lines[2] ?? []] };
    const bytes = bytesOf(render(before, after, noEvents, trueColor));
    expect(bytes).toBe("\x1b[?2026h\x1b[?25l\x1b[2;3HO\x1b[1;1H\x1b[?25h\x1b[?2026l");
  });

  test("an echo costs as little as a terminal's own: the character at the cursor", () => {
    const at = (text: string, col: number): Frame => {
      const view = textView(["one", text], 40);
      return { ...view, cursor: { ...view.cursor, row: 1, col } };
    };
    expect(bytesOf(render(at("$ l", 3), at("$ ls", 4), noEvents, trueColor))).toBe("s");
    // A different cursor position afterwards, or a width that terminals disagree on, needs more.
    expect(bytesOf(render(at("$ l", 3), at("$ ls", 3), noEvents, trueColor))).toContain("\x1b[2;4H");
    expect(bytesOf(render(at("$ ", 2), at("$ 👍🏽", 4), noEvents, trueColor))).toContain("\x1b[2;5H");
  });

  test("the cursor alone moves without a frame around it", () => {
    const before = textView(["one", "two"], 40);
    const after = { ...before, cursor: { ...before.cursor, row: 1, col: 3 } };
    expect(bytesOf(render(before, after, noEvents, trueColor))).toBe("\x1b[2;4H");
  });

  test("a row that becomes blank is erased; a coloured one only where erasing colours", () => {
    const before = textView(["x".repeat(40)], 40);
    const bytes = bytesOf(render(before, textView([""], 40), noEvents, trueColor));
    expect(bytes).toBe("\x1b[K");
    const blue: Frame = { ...before, lines: [rowOf("", 40, { ...plain, bg: { indexed: 4 } })] };
    expect(bytesOf(render(before, blue, noEvents, trueColor))).toContain("\x1b[0;44m\x1b[K");
    expect(bytesOf(render(before, blue, noEvents, { ...trueColor, bce: false }))).toContain(" ".repeat(40));
  });

  test("a screen with unknown contents is erased, and only what is on the new one is written", async () => {
    const cols = 200;
    const next = textView(
      Array.from({ length: 60 }, (_, row) => (row % 20 === 9 ? "─".repeat(cols) : `${" ".repeat(99)}│`)),
      cols,
    );
    const bytes = render(null, next, noEvents, trueColor);
    expect(bytesOf(bytes)).not.toContain("  ");
    using outer = new OuterScreen(60, cols);
    await outer.write("x".repeat(60 * cols));
    await outer.write(bytes);
    expect(describeRows(outer.grid().lines)).toEqual(describeRows(next.lines));
    // Where blanks cannot be made by erasing they are written.
    expect(bytesOf(render(null, next, noEvents, { ...trueColor, writesBlanks: true }))).toContain(" ".repeat(99));
  });

  test("lines that left the top are in the terminal's own scrollback, once and in order", async () => {
    using outer = new OuterScreen(3, 20);
    let shown: Frame | null = null;
    let next = textView(["a1", "a2", "a3"], 20);
    const show = async (events: FrameEvents) => {
      await outer.write(render(shown, next, events, trueColor));
      shown = next;
    };
    await show(noEvents);
    next = textView(["a2", "a3", "a4"], 20);
    await show({ ...noEvents, scrolled: [rowOf("a1", 20)] });
    next = textView(["a9", "a10", "a11"], 20);
    await show({ ...noEvents, scrolled: ["a2", "a3", "a4", "a5", "a6", "a7", "a8"].map((text) => rowOf(text, 20)) });
    expect(outer.scrollback()).toEqual(["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"]);
    expect(outer.text()).toEqual(["a9", "a10", "a11"]);
  });

  test("state that a passed-through program left set does not disturb the first frame", async () => {
    using outer = new OuterScreen(4, 20);
    await outer.write("\x1b[2;3r\x1b[?6h\x1b[4h\x1b(0\x1b[1;31;44mlqqk\x1b[?69h\x1b[20h\x0e");
    const frame = textView(["lqqk", "second", "", "last of four rows xx"], 20);
    await outer.write(render(null, frame, noEvents, trueColor));
    expect(describeRows(outer.grid().lines)).toEqual(describeRows(frame.lines));
  });

  test("the program's alternate screen is one of the outer terminal's too, and the earlier content returns", async () => {
    using outer = new OuterScreen(3, 20);
    const shell = textView(["$ vim", "", ""], 20);
    const vim = textView(["~", "~", "file"], 20, { modes: { ...initialFrameModes, alternate: true } });
    await outer.write(render(null, shell, noEvents, trueColor));
    await outer.write(render(shell, vim, noEvents, trueColor));
    expect(outer.terminal.buffer.active.type).toBe("alternate");
    expect(outer.text()).toEqual(["~", "~", "file"]);
    await outer.write(render(vim, shell, noEvents, trueColor));
    expect(outer.terminal.buffer.active.type).toBe("normal");
    expect(outer.text()).toEqual(["$ vim", "", ""]);
  });

  test("modes follow the program's by difference, and all are reset on the way out", async () => {
    using outer = new OuterScreen(3, 20);
    const before = textView(["", "", ""], 20);
    const modes = {
      ...initialFrameModes,
      bracketedPaste: true,
      mouse: 1002,
      mouseEncoding: 1006,
      focus: true,
      applicationCursor: true,
      applicationKeypad: true,
    } as const;
    await outer.write(render(null, before, noEvents, trueColor));
    const bytes = render(before, { ...before, modes }, noEvents, trueColor);
    expect(bytesOf(bytes)).toBe("\x1b[?2004h\x1b[?1004h\x1b[?1h\x1b=\x1b[?1002h\x1b[?1006h");
    await outer.write(bytes);
    expect(outer.terminal.modes).toMatchObject({
      bracketedPasteMode: true,
      mouseTrackingMode: "drag",
      sendFocusMode: true,
      applicationCursorKeysMode: true,
      wraparoundMode: false,
    });
    for (const alternate of ["own", "program", false, "maybe"] as const) {
      await outer.write(restoreTerminal(trueColor, { alternate }));
      expect(outer.terminal.modes).toMatchObject({
        bracketedPasteMode: false,
        mouseTrackingMode: "none",
        sendFocusMode: false,
        applicationCursorKeysMode: false,
        applicationKeypadMode: false,
        wraparoundMode: true,
        originMode: false,
        insertMode: false,
      });
      expect(outer.terminal.buffer.active.type).toBe("normal");
    }
  });

  test("a terminal left on its alternate screen by a killed client is restored, cursor at the bottom", async () => {
    using outer = new OuterScreen(5, 20);
    await outer.write("shell$ wsh\r\n\x1b[?1049h\x1b[2;3r\x1b[41mvim");
    await outer.write(restoreTerminal(trueColor, { alternate: "maybe" }));
    expect(outer.text()[0]).toBe("shell$ wsh");
    await outer.write(restoreTerminal(trueColor, { alternate: "maybe" }));
    expect([outer.grid().cursor.row, outer.grid().cursor.col]).toEqual([4, 0]);
  });

  test("cells, title, link and clipboard cannot smuggle sequences in", async () => {
    const evil = "\x1b]0;owned\x07\x9b31m\x07\r\n";
    const row: Row = [
      { text: evil, width: 1, style: { ...plain, link: `http://x/${evil}` } },
      { text: "\u202e", width: 1, style: plain },
      ...rowOf("ok", 8),
    ];
    const cursor = { row: 0, col: 0, visible: true, shape: "block", blink: false } as const;
    const frame = viewOf({ rows: 1, cols: 10, lines: [row], cursor }, { title: `t${evil}` });
    const events = { ...noEvents, clipboard: { selection: "c", base64: `aGk=${evil}` } };
    const bytes = bytesOf(render(null, frame, events, trueColor));
    expect(bytes).toContain("\x1b]2;t]0;owned31m\x1b\\");
    expect(bytes).not.toContain("\x07");
    expect(bytes).not.toContain("\x9b");
    expect(bytes).not.toContain("\u202e");
    expect(bytes).not.toContain("]52");
    using outer = new OuterScreen(1, 10);
    await outer.write(bytes);
    expect(outer.text()).toEqual(["  ok"]);
  });

  test("links and fancy underlines are written if the terminal has them, and closed", () => {
    const style = { ...plain, flags: 8, underlineStyle: "curly", underlineColor: { indexed: 1 } } as const;
    const linked = { ...plain, link: "https://example.org/" } as const;
    const lines = [[...rowOf("ab", 2, style), ...rowOf("cd", 2, linked), ...rowOf("e", 1)]];
    const frame = viewOf({ ...textView([""], 5), lines });
    const bytes = bytesOf(render(null, frame, noEvents, trueColor));
    const link = "\x1b]8;;https://example.org/\x1b\\";
    expect(bytes).toContain(`\x1b[0;4m\x1b[4:3;58:5:1mab\x1b[m${link}cd\x1b]8;;\x1b\\e`);
    const plainer = bytesOf(render(null, frame, noEvents, { ...trueColor, hyperlinks: false, underlineStyles: false }));
    expect(plainer).toContain("\x1b[0;4mab\x1b[mcde");
    // An unknown name is accepted; consoles print unknown sequences.
    expect(capsFromEnvironment({ TERM: "xterm-256color", VTE_VERSION: "7200" }).underlineStyles).toBe(true);
    for (const env of [{ TERM: "linux" }, { TERM: "screen" }, { TERM: "xterm", TERM_PROGRAM: "Apple_Terminal" }])
      expect(capsFromEnvironment(env).underlineStyles).toBe(false);
  });

  test("a terminal that measures a character differently still has everything else in its place", async () => {
    using outer = new OuterScreen(2, 20);
    outer.terminal.unicode.activeVersion = "6"; // knows no emoji, no joining
    const cells = (texts: readonly (readonly [string, 1 | 2])[]): Row => [
      ...texts.flatMap(([text, width]) => [
        { text, width, style: plain } as const,
        ...(width === 2 ? [{ text: "", width: 0, style: plain } as const] : []),
      ]),
    ];
    const line = [
      ...cells([
        ["a", 1],
        ["👩‍👩‍👧", 2],
        ["b", 1],
        ["🇩🇪", 2],
        ["c", 1],
        ["❤️", 2],
      ]),
      ...rowOf("end", 11),
    ];
    const cursor = { row: 1, col: 0, visible: true, shape: "block", blink: false } as const;
    const frame = viewOf({ rows: 2, cols: 20, lines: [line, rowOf("second", 20)], cursor });
    await outer.write(render(null, frame, noEvents, trueColor));
    const shown = outer.grid().lines[0] ?? [];
    expect([0, 3, 6, 9, 10, 11].map((col) => shown[col]?.text)).toEqual(["a", "b", "c", "e", "n", "d"]);
    expect(outer.text()[1]).toBe("second");
  });
});

describe("the terminal's colours", () => {
  test("the environment tells how many there are", () => {
    expect(colorDepth({ TERM: "xterm-256color", COLORTERM: "truecolor" })).toBe("truecolor");
    expect(colorDepth({ TERM: "xterm-256color" })).toBe(256);
    expect(colorDepth({ TERM: "linux" })).toBe(16);
    expect(colorDepth({ TERM: "dumb", COLORTERM: "truecolor" })).toBe("none");
    expect(colorDepth({ TERM: "xterm-256color", NO_COLOR: "1" })).toBe(256);
    for (const TERM of [
      "alacritty",
      "wezterm",
      "foot",
      "xterm-ghostty",
      "xterm-kitty",
      "rio",
      "contour",
      "xterm-direct",
    ]) {
      expect([TERM, colorDepth({ TERM })]).toEqual([TERM, "truecolor"]);
    }
    expect(colorDepth({ TERM: "xterm-256color", NO_COLOR: "" })).toBe(256);
    expect(capsFromEnvironment({ TERM: "tmux-256color" })).toMatchObject({ bce: false, colors: 256 });
  });

  test("an unavailable colour becomes the nearest available one", () => {
    const rgb = (r: number, g: number, b: number) => ({ rgb: { r, g, b } });
    expect(downConvert(rgb(255, 0, 0), 256)).toEqual({ indexed: 196 });
    expect(downConvert(rgb(128, 128, 128), 256)).toEqual({ indexed: 244 });
    expect(downConvert(rgb(250, 10, 10), 16)).toEqual({ indexed: 9 });
    expect(downConvert({ indexed: 196 }, 16)).toEqual({ indexed: 9 });
    expect(downConvert({ indexed: 12 }, 16)).toEqual({ indexed: 12 });
    expect(downConvert(rgb(1, 2, 3), "none")).toBeNull();
    expect(downConvert(rgb(1, 2, 3), "truecolor")).toEqual(rgb(1, 2, 3));
  });

  test("the terminal itself reports it with XTGETTCAP or DECRQSS", () => {
    const hex = (text: string) => Buffer.from(text).toString("hex");
    for (const [answer, depth] of [
      [`\x1bP1+r${hex("RGB")}=${hex("8/8/8")}\x1b\\`, "truecolor"],
      [`\x1bP1+r${hex("RGB")};${hex("Co")}=${hex("256")}\x1b\\`, "truecolor"],
      [`\x1bP1+r${hex("Co")}=${hex("16777216")}\x1b\\`, "truecolor"],
      [`\x1bP1+r${hex("Co")}=${hex("256")}\x1b\\`, 256],
      ["\x1bP1$r0;38:2::1:2:3m\x1b\\", "truecolor"],
      ["\x1bP1$r0;38;2;1;2;3m\x1b\\", "truecolor"],
      ["\x1bP1$r0;38:5:16m\x1b\\", null],
      ["\x1bP0+r\x1b\\", null],
      ["\x1bP0$r\x1b\\", null],
    ] as const) {
      expect([answer, parseDepth(answer)]).toEqual([answer, depth]);
    }
  });

  test("none writes no colour and keeps the rest", () => {
    const style = { ...plain, fg: { indexed: 1 }, bg: { rgb: { r: 1, g: 2, b: 3 } }, flags: 1 };
    const frame = viewOf({ ...textView([""], 4), lines: [rowOf("abcd", 4, style)] });
    const bytes = bytesOf(render(null, frame, noEvents, { ...trueColor, colors: "none" }));
    expect(bytes).toContain("\x1b[0;1mabcd");
  });
});

describe("random screens", () => {
  const words = [
    "plain text ",
    "日本語",
    "한국",
    "👩‍👩‍👧",
    "👍🏽",
    "🇩🇪",
    "🇩",
    "e\u0301",
    "\u0301",
    "❤️",
    "│─┘",
    "\t",
    "\x1b[31m",
    "\x1b[44m",
    "\x1b[0m",
    "\x1b[1;4m",
    "\x1b[38;2;10;20;30m",
    "\x1b[48;5;99m",
    "\x1b[7m",
    "\x1b[K",
    "\x1b[J",
    "\x1b[H",
    "\r\n",
    "\r\n",
    "x\u200by",
    "\u1100\u1161",
  ];
  const colors: readonly ElementColor[] = ["red", "blue", "white", { r: 9, g: 99, b: 199 }];

  /** xterm's own cells contradict their text when a character joins at a wrap or over half a wide one: blanks, here. */
  function consistent(grid: Grid): Grid {
    const isOdd = (cell: Cell | undefined) => {
      if (cell === undefined || cell.width === 0) return false;
      const [first, second] = clusters(cell.text);
      return first?.width !== cell.width || second !== undefined;
    };
    const lines = grid.lines.map((row) => {
      return row.map((cell, col): Cell => {
        const half = cell.width === 0 && isOdd(row[col - 1]);
        return half || isOdd(cell) ? { text: " ", width: 1, style: cell.style } : cell;
      });
    });
    return { ...grid, lines };
  }

  function makeWorld(seed: number) {
    const random = seededRandom(seed);
    const below = (limit: number) => Math.floor(random() * limit);
    const pick = <T>(from: readonly [T, ...T[]] | readonly T[]): T => {
      const chosen = from[below(from.length)];
      if (chosen === undefined) throw new Error("nothing to pick from");
      return chosen;
    };
    const spans = (): ElementSpan[] =>
      Array.from({ length: below(4) }, () => ({
        text: Array.from({ length: 1 + below(4) }, () => pick([...words, "\n"])).join(""),
        ...(random() < 0.5 ? { fg: pick(colors) } : {}),
        ...(random() < 0.3 ? { bg: pick(colors) } : {}),
        ...(random() < 0.3 ? { bold: true as const } : {}),
      }));
    const background = () => (random() < 0.6 ? { background: { bg: pick(colors) } } : {});
    const writes = () =>
      random() < 0.5 ? {} : { region_writes: [{ row: below(4), col: below(20), text: pick(words) }] };
    const overlay = (cols: number, rows: number): Overlay => ({
      id: crypto.randomUUID(),
      x: below(cols + 4),
      y: below(rows + 2),
      z: below(3),
      width: below(20),
      height: below(6),
      spans: spans(),
      ...background(),
      ...writes(),
    });
    const panel = (): Panel => ({
      id: crypto.randomUUID(),
      position: pick(["top", "bottom"] as const),
      height: below(4),
      z: below(3),
      visible: true,
      spans: spans(),
      ...background(),
      ...writes(),
    });
    return { random, below, pick, overlay, panel };
  }

  for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
    test(`overlays, panels, resizes and output: the outer screen is the frame composed from scratch (seed ${seed})`, async () => {
      const { random, below, pick, overlay, panel } = makeWorld(seed);
      let size = { rows: 12, cols: 40 };
      let client = size;
      let overlays: Overlay[] = [];
      let panels: Panel[] = [];
      const caps = { ...trueColor, bce: seed % 2 === 0 };
      using program = new OuterScreen(size.rows, size.cols);
      using outer = new OuterScreen(size.rows, size.cols);
      let sent: Frame | null = null;
      let shown: Frame | null = null;
      for (let step = 0; step < 60; step++) {
        if (random() < 0.3)
          overlays = random() < 0.3 ? overlays.slice(1) : [...overlays, overlay(size.cols, size.rows)];
        if (random() < 0.2) panels = random() < 0.4 ? panels.slice(1) : [...panels, panel()];
        if (random() < 0.15) size = { rows: 1 + below(16), cols: 2 + below(60) };
        if (random() < 0.3) client = random() < 0.6 ? size : { rows: 1 + below(16), cols: 2 + below(60) };
        const layout = layoutPanels(panels, size);
        // The program's size lags behind sometimes, as between a layout and the resize.
        if (random() < 0.9) program.terminal.resize(Math.max(2, layout.ptyCols), layout.ptyRows);
        await program.write(Array.from({ length: below(6) }, () => pick(words)).join(""));
        if (outer.terminal.rows !== client.rows || outer.terminal.cols !== client.cols) {
          outer.terminal.resize(client.cols, client.rows);
          if (random() < 0.5) shown = null;
        }
        if (random() < 0.1) shown = null;
        const frame = composeFrame({ grid: consistent(program.grid()), layout, overlays, panels, outer: client });
        expect(frame.lines.length).toBe(client.rows);
        expect(frame.lines.every((line) => line.length === client.cols)).toBe(true);
        const next = viewOf(frame);
        const wire = JSON.parse(JSON.stringify(encodeFrame(sent, next))) as unknown;
        const { view, events } = applyFrame(sent, v.parse(FrameUpdateSchema, wire));
        expect(describeRows(view.lines)).toEqual(describeRows(next.lines));
        await outer.write(render(shown, view, events, caps));
        sent = view;
        shown = view;
        expect(describeRows(outer.grid().lines)).toEqual(describeRows(frame.lines));
        const { cursor } = outer.grid();
        expect([cursor.row, cursor.col]).toEqual([frame.cursor.row, frame.cursor.col]);
      }
    });
  }

  test("under a panel, lines that scroll off are in the outer scrollback exactly once", async () => {
    const { random, below, panel } = makeWorld(99);
    const size = { rows: 9, cols: 40 };
    const panels = [{ ...panel(), position: "top" as const, height: 2 }];
    const layout = layoutPanels(panels, size);
    using program = new OuterScreen(layout.ptyRows, layout.ptyCols);
    using outer = new OuterScreen(size.rows, size.cols);
    let shown: Frame | null = null;
    let seen = 0;
    for (let step = 0; step < 60; step++) {
      // Sometimes more than a screen at once, as in a flood.
      const lines = random() < 0.2 ? 25 : below(4);
      await program.write(Array.from({ length: lines }, (_, i) => `line ${step}.${i} 日本\r\n`).join(""));
      const buffer = program.terminal.buffer.active;
      const scrolled = program
        .scrollback()
        .slice(seen)
        .map((text) => [...text].flatMap((char) => cellsOf(char)))
        .map((cells) => [...cells, ...rowOf("", size.cols - cells.length)]);
      seen = buffer.baseY;
      const frame = composeFrame({ grid: program.grid(), layout, overlays: [], panels, outer: size });
      await outer.write(render(shown, viewOf(frame), { ...noEvents, scrolled }, trueColor));
      shown = viewOf(frame);
      expect(describeRows(outer.grid().lines)).toEqual(describeRows(frame.lines));
    }
    expect(seen).toBeGreaterThan(100);
    expect(outer.scrollback()).toEqual(program.scrollback());
  });
});

function cellsOf(char: string): Row {
  const wide = char > "\u2e80";
  const cell = { text: char, width: wide ? 2 : 1, style: plain } as const;
  return wide ? [cell, { text: "", width: 0, style: plain }] : [cell];
}
