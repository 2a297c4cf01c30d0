/** However rows are cut and drawn over: each has its width in cells, and no wide character is left half. */
import { expect, test } from "bun:test";
import { Canvas } from "../../../src/compositor/canvas.ts";
import { clusters } from "../../../src/compositor/graphemes.ts";
import { type Cell, plainStyle, type Row } from "../../../src/protocol/grid.ts";
import { seededRandom } from "../../support/terminals/outer-screen.ts";

const ROUNDS = 500;

function rowOf(text: string): Cell[] {
  return clusters(text).flatMap(({ text, width }): Cell[] => [
    { text, width, style: plainStyle },
    ...(width === 2 ? [{ text: "", width: 0, style: plainStyle } as const] : []),
  ]);
}

/** Each wide character followed by its second half, and no second half elsewhere. */
function isWhole(row: Row): boolean {
  return row.every(({ width }, col) =>
    width === 1 ? true : width === 2 ? row[col + 1]?.width === 0 : row[col - 1]?.width === 2,
  );
}

test("a row that its emulator has cut through a wide character is mended by a blank", () => {
  const canvas = new Canvas(2, 3);
  canvas.putRow(0, rowOf("a漢字").slice(0, 4));
  canvas.putRow(1, rowOf("漢字").slice(1));
  expect(canvas.finish().map((row) => row.map(({ text }) => text).join(""))).toEqual(["a漢", " 字"]);
});

test("rows stay whole under anything drawn on them", () => {
  const random = seededRandom(7);
  const below = (n: number): number => Math.floor(random() * n);
  const text = (): string => Array.from({ length: below(12) }, () => (below(2) === 0 ? "x" : "漢")).join("");
  for (let round = 0; round < ROUNDS; round++) {
    const cols = 1 + below(12);
    const canvas = new Canvas(1, cols);
    const cut = rowOf(text()).slice(below(2));
    canvas.putRow(0, cut.slice(0, below(cut.length + 1)));
    for (let drawn = below(4); drawn > 0; drawn--) {
      const box = { row: 0, col: below(cols + 2) - 1, height: 1, width: below(cols + 1) };
      if (below(3) === 0) canvas.fill(box, plainStyle);
      else if (below(2) === 0) canvas.text(0, box.col, clusters(text()), plainStyle, box);
      else canvas.putCells(0, Math.max(0, box.col), rowOf(text()));
    }
    const [row = []] = canvas.finish();
    expect({ round, cells: row.length, isWhole: isWhole(row) }).toEqual({ round, cells: cols, isWhole: true });
  }
});
