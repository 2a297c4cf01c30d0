/** A session that becomes private: its records are deleted, and nothing more is written. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { until } from "../../support/until.ts";
import { Wsh } from "../../support/wsh.ts";
import { folderOf, kill, stored, textOf, written } from "./crashed-sessions.ts";

/** All bytes kept of sessions, except those with labels. */
function files(wsh: Wsh): string[] {
  const folder = folderOf(wsh);
  return fs.existsSync(folder) ? fs.readdirSync(folder).filter((name) => !name.endsWith(".lock")) : [];
}

for (const panes of [1, 2]) {
  test(`of ${panes} pane${panes === 1 ? "" : "s"}`, async () => {
    await using wsh = new Wsh();
    await wsh.session("dev");
    if (panes === 2) await wsh.ok("split", "dev");
    await wsh.exec("@1", "echo open");
    await written(wsh, "open");
    await wsh.ok("checkpoint", "save", "dev", "open");
    if (panes === 2)
      await until("the layout to be written", () => files(wsh).some((name) => name.startsWith("layout")));
    const on = await wsh.run("private", "dev", "on");
    expect(on.stdout).toBe("Session 'dev' is private.\n");
    expect(on.stderr).toContain("labelled checkpoints remain: 'open'");
    await until("all to be removed", () => files(wsh).length === 0);
    await wsh.exec("@1", "echo hidden");
    // Another session of the same instance is written after it: anything that this one writes would be there by then.
    const other = await wsh.session("other");
    await wsh.exec("other", "echo later");
    await written(wsh, "later", Number(other.pane_id.slice(1)), Number(other.id.slice(2)));
    expect(files(wsh)).toEqual([]);
    await wsh.ok("private", "dev", "off");
    await wsh.exec("@1", "echo public");
    await written(wsh, "public");
    expect(stored(wsh)).not.toBeNull();
    await kill(wsh);
    expect(textOf(wsh)).toContain("public");
  });
}

test("one that is private from the start leaves nothing, and cannot be restored", async () => {
  await using wsh = new Wsh();
  await wsh.session("dev", "--private");
  await wsh.exec("dev", "echo hidden");
  const other = await wsh.session("other");
  await wsh.exec("other", "echo later");
  await written(wsh, "later", Number(other.pane_id.slice(1)), Number(other.id.slice(2)));
  expect(files(wsh)).toEqual([]);
  await kill(wsh);
  const all = fs.readdirSync(join(folderOf(wsh), ".."), { recursive: true, encoding: "utf8" });
  expect(all.filter((name) => name.includes("s1/"))).toEqual([]);
  expect((await wsh.run("restore", "dev")).stderr).toContain("no crashed session 'dev'");
});
