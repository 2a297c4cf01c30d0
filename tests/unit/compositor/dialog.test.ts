/** Dialogs at terminals of every size: omitted parts, their indication, and ASCII terminals. */
import { expect, test } from "bun:test";
import { type DialogContent, drawDialog, layoutDialog } from "../../../src/compositor/dialog.ts";
import { type Grid, plainStyle } from "../../../src/protocol/grid.ts";

const content = (more: Partial<DialogContent> = {}): DialogContent => ({
  ...{ title: "Claude asks (1 of 2)", body: "Which?", facts: [], items: [], focus: 0, input: null, scroll: 0 },
  ...{ buttons: ["OK", "Dismiss"], hint: "↑ ↓ · Enter answers · Esc dismisses", ...more },
});
const items = (count: number) => Array.from({ length: count }, (_, n) => ({ mark: `${n} `, text: `choice ${n} ` }));

function drawn(what: DialogContent, rows: number, cols: number, ascii = false): string[] {
  const lines = Array.from({ length: rows }, () =>
    Array.from({ length: cols }, () => ({ text: " ", width: 1 as const, style: plainStyle })),
  );
  const cursor = { row: 0, col: 0, visible: true, shape: "block", blink: false } as const;
  const grid: Grid = { rows, cols, lines, cursor };
  const frame = drawDialog(grid, layoutDialog(what, { rows, cols }), ascii);
  return frame.lines.map((line) =>
    line
      .map(({ text }) => text)
      .join("")
      .trimEnd(),
  );
}

test("a truncated list shows that there is more, above and below", () => {
  const at = (focus: number): string => drawn(content({ items: items(40), focus }), 14, 60).join("\n");
  expect(at(0)).toMatch(/0 choice 0/);
  expect(at(0)).toMatch(/choice \d+ +↓/);
  expect(at(0)).not.toMatch(/choice \d+ +↑/);
  expect(at(20)).toMatch(/choice \d+ +↑/);
  expect(at(39)).toMatch(/39 choice 39/);
  expect(at(39)).not.toMatch(/choice \d+ +↓/);
  // A blank at the end of a choice does not make a line.
  expect(drawn(content({ items: items(3) }), 24, 80).filter((line) => /│ +│/.test(line))).toHaveLength(2);
});

test("the reader of a secret is never cut off by a long command line", () => {
  const facts = ["Only for ssh-keygen, pid 4711, in pane @8:", `  ssh-keygen ${"-f /a/very/long/path ".repeat(30)}`];
  const shown = drawn(content({ facts, input: { before: "", after: "" } }), 12, 40).join("\n");
  expect(shown).toContain("pane @8:");
  expect(shown).toContain("…");
  expect(shown.match(/very/g)?.length).toBeLessThan(5);
});

test("a terminal without UTF-8 gets ASCII signs in the same places", () => {
  const what = content({ items: items(40), focus: 20 });
  const [utf8, ascii] = [drawn(what, 14, 60), drawn(what, 14, 60, true)];
  expect(ascii.join("")).toMatch(/^[\x20-\x7e]*$/);
  expect(ascii.map((line) => line.length)).toEqual(utf8.map((line) => line.length));
  expect(ascii.join("\n")).toContain("^ v - Enter answers");
});

test("all answers to a permission are shown beside a text of any length", () => {
  const what = content({ body: "a long line of text ".repeat(200), items: items(4), buttons: ["Dismiss"], focus: 3 });
  for (const [rows, cols] of [
    [5, 20],
    [6, 20],
    [6, 100],
    [10, 38],
    [24, 80],
  ] as const) {
    const shown = drawn(what, rows, cols).join("\n");
    for (const { mark, text } of what.items) expect(shown).toContain(mark + text.trimEnd());
    expect(shown).toMatch(/[↓↕]/);
  }
});

test("it fits every size, and the answers are displayed as long as there is a row for them", () => {
  const wide = "漢字".repeat(200);
  const all = [
    content({ body: wide, items: items(40), focus: 39 }),
    content({ body: wide, facts: [wide, wide], input: { before: wide, after: "" } }),
    content({ title: wide, body: "a\n".repeat(100), focus: 1 }),
  ];
  for (const what of all) {
    for (const [rows, cols] of [
      [1, 1],
      [2, 3],
      [3, 10],
      [5, 20],
      [10, 38],
      [24, 80],
      [60, 200],
    ] as const) {
      const { targets, texts, box, cursor } = layoutDialog(what, { rows, cols });
      for (const { row } of texts) expect(row).toBeLessThan(rows);
      expect(box.row + box.height).toBeLessThanOrEqual(rows);
      expect(box.col + box.width).toBeLessThanOrEqual(cols);
      expect(targets.length > 0 || cursor !== null).toBe(true);
      expect(drawn(what, rows, cols)).toHaveLength(rows);
    }
  }
});
