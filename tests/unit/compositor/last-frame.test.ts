/** A frame made from the last one equals a newly composed one. */
import { expect, test } from "bun:test";
import { composeFrame } from "../../../src/compositor/compose.ts";
import { ReusableFrame } from "../../../src/compositor/last-frame.ts";
import { layoutPanels } from "../../../src/compositor/panel-layout.ts";
import type { Panel } from "../../../src/protocol/drawing.ts";
import type { Cell, Grid, Row } from "../../../src/protocol/grid.ts";

const plain = { fg: null, bg: null, flags: 0, link: null } as const;
const outer = { rows: 6, cols: 8 };

function row(text: string): Row {
  return [...text.padEnd(outer.cols)].map((char): Cell => ({ text: char, width: 1, style: plain }));
}

function gridOf(lines: readonly Row[], at: { readonly row: number; readonly col: number }): Grid {
  const cursor = { ...at, visible: true, shape: "block", blink: false } as const;
  return { rows: lines.length, cols: outer.cols, lines, cursor };
}

function panel(position: "top" | "bottom", text: string): Panel {
  return { id: text, position, height: 1, z: 0, visible: true, spans: [{ text }], background: { bg: "green" } };
}

const panels = [panel("top", "above"), panel("bottom", "below")];
const layout = layoutPanels(panels, outer);
const lines = [row("one"), row("two"), row("three"), row("")];

function composed(grid: Grid) {
  return composeFrame({ grid, layout, overlays: [], panels, outer, lastRowText: null });
}

function begun(): ReusableFrame {
  const kept = new ReusableFrame();
  const grid = gridOf(lines, { row: 0, col: 3 });
  kept.store(composed(grid), grid, layout);
  return kept;
}

test("rows and the cursor change, and change again", () => {
  const kept = begun();
  let grid = gridOf(lines, { row: 0, col: 3 });
  for (const [at, text] of ["ones", "onesie", "x", "y", ""].entries()) {
    const y = at % lines.length;
    grid = gridOf(grid.lines.with(y, row(text)), { row: y, col: text.length });
    const next = kept.next(grid, layout, outer);
    expect(next).toEqual(composed(grid));
    // An unchanged row is not rendered: it is the same object.
    expect(next?.lines[0]).toBe(kept.next(grid, layout, outer)?.lines[0] ?? []);
  }
});

test("a cursor outside the visible part is placed as before", () => {
  const grid = gridOf(lines, { row: 9, col: 9 });
  expect(begun().next(grid, layout, outer)).toEqual(composed(grid));
});

test("any other change is composed", () => {
  const grid = gridOf(lines, { row: 0, col: 3 });
  expect(new ReusableFrame().next(grid, layout, outer)).toBeNull();
  expect(begun().next(grid, layoutPanels(panels, outer), outer)).toBeNull();
  expect(begun().next(grid, layout, { rows: 5, cols: 8 })).toBeNull();
  expect(begun().next(gridOf(lines.slice(1), { row: 0, col: 0 }), layout, outer)).toBeNull();
  const wide: Row = [{ text: "日", width: 2, style: plain }, { text: "", width: 0, style: plain }, ...row("").slice(2)];
  expect(begun().next(gridOf(lines.with(0, wide), { row: 0, col: 2 }), layout, outer)).toBeNull();
  const drawn = begun();
  drawn.forget();
  expect(drawn.next(grid, layout, outer)).toBeNull();
});

test("a frame of a terminal of another size is not kept", () => {
  const kept = new ReusableFrame();
  const grid = gridOf(lines, { row: 0, col: 3 });
  const smaller = { rows: 4, cols: 8 };
  kept.store(composeFrame({ grid, layout, overlays: [], panels, outer: smaller, lastRowText: null }), grid, layout);
  expect(kept.next(grid, layout, smaller)).toBeNull();
});
