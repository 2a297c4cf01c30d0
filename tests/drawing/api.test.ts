/** Overlays, panels, focus and screen mode as a script reaches them over HTTP (docs/protocol.md, Drawing and Keyboard): answers and refusals. */
import { describe, expect, test } from "bun:test";
import type { Overlay, Panel } from "../../src/protocol/drawing.ts";
import { Canvas } from "../support/drawing-api.ts";
import { failure } from "../support/http.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

async function scene() {
  const wsh = new Wsh();
  await Promise.all([wsh.session("s"), wsh.server()]);
  return { wsh, canvas: new Canvas(wsh, "s"), [Symbol.asyncDispose]: () => wsh[Symbol.asyncDispose]() };
}

const box = { x: 1, y: 2, width: 10, height: 3, spans: [] };

test("an overlay's life: made, listed, read, replaced, patched, its spans and writes changed, removed", async () => {
  await using the = await scene();
  const { canvas } = the;
  const { http } = canvas;
  const path = "/sessions/s/overlay";
  const id = await canvas.overlay({ ...box, background: { bg: "blue" }, spans: [{ id: "a", text: "one", fg: "red" }] });
  const first = { ...box, id, z: 0, background: { bg: "blue" }, spans: [{ id: "a", text: "one", fg: "red" }] };
  expect(await canvas.get<Overlay[]>("overlay")).toEqual([first] as never);
  await http.expect(204, http.json("PUT", `${path}/${id}`, { spans: [{ id: "a", text: "two" }, { text: "three" }] }));
  await canvas.patch("overlay", id, { x: 70, z: 9 });
  await canvas.post(204, `overlay/${id}/spans`, { spans: [{ id: "a", text: "2", bold: true }, { text: "ignored" }] });
  await canvas.post(204, `overlay/${id}/write`, {
    writes: [
      { row: 0, col: 1, text: "x" },
      { row: 1, col: 1, text: "y" },
    ],
  });
  await canvas.post(204, `overlay/${id}/write`, { writes: [{ row: 0, col: 1, text: "z" }] });
  expect(await canvas.get<Overlay>(`overlay/${id}`)).toEqual({
    ...first,
    x: 70,
    z: 9,
    spans: [{ id: "a", text: "2", bold: true }, { text: "three" }],
    region_writes: [
      { row: 1, col: 1, text: "y" },
      { row: 0, col: 1, text: "z" },
    ],
  } as never);
  // The next z is above the highest one given.
  const above = await canvas.overlay(box);
  expect((await canvas.get<Overlay>(`overlay/${above}`)).z).toBe(10);
  await canvas.delete("overlay", id);
  expect(await http.get(`${path}/${id}`)).toMatchObject({ status: 404, body: failure("overlay_not_found") });
  await canvas.delete("overlay");
  expect(await canvas.get("overlay")).toEqual([]);
});

test("a panel's life, and only its size changes the program's size", async () => {
  await using the = await scene();
  const { canvas } = the;
  const rows = async () => (await canvas.get<{ rows: number }>("screen")).rows;
  const { id, ...made } = await canvas.panel({ position: "top", height: 2 });
  expect(made).toEqual({ visible: true, rows: 22, cols: 80 });
  await canvas.post(204, `panel/${id}/write`, { writes: [{ row: 0, col: 0, text: "status" }] });
  await canvas.patch("panel", id, { background: "red", spans: [{ text: "t" }] });
  expect(await rows()).toBe(22);
  await canvas.patch("panel", id, { position: "bottom", height: 5 });
  expect(await rows()).toBe(19);
  const tall = await canvas.panel({ position: "top", height: 30, spans: [] });
  expect(tall).toMatchObject({ visible: false, rows: 19 });
  expect(await canvas.get<Panel[]>("panel")).toMatchObject([
    { id: tall.id, position: "top", visible: false },
    { id, position: "bottom", height: 5, visible: true, background: { bg: "red" } },
  ]);
  const put = canvas.http.json("PUT", `/sessions/s/panel/${id}`, { position: "top", height: 1, z: 3, spans: [] });
  await canvas.http.expect(204, put);
  expect(await rows()).toBe(23);
  await canvas.delete("panel");
  expect(await rows()).toBe(24);
  expect(await canvas.http.get(`/sessions/s/panel/${id}`)).toMatchObject({
    status: 404,
    body: failure("panel_not_found"),
  });
});

test("an element with ttl_ms is removed by itself", async () => {
  await using the = await scene();
  const { canvas } = the;
  await canvas.overlay({ ...box, ttl_ms: 100 });
  await canvas.panel({ position: "top", height: 1, ttl_ms: 100 });
  await until("both to go", async () => {
    const [overlays, panels] = await Promise.all([canvas.get<[]>("overlay"), canvas.get<[]>("panel")]);
    return overlays.length + panels.length === 0;
  });
  expect((await canvas.get<{ rows: number }>("screen")).rows).toBe(24);
});

test("focus needs a focusable element, and ends with it, with release, and with clearing", async () => {
  await using the = await scene();
  const { canvas } = the;
  const plain = await canvas.overlay(box);
  const refused = await canvas.http.post("/sessions/s/input/focus", { id: plain });
  expect(refused).toMatchObject({ status: 400, body: failure("not_focusable") });
  const unknown = await canvas.http.post("/sessions/s/input/focus", { id: "nobody" });
  expect(unknown).toMatchObject({ status: 400, body: failure("invalid_request", /nobody/) });
  for (const clear of [
    (id: string) => canvas.delete("overlay", id),
    () => canvas.release(),
    () => canvas.post(204, "input/unfocus", {}),
    () => canvas.delete("panel"),
    () => canvas.delete("overlay"),
  ]) {
    const id = await canvas.overlay({ ...box, focusable: true });
    await canvas.capture();
    await canvas.focus(id);
    expect(await canvas.focused()).toEqual({ focused: id });
    await clear(id);
    expect(await canvas.focused()).toEqual({ focused: null });
  }
});

test("a screen mode has its own elements, which are removed with it", async () => {
  await using the = await scene();
  const { canvas } = the;
  const { http } = canvas;
  const normal = await canvas.overlay(box);
  expect(await http.post("/sessions/s/screen_mode/exit_alt", {})).toMatchObject({
    status: 409,
    body: failure("not_in_alt_screen"),
  });
  await canvas.post(204, "screen_mode/enter_alt", {});
  expect(await http.post("/sessions/s/screen_mode/enter_alt", {})).toMatchObject({
    status: 409,
    body: failure("already_in_alt_screen"),
  });
  expect(await canvas.get("screen_mode")).toEqual({ mode: "alt" });
  const alt = await canvas.overlay(box);
  expect(await canvas.get<Overlay[]>("overlay")).toMatchObject([{ id: alt, screen_mode: "alt" }]);
  expect(await canvas.get<Overlay>(`overlay/${normal}`)).not.toHaveProperty("screen_mode");
  await canvas.post(204, "screen_mode/exit_alt", {});
  expect((await canvas.get<Overlay[]>("overlay")).map(({ id }) => id)).toEqual([normal]);
  expect((await http.get(`/sessions/s/overlay/${alt}`)).status).toBe(404);
});

describe("an invalid drawing is refused, with nothing changed", () => {
  test.each([
    ["without a width", { x: 0, y: 0, height: 1, spans: [] }, 422, "invalid_request"],
    ["with a place that no screen has", { ...box, x: -1 }, 422, "invalid_request"],
    ["with an unknown colour", { ...box, background: "beige" }, 422, "invalid_request"],
    ["with too long a text", { ...box, spans: [{ text: "x".repeat(65_537) }] }, 429, "resource_limit_reached"],
  ])("%s", async (_, overlay, status, code) => {
    await using the = await scene();
    const answer = await the.canvas.http.post("/sessions/s/overlay", overlay);
    expect(answer).toMatchObject({ status, body: { error: { code } } });
    expect(await the.canvas.get("overlay")).toEqual([]);
  });

  test("on a session that has ended", async () => {
    await using the = await scene();
    const { wsh, canvas } = the;
    await wsh.ok("send", "s", "exit 3", "--enter");
    await until("its end", async () => !(await canvas.http.session("s")).running);
    for (const [path, body] of [
      ["overlay", box],
      ["panel", { position: "top", height: 1 }],
      ["input/capture", {}],
    ] as const) {
      const answer = await canvas.http.post(`/sessions/s/${path}`, body);
      expect(answer).toMatchObject({ status: 410, body: failure("session_ended", /./, { exit_code: 3 }) });
    }
  });
});
