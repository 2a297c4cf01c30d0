/** Overlays and panels of a session: made, changed, listed, focused, scoped to a screen mode, and ended in time. */
import { describe, expect, test } from "bun:test";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import * as elements from "../../../src/protocol/drawing.ts";
import { defaultElementLimits } from "../../../src/protocol/drawing-limits.ts";
import { WshError } from "../../../src/protocol/errors.ts";
import type { ElementChange } from "../../../src/session/drawing/element.ts";
import { ElementStore } from "../../../src/session/drawing/element-store.ts";

const box = { x: 1, y: 2, width: 10, height: 3, spans: [] };
const strip = { position: "top", height: 2 } as const;

/** A store with a clock that the test advances. */
function makeStore() {
  const changes: ElementChange[] = [];
  const timers: { readonly at: number; readonly expire: () => void }[] = [];
  let now = 0;
  let ids = 0;
  const store = new ElementStore({
    limits: defaultElementLimits,
    newId: () => `id-${ids++}`,
    schedule: (delayMs, expire) => {
      const timer = { at: now + delayMs, expire };
      timers.push(timer);
      return () => {
        const index = timers.indexOf(timer);
        if (index >= 0) timers.splice(index, 1);
      };
    },
    onChange: (change) => changes.push(change),
  });
  const advance = (ms: number) => {
    now += ms;
    for (const timer of timers.filter(({ at }) => at <= now)) {
      timers.splice(timers.indexOf(timer), 1);
      timer.expire();
    }
  };
  return { store, changes, timers, advance };
}

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof WshError) return error.code;
    throw error;
  }
  return "no error";
}

describe("valid input", () => {
  test("colours by name, #rrggbb or {r,g,b}; backgrounds as a colour or {bg}; null is unset", () => {
    const parsed = v.parse(elements.CreateOverlaySchema, {
      ...box,
      background: "#ff8000",
      z: null,
      ttl_ms: null,
      unknown: 1,
      spans: [
        { text: "a", fg: "#0000FF", bg: { r: 1, g: 2, b: 3 }, bold: false, italic: true, id: null },
        { text: "b", fg: "red" },
      ],
    });
    expect(parsed).toEqual({
      ...box,
      background: { bg: { r: 255, g: 128, b: 0 } },
      spans: [
        { text: "a", fg: { r: 0, g: 0, b: 255 }, bg: { r: 1, g: 2, b: 3 }, italic: true },
        { text: "b", fg: "red" },
      ],
    });
    expect(v.parse(elements.BackgroundSchema, { bg: "green" })).toEqual({ bg: "green" });
    expect(v.parse(elements.BackgroundSchema, { r: 0, g: 0, b: 9 })).toEqual({ bg: { r: 0, g: 0, b: 9 } });
  });

  test.each([
    [elements.CreateOverlaySchema, { ...box, x: -1 }],
    [elements.CreateOverlaySchema, { ...box, x: 65_536 }],
    [elements.CreateOverlaySchema, { ...box, x: 1.5 }],
    [elements.CreateOverlaySchema, { ...box, spans: undefined }],
    [elements.CreateOverlaySchema, { ...box, background: "orange" }],
    [elements.CreateOverlaySchema, { ...box, background: "#fff" }],
    [elements.CreateOverlaySchema, { ...box, background: {} }],
    [elements.CreateOverlaySchema, { ...box, z: 2 ** 31 }],
    [elements.CreateOverlaySchema, { ...box, ttl_ms: 0 }],
    [elements.CreateOverlaySchema, { ...box, spans: [{ text: "x", fg: { r: 256, g: 0, b: 0 } }] }],
    [elements.CreatePanelSchema, { position: "left", height: 1 }],
    [elements.RegionWritesSchema, { writes: [{ row: 0, text: "x" }] }],
  ])("refused %#", (schema, input) => {
    expect(v.safeParse(schema, input).success).toBe(false);
  });

  test("every input can be described as JSON schema", () => {
    const schemas = Object.entries(elements).filter(([name]) => name.endsWith("Schema"));
    expect(schemas.length).toBeGreaterThan(10);
    for (const [, schema] of schemas) {
      if (typeof schema !== "object" || !("~standard" in schema)) throw new Error("not a schema");
      const described = toStandardJsonSchema(schema)["~standard"].jsonSchema.input({ target: "draft-2020-12" });
      expect(Object.keys(described)).not.toHaveLength(0);
    }
  });
});

describe("overlays and panels", () => {
  test("are returned in the wire's form: what is unset or false is absent", () => {
    const { store } = makeStore();
    expect(store.createOverlay(box)).toEqual({ id: "id-0", z: 0, ...box });
    const { id } = store.createPanel({
      ...strip,
      focusable: true,
      background: { bg: "blue" },
      spans: [{ text: "x", id: "s" }],
    });
    store.layout({ rows: 24, cols: 80 });
    expect(store.panel(id)).toEqual({
      id,
      z: 0,
      ...strip,
      visible: true,
      screen_mode: "both",
      focusable: true,
      background: { bg: "blue" },
      spans: [{ text: "x", id: "s" }],
    });
    expect(v.safeParse(elements.PanelSchema, store.panel(id)).success).toBe(true);
    expect(v.safeParse(elements.OverlaySchema, store.overlays()[0]).success).toBe(true);
  });

  test("z counts up for each kind, and continues above the highest given", () => {
    const { store } = makeStore();
    expect(store.createOverlay(box).z).toBe(0);
    expect(store.createOverlay(box).z).toBe(1);
    expect(store.createOverlay({ ...box, z: 10 }).z).toBe(10);
    expect(store.createOverlay({ ...box, z: -5 }).z).toBe(-5);
    const last = store.createOverlay(box);
    expect(last.z).toBe(11);
    store.patchOverlay(last.id, { z: 40 });
    expect(store.createOverlay(box).z).toBe(41);
    expect(store.createPanel(strip).z).toBe(0);
    expect(store.createOverlay({ ...box, z: 2 ** 31 - 1 }).z).toBe(2 ** 31 - 1);
    expect(store.createOverlay(box).z).toBe(2 ** 31 - 1);
    expect(store.overlays().map(({ z }) => z)).toEqual([-5, 0, 1, 10, 40, 41, 2 ** 31 - 1, 2 ** 31 - 1]);
  });

  test("panels are listed top first, then by z descending", () => {
    const { store } = makeStore();
    store.createPanel({ position: "bottom", height: 1, z: 9 });
    store.createPanel({ position: "top", height: 1, z: 1 });
    store.createPanel({ position: "top", height: 1, z: 5 });
    expect(store.panels().map(({ position, z }) => `${position}${z}`)).toEqual(["top5", "top1", "bottom9"]);
  });

  test("spans with an id are replaced wherever it is found; nothing is ever added", () => {
    const { store } = makeStore();
    const spans = [{ text: "label: " }, { text: "old", id: "v", bold: true as const }, { text: "too", id: "v" }];
    const { id } = store.createOverlay({ ...box, spans });
    store.updateSpans("overlay", id, [
      { text: "new", id: "v", fg: "red" },
      { text: "no id" },
      { text: "no match", id: "w" },
    ]);
    const updated = { text: "new", id: "v", fg: "red" } as const;
    expect(store.overlay(id).spans).toEqual([{ text: "label: " }, updated, updated]);
  });

  test("writes merge by place, an empty list clears", () => {
    const { store } = makeStore();
    const { id } = store.createPanel(strip);
    store.write("panel", id, [
      { row: 0, col: 0, text: "a" },
      { row: 0, col: 5, text: "b" },
    ]);
    store.write("panel", id, [
      { row: 0, col: 0, text: "A", bold: true },
      { row: 1, col: 0, text: "c" },
    ]);
    expect(store.panel(id).region_writes).toEqual([
      { row: 0, col: 5, text: "b" },
      { row: 0, col: 0, text: "A", bold: true },
      { row: 1, col: 0, text: "c" },
    ]);
    store.write("panel", id, []);
    expect(store.panel(id)).not.toHaveProperty("region_writes");
  });

  test("a batch is one change, and none when it fails", () => {
    const { store, changes } = makeStore();
    const { id } = store.createOverlay({ ...box, spans: [{ text: "a", id: "x" }] });
    changes.length = 0;
    store.batch("overlay", id, { spans: [{ text: "b", id: "x" }], writes: [{ row: 0, col: 0, text: "w" }] });
    expect(changes).toHaveLength(1);
    const before = store.overlay(id);
    const long = { row: 0, col: 1, text: "x".repeat(65_537) };
    expect(codeOf(() => store.batch("overlay", id, { spans: [{ text: "c", id: "x" }], writes: [long] }))).toBe(
      "invalid_overlay",
    );
    expect(store.overlay(id)).toEqual(before);
    store.batch("overlay", id, {});
    expect(changes).toHaveLength(1);
    expect(codeOf(() => store.batch("overlay", "gone", {}))).toBe("overlay_not_found");
  });

  test("replace and patch change what they name and keep the rest", () => {
    const { store } = makeStore();
    const panel = store.createPanel({ ...strip, background: { bg: "red" }, focusable: true, spans: [{ text: "a" }] });
    store.replacePanel(panel.id, { position: "bottom", height: 4, z: 7, spans: [] });
    expect(store.panel(panel.id)).toMatchObject({
      position: "bottom",
      height: 4,
      z: 7,
      spans: [],
      background: { bg: "red" },
      focusable: true,
    });
    const overlay = store.createOverlay({ ...box, spans: [{ text: "a" }] });
    store.patchOverlay(overlay.id, { x: 50, background: { bg: "blue" } });
    expect(store.overlay(overlay.id)).toMatchObject({
      x: 50,
      y: 2,
      background: { bg: "blue" },
      spans: [{ text: "a" }],
    });
    store.focus(panel.id);
    store.patchPanel(panel.id, { focusable: false });
    expect(store.panel(panel.id).focusable).toBeUndefined();
    expect(store.focused).toBeNull();
    store.replaceSpans("overlay", overlay.id, [{ text: "b" }]);
    expect(store.overlay(overlay.id).spans).toEqual([{ text: "b" }]);
    expect(overlay.spans).toEqual([{ text: "a" }]);
  });

  test("unknown ids name their kind", () => {
    const { store } = makeStore();
    const { id } = store.createPanel(strip);
    expect(codeOf(() => store.overlay(id))).toBe("overlay_not_found");
    expect(codeOf(() => store.patchPanel("nope", {}))).toBe("panel_not_found");
    expect(codeOf(() => store.delete("overlay", "nope"))).toBe("overlay_not_found");
  });
});

describe("changes are reported", () => {
  test("with the layout only when a panel's size may change", () => {
    const { store, changes } = makeStore();
    const told = (run: () => void) => {
      changes.length = 0;
      run();
      return [...changes];
    };
    const { id } = store.createPanel({ ...strip, focusable: true });
    expect(told(() => store.createPanel(strip))).toEqual(["layout"]);
    expect(told(() => store.patchPanel(id, { spans: [{ text: "x" }] }))).toEqual(["content"]);
    expect(told(() => store.patchPanel(id, { height: 2 }))).toEqual(["content"]);
    expect(told(() => store.patchPanel(id, { height: 3 }))).toEqual(["layout"]);
    expect(told(() => store.write("panel", id, []))).toEqual(["content"]);
    expect(told(() => store.createOverlay(box))).toEqual(["content"]);
    expect(told(() => store.focus(id))).toEqual(["content"]);
    expect(told(() => store.focus(id))).toEqual([]);
    expect(told(() => store.delete("panel", id))).toEqual(["layout"]);
    expect(told(() => store.clear("overlay"))).toEqual(["content"]);
    expect(told(() => store.clear("overlay"))).toEqual([]);
    expect(told(() => store.clear("panel"))).toEqual(["layout"]);
  });
});

describe("focus", () => {
  test("needs a focusable element, and ends with it", () => {
    const { store } = makeStore();
    const silent = store.createOverlay(box);
    const dialog = store.createOverlay({ ...box, focusable: true });
    expect(codeOf(() => store.focus("nope"))).toBe("invalid_request");
    expect(codeOf(() => store.focus(silent.id))).toBe("not_focusable");
    store.focus(dialog.id);
    store.delete("overlay", silent.id);
    expect(store.focused).toBe(dialog.id);
    store.delete("overlay", dialog.id);
    expect(store.focused).toBeNull();
    store.unfocus();
  });

  test("clearing overlays clears it even when a panel had it", () => {
    const { store } = makeStore();
    const { id } = store.createPanel({ ...strip, focusable: true });
    store.focus(id);
    store.clear("overlay");
    expect(store.focused).toBeNull();
    expect(store.panels()).toHaveLength(1);
  });
});

describe("screen mode", () => {
  test("an agent's alt mode has its own elements, which are removed with it", () => {
    const { store, changes } = makeStore();
    const normal = store.createOverlay(box);
    store.enterAlt();
    expect(codeOf(() => store.enterAlt())).toBe("already_in_alt_screen");
    expect(store.overlays()).toEqual([]);
    const alt = store.createOverlay({ ...box, focusable: true });
    expect(alt.screen_mode).toBe("alt");
    store.focus(alt.id);
    changes.length = 0;
    store.exitAlt();
    expect(changes).toEqual(["layout"]);
    expect(store.overlays().map(({ id }) => id)).toEqual([normal.id]);
    expect(store.focused).toBeNull();
    expect(codeOf(() => store.overlay(alt.id))).toBe("overlay_not_found");
    expect(codeOf(() => store.exitAlt())).toBe("not_in_alt_screen");
  });

  test("a program's alternate screen scopes elements too, and deletes none", () => {
    const { store } = makeStore();
    const normal = store.createOverlay(box);
    store.setChildAlternate(true);
    expect(store.screenMode).toBe("alt");
    const inVim = store.createOverlay(box);
    expect(store.overlays().map(({ id }) => id)).toEqual([inVim.id]);
    expect(store.overlay(normal.id).id).toBe(normal.id);
    expect(codeOf(() => store.exitAlt())).toBe("not_in_alt_screen");
    store.enterAlt();
    const byAgent = store.createOverlay(box);
    store.setChildAlternate(false);
    expect(store.screenMode).toBe("alt");
    expect(store.overlays().map(({ id }) => id)).toEqual([inVim.id, byAgent.id]);
    store.exitAlt();
    expect(store.screenMode).toBe("normal");
    expect(store.overlays().map(({ id }) => id)).toEqual([normal.id]);
    store.setChildAlternate(true);
    expect(store.overlays().map(({ id }) => id)).toEqual([inVim.id]);
  });

  test("an element is shown on the screen that it names, panels on both by default", () => {
    const { store, changes } = makeStore();
    const panel = store.createPanel(strip);
    expect(panel.screen_mode).toBe("both");
    const everywhere = store.createOverlay({ ...box, screen_mode: "both" });
    const inVim = store.createOverlay({ ...box, screen_mode: "alt" });
    const shown = (): string[] => [...store.panels(), ...store.overlays()].map(({ id }) => id);
    expect(shown()).toEqual([panel.id, everywhere.id]);
    store.setChildAlternate(true);
    expect(shown()).toEqual([panel.id, everywhere.id, inVim.id]);
    changes.length = 0;
    store.patchPanel(panel.id, { screen_mode: "normal" });
    expect(changes).toEqual(["layout"]);
    expect(shown()).toEqual([everywhere.id, inVim.id]);
    store.patchOverlay(inVim.id, { screen_mode: "normal" });
    store.setChildAlternate(false);
    expect(shown()).toEqual([panel.id, everywhere.id, inVim.id]);
  });

  test("leaving an agent's alt mode keeps elements of both screens", () => {
    const { store } = makeStore();
    store.enterAlt();
    store.createPanel(strip);
    const kept = store.createPanel({ ...strip, screen_mode: "both" });
    store.exitAlt();
    expect(store.panels().map(({ id }) => id)).toEqual([kept.id]);
  });

  test("only the current mode's panels take rows", () => {
    const { store } = makeStore();
    store.createPanel({ ...strip, screen_mode: "normal" });
    expect(store.layout({ rows: 24, cols: 80 }).ptyRows).toBe(22);
    store.enterAlt();
    expect(store.layout({ rows: 24, cols: 80 }).ptyRows).toBe(24);
  });
});

describe("life time", () => {
  test("an element with ttl_ms is removed by itself, and its focus with it", () => {
    const { store, changes, advance } = makeStore();
    const { id } = store.createPanel({ ...strip, ttl_ms: 1000, focusable: true });
    const kept = store.createOverlay(box);
    store.focus(id);
    changes.length = 0;
    advance(999);
    expect(store.panels()).toHaveLength(1);
    advance(1);
    expect(store.panels()).toEqual([]);
    expect(store.focused).toBeNull();
    expect(changes).toEqual(["layout"]);
    expect(store.overlays().map((overlay) => overlay.id)).toEqual([kept.id]);
  });

  test("a patch restarts it; deleting, clearing and disposing leave no timer", () => {
    const { store, timers, advance } = makeStore();
    const { id } = store.createOverlay({ ...box, ttl_ms: 1000 });
    advance(900);
    store.patchOverlay(id, { ttl_ms: 1000 });
    advance(900);
    expect(store.overlays()).toHaveLength(1);
    store.delete("overlay", id);
    expect(timers).toHaveLength(0);
    store.createOverlay({ ...box, ttl_ms: 1000 });
    store.clear("overlay");
    expect(timers).toHaveLength(0);
    store.createOverlay({ ...box, ttl_ms: 1000 });
    store.dispose();
    expect(timers).toHaveLength(0);
  });
});

describe("limits", () => {
  test("256 overlays, and 256 panels, of both modes together", () => {
    const { store } = makeStore();
    for (let i = 0; i < 255; i++) store.createOverlay(box);
    store.enterAlt();
    const { id } = store.createOverlay(box);
    expect(codeOf(() => store.createOverlay(box))).toBe("resource_limit_reached");
    expect(codeOf(() => store.createPanel(strip))).toBe("no error");
    store.delete("overlay", id);
    expect(codeOf(() => store.createOverlay(box))).toBe("no error");
  });

  test("pieces and their bytes: one code when made, another when changed", () => {
    const { store } = makeStore();
    const many = Array.from({ length: 4097 }, () => ({ text: "" }));
    const long = [{ text: "é".repeat(32_769) }];
    expect(codeOf(() => store.createOverlay({ ...box, spans: many }))).toBe("resource_limit_reached");
    expect(codeOf(() => store.createPanel({ ...strip, spans: long }))).toBe("resource_limit_reached");
    const { id } = store.createOverlay({ ...box, spans: many.slice(1) });
    expect(codeOf(() => store.replaceSpans("overlay", id, many))).toBe("invalid_overlay");
    expect(codeOf(() => store.patchOverlay(id, { spans: long, x: 9 }))).toBe("invalid_overlay");
    expect(store.overlay(id).x).toBe(1);
    const writes = Array.from({ length: 4096 }, (_, col) => ({ row: 0, col, text: "x" }));
    store.write("overlay", id, writes);
    expect(codeOf(() => store.write("overlay", id, [{ row: 1, col: 0, text: "one more" }]))).toBe("invalid_overlay");
    expect(codeOf(() => store.write("overlay", id, [{ row: 0, col: 0, text: "same place" }]))).toBe("no error");
  });

  test("all texts of a session together", () => {
    const { store } = makeStore();
    const spans = Array.from({ length: 128 }, () => ({ text: "x".repeat(65_536) }));
    const first = store.createOverlay({ ...box, spans });
    store.createOverlay({ ...box, spans });
    expect(codeOf(() => store.createOverlay({ ...box, spans: [{ text: "x" }] }))).toBe("resource_limit_reached");
    expect(store.overlays()).toHaveLength(2);
    store.delete("overlay", first.id);
    expect(codeOf(() => store.createOverlay({ ...box, spans }))).toBe("no error");
  });
});
