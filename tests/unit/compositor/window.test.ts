/** A window of several panes as one picture, with the lines between panes. */
import { describe, expect, test } from "bun:test";
import type { PaneLabel } from "../../../src/compositor/border-titles.ts";
import { theme } from "../../../src/compositor/theme.ts";
import { WindowCanvas, type WindowPlacement } from "../../../src/compositor/window.ts";
import type { Cell, Grid, Row } from "../../../src/protocol/grid.ts";
import { borderCells, placePanes } from "../../../src/session/layout/cells.ts";
import type { LayoutNode } from "../../../src/session/layout/tree.ts";

const leaf = (pane: string): LayoutNode => ({ pane, weight: 1 });
const size = { rows: 5, cols: 30 };

function places(root: LayoutNode, labels: Readonly<Record<string, PaneLabel>>, cols = size.cols): WindowPlacement {
  const placement = placePanes(root, { ...size, cols });
  const panes = [...placement.boxes].map(([id, box]) => {
    const label = labels[id];
    return label === undefined ? { id, box } : { id, box, label };
  });
  return {
    ...{ size: placement.size, panes, lines: borderCells(placement) },
    ...{ active: panes[0]?.id ?? "", synchronized: false },
  };
}

const textOf = (row: Row | undefined): string => (row ?? []).map(({ text }) => text).join("");
function drawn(given: WindowPlacement, ascii = false): Grid {
  const canvas = new WindowCanvas(ascii);
  canvas.setPlacement(given);
  return canvas.grid(() => null);
}

const stacked: LayoutNode = { axis: "column", weight: 1, children: [leaf("@1"), leaf("@2")] };
const quarters: LayoutNode = {
  ...{ axis: "row", weight: 1 },
  children: [stacked, { axis: "column", weight: 1, children: [leaf("@3"), leaf("@4")] }],
};

describe("the line above a pane", () => {
  const label = (title: string, ...description: string[]): PaneLabel => ({ title, description });

  test("shows its title, its writer and its state, in the style of titles; a pane at the top has none", () => {
    const grid = drawn(places(stacked, { "@1": label("top"), "@2": label("make", "claude types", "lost") }, 40));
    expect(textOf(grid.lines[2])).toBe("━ make · claude types · lost ───────────");
    expect(textOf(grid.lines[0]).trim()).toBe("");
    const styles = grid.lines[2]?.map(({ style }) => style) ?? [];
    expect(styles.map((style) => style === theme.title)).toEqual(styles.map((_, at) => at >= 1 && at <= 28));
  });

  test("stays within its pane's columns, and in ASCII where the terminal needs it", () => {
    const labels = { "@2": label("left", "x"), "@4": label("a title that is too long") };
    expect(textOf(drawn(places(quarters, labels)).lines[2])).toBe("━ left · x ━━━━╃─ a title t… ─");
    expect(textOf(drawn(places(quarters, labels), true).lines[2])).toBe("- left - x ----+- a title t. -");
  });

  test("shortens its title before its state, and shows nothing without room", () => {
    const at = (cols: number): string =>
      textOf(drawn(places(stacked, { "@2": label("a long title", "claude types", "lost") }, cols)).lines[2]);
    expect(at(30)).toMatch(/^━ a l… · claude types · lost ─$/);
    expect(at(20)).toMatch(/^━ claude types ━*─+$/);
    expect(at(10)).toMatch(/^━ claud… ─$/);
    expect(at(6)).toMatch(/^[━╾─]{6}$/);
  });

  test("keeps wide characters complete, and shows only text of a title", () => {
    const at = (title: string, cols: number): string =>
      textOf(drawn(places(stacked, { "@2": label(title) }, cols)).lines[2]);
    expect(at("日本語の題", 11)).toBe("━ 日本語… ─");
    expect(at("日本語の題", 12)).toBe("━ 日本語… ──");
    expect(at("a\x1b[31m\n\tb", 20)).not.toMatch(/[\x00-\x1f]/);
  });
});

describe("a floating pane", () => {
  const floating = (active: string): WindowPlacement => {
    const below = places(leaf("@1"), {});
    const outer = { row: 1, col: 5, rows: 4, cols: 9 };
    const box = { row: 2, col: 6, rows: 2, cols: 7 };
    const float = { id: "@2", box, label: { title: "top", description: [] }, float: { outer, framed: true } };
    return { ...below, active, panes: [...below.panes, float] };
  };
  const style = { fg: null, bg: null, flags: 0, link: null };
  const cellsOf = (text: string): Cell[] =>
    text === "世"
      ? [
          { text, width: 2, style },
          { text: "", width: 0, style },
        ]
      : [{ text, width: 1, style }];
  const rowOf = (text: string): Row => [...text].flatMap(cellsOf);
  const pictures: Record<string, Grid> = {
    "@1": {
      ...size,
      lines: Array.from({ length: 5 }, (_, row) => rowOf(row === 2 ? "世".repeat(15) : ".".repeat(30))),
      cursor: { row: 2, col: 8, visible: true, shape: "block", blink: false },
    },
    "@2": {
      ...{ rows: 2, cols: 7 },
      lines: [rowOf("inside!"), rowOf("       ")],
      cursor: { row: 1, col: 3, visible: true, shape: "block", blink: false },
    },
  };
  const pictureOf = (pane: string): Grid | null => pictures[pane] ?? null;

  test("has a titled frame above the others, splits no wide character, and keeps unchanged rows", () => {
    const canvas = new WindowCanvas(false);
    canvas.setPlacement(floating("@2"));
    const grid = canvas.grid(pictureOf);
    expect(grid.lines.map(textOf)).toEqual([
      "..............................",
      ".....┏━ top ━┓................",
      "世世 ┃inside!┃世世世世世世世世",
      ".....┃       ┃................",
      ".....┗━━━━━━━┛................",
    ]);
    expect(grid.lines.every((line) => line.length === 30)).toBe(true);
    expect(grid.cursor).toMatchObject({ row: 3, col: 9, visible: true });
    expect(canvas.grid(pictureOf).lines.every((line, at) => line === grid.lines[at])).toBe(true);
  });

  test("hides the cursor of the pane below it, and has a light frame without the keys", () => {
    const canvas = new WindowCanvas(true);
    canvas.setPlacement(floating("@1"));
    const grid = canvas.grid(pictureOf);
    expect(grid.cursor.visible).toBe(false);
    expect(textOf(grid.lines[1])).toBe(".....+- top -+................");
  });
});
