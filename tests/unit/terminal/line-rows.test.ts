/** Rows by line id: every row once, in either direction and any pages, and the matches of a search. */
import { expect, test } from "bun:test";
import type { OperationOutput } from "../../../src/operations/table.ts";
import { decodeRows } from "../../../src/protocol/frame-codec.ts";
import { type Cell, plainStyle, type Row, sameCell } from "../../../src/protocol/grid.ts";
import { readLines, searchLines } from "../../../src/session-process/operations/lines.ts";
import { TerminalModel } from "../../../src/terminal/model.ts";
import { defaultProfile } from "../../../src/terminal/profile.ts";
import { seededRandom } from "../../support/terminals/outer-screen.ts";

type Page = OperationOutput<"lines.get">;
type PlacedRow = Page["rows"][number] & { readonly cells: Row };

const full = process.env.WSH_TEST_FULL === "1";
const plainBlank: Cell = { text: " ", width: 1, style: plainStyle };
const idle = new AbortController().signal;

function open(rows: number, cols: number, historyLines: number): TerminalModel {
  return new TerminalModel(
    { rows, cols, historyLines, historyBytes: 64e6, nonce: null, profile: defaultProfile },
    {
      reply: () => {},
      chunk: () => {},
      mark: () => {},
      bell: () => {},
      title: () => {},
      cwd: () => {},
      alternate: () => {},
      clipboard: () => {},
      reset: () => {},
    },
  );
}

const get = (terminal: TerminalModel, input: object, limit: number): Promise<Page> =>
  readLines(terminal, { from_col: 0, before_col: 0, limit, ...input });

function decoded(page: Page): PlacedRow[] {
  const cells = decodeRows(
    page.styles,
    page.rows.map(({ runs }) => runs),
    page.cols,
  );
  return page.rows.map((row, at) => ({ ...row, cells: cells[at] ?? [] }));
}

async function downwards(terminal: TerminalModel, limit: number): Promise<PlacedRow[]> {
  const rows: PlacedRow[] = [];
  let next: Page["next"] = { line: 0, col: 0 };
  while (next !== null) {
    const page: Page = await get(terminal, { from_line: next.line, from_col: next.col }, limit);
    expect(page.more_above).toBe(rows.length > 0 ? true : page.first_line > (page.rows[0]?.line ?? 0));
    rows.push(...decoded(page));
    next = page.next;
  }
  return rows;
}

async function upwards(terminal: TerminalModel, limit: number): Promise<PlacedRow[]> {
  let page = await get(terminal, {}, limit);
  let rows = decoded(page);
  while (page.more_above) {
    const [top] = page.rows;
    page = await get(terminal, { before_line: top?.line, before_col: top?.col }, limit);
    expect(page.next).toEqual({ line: top?.line ?? -1, col: top?.col ?? -1 });
    rows = [...decoded(page), ...rows];
  }
  return rows;
}

const equalRows = (one: Row, other: Row): boolean =>
  one.length === other.length && one.every((cell, at) => sameCell(cell, other[at]));

const pieces = [
  "needle",
  "日本",
  "e\u0301",
  "👩‍👩‍👧",
  "x",
  " ",
  "NEEDLE ",
  "ü",
  "\x1b[31m",
  "\x1b[m",
  "\x1b[4:3;58;5;9m",
  "\t",
];
const links = ["\x1b]8;;https://example.org/\x1b\\", "\x1b]8;;\x1b\\"];

function printed(random: () => number): string {
  let text = "";
  for (let line = 0; line < 120; line++) {
    const count = random() < 0.02 ? 1_500 : Math.floor(random() * 30);
    for (let at = 0; at < count; at++) text += pieces[Math.floor(random() * pieces.length)] ?? "";
    if (random() < 0.1) text += links[Math.floor(random() * 2)] ?? "";
    text += "\r\n";
  }
  return text;
}

/**
 * Rows show what the terminal shows. The emulator may wrap a character into the next row and then join it to the one
 * before, which leaves an empty row on the screen that belongs to no text: blank rows are left out on both sides.
 */
function compare(rows: readonly PlacedRow[], shown: readonly Row[]): void {
  const isBlank = (row: Row): boolean => row.every(({ text }) => text === " ");
  const ours = rows.filter(({ cells }) => !isBlank(cells));
  const theirs = shown.filter((row) => !isBlank(row));
  for (const [at, { cells, wrapped }] of ours.entries()) {
    const painted = [...(theirs[at] ?? [])];
    // The style of a cell that a wide character left empty at the end of a row belongs to no line.
    if (wrapped && painted.at(-1)?.text === " ") painted.splice(-1, 1, cells.at(-1) ?? plainBlank);
    if (!equalRows(cells, painted)) expect([at, cells]).toEqual([at, painted]);
  }
  expect(ours.length).toBe(theirs.length);
}

for (let seed = 1; seed <= (full ? 40 : 2); seed++) {
  test(`rows and matches of text ${seed} are those of screen and history`, async () => {
    const random = seededRandom(seed);
    const terminal = open(7, 24, seed % 3 === 0 ? 200 : 10_000);
    for (let step = 0; step < (full ? 14 : 8); step++) await terminal.write(Buffer.from(printed(random)));
    if (seed % 2 === 0) await terminal.resize(9, 10 + Math.floor(random() * 40));
    await terminal.write(Buffer.from(printed(random)));
    await terminal.write(Buffer.from("end of it"));

    const down = await downwards(terminal, 1 + Math.floor(random() * 50));
    const up = await upwards(terminal, 1 + Math.floor(random() * 50));
    expect(down.map(({ line, col, wrapped }) => [line, col, wrapped])).toEqual(
      up.map(({ line, col, wrapped }) => [line, col, wrapped]),
    );
    for (const [at, row] of down.entries()) {
      if (!equalRows(row.cells, up[at]?.cells ?? [])) expect(row.cells).toEqual(up[at]?.cells ?? []);
      expect(row.wrapped === true).toBe(down[at + 1]?.line === row.line);
    }
    compare(down, [...terminal.newestRows(Number.MAX_SAFE_INTEGER), ...terminal.grid().lines]);
    const { screen } = await get(terminal, {}, 1);
    const onScreen = down.findIndex(({ line, col }) => line === screen.line && col === screen.col);
    compare(down.slice(onScreen), terminal.grid().lines);

    const expected: { line: number; col: number; length: number }[] = [];
    for (const { id, cells } of terminal.lineCells(terminal.firstLine, terminal.lastLine)) {
      const starts: number[] = [];
      let text = "";
      for (const [col, cell] of cells.entries()) {
        for (let unit = 0; unit < cell.text.length; unit++) starts.push(col);
        text += cell.text.toLowerCase();
      }
      for (const wanted of ["needle", "e\u0301x"]) {
        for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
          const col = starts[at] ?? 0;
          const last = starts[at + wanted.length - 1] ?? 0;
          expected.push({ line: id, col, length: last + (cells[last]?.width ?? 0) - col });
        }
      }
    }
    expected.sort((one, other) => one.line - other.line || one.col - other.col);
    const search = (more: object) =>
      searchLines(
        terminal,
        { query: "needle|e\u0301x", regex: true, from_col: 0, before_col: 0, limit: 1_000_000, ...more },
        idle,
      );
    expect(await search({ case_sensitive: false })).toMatchObject({
      total: expected.length,
      first: 0,
      matches: expected,
    });
    const newest = await search({ limit: 3 });
    expect(newest).toMatchObject({ total: expected.length, first: expected.length - 3, matches: expected.slice(-3) });
    const [top] = newest.matches;
    const older = await search({ limit: 5, before_line: top?.line, before_col: top?.col });
    expect(older).toMatchObject({ first: expected.length - 8, matches: expected.slice(-8, -3) });
    const middle = expected[Math.floor(expected.length / 2)];
    const later = await search({ limit: 5, from_line: middle?.line, from_col: middle?.col });
    expect(later).toMatchObject({
      first: Math.floor(expected.length / 2),
      matches: expected.slice(Math.floor(expected.length / 2)).slice(0, 5),
    });
    terminal.dispose();
  });
}

test("small letters match capitals, too, until there is a capital, or on request", async () => {
  const terminal = open(5, 40, 100);
  await terminal.write(Buffer.from("Straße STRASSE strasse\r\nİ i I\r\n"));
  const lines = async (query: string, more: object = {}) =>
    (await searchLines(terminal, { query, regex: false, from_col: 0, before_col: 0, limit: 10, ...more }, idle))
      .matches;
  expect(await lines("strasse")).toEqual([
    { line: 0, col: 7, length: 7 },
    { line: 0, col: 15, length: 7 },
  ]);
  expect(await lines("STRASSE")).toEqual([{ line: 0, col: 7, length: 7 }]);
  expect(await lines("STRASSE", { case_sensitive: false })).toHaveLength(2);
  expect(await lines("strasse", { case_sensitive: true })).toEqual([{ line: 0, col: 15, length: 7 }]);
  expect(await lines("i")).toContainEqual({ line: 1, col: 2, length: 1 });
  terminal.dispose();
});

test("a line keeps its id and its positions while older ones go, the screen is cleared and the width changes", async () => {
  const terminal = open(5, 40, 50);
  for (let line = 0; line < 300; line++) await terminal.write(Buffer.from(`line ${line} ${"w".repeat(60)}\r\n`));
  const [found] = (
    await searchLines(terminal, { query: "line 290", regex: false, from_col: 0, before_col: 0, limit: 1 }, idle)
  ).matches;
  expect(found).toEqual({ line: 290, col: 0, length: 8 });
  await terminal.resize(5, 17);
  for (let line = 300; line < 330; line++) await terminal.write(Buffer.from(`line ${line} ${"w".repeat(60)}\r\n`));
  const page = await get(terminal, { from_line: 290 }, 6);
  expect(page.rows.map(({ line, col, wrapped }) => [line, col, wrapped ?? false])).toEqual([
    [290, 0, true],
    [290, 17, true],
    [290, 34, true],
    [290, 51, true],
    [290, 68, false],
    [291, 0, true],
  ]);
  expect(page.rows[0]?.runs).toEqual(["line 290 wwwwwwww"]);
  // A position within a row gives that row.
  expect((await get(terminal, { from_line: 290, from_col: 40 }, 1)).rows[0]).toMatchObject({ line: 290, col: 34 });
  expect((await get(terminal, { from_line: 290, from_col: 4_000 }, 1)).rows[0]).toMatchObject({ line: 290, col: 68 });
  // Removed lines, and future ones.
  const oldest = await get(terminal, { from_line: 3 }, 1);
  expect(oldest.rows[0]?.line).toBe(oldest.first_line);
  expect(oldest.more_above).toBe(false);
  expect(await get(terminal, { from_line: 9_999 }, 5)).toMatchObject({ rows: [], next: null, more_above: true });
  expect((await get(terminal, { before_line: 9_999 }, 1)).rows).toHaveLength(1);
  terminal.dispose();
});
