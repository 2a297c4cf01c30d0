/** Floating panes as values: the result of any sequence of changes, and their positions. */
import { describe, expect, test } from "bun:test";
import type { Size } from "../../../../src/protocol/size.ts";
import { borderAt, defaultBounds, dragFrame, paneAt } from "../../../../src/session/layout/floats.ts";
import { leaf, panesOf } from "../../../../src/session/layout/tree.ts";
import {
  addSplit,
  applyResize,
  breakPane,
  joinPane,
  paneBeside,
  showPane,
  swapPanes,
  tilePane,
  zoomPane,
} from "../../../../src/session/windows/changes.ts";
import { addFloat, dragFloat, float, moveFloat, showFloats } from "../../../../src/session/windows/floats.ts";
import {
  activeWindow,
  floatOf,
  oneWindow,
  openPopup,
  paneEntry,
  panesIn,
  placementOf,
  takePane,
  type Windows,
  windowWith,
  withoutPopups,
} from "../../../../src/session/windows/state.ts";
import { seededRandom } from "../../../support/terminals/outer-screen.ts";

const area: Size = { rows: 24, cols: 80 };
const popup = { popup: true } as const;

function start(): Windows {
  const one = oneWindow(1, paneEntry("@1"));
  return addSplit(one, paneEntry("@2"), { pane: "@1", side: "right", whole: false, focus: false }, area);
}
const boxOf = (state: Windows, pane: string, size = area) => placementOf(windowWith(state, pane), size).boxes.get(pane);
const activeIn = (state: Windows): string => activeWindow(state).active;

/** Throws unless the value keeps the rules of state.ts. */
function verify(state: Windows): void {
  const all = state.windows.flatMap(panesIn);
  if (new Set(all).size !== all.length || all.length !== Object.keys(state.panes).length)
    throw new Error(`twice: ${all}`);
  for (const window of state.windows) {
    const { active, recent, floats = [] } = window;
    if (panesOf(window.root).length === 0) throw new Error("no tiled pane");
    if (!panesIn(window).includes(active)) throw new Error(`active: ${active}`);
    if (floatOf(window, active)?.hidden === true) throw new Error("the active pane is hidden");
    if (recent[0] !== active) throw new Error(`recent: ${recent}, active: ${active}`);
    if ([...recent].sort().join() !== panesIn(window).sort().join()) throw new Error(`recent: ${recent}`);
    if (openPopup(window) !== null && openPopup(window) !== active) throw new Error("a popup has not the keys");
    if (floats.some(({ popup }, at) => popup && floats.slice(at).some((each) => !each.popup))) throw new Error("order");
    const { boxes, size } = placementOf(window, { rows: 7, cols: 9 });
    for (const { row, col, rows, cols } of boxes.values()) {
      if (row < 0 || col < 0 || rows < 1 || cols < 1 || row + rows > size.rows || col + cols > size.cols)
        throw new Error("outside");
    }
  }
}

describe("a floating pane", () => {
  test("is placed by cells, shares or in the middle, and moved into a window that is smaller only as long as it is", () => {
    const at = { x: { cells: 70 }, y: { percent: 50 }, width: { cells: 20 }, height: { percent: 50 } };
    const state = addFloat(start(), paneEntry("@3"), "@1", at, false);
    expect(boxOf(state, "@3")).toEqual({ row: 13, col: 61, rows: 10, cols: 18 });
    expect(boxOf(state, "@3", { rows: 12, cols: 30 })).toEqual({ row: 7, col: 11, rows: 4, cols: 18 });
    expect(boxOf(state, "@3", { rows: 2, cols: 5 })).toEqual({ row: 0, col: 0, rows: 2, cols: 5 });
    expect(boxOf(state, "@3")).toEqual({ row: 13, col: 61, rows: 10, cols: 18 });
    expect(boxOf(addFloat(start(), paneEntry("@3"), "@1", {}, false), "@3")).toEqual({
      row: 4,
      col: 13,
      rows: 15,
      cols: 54,
    });
  });

  test("is found by the mouse above the others: its inside, its frame, and the effect of a drag", () => {
    const state = addFloat(
      start(),
      paneEntry("@3"),
      "@1",
      { ...defaultBounds, x: { cells: 24 }, y: { cells: 5 } },
      true,
    );
    const placement = placementOf(windowWith(state, "@3"), area);
    expect([paneAt(placement, 6, 40), paneAt(placement, 5, 40), paneAt(placement, 2, 2)]).toEqual(["@3", null, "@1"]);
    const title = borderAt(placement, 5, 40);
    expect(title).toEqual({ float: "@3", edge: "move", row: 0, col: 16 });
    const outer = placement.floats[0]?.outer;
    if (title === null || !("float" in title) || outer === undefined) throw new Error("no frame");
    const moved = dragFloat(state, "@3", dragFrame(title, outer, 2, 21), area);
    expect(boxOf(moved, "@3")).toEqual({ row: 3, col: 6, rows: 15, cols: 54 });
    // A share stays a share.
    expect(floatOf(windowWith(moved, "@3"), "@3")).toMatchObject({ width: { percent: 70 }, x: { cells: 5 } });
    const corner = { float: "@3", edge: "bottom-right", row: 16, col: 55 } as const;
    const sized = dragFloat(moved, "@3", dragFrame(corner, { row: 2, col: 5, rows: 17, cols: 56 }, 9, 24), area);
    expect(boxOf(sized, "@3")).toEqual({ row: 3, col: 6, rows: 6, cols: 18 });
    expect(boxOf(moveFloat(sized, "@3", "left", 50, area), "@3")).toMatchObject({ col: 1 });
    const set = applyResize(sized, "@3", { kind: "set", rows: { cells: 10 }, cols: { percent: 50 } }, area);
    expect(boxOf(set, "@3")).toMatchObject({ rows: 10, cols: 38 });
  });

  test("is tiled and floats again with its keys; the only tiled pane cannot float, and its end tiles another", () => {
    const floating = float(start(), "@1", {}, area);
    expect(panesOf(activeWindow(floating).root)).toEqual(["@2"]);
    expect(activeIn(floating)).toBe("@1");
    expect(() => float(floating, "@2", {}, area)).toThrow("is the only tiled one");
    expect(activeWindow(tilePane(floating, "@1", area))).toMatchObject({ active: "@1" });
    expect(activeWindow(tilePane(floating, "@1", area)).floats).toBeUndefined();
    const ended = takePane(floating, "@2", area);
    expect(ended?.windows[0]).toMatchObject({ root: leaf("@1"), active: "@1" });
    expect(takePane(ended ?? floating, "@1", area)).toBeNull();
  });

  test("is hidden and shown with all others, and by selecting it; a hidden one has no keys", () => {
    const state = addFloat(addFloat(start(), paneEntry("@3"), "@1", {}, true), paneEntry("@4"), "@1", {}, true);
    const hidden = showFloats(state, 1, null, false);
    expect([activeIn(hidden), placementOf(activeWindow(hidden), area).hidden]).toEqual(["@1", ["@3", "@4"]]);
    expect(activeIn(showFloats(hidden, 1, null, true))).toBe("@4");
    const raised = showPane(hidden, "@3");
    expect(placementOf(activeWindow(raised), area).floats.map(({ pane }) => pane)).toEqual(["@3"]);
    expect(activeWindow(raised).floats?.map(({ pane }) => pane)).toEqual(["@4", "@3"]);
    expect(paneBeside(raised, "@3", "left", area)).toBe("@1");
    expect(paneBeside(raised, "@3", "next", area)).toBe("@1");
  });

  test("is zoomed like any other, and zooming another hides it", () => {
    const state = addFloat(start(), paneEntry("@3"), "@1", {}, true);
    expect([...placementOf(activeWindow(zoomPane(state, "@3", true)), area).boxes.keys()]).toEqual(["@3"]);
    expect([...placementOf(activeWindow(zoomPane(showPane(state, "@1"), "@1", true)), area).boxes.keys()]).toEqual([
      "@1",
    ]);
  });
});

describe("a popup", () => {
  test("has the keys while it is open, above a zoomed pane, too; a pane selected meanwhile has them after it", () => {
    const open = addFloat(zoomPane(start(), "@1", true), paneEntry("@3"), "@1", popup, false);
    expect([activeIn(open), ...placementOf(activeWindow(open), area).boxes.keys()]).toEqual(["@3", "@1", "@3"]);
    expect(activeIn(takePane(open, "@3", area) ?? open)).toBe("@1");
    const meanwhile = showPane(open, "@2");
    expect(activeIn(meanwhile)).toBe("@3");
    expect(activeIn(takePane(meanwhile, "@3", area) ?? open)).toBe("@2");
    const second = addFloat(open, paneEntry("@4"), "@3", popup, false);
    expect([activeIn(second), activeIn(takePane(second, "@4", area) ?? open)]).toEqual(["@4", "@3"]);
    expect(float(open, "@3", { hidden: true }, area).windows[0]?.floats?.[0]?.hidden).toBe(false);
    expect(() => zoomPane(open, "@3", true)).toThrow("is not zoomed");
    expect(Object.keys(withoutPopups(second).panes)).toEqual(["@1", "@2"]);
  });
});

test("no sequence of changes leaves a window without a tiled pane, a duplicate pane or the keys out of view", () => {
  const random = seededRandom(39);
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  for (let round = 0; round < 60; round++) {
    let state = start();
    let next = 3;
    for (let step = 0; step < 40; step++) {
      const panes = Object.keys(state.panes);
      const [pane, other] = [pick(panes), pick(panes)];
      const made = paneEntry(`@${next++}`);
      const side = pick(["left", "right", "up", "down"] as const);
      const place = { pane: other, side, whole: random() < 0.2, focus: random() < 0.5 };
      const change = pick<(now: Windows) => Windows | null>([
        (now) => addSplit(now, made, place, area),
        (now) => addSplit(now, made, { ...place, float: random() < 0.3 ? popup : {} }, area),
        (now) => takePane(now, pane, area),
        (now) => float(now, pane, { hidden: random() < 0.2 }, area),
        (now) => tilePane(now, pane, area),
        (now) => showPane(now, pane),
        (now) => swapPanes(now, pane, other),
        (now) => zoomPane(now, pane, null),
        (now) => showFloats(now, windowWith(now, pane).id, null, random() < 0.5),
        (now) => moveFloat(now, pane, side, 7, area),
        (now) => applyResize(now, pane, { kind: "grow", side, by: 9 }, area),
        (now) => breakPane(now, pane, 100 + next, area, { focus: false }),
        (now) => joinPane(now, pane, random() < 0.5 ? place : { ...place, float: {} }, area),
      ]);
      try {
        state = change(state) ?? state;
      } catch (error) {
        if (!/only|alone|beside itself|not zoomed/.test(String(error))) throw error;
      }
      verify(state);
    }
  }
});
