/** An agent's drawing appears on the person's screen exactly in its box, and leaves no trace afterwards. */
import { describe, expect, test } from "bun:test";
import { composeFrame } from "../../../src/compositor/compose.ts";
import { cleanText, clusters } from "../../../src/compositor/graphemes.ts";
import { keyboardCapturedText, messageText } from "../../../src/compositor/notices.ts";
import { layoutPanels } from "../../../src/compositor/panel-layout.ts";
import type { Overlay, Panel } from "../../../src/protocol/drawing.ts";
import type { Grid, Row } from "../../../src/protocol/grid.ts";
import { OuterScreen } from "../../support/terminals/outer-screen.ts";

/** Cells that a clean line takes. */
function textWidth(line: string): number {
  return clusters(line).reduce((sum, { width }) => sum + width, 0);
}

const plain = { fg: null, bg: null, flags: 0, link: null } as const;

/** A program's screen with these lines, measured as the emulator measures them. */
function gridOf(texts: readonly string[], cols: number): Grid {
  const lines = texts.map((text): Row => {
    const cells = clusters(text).flatMap(({ text, width }) => [
      { text, width, style: plain },
      ...(width === 2 ? [{ text: "", width: 0, style: plain } as const] : []),
    ]);
    while (cells.length < cols) cells.push({ text: " ", width: 1, style: plain });
    return cells;
  });
  const cursor = { row: 0, col: 0, visible: true, shape: "block", blink: false } as const;
  return { rows: texts.length, cols, lines, cursor };
}

function overlay(more: Partial<Overlay>): Overlay {
  return { id: "o", x: 0, y: 0, z: 0, width: 4, height: 1, spans: [], ...more };
}

function panel(more: Partial<Panel>): Panel {
  return { id: crypto.randomUUID(), position: "top", height: 1, z: 0, visible: true, spans: [], ...more };
}

interface Scene {
  readonly texts: readonly string[];
  readonly cols?: number;
  readonly overlays?: readonly Overlay[];
  readonly panels?: readonly Panel[];
  readonly outer?: { readonly rows: number; readonly cols: number };
  readonly sign?: string;
  readonly showsSize?: boolean;
  readonly cursor?: { readonly row: number; readonly col: number };
}

function compose({
  texts,
  cols = 10,
  overlays = [],
  panels = [],
  outer,
  sign,
  cursor,
  showsSize = false,
}: Scene): Grid {
  const size = { rows: texts.length + panels.reduce((sum, { height }) => sum + height, 0), cols };
  const base = gridOf(texts, cols);
  const grid = cursor === undefined ? base : { ...base, cursor: { ...base.cursor, ...cursor } };
  return composeFrame({
    grid,
    // A program of one row is less than a session permits, and enough to see how it is drawn.
    layout: { ...layoutPanels(panels, size), ptyRows: texts.length },
    overlays,
    panels,
    outer: outer ?? size,
    lastRowText: sign ?? null,
    showsSize,
  });
}

function shown(frame: Grid): string[] {
  return frame.lines.map((row) =>
    row
      .map(({ text }) => text)
      .join("")
      .trimEnd(),
  );
}

describe("overlays", () => {
  test("are above the text, which is unchanged without them", () => {
    const texts = ["0123456789", "abcdefghij"];
    expect(shown(compose({ texts, overlays: [overlay({ x: 3, y: 0, spans: [{ text: "BOX" }] })] }))).toEqual([
      "012BOX6789",
      "abcdefghij",
    ]);
    expect(shown(compose({ texts }))).toEqual(texts);
  });

  test("are clipped to their box and to the screen", () => {
    const texts = ["0123456789", "abcdefghij", "ABCDEFGHIJ"];
    const spans = [{ text: "long text\nsecond line\nthird" }];
    expect(shown(compose({ texts, overlays: [overlay({ x: 2, y: 0, width: 3, height: 2, spans })] }))).toEqual([
      "01lon56789",
      "absecfghij",
      "ABCDEFGHIJ",
    ]);
    expect(shown(compose({ texts, overlays: [overlay({ x: 8, y: 2, width: 30, height: 30, spans })] }))).toEqual([
      "0123456789",
      "abcdefghij",
      "ABCDEFGHlo",
    ]);
    expect(
      shown(compose({ texts, overlays: [overlay({ x: 60_000, y: 60_000, width: 9, height: 9, spans })] })),
    ).toEqual(texts);
    expect(
      shown(compose({ texts, overlays: [overlay({ width: 0, height: 0, spans, background: { bg: "red" } })] })),
    ).toEqual(texts);
  });

  test.each([
    ["blue", { rgb: { r: 255, g: 255, b: 255 } }],
    ["yellow", { rgb: { r: 0, g: 0, b: 0 } }],
    [{ r: 250, g: 240, b: 200 }, { rgb: { r: 0, g: 0, b: 0 } }],
    [{ r: 20, g: 60, b: 120 }, { rgb: { r: 255, g: 255, b: 255 } }],
  ] as const)("text without a colour on %j is read whatever the terminal's own colours are", (bg, fg) => {
    const box = overlay({ width: 4, height: 1, spans: [{ text: "a" }], background: { bg } });
    const own = overlay({ x: 5, width: 4, height: 1, spans: [{ text: "b", bg }] });
    const [row] = compose({ texts: ["", ""], overlays: [box, own] }).lines;
    const drawn = (row ?? []).filter(({ text }) => /[ab]/.test(text));
    expect(drawn.map(({ style }) => style.fg)).toEqual([fg, fg]);
  });

  test("a background fills the box, and text without its own has it", () => {
    const frame = compose({
      texts: ["0123456789", "abcdefghij"],
      overlays: [
        overlay({
          x: 1,
          width: 3,
          height: 2,
          background: { bg: "blue" },
          spans: [
            { text: "a", fg: "red" },
            { text: "b", bg: { r: 1, g: 2, b: 3 }, bold: true },
          ],
        }),
      ],
    });
    expect(shown(frame)).toEqual(["0ab 456789", "a   efghij"]);
    const styles = frame.lines[0]?.slice(1, 4).map(({ style }) => [style.fg, style.bg, style.flags]);
    expect(styles).toEqual([
      [{ indexed: 1 }, { indexed: 4 }, 0],
      [{ rgb: { r: 255, g: 255, b: 255 } }, { rgb: { r: 1, g: 2, b: 3 } }, 1],
      [null, { indexed: 4 }, 0],
    ]);
  });

  test("later ones cover earlier ones; writes go to their place inside the box, over the spans", () => {
    const low = overlay({ id: "low", x: 0, width: 6, spans: [{ text: "LLLLLL" }] });
    const high = overlay({ id: "high", x: 4, width: 4, spans: [{ text: "HHHH" }] });
    expect(shown(compose({ texts: ["0123456789"], overlays: [low, high] }))).toEqual(["LLLLHHHH89"]);
    expect(shown(compose({ texts: ["0123456789"], overlays: [high, low] }))).toEqual(["LLLLLLHH89"]);
    const written = overlay({
      x: 2,
      width: 4,
      height: 1,
      spans: [{ text: "span" }],
      region_writes: [
        { row: 0, col: 1, text: "WWWWWW" },
        { row: 1, col: 0, text: "below" },
        { row: 0, col: 9, text: "right" },
      ],
    });
    expect(shown(compose({ texts: ["0123456789", ""], overlays: [written] }))).toEqual(["01sWWW6789", ""]);
  });

  test.each([
    ["日本", ["日本4567"]],
    ["👩‍👩‍👧👍🏽", ["👩‍👩‍👧👍🏽4567"]],
    ["🇩🇪🇫🇷", ["🇩🇪🇫🇷4567"]],
    ["e\u0301e\u0301e\u0301e\u0301e\u0301", ["e\u0301e\u0301e\u0301e\u03014567"]],
    ["a日本", ["a日 4567"]],
    ["abc👩‍👩‍👧", ["abc 4567"]],
    ["한글글", ["한글4567"]],
  ])("%s is cut whole at the right edge of its box", (text, expected) => {
    const frame = compose({
      texts: ["01234567"],
      cols: 8,
      overlays: [overlay({ spans: [{ text }], background: { bg: "red" } })],
    });
    expect(shown(frame)).toEqual(expected);
    expect(frame.lines[0]?.[4]?.style.bg).toBeNull();
    expect(frame.lines[0]?.[3]?.style.bg).toEqual({ indexed: 1 });
  });

  test("at the screen's last column a wide character is a blank", () => {
    const box = overlay({ x: 6, width: 9, spans: [{ text: "a日" }] });
    expect(shown(compose({ texts: ["01234567"], cols: 8, overlays: [box] }))).toEqual(["012345a"]);
  });

  test("a wide character that an overlay's edge cuts is a blank of its own style, on both sides", () => {
    const box = overlay({ x: 1, width: 2, spans: [{ text: "XX" }] });
    expect(shown(compose({ texts: ["日本x"], cols: 6, overlays: [box] }))).toEqual([" XX x"]);
    expect(shown(compose({ texts: ["日本x"], cols: 6 }))).toEqual(["日本x"]);
  });

  test("the cursor is hidden under an overlay and shown beside it", () => {
    const box = overlay({ x: 2, width: 3 });
    expect(compose({ texts: ["0123456789"], overlays: [box], cursor: { row: 0, col: 3 } }).cursor.visible).toBe(false);
    expect(compose({ texts: ["0123456789"], overlays: [box], cursor: { row: 0, col: 5 } }).cursor.visible).toBe(true);
  });

  test("escape sequences and control characters in the text are removed", () => {
    const cases: readonly (readonly [string, string])[] = [
      ["a\x1b[31mred\x1b[0mb", "aredb"],
      ["\x1b]0;title\x07x", "x"],
      ["\x1b]52;c;aGk=\x1b\\x", "x"],
      ["\x1bPq#0;2;0\x1b\\x", "x"],
      ["\x9b31mx\x9d0;t\x9cy", "xy"],
      ["\x1b(0lqk\x1b(B", "lqk"],
      ["a\bb\x07c\x7fd\0e", "abcde"],
      ["\x1b", ""],
      ["a\x1b[", "a"],
      ["a\u202eb\u2066c\u200ed", "abcd"],
      ["a\r\nb\rc", "a\nbc"],
      ["\ud800x\udc00", "x"],
    ];
    for (const [text, clean] of cases) expect(cleanText(text)).toBe(clean);
    const box = overlay({ width: 10, spans: [{ text: "\x1b[2Jhi\x1b[5;5H!\t" }] });
    expect(shown(compose({ texts: ["0123456789"], overlays: [box] }))).toEqual(["hi!     89"]);
  });

  test("widths are the emulator's, for any text", async () => {
    for (const text of ["日", "❤️", "👍🏽", "1\ufe0f\u20e3", "नमस्ते", "กำ", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "\u1100\u1161", "☺", "\u0301", "─│"]) {
      using emulator = new OuterScreen(1, 40);
      await emulator.write(text);
      expect([text, textWidth(text)]).toEqual([text, emulator.terminal.buffer.active.cursorX]);
    }
  });
});

describe("panels", () => {
  test("are around the program's screen, and the cursor is below those at the top", () => {
    const panels = [
      panel({ height: 2, background: { bg: "green" }, spans: [{ text: "title\nsecond\nthird is cut" }] }),
      panel({ position: "bottom", spans: [{ text: "日".repeat(9) }] }),
    ];
    const frame = compose({ texts: ["prog", "ram"], panels, cursor: { row: 1, col: 3 } });
    expect(shown(frame)).toEqual(["title", "second", "prog", "ram", "日日日日日"]);
    expect(frame.lines[1]?.every(({ style }) => style.bg !== null)).toBe(true);
    expect([frame.cursor.row, frame.cursor.col]).toEqual([3, 3]);
  });

  test("the highest z is at the edge, at the top and at the bottom", () => {
    const at = (position: "top" | "bottom", z: number, height: number) => ({
      id: `${position}${z}`,
      position,
      z,
      height,
    });
    const layout = layoutPanels([at("top", 1, 1), at("top", 5, 2), at("bottom", 1, 1), at("bottom", 5, 2)], {
      rows: 20,
      cols: 80,
    });
    expect(layout.panels.map(({ id, row }) => [id, row])).toEqual([
      ["top1", 2],
      ["top5", 0],
      ["bottom1", 17],
      ["bottom5", 18],
    ]);
    expect(layout).toMatchObject({ top: 3, bottom: 3, ptyRows: 14, ptyCols: 80 });
  });

  test("an element that does not fit is hidden, smaller ones after it may still fit, and the program keeps two rows", () => {
    const all = [
      { id: "a", position: "top", z: 3, height: 3 },
      { id: "b", position: "bottom", z: 2, height: 9 },
      { id: "c", position: "bottom", z: 1, height: 1 },
      { id: "d", position: "top", z: 0, height: 1 },
    ] as const;
    const layout = layoutPanels(all, { rows: 6, cols: 10 });
    expect(layout.panels.map(({ id, visible }) => [id, visible])).toEqual([
      ["a", true],
      ["b", false],
      ["c", true],
      ["d", false],
    ]);
    expect(layout.ptyRows).toBe(2);
    for (const rows of [0, 1, 2])
      expect(layoutPanels(all, { rows, cols: 0 })).toMatchObject({ ptyRows: 2, ptyCols: 4, top: 0 });
  });

  test("of the same z the top comes before the bottom", () => {
    const both = [
      { id: "bottom", position: "bottom", z: 0, height: 2 },
      { id: "top", position: "top", z: 0, height: 2 },
    ] as const;
    expect(layoutPanels(both, { rows: 5, cols: 9 }).panels.map(({ visible }) => visible)).toEqual([false, true]);
  });
});

describe("a viewer of another size", () => {
  test("a larger one sees the session within a line, with a sign", () => {
    const frame = compose({ texts: ["one", "two"], cols: 6, outer: { rows: 5, cols: 40 } });
    expect(shown(frame)).toEqual(["one   │", "two   │", "──────┘", "", `${" ".repeat(28)}session 6x2`]);
  });

  test("a smaller one sees the part with the cursor, with a sign while requested", () => {
    const texts = Array.from({ length: 10 }, (_, row) => `row ${row} 日本語日本語`);
    const smaller = { texts, cols: 40, outer: { rows: 4, cols: 33 }, cursor: { row: 8, col: 2 } };
    const frame = compose({ ...smaller, showsSize: true });
    expect(shown(frame).slice(0, 3)).toEqual(texts.slice(5, 8).map((text) => text.slice(0, 33)));
    expect(shown(frame)[3]).toEndWith("session 40x10");
    expect(shown(compose(smaller))[3]).toBe(texts[8]?.slice(0, 33) ?? "");
    expect(frame.cursor).toMatchObject({ row: 3, col: 2, visible: true });
    const cut = compose({ texts: ["日本語"], cols: 10, outer: { rows: 2, cols: 5 } });
    expect(shown(cut)[0]).toBe("日本");
  });

  test("the same size has no sign", () => {
    expect(shown(compose({ texts: ["one", "two"], cols: 6 }))).toEqual(["one", "two"]);
  });
});

describe("wsh's own labels", () => {
  test("the holder of the keyboard, and how to take it back, above everything", () => {
    const sign = keyboardCapturedText("claude", "Ctrl+\\");
    const box = overlay({ width: 60, height: 2, background: { bg: "red" } });
    const frame = compose({ texts: ["a", "b"], cols: 60, overlays: [box], sign });
    expect(shown(frame)[1]).toBe(" keyboard captured by claude — Ctrl+\\ takes it back");
    expect(frame.lines[1]?.every(({ style }) => style.flags !== 0)).toBe(true);
  });

  test("a holder's name can hide nothing", () => {
    const evil = `x\x1b[2J\n\u202e${"日".repeat(500)}`;
    const text = keyboardCapturedText(evil, "Ctrl+\\");
    expect(text).toContain("— Ctrl+\\ takes it back");
    expect(textWidth(text)).toBeLessThan(80);
    expect(text).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(keyboardCapturedText("", "F12")).toContain("an agent");
  });

  test("a message, sanitised, and cut where the row ends", () => {
    const sign = messageText("no pane\x1b[2J\n there: it has gone away");
    const frame = compose({ texts: ["a", "b"], cols: 24, sign });
    expect(shown(frame)).toEqual(["a", " no pane there: it has g"]);
  });
});

describe("a frame costs as much as its changes", () => {
  test("uncovered rows of the grid are passed on unchanged", () => {
    const grid = gridOf(["one", "two"], 10);
    const layout = layoutPanels([], { rows: 2, cols: 10 });
    const box = overlay({ y: 1, spans: [{ text: "x" }] });
    const frame = composeFrame({ grid, layout, overlays: [box], panels: [], outer: { rows: 2, cols: 10 } });
    expect(frame.lines[0]).toBe(grid.lines[0] ?? []);
    expect(grid.lines[1]?.[0]?.text).toBe("t");
  });
});
