/** Checkpoints of an earlier version, with a process per pane and another for the layout of several, can be restored. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { type BlockKind, packBlock } from "../../../src/checkpoints/files/blocks.ts";
import { thisMachine } from "../../../src/instance/place-digest.ts";
import earlier from "../../fixtures/earlier-checkpoints.json";
import { until } from "../../support/until.ts";
import { Wsh } from "../../support/wsh.ts";
import { folderOf } from "./crashed-sessions.ts";

interface Kept {
  readonly kind: string;
  readonly text?: string;
  readonly record?: object;
}

/** Puts it where this machine's checkpoints are read. */
function lay(wsh: Wsh): void {
  const files: Readonly<Record<string, readonly Kept[]>> = earlier;
  for (const [path, blocks] of Object.entries(files)) {
    const file = join(folderOf(wsh), "..", path);
    fs.mkdirSync(join(file, ".."), { recursive: true, mode: 0o700 });
    const bytes = blocks.map(({ kind, text, record }) =>
      packBlock({ kind: kind as BlockKind, text: text ?? JSON.stringify({ ...record, machine: thisMachine() }) }),
    );
    fs.writeFileSync(file, Buffer.concat(bytes), { mode: 0o600 });
  }
  for (const path of [join(folderOf(wsh), ".."), wsh.instance.stateDir]) fs.chmodSync(path, 0o700);
}

test("a session of one pane, and one of three panes in two windows", async () => {
  await using wsh = new Wsh();
  lay(wsh);
  expect((await wsh.list()).map(({ name, state }) => [name, state])).toEqual([
    ["one", "crashed"],
    ["many", "crashed"],
  ]);
  expect(await wsh.screen("@4")).toContain("line of the second pane");
  for (const name of ["one", "many"]) await wsh.ok("restore", name);
  await until("both to run", async () => (await wsh.list()).every(({ running }) => running));
  const [one, many] = await wsh.list();
  expect(one).toMatchObject({ id: "@s1", name: "one", pane_id: "@1" });
  expect(many).toMatchObject({ id: "@s2", name: "many" });
  expect(many?.windows.map(({ id, panes }) => [id, panes.map((pane) => pane.id)])).toEqual([
    ["@w2", ["@2", "@4"]],
    ["@w3", ["@5"]],
  ]);
  await wsh.shows("one", /^second$/m);
  await wsh.shows("@2", /^line of the oldest pane$/m);
  await wsh.shows("@4", /^line of the second pane$/m);
  // Its panes belong to this version from here on: the next ones have new numbers.
  const pane = (await wsh.ok("split", "many")).trim();
  expect(Number(pane.slice(1))).toBeGreaterThan(5);
  expect(await wsh.ok("exec", "@4", "--", "echo lives")).toBe("lives\n");
});
