/** wsh's drawing is legible on dark and light terminals, with few colours or none, and follows the settings. */
import { describe, expect, test } from "bun:test";
import { buildTheme, theme, withoutColors } from "../../../src/compositor/theme.ts";
import { INVERSE, plainStyle, type Row, type Style } from "../../../src/protocol/grid.ts";
import { nearestBasic, type Rgb, xtermColor } from "../../../src/protocol/palette.ts";
import type { Color } from "../../../src/protocol/screen.ts";
import { parseStyle, styleExpected, themeRoleNames } from "../../../src/protocol/theme.ts";

const rgb = (value: number): Rgb => ({ r: value >> 16, g: (value >> 8) & 0xff, b: value & 0xff });

/** Backgrounds and texts of common terminals. */
const terminals = {
  dark: [0x000000, 0xe5e5e5],
  light: [0xffffff, 0x000000],
  "solarized dark": [0x002b36, 0x93a1a1],
  "solarized light": [0xfdf6e3, 0x586e75],
  ubuntu: [0x300a24, 0xffffff],
  grey: [0x1e1e1e, 0xd4d4d4],
} as const;

/** Relative luminance and contrast as WCAG 2.2 defines them. */
function luminance({ r, g, b }: Rgb): number {
  const [red = 0, green = 0, blue = 0] = [r, g, b].map((level) => {
    const share = level / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: Rgb, b: Rgb): number {
  const [light = 0, dark = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}

function shown({ fg, bg, flags }: Style, [back, text]: readonly [number, number], convert: (color: Rgb) => Rgb) {
  const color = (each: Color | null, own: number): Rgb => {
    if (each === null) return rgb(own);
    return convert("rgb" in each ? each.rgb : xtermColor(each.indexed));
  };
  const pair = [color(fg, text), color(bg, back)] as const;
  return (flags & INVERSE) === 0 ? pair : ([pair[1], pair[0]] as const);
}

describe("by default", () => {
  for (const [name, colors] of Object.entries(terminals)) {
    test(`everything is legible on ${name}`, () => {
      for (const role of themeRoleNames) {
        // Lines are not text: 3 is enough for them, and the contrast of the terminal's own text for all in its colours.
        const own = contrast(rgb(colors[0]), rgb(colors[1]));
        const least = role.startsWith("border") || role === "title" ? 3 : Math.min(4.5, own);
        const [front, back] = shown(theme[role], colors, (color) => color);
        expect([role, contrast(front, back) >= least]).toEqual([role, true]);
      }
    });
  }

  test("text is legible in 16 colours, and without any nothing but colours is lost", () => {
    for (const colors of Object.values(terminals)) {
      for (const role of themeRoleNames.filter((each) => !each.startsWith("border") && each !== "title")) {
        const own = contrast(rgb(colors[0]), rgb(colors[1]));
        const [front, back] = shown(theme[role], colors, (color) => xtermColor(nearestBasic(color)));
        expect([role, contrast(front, back) >= Math.min(4.5, own)]).toEqual([role, true]);
      }
    }
    const program: Style = { ...plainStyle, fg: { indexed: 3 } };
    const cell = (style: Style) => ({ text: "x", width: 1, style }) as const;
    const row: Row = [cell(program), cell(theme.status), cell(theme.border_active)];
    const plain = withoutColors(row);
    expect(plain.map(({ style }) => style)).toEqual([program, plainStyle, plainStyle]);
    expect(withoutColors(row)).toBe(plain);
    const programs: Row = [cell(program)];
    expect(withoutColors(programs)).toBe(programs);
  });
});

describe("a style", () => {
  test.each([
    ["bold", { fg: null, bg: null, flags: 1 }],
    ["black on green", { fg: { indexed: 0 }, bg: { indexed: 2 }, flags: 0 }],
    ["Bright-Red", { fg: { indexed: 9 }, bg: null, flags: 0 }],
    ["underline 160 on #102030", { fg: { indexed: 160 }, bg: { rgb: { r: 16, g: 32, b: 48 } }, flags: 8 }],
    ["default on default", { fg: null, bg: null, flags: 0 }],
    ["on blue", { fg: null, bg: { indexed: 4 }, flags: 0 }],
  ])("%s", (text, look) => {
    expect(parseStyle(text)).toEqual(look);
  });

  test("anything else is invalid", () => {
    for (const text of [
      "",
      "red green",
      "on",
      "red on",
      "256",
      "#12345",
      "red on blue green",
      "bright-bold",
      "blinking",
    ])
      expect([text, parseStyle(text)]).toEqual([text, null]);
    expect(styleExpected).toContain("black on green");
  });

  test("without colours has those of the cells below", () => {
    const looks = buildTheme({ status: { fg: { indexed: 7 }, bg: { indexed: 4 }, flags: 0 } });
    expect(looks.status_current).toEqual({ fg: { indexed: 7 }, bg: { indexed: 4 }, flags: 1, link: null });
    expect(looks.border_active).toEqual(theme.border_active);
  });
});
