/** Layout trees after any sequence of changes, and layouts in tmux's form. */
import { describe, expect, test } from "bun:test";
import { layoutPresetNames } from "../../../../src/protocol/layout-presets.ts";
import { MIN_PANE_COLS, MIN_PANE_ROWS, type Size } from "../../../../src/protocol/size.ts";
import {
  borderCells,
  extentsIn,
  lineBits,
  neighbour,
  type PaneBox,
  type Placement,
  placePanes,
} from "../../../../src/session/layout/cells.ts";
import { borderAt, paneAt } from "../../../../src/session/layout/floats.ts";
import { arrange } from "../../../../src/session/layout/presets.ts";
import { dragBorder, growPane, resizePane } from "../../../../src/session/layout/resize.ts";
import { readTmuxLayout, writeTmuxLayout } from "../../../../src/session/layout/tmux-layout.ts";
import {
  axisOf,
  equalise,
  isLeaf,
  type LayoutNode,
  leaf,
  panesOf,
  removePane,
  rotatePanes,
  type Side,
  splitPane,
  splitWindow,
} from "../../../../src/session/layout/tree.ts";
import { seededRandom } from "../../../support/terminals/outer-screen.ts";

const full = process.env.WSH_TEST_FULL === "1";
const window: Size = { rows: 24, cols: 80 };
const sides = ["left", "right", "up", "down"] as const;

const split = (tree: LayoutNode, pane: string, made: string, side: Side, cells?: number, size = window): LayoutNode => {
  const placement = placePanes(tree, size);
  const box = placement.boxes.get(pane);
  const own = box === undefined ? 1 : axisOf(side).axis === "row" ? box.cols : box.rows;
  return splitPane(
    tree,
    { pane, newPane: made, side, ...(cells === undefined ? {} : { cells }) },
    extentsIn(placement),
    own,
  );
};
const remove = (tree: LayoutNode, pane: string, size = window): LayoutNode =>
  removePane(tree, pane, extentsIn(placePanes(tree, size))) ?? leaf("none");
const boxOf = (tree: LayoutNode, pane: string, size = window): PaneBox => {
  const box = placePanes(tree, size).boxes.get(pane);
  if (box === undefined) throw new Error(`${pane} is hidden`);
  return box;
};
const picture = (tree: LayoutNode, size = window): string => JSON.stringify([...placePanes(tree, size).boxes].sort());

/** Throws unless every cell is one pane's or a border's, panes are usable, and the tree keeps its rules. */
function verify(tree: LayoutNode, size: Size, placement: Placement): void {
  const taken = new Uint8Array(size.rows * size.cols);
  const put = ({ row, col, rows, cols }: PaneBox): void => {
    for (let y = row; y < row + rows; y++)
      for (let x = col; x < col + cols; x++) taken[y * size.cols + x] = (taken[y * size.cols + x] ?? 9) + 1;
    if (row < 0 || col < 0 || row + rows > size.rows || col + cols > size.cols) throw new Error("outside");
  };
  for (const box of placement.boxes.values()) put(box);
  for (const border of placement.borders) put(border);
  expect(taken.every((count) => count === 1)).toBe(true);
  const alone = placement.boxes.size === 1;
  for (const { rows, cols } of placement.boxes.values()) {
    if (!alone) expect(rows >= MIN_PANE_ROWS && cols >= MIN_PANE_COLS).toBe(true);
  }
  expect([...placement.boxes.keys(), ...placement.hidden].sort()).toEqual(panesOf(tree).sort());
  tidyTree(tree);
}

function tidyTree(node: LayoutNode): void {
  expect(node.weight).toBeGreaterThan(0);
  if (isLeaf(node)) return;
  expect(node.children.length).toBeGreaterThan(1);
  for (const child of node.children) {
    if (!isLeaf(child)) expect(child.axis).not.toBe(node.axis);
    tidyTree(child);
  }
}

/** A random layout, made in the usual steps. */
function randomTree(random: () => number, changes: number, size: Size = window): LayoutNode {
  const below = (end: number): number => Math.floor(random() * end);
  let tree: LayoutNode = leaf("@1");
  let next = 2;
  let at = size;
  const check = (): Placement => {
    const placement = placePanes(tree, at, panesOf(tree));
    verify(tree, at, placement);
    return placement;
  };
  for (let change = 0; change < changes; change++) {
    const placement = check();
    const panes = panesOf(tree);
    const pane = panes[below(panes.length)] ?? "@1";
    const side = sides[below(4)] ?? "right";
    const box = placement.boxes.get(pane);
    const own = box === undefined ? 20 : axisOf(side).axis === "row" ? box.cols : box.rows;
    switch (below(9)) {
      case 0:
      case 1:
        if (panes.length < 12) tree = splitPane(tree, { pane, newPane: `@${next++}`, side }, extentsIn(placement), own);
        break;
      case 2:
        if (panes.length < 12)
          tree = splitWindow(
            tree,
            { newPane: `@${next++}`, side, cells: 1 + below(30) },
            extentsIn(placement),
            axisOf(side).axis === "row" ? at.cols : at.rows,
          );
        break;
      case 3:
        tree = removePane(tree, pane, extentsIn(placement)) ?? tree;
        break;
      case 4:
        tree = growPane(tree, placePanes(tree, at, panes), pane, side, 1 + below(20));
        break;
      case 5:
        tree = resizePane(tree, placement, pane, axisOf(side).axis, 1 + below(80));
        break;
      case 6:
        tree = rotatePanes(tree, -1);
        break;
      case 7:
        at = { rows: 1 + below(60), cols: 1 + below(200) };
        break;
      case 8:
        tree = below(2) === 0 ? rotatePanes(tree, 1) : equalise(tree, pane);
        break;
    }
  }
  at = size;
  check();
  return tree;
}

describe("any sequence of changes", () => {
  test("uses every cell once, keeps panes usable and trees tidy", () => {
    for (let seed = 1; seed <= (full ? 5_000 : 100); seed++) randomTree(seededRandom(seed), 40);
  });

  test("a window shrunk to almost nothing and enlarged again looks the same", () => {
    for (let seed = 1; seed <= 200; seed++) {
      const random = seededRandom(seed);
      const tree = randomTree(random, 20);
      const before = picture(tree);
      // A size is not part of the tree: placing at other sizes must not change its placement at this one.
      for (const size of [
        { rows: 4, cols: 10 },
        { rows: 1, cols: 1 },
        { rows: 200, cols: 300 },
      ]) {
        verify(tree, size, placePanes(tree, size, panesOf(tree)));
      }
      expect(picture(tree)).toBe(before);
    }
  });

  test("a split moves no other pane", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const random = seededRandom(seed);
      const tree = randomTree(random, 15);
      const before = placePanes(tree, window);
      for (const pane of before.boxes.keys()) {
        const side = sides[Math.floor(random() * 4)] ?? "right";
        const box = boxOf(tree, pane);
        const least = axisOf(side).axis === "row" ? 2 * MIN_PANE_COLS + 1 : 2 * MIN_PANE_ROWS + 1;
        if ((axisOf(side).axis === "row" ? box.cols : box.rows) < least || before.hidden.length > 0) continue;
        const after = placePanes(split(tree, pane, "@new", side), window).boxes;
        for (const [each, place] of before.boxes) if (each !== pane) expect(after.get(each)).toEqual(place);
      }
    }
  });

  test("closing a pane that was just split off gives its cells back", () => {
    for (let seed = 1; seed <= 200; seed++) {
      const random = seededRandom(seed);
      const tree = randomTree(random, 12);
      const [pane] = panesOf(tree);
      if (pane === undefined || placePanes(tree, window).hidden.length > 0) continue;
      const box = boxOf(tree, pane);
      if (box.cols < 9) continue;
      expect(picture(remove(split(tree, pane, "@new", "right"), "@new"))).toBe(picture(tree));
    }
  });
});

describe("splits", () => {
  test("halves, the new pane on the requested side, or of the requested cells", () => {
    const right = split(leaf("@1"), "@1", "@2", "right");
    expect(boxOf(right, "@1")).toEqual({ row: 0, col: 0, rows: 24, cols: 40 });
    expect(boxOf(right, "@2")).toEqual({ row: 0, col: 41, rows: 24, cols: 39 });
    const up = split(right, "@2", "@3", "up", 5);
    expect(boxOf(up, "@3")).toEqual({ row: 0, col: 41, rows: 5, cols: 39 });
    expect(boxOf(up, "@2")).toEqual({ row: 6, col: 41, rows: 18, cols: 39 });
    expect(panesOf(up)).toEqual(["@1", "@3", "@2"]);
  });

  test("along the whole window", () => {
    const two = split(leaf("@1"), "@1", "@2", "right");
    const tree = splitWindow(two, { newPane: "@3", side: "down", cells: 6 }, extentsIn(placePanes(two, window)), 24);
    expect(boxOf(tree, "@3")).toEqual({ row: 18, col: 0, rows: 6, cols: 80 });
    expect(boxOf(tree, "@1")).toEqual({ row: 0, col: 0, rows: 17, cols: 40 });
  });

  test("an unknown pane", () => {
    expect(() => split(leaf("@1"), "@9", "@2", "right")).toThrow("no pane '@9'");
  });

  test("the last pane leaves no layout", () => {
    expect(removePane(leaf("@1"), "@1", () => 80)).toBeNull();
  });
});

describe("no room", () => {
  const four = ["@2", "@3", "@4"].reduce((tree, made) => split(tree, "@1", made, "right"), leaf("@1") as LayoutNode);

  test("hides the panes that were used longest ago, and shows them again", () => {
    const narrow = placePanes(four, { rows: 24, cols: 12 }, ["@3", "@1", "@4", "@2"]);
    expect([...narrow.boxes.keys()].sort()).toEqual(["@1", "@3"]);
    expect([...narrow.hidden].sort()).toEqual(["@2", "@4"]);
    expect(placePanes(four, window).hidden).toEqual([]);
  });

  test("one pane gets all available cells", () => {
    const tiny = placePanes(four, { rows: 1, cols: 3 }, ["@4"]);
    expect(tiny.boxes.get("@4")).toEqual({ row: 0, col: 0, rows: 1, cols: 3 });
  });
});

describe("borders", () => {
  const two = split(leaf("@1"), "@1", "@2", "right");

  test("move by cells, as far as the neighbours permit", () => {
    const wider = growPane(two, placePanes(two, window), "@1", "right", 5);
    expect(boxOf(wider, "@1").cols).toBe(45);
    expect(boxOf(growPane(two, placePanes(two, window), "@2", "right", 5), "@2").cols).toBe(34);
    expect(boxOf(growPane(two, placePanes(two, window), "@2", "left", 500), "@2").cols).toBe(80 - 1 - MIN_PANE_COLS);
    expect(growPane(two, placePanes(two, window), "@1", "up", 5)).toBe(two);
  });

  test("a pane gets the requested cells", () => {
    expect(boxOf(resizePane(two, placePanes(two, window), "@2", "row", 20), "@2").cols).toBe(20);
    expect(boxOf(resizePane(two, placePanes(two, window), "@1", "row", 20), "@1").cols).toBe(20);
  });

  test("follow the mouse", () => {
    const placement = placePanes(two, window);
    const border = borderAt(placement, 3, 40);
    if (border === null || "float" in border) throw new Error("no border");
    expect(boxOf(dragBorder(two, placement, border, 3, 60), "@1").cols).toBe(60);
    expect(borderAt(placement, 3, 41)).toBeNull();
    expect(paneAt(placement, 3, 41)).toBe("@2");
    expect(paneAt(placement, 3, 40)).toBeNull();
  });

  test("join", () => {
    const three = split(two, "@2", "@3", "down");
    const placement = placePanes(three, window);
    const bits = borderCells(placement);
    const { row } = boxOf(three, "@3");
    expect(bits[(row - 1) * 80 + 40]).toBe(lineBits.up | lineBits.right | lineBits.down);
    expect(bits[(row - 1) * 80 + 50]).toBe(lineBits.left | lineBits.right);
    expect(bits[5]).toBe(0);
  });
});

describe("neighbours", () => {
  const tree = split(split(leaf("@1"), "@1", "@2", "right"), "@2", "@3", "down");

  test("are adjacent ones, the one used last first, and wrap around the edges", () => {
    const placement = placePanes(tree, window);
    expect(neighbour(placement, "@1", "right", ["@3", "@2"])).toBe("@3");
    expect(neighbour(placement, "@1", "right", ["@2", "@3"])).toBe("@2");
    expect(neighbour(placement, "@3", "up")).toBe("@2");
    expect(neighbour(placement, "@3", "down")).toBe("@2");
    expect(neighbour(placement, "@1", "left", ["@2"])).toBe("@2");
    expect(neighbour(placePanes(leaf("@1"), window), "@1", "left")).toBeNull();
  });
});

describe("presets", () => {
  const five = ["@2", "@3", "@4", "@5"].reduce(
    (tree, made) => split(tree, "@1", made, "right"),
    leaf("@1") as LayoutNode,
  );

  test("keep panes and order, and fill the window", () => {
    for (const preset of layoutPresetNames) {
      const tree = arrange(five, preset);
      verify(tree, window, placePanes(tree, window));
      expect(panesOf(tree).sort()).toEqual(panesOf(five).sort());
    }
  });

  test("put the main pane where their names say", () => {
    const [main = ""] = panesOf(five);
    const at = (preset: (typeof layoutPresetNames)[number]) => boxOf(arrange(five, preset), main);
    expect(at("main-vertical")).toMatchObject({ row: 0, col: 0, rows: 24 });
    expect(at("main-vertical-mirrored")).toMatchObject({ row: 0, rows: 24 });
    expect(at("main-vertical-mirrored").col + at("main-vertical-mirrored").cols).toBe(80);
    expect(at("main-horizontal")).toMatchObject({ row: 0, col: 0, cols: 80 });
    expect(at("main-horizontal-mirrored").row + at("main-horizontal-mirrored").rows).toBe(24);
    const tiled = [...placePanes(arrange(five, "tiled"), window).boxes.values()];
    expect(new Set(tiled.map(({ row }) => row)).size).toBe(3);
  });
});

describe("layouts of tmux", () => {
  // Printed by tmux 3.3a for windows of 80x24.
  const known = ["b25d,80x24,0,0,0", "d67e,80x24,0,0{40x24,0,0,0,39x24,41,0[39x12,41,0,1,39x11,41,13,2]}"];

  test("are read and written unchanged", () => {
    for (const text of known) {
      const { tree, size } = readTmuxLayout(text);
      expect(writeTmuxLayout(placePanes(tree, size), Number)).toBe(text);
    }
  });

  test("a written layout is read as the same picture", () => {
    for (let seed = 1; seed <= 200; seed++) {
      const tree = randomTree(seededRandom(seed), 20);
      const placement = placePanes(tree, window);
      if (placement.hidden.length > 0) continue;
      const order = panesOf(tree);
      const text = writeTmuxLayout(placement, (pane) => order.indexOf(pane));
      const read = readTmuxLayout(text);
      expect(read.size).toEqual(window);
      const again = writeTmuxLayout(placePanes(read.tree, window), Number);
      expect(again).toBe(text);
    }
  });

  test("an invalid one is refused, with the position", () => {
    const good = (body: string): string => `${sum(body)},${body}`;
    for (const [text, message] of [
      ["", "begins with a checksum"],
      ["0000,80x24,0,0,0", "the checksum is"],
      [good("80x24,0,0{40x24,0,0,0,40x24,40,0,1}"), "do not fill"],
      [good("80x24,0,0{40x24,0,0,0,39x24,41,0,1"), "missing"],
      [good("80x24,0,0,0rest"), "after the end"],
      [good("80x0,0,0,0"), "at least one row"],
      [good("eighty"), "a cell is"],
      [good("[".repeat(5_000)), "a cell is"],
    ] as const) {
      expect(() => readTmuxLayout(text)).toThrow(message);
    }
  });

  function sum(text: string): string {
    let value = 0;
    for (const letter of text) {
      value = (value >> 1) + ((value & 1) << 15);
      value = (value + letter.charCodeAt(0)) & 0xffff;
    }
    return value.toString(16).padStart(4, "0");
  }
});
