/** Segments of the status line: styles, marks, texts, widths, and what is left out on a narrow terminal. */
import { describe, expect, test } from "bun:test";
import { cellWidth, clusters } from "../../../src/compositor/graphemes.ts";
import { colorlessStyle, theme } from "../../../src/compositor/theme.ts";
import { BOLD, FAINT, INVERSE, ITALIC, STRIKE, UNDERLINE } from "../../../src/protocol/grid.ts";
import type { PaneInfo, WindowInfo } from "../../../src/protocol/session.ts";
import { parseText, type StatusSegment } from "../../../src/protocol/status-segments.ts";
import { parseStyle } from "../../../src/protocol/theme.ts";
import { parseAnsiText } from "../../../src/viewer/status/ansi-text.ts";
import { composeStatusText } from "../../../src/viewer/status/line-layout.ts";
import { clockPeriod, parseSegments, type StatusFacts } from "../../../src/viewer/status/segments.ts";

const pane = (more: Partial<PaneInfo> = {}): PaneInfo => ({
  ...{ id: "@1", index: 0, pid: 1, command: "bash", cwd: "/home/me/src", title: "漢字", rows: 5, cols: 5 },
  ...{ active: true, state: "prompt", program: "vim" },
  ...more,
});
const window = (index: number, more: Partial<WindowInfo> = {}): WindowInfo => ({
  ...{ id: `@w${index}`, index, name: `win${index}`, active: index === 1, rows: 24, cols: 80, panes: [pane()] },
  ...more,
});
const quiet = { bell: false, activity: false, finished: false };
const facts: StatusFacts = {
  ...{ session: "dev", host: "box", user: "me", home: "/home/me", marked: null, people: 1, devices: [] },
  windows: [window(0), window(1), window(2)],
  marks: () => quiet,
  output: () => ({ text: "", failure: "" }),
  now: new Date(2026, 0, 2, 9, 5, 7),
};
const lineOf = (segments: readonly StatusSegment[], cols: number, more: Partial<StatusFacts> = {}) =>
  composeStatusText({ ...facts, ...more }, parseSegments(segments, null), cols);
const text = (...given: Parameters<typeof lineOf>): string =>
  lineOf(...given)
    .spans.map((span) => span.text)
    .join("");
const look = (style: string) => {
  const { fg, bg, flags } = parseStyle(style) ?? { fg: null, bg: null, flags: 0 };
  return { fg: fg ?? theme.status.fg, bg: bg ?? theme.status.bg, flags: flags | theme.status.flags };
};
const styleOf = (line: ReturnType<typeof lineOf>, part: string) => {
  const found = line.spans.find((span) => span.text.includes(part));
  if (found === undefined) throw new Error(`no '${part}'`);
  return found.style;
};

describe("styles", () => {
  test("of a segment lie over the line's, and those of a mark over the segment's; without colours, attributes stay", () => {
    const marks = { current: { sign: "<", style: "reverse" }, bell: { style: "bold red" }, last: "-" };
    const segments: StatusSegment[] = [
      { segment: "session", style: "white on blue" },
      { segment: "windows", style: "italic on 250", marks },
      { text: "plain" },
    ];
    const windows = [window(0), window(1), window(2, { last: true })];
    const rings = (id: string) => ({ ...quiet, bell: id === "@w0" });
    const line = lineOf(segments, 60, { windows, marks: rings });
    expect(text(segments, 60, { windows, marks: rings }).trimEnd()).toBe(" dev  0:win0! 1:win1< 2:win2- plain");
    expect(styleOf(line, "dev")).toMatchObject(look("bold white on blue"));
    expect(styleOf(line, "0:")).toMatchObject(look("italic bold red on 250"));
    expect(styleOf(line, "1:")).toMatchObject(look("italic bold inverse on 250"));
    expect(styleOf(line, "2:")).toMatchObject(look("italic on 250"));
    expect(styleOf(line, "plain")).toBe(theme.status);
    expect(colorlessStyle(styleOf(line, "0:"))).toMatchObject({ fg: null, bg: null, flags: ITALIC | BOLD });
  });

  test("of gaps fill the blanks of the line", () => {
    const gap = (style: string): StatusSegment => ({ segment: "gap", style });
    const blanks = (segments: readonly StatusSegment[]) =>
      lineOf(segments, 30).spans.flatMap(({ text, style }) => (/^ +$/.test(text) ? [style.bg] : []));
    const [red, blue] = [{ indexed: 1 }, { indexed: 4 }];
    expect(blanks([{ text: "a" }, gap("on red"), { text: "b" }, gap("on blue"), { text: "c" }])).toEqual([red, blue]);
    expect(blanks([{ text: "a" }, gap("on red")])).toEqual([red, red]);
    expect(new Set(blanks([{ text: "a" }]))).toEqual(new Set([theme.status.bg]));
  });

  test("dim and reverse are faint and inverse", () => {
    expect(parseStyle("dim reverse")).toEqual({ fg: null, bg: null, flags: FAINT | INVERSE });
  });

  test("of a command's output are honoured, and every other sequence is removed", () => {
    const plain = { fg: null, bg: null, flags: 0 };
    const cases: readonly (readonly [string, ReturnType<typeof parseAnsiText>])[] = [
      ["plain", [{ text: "plain", style: plain }]],
      [
        "\x1b[31ma\x1b[39mb",
        [
          { text: "a", style: { ...plain, fg: { indexed: 1 } } },
          { text: "b", style: plain },
        ],
      ],
      [
        "\x1b[1;3;4;7;9;2mx",
        [{ text: "x", style: { ...plain, flags: BOLD | ITALIC | UNDERLINE | INVERSE | STRIKE | FAINT } }],
      ],
      [
        "\x1b[1;4:3mx\x1b[22;4:0my",
        [
          { text: "x", style: { ...plain, flags: BOLD | UNDERLINE } },
          { text: "y", style: plain },
        ],
      ],
      [
        "\x1b[38;5;208;48;2;1;2;3;1mx",
        [{ text: "x", style: { fg: { indexed: 208 }, bg: { rgb: { r: 1, g: 2, b: 3 } }, flags: BOLD } }],
      ],
      [
        "\x1b[38:2::1:2:3;48:5:9mx",
        [{ text: "x", style: { fg: { rgb: { r: 1, g: 2, b: 3 } }, bg: { indexed: 9 }, flags: 0 } }],
      ],
      [
        "\x1b[97;104mx\x1b[mz",
        [
          { text: "x", style: { fg: { indexed: 15 }, bg: { indexed: 12 }, flags: 0 } },
          { text: "z", style: plain },
        ],
      ],
      ["\x1b[38;5;999mx\x1b[38mx\x1b[8;5mx\x1b[98;38;2mx", [..."xxxx"].map((each) => ({ text: each, style: plain }))],
      ["a\x1b[2J\x1b]0;title\x07\x1bP+q\x1b\\\x1b]8;;http://x\x1b\\b\x07\b\rc\td", [{ text: "abc d", style: plain }]],
      ["\x1b]52;c;\x1b[31m\u202eleft\u2066", [{ text: "left", style: { ...plain, fg: { indexed: 1 } } }]],
      ["\x1b[", []],
    ];
    for (const [output, expected] of cases) expect(parseAnsiText(output)).toEqual(expected);
    const line = lineOf([{ command: ["x"], style: "on 250" }], 40, {
      output: () => ({ text: "\x1b[31mlow", failure: "exit 1" }),
    });
    expect(styleOf(line, "low")).toMatchObject(look("red on 250"));
    expect(styleOf(line, "x: exit 1")).toMatchObject(look("bold underline on 250"));
  });
});

test("marks: signs in a fixed order, each of which the settings replace or remove", () => {
  const failed = pane({ state: "exited", exit_code: 2 });
  const windows = [
    window(1, { last: true, zoomed: true, synchronized: true, panes: [failed] }),
    window(2, { last: true, panes: [pane({ id: "@7" })] }),
  ];
  const all = { windows, marked: "@7", marks: () => ({ bell: true, activity: true, finished: true }) };
  expect(text(["windows"], 40, all).trim()).toBe("1:win1*Z=!#+x 2:win2M!#+");
  const marks = { ...{ current: "", last: "L", zoomed: { sign: "🔍" }, synchronized: "", marked: "", bell: "B" } };
  const own = { ...marks, activity: "", finished: { style: "red" }, failed: "\x1b[31mF\x07" };
  expect(text([{ segment: "windows", marks: own }], 40, all).trim()).toBe("1:win1🔍B+F 2:win2LB+");
});

describe("texts", () => {
  test("contain facts, braces, and nothing that is not text", () => {
    const given = "{{{session}}} {host} {user} {window_index}:{window}.{pane_index} {program} {title} {directory}";
    expect(text([{ text: given }], 80).trimEnd()).toBe("{dev} box me 1:win1.0 vim 漢字 ~/src");
    const windows = [window(1, { panes: [pane({ title: "\x1b[31mx\x07\n\u202ey", cwd: null })] })];
    expect(text([{ text: "<{title}{directory}>" }], 20, { windows }).trimEnd()).toBe("<x y>");
    expect(text([{ text: "{window}" }, { text: "b" }], 10, { windows: [] }).trimEnd()).toBe("b");
    expect(["{x}", "{", "}", "a{b", "{}"].map(parseText)).toEqual(["{x}", "{", "}", "{", "{}"]);
  });

  test("of the time have its format, and the clock its period", () => {
    expect(text([{ segment: "time", format: "%F %T" }], 30).trim()).toBe("2026-01-02 09:05:07");
    const period = (...segments: StatusSegment[]) => clockPeriod(parseSegments(segments, null));
    expect([period("host"), period("time"), period("time", { segment: "time", format: "%M:%S" })]).toEqual([
      ...[null, 60_000, 1_000],
    ]);
  });

  test("are as wide as permitted, in cells", () => {
    const wide = { session: "漢字漢字漢字漢字漢字漢字" };
    expect(text(["session"], 40, wide).trim()).toBe("漢字漢字漢字漢字漢…");
    expect(text([{ segment: "session", width: 4 }], 40, wide).trim()).toBe("漢…");
    expect(text([{ text: "👩‍👩‍👧‍👦é́x漢", width: 4 }], 10)).toBe(`${"👩‍👩‍👧‍👦é́…"}${" ".repeat(6)}`);
    const output = () => ({ text: `\x1b[32m${"字".repeat(60)}\x1b[mend`, failure: "" });
    expect(text([{ command: ["x"] }], 110, { output }).trim()).toBe(`${"字".repeat(49)}…`);
    expect(text([{ command: ["x"], width: 6 }], 110, { output }).trim()).toBe("字字…");
    expect(
      text([{ command: ["x"], width: 6 }], 110, {
        output: () => ({ text: "\x1b[31mabc\x1b[mdef", failure: "" }),
      }).trim(),
    ).toBe("abcdef");
  });
});

describe("the layout", () => {
  const parts: StatusSegment[] = ["session", "gap", "windows", "gap", { text: "one " }, { text: "two" }];

  test("puts a middle into the middle while there is room", () => {
    const middle = " 0:win0 1:win1* 2:win2 ";
    expect(text(parts, 60)).toBe(` dev ${" ".repeat(13)}${middle}${" ".repeat(12)}one two`);
    // The right part is wider than half of the rest.
    expect(text(["session", "gap", "windows", "gap", { text: "x".repeat(25) }], 60)).toBe(
      ` dev ${" ".repeat(7)}${middle}${"x".repeat(25)}`,
    );
  });

  test("leaves out names of other windows, then the right part, then windows, and last the session", () => {
    expect(text(parts, 30)).toBe(" dev     0 1:win1* 2   one two");
    expect(text(parts, 24)).toBe(" dev  0 1:win1* 2    two");
    expect(text(parts, 20)).toBe(" dev  0 1:win1* 2   ");
    expect(text(parts, 16)).toBe(" 1:win1*".padEnd(16));
  });

  test("gives the current window room before texts, on every side of the line", () => {
    const long = { text: "L".repeat(50) };
    for (const segments of [
      ["session", long, "windows"],
      ["session", "gap", long, "gap", "windows"],
      ["windows", "gap", "session", long],
      ["gap", "windows", long],
    ] as const)
      for (const cols of [20, 40, 60, 200]) {
        const line = text(segments, cols);
        expect(line).toContain(" 1:win1*");
        expect(cellWidth(clusters(line))).toBe(cols);
        expect(line.includes("L")).toBe(cols >= (segments.length === 3 ? 65 : 200) || line.includes("L".repeat(50)));
      }
  });

  test("cuts a text that is alone, and fills every width exactly", () => {
    expect(text(["gap", { text: "a text that is too long" }], 10)).toBe("a text th…");
    const windows = Array.from({ length: 9 }, (_, i) => window(i, { name: `窓${"🦊".repeat(i)}`, active: i === 4 }));
    const all: StatusSegment[] = [{ text: "左 " }, "session", "gap", "windows", "gap", "host", { text: "右" }];
    for (let cols = 16; cols <= 200; cols++) expect(cellWidth(clusters(text(all, cols, { windows })))).toBe(cols);
  });

  test("knows what is at each column", () => {
    const line = lineOf(parts, 60);
    expect([0, 4, 5, 18, 26, 40, 59, 70].map((col) => line.targetAt(col))).toEqual([
      ...([{ kind: "session" }, { kind: "session" }, { kind: "line" }] as const),
      { kind: "window", index: 0, active: false },
      { kind: "window", index: 1, active: true },
      ...([{ kind: "line" }, { kind: "line" }, { kind: "line" }] as const),
    ]);
  });
});
