/**
 * Output of programs on the page: pictures; of recorded ones what the API has, too: text and styles cell for cell, each character in its
 * column. The recordings are those of tests/reliability/streams.
 */
import { describe, expect } from "bun:test";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "puppeteer-core";
import { xtermColor } from "../../src/protocol/palette.ts";
import type { Color, Screen, Span } from "../../src/protocol/screen.ts";
import { streamPrograms } from "../reliability/streams/programs.ts";
import { quietTerminal } from "../reliability/streams/quiet-terminal.ts";
import type { Gateway } from "../support/server.ts";
import { until } from "../support/until.ts";
import { browserTest, type TestBrowser } from "./support/browser.ts";
import { beforeTests } from "./support/place.ts";
import { show } from "./support/shown.ts";

const isFull = process.env.WSH_TEST_FULL !== undefined;
/** Programs of the small size: colours and boxes, wide characters, marks and emoji, a full screen. */
const SMALL: ReadonlySet<string> = new Set(["attributes", "unicode", "mc", "vim"]);
const programs = streamPrograms.filter(({ name }) => isFull || SMALL.has(name));
/** Moments as parts of a recording. */
const LOOKS = isFull ? [0.35, 0.7, 1] : [0.5, 1];
const STEP = 97;
/** Greatest distance of a character from its column, in CSS pixels. */
const X_ERROR = 0.5;

/** The page leaves the size of a recording alone. */
const LOOK = { viewport: { width: 1200, height: 700 }, settings: { size: "follow" } };

let gateway: Gateway;
let browser: TestBrowser;
beforeTests((...both) => {
  [gateway, browser] = both;
});

interface Moment {
  readonly bytes: Uint8Array;
  /** The screen's text then: the page is checked only once the session is that far. */
  readonly text: string;
}

/** The parts of a recording between moments with an unfinished sequence. */
async function parts(
  bytes: Uint8Array,
): Promise<{ readonly cols: number; readonly rows: number; readonly parts: Moment[] }> {
  using terminal = quietTerminal();
  const found: Moment[] = [];
  let from = 0;
  for (let at = 0; at < bytes.length; at += STEP) {
    await terminal.write(bytes.subarray(at, at + STEP));
    if (Math.min(at + STEP, bytes.length) < (LOOKS[found.length] ?? 2) * bytes.length) continue;
    const text = terminal.model.grid().lines.map((row) =>
      row
        .map((cell) => cell.text)
        .join("")
        .trimEnd(),
    );
    found.push({ bytes: bytes.subarray(from, terminal.model.offset), text: text.join("\n") });
    from = terminal.model.offset;
  }
  const { rows, cols } = terminal.model.grid();
  return { rows, cols, parts: found };
}

function cssColor(color: Color | undefined, fallback: string): string {
  if (color === undefined) return fallback;
  if ("indexed" in color && color.indexed < 16) return `var(--color-${color.indexed})`;
  const { r, g, b } = "indexed" in color ? xtermColor(color.indexed) : color.rgb;
  return `rgb(${r}, ${g}, ${b})`;
}

interface Part {
  readonly text: string;
  readonly look: string;
}

function lookOf(span: Omit<Span, "text">): string {
  const [fg, bg] = span.inverse === true ? [span.bg, span.fg] : [span.fg, span.bg];
  const color = cssColor(fg, span.inverse === true ? "var(--ground)" : "");
  const ground = cssColor(bg, span.inverse === true ? "var(--text)" : "");
  const flags = [
    ...[span.bold === true ? "b" : "", span.italic === true ? "i" : "", span.faint === true ? "f" : ""],
    ...[
      span.blink === true ? "k" : "",
      span.underline === true ? "underline" : "",
      span.strikethrough === true ? "line-through" : "",
    ],
  ];
  return [color, ground, ...flags.filter((flag) => flag !== "")].join(" ");
}

const PLAIN = lookOf({});

/** Parts of equal style joined; invisible trailing blanks are left out. */
function joined(all: readonly Part[]): Part[] {
  const parts: Part[] = [];
  for (const { text, look } of all) {
    const last = parts.at(-1);
    if (text === "") continue;
    if (last?.look === look) parts[parts.length - 1] = { text: last.text + text, look };
    else parts.push({ text, look });
  }
  for (let last = parts.at(-1); last !== undefined && isUnseen(last.look); last = parts.at(-1)) {
    const text = last.text.trimEnd();
    if (text === last.text) break;
    parts.pop();
    if (text !== "") parts.push({ text, look: last.look });
  }
  return parts;
}

/** Whether a blank of this style equals none: it has no background and no line. */
function isUnseen(look: string): boolean {
  const [, ground] = look.split(/ (?![^(]*\))/);
  return ground === "" && !/underline|line-through/.test(look);
}

/** Rows of the page: text and style of each part, and the greatest distance of one from its column. */
async function pageRows(page: Page): Promise<{ readonly rows: Part[][]; readonly error: number }> {
  return page.evaluate(() => {
    const grid = document.querySelector(".grid") ?? document.documentElement;
    const cell = Number.parseFloat(getComputedStyle(grid).getPropertyValue("--cell-width"));
    let error = 0;
    const rows = Array.from(document.querySelectorAll<HTMLElement>(".screen .row"), (row) => {
      const { left } = row.getBoundingClientRect();
      let col = 0;
      return Array.from(row.childNodes, (node) => {
        const range = document.createRange();
        range.selectNode(node);
        const box = node instanceof HTMLElement ? node.getBoundingClientRect() : range.getBoundingClientRect();
        error = Math.max(error, Math.abs(box.left - left - col * cell));
        const text = node.textContent ?? "";
        if (!(node instanceof HTMLElement)) {
          col += [...text].length;
          return { text, look: " " };
        }
        const { style, classList } = node;
        const isBox = classList.contains("w") || classList.contains("x");
        col += isBox ? Math.round(Number.parseFloat(style.width) / cell) : [...text].length;
        const lines = style.textDecorationLine.split(" ");
        const flags = [
          ...["b", "i", "f", "k"].filter((name) => classList.contains(name)),
          ...["underline", "line-through"].filter((name) => lines.includes(name)),
        ];
        return { text, look: [style.color, style.backgroundColor, ...flags].join(" ") };
      });
    });
    return { rows, error };
  });
}

describe("recorded programs on the page", () => {
  for (const { name } of programs) {
    browserTest(name, async () => {
      const {
        parts: written,
        rows,
        cols,
      } = await parts(readFileSync(join(import.meta.dir, `../fixtures/streams/${name}.vt`)));
      const pipe = `${gateway.dir}/${name}.pipe`;
      Bun.spawnSync(["mkfifo", pipe]);
      await gateway.create({ name, rows, cols, command: `/bin/sh -c 'stty raw -echo; exec cat <> ${pipe}'` });
      const { page, faults } = await show(browser, gateway, name, LOOK);
      const file = openSync(pipe, "w");
      try {
        for (const [index, { bytes, text: reached }] of written.entries()) {
          writeSync(file, bytes);
          let found: unknown;
          let wanted: unknown;
          let error = Number.POSITIVE_INFINITY;
          await until(`the page to show what the API shows (${name}, part ${index})`, async () => {
            const screen = (await (await gateway.unix(`/sessions/${name}/screen?format=styled`)).json()) as Screen;
            const shown = await pageRows(page);
            wanted = screen.lines.map((line) =>
              joined(
                (typeof line === "string" ? [{ text: line }] : line).map(({ text, ...span }) => ({
                  text,
                  look: lookOf(span),
                })),
              ),
            );
            found = shown.rows.map(joined);
            error = shown.error;
            const text = screen.lines
              .map((line) => (typeof line === "string" ? line : line.map((span) => span.text).join("")).trimEnd())
              .join("\n");
            return text === reached && Bun.deepEquals(found, wanted);
          }).catch(() => undefined);
          expect(found).toEqual(wanted);
          expect(error).toBeLessThan(X_ERROR);
        }
      } finally {
        closeSync(file);
      }
      expect(PLAIN).toBe(" ");
      expect(faults).toEqual([]);
    });
  }
});

browserTest("pictures of programs are shown, of sixel graphics and of raw pixels", async () => {
  const raw = Buffer.alloc(16 * 32 * 3, 200).toString("base64");
  const kitty = `\\033_Ga=T,q=2,f=24,s=16,v=32;${raw}\\033\\134`;
  const sixel = '\\033Pq"1;1;16;32#1;2;100;0;0#1!16~-!16~-!16~-!16~-!16~-!16B\\033\\134';
  await gateway.create({
    name: "pictures",
    command: `/bin/sh -c 'printf "%b" "${kitty}" "\\n$1" "\\nbelow"; exec cat'`.replace(
      "$1",
      sixel.replaceAll('"', '\\"'),
    ),
  });
  const { page, shows, faults } = await show(browser, gateway, "pictures", LOOK);
  await shows("below");
  const sizes = () =>
    page.evaluate(() =>
      Promise.all(
        Array.from(document.querySelectorAll<HTMLElement>(".screen span.g"), async (cells) => {
          const [, url = ""] = /url\("?([^")]+)/.exec(getComputedStyle(cells).backgroundImage) ?? [];
          const image = new Image();
          image.src = url;
          await image.decode().catch(() => {});
          const { width, height } = cells.getBoundingClientRect();
          return `${image.naturalWidth}x${image.naturalHeight} ${cells.textContent?.length} ${width > 10 && height > 10}`;
        }),
      ),
    );
  await until("the images", async () => (await sizes()).join() === Array(4).fill("16x32 2 true").join());
  expect(faults).toEqual([]);
});
