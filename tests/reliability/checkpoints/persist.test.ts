/** Overlays and panels with persist are restored; others are not. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { readLayout } from "../../../src/checkpoints/files/part-reader.ts";
import { Http } from "../../support/http.ts";
import { until } from "../../support/until.ts";
import { Wsh } from "../../support/wsh.ts";
import { folderOf, kill, stored } from "./crashed-sessions.ts";

const box = { x: 1, y: 2, width: 10, height: 1 };

function keptOf(wsh: Wsh, isSplit: boolean): string {
  try {
    return JSON.stringify(isSplit ? readLayout(folderOf(wsh)).record.tree : (stored(wsh)?.record.elements ?? null));
  } catch {
    return "";
  }
}

for (const isSplit of [false, true]) {
  test(`of a session with ${isSplit ? "two panes" : "one pane"}`, async () => {
    await using wsh = new Wsh();
    await wsh.server();
    const http = new Http({ unix: wsh.instance.httpSocket });
    await wsh.session("dev");
    if (isSplit) await http.post("/sessions/dev/panes", { direction: "right" });
    const spans = [{ text: "stays", fg: "red", bold: true }];
    const made = await http.post("/sessions/dev/overlay", { ...box, z: 7, spans, persist: true, focusable: true });
    await http.post("/sessions/dev/overlay", { ...box, y: 4, spans: [{ text: "goes" }] });
    await http.post("/sessions/dev/panel", {
      position: "bottom",
      height: 2,
      spans: [{ text: "remains" }],
      persist: true,
    });
    await http.post("/sessions/dev/panel", { position: "top", height: 1, spans: [{ text: "goes" }] });
    await until("them to be written", () => ["stays", "remains"].every((text) => keptOf(wsh, isSplit).includes(text)));
    expect(keptOf(wsh, isSplit)).not.toContain("goes");
    await until("a pane to be written", () => stored(wsh) !== null);
    const { body: overlay } = await http.get(`/sessions/dev/overlay/${(made.body as { id: string }).id}`);
    expect(overlay).toMatchObject({ persist: true, z: 7 });
    await kill(wsh);
    await until("it to be lost", async () => (await wsh.list())[0]?.state === "crashed");
    await wsh.ok("restore", "dev");
    expect((await http.get("/sessions/dev/overlay")).body).toEqual([overlay]);
    expect((await http.get("/sessions/dev/panel")).body).toMatchObject([
      { position: "bottom", height: 2, persist: true, visible: true, spans: [{ text: "remains" }] },
    ]);
    // The panel has its rows again.
    const [info] = (await http.get("/sessions")).body as { windows: { panes: { rows: number }[] }[] }[];
    expect(info?.windows[0]?.panes[0]?.rows).toBe(22);
    // One without persist any more is forgotten, and the checkpoint has the rest.
    await http.send("PATCH", `/sessions/dev/overlay/${(made.body as { id: string }).id}`, {
      headers: { "content-type": "application/json" },
      body: '{"persist":false}',
    });
    await until(
      "it to be forgotten",
      () => keptOf(wsh, isSplit).includes("remains") && !keptOf(wsh, isSplit).includes("stays"),
    );
  });
}

test("an expired overlay is not restored, and damage costs elements alone", async () => {
  // Written long before it expires.
  await using wsh = new Wsh({ intervals: { checkpointRest: 50 } });
  await wsh.server();
  const http = new Http({ unix: wsh.instance.httpSocket });
  await wsh.session("dev");
  await http.post("/sessions/dev/overlay", { ...box, spans: [{ text: "short" }], persist: true, ttl_ms: 3_000 });
  await until("it to be written", () => keptOf(wsh, false).includes("short"));
  await kill(wsh);
  await until("it to be lost", async () => (await wsh.list())[0]?.state === "crashed");
  const record = stored(wsh)?.record.elements as { elements: { expiresAt: number }[] };
  await until("its time to be over", () => Date.now() > (record.elements[0]?.expiresAt ?? 0));
  await wsh.ok("restore", "dev");
  await until("none to be there", async () => ((await http.get("/sessions/dev/overlay")).body as []).length === 0);
  expect(fs.existsSync(folderOf(wsh))).toBe(true);
});
