/** Homes shared by several machines, and machines whose name changes: each has its own crashed sessions, and no others. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { PartWriter } from "../../../src/checkpoints/files/part-writer.ts";
import { checkpointsDir } from "../../../src/checkpoints/files/paths.ts";
import { prune } from "../../../src/checkpoints/files/prune.ts";
import { forgetSessions } from "../../../src/checkpoints/operations.ts";
import { testInstance } from "../../support/registry.ts";
import { Wsh } from "../../support/wsh.ts";
import { canMount } from "../faults/enclosed.ts";
import { folderOf, kill, writtenToPrompt } from "./crashed-sessions.ts";

test("forgetting all and pruning leave other machines' checkpoints in the same home", async () => {
  using place = testInstance();
  const { instance } = place;
  const folders = ["s3", "s4", "s5.before"].map((name) => join(checkpointsDir(instance), name));
  for (const [at, directory] of folders.entries()) {
    const writer = new PartWriter(directory, `p${at + 7}`, { parents: [instance.stateDir, checkpointsDir(instance)] });
    // Partly of a later version: its machine can be read all the same.
    await writer.write(null, () => [
      { kind: "about", text: JSON.stringify({ version: at + 1, machine: "another", saved_at: 1 }) },
    ]);
    writer.close();
  }
  expect(prune(instance, { checkpoint_days: 0, checkpoint_bytes: 0 })).toEqual([]);
  expect(await forgetSessions(instance, { session: undefined, all: true })).toEqual({ forgotten: [] });
  await expect(forgetSessions(instance, { session: "@s3", all: false })).rejects.toThrow("no crashed session");
  expect(folders.filter((directory) => fs.readdirSync(directory).length === 2)).toEqual(folders);
});

test.skipIf(!canMount)("a machine whose name has changed has its crashed sessions, and stays persistent", async () => {
  await using wsh = new Wsh();
  const server = await wsh.server();
  await wsh.ok("persist", "on");
  await wsh.session("dev");
  await wsh.exec("dev", "echo kept");
  await writtenToPrompt(wsh, "kept");
  await server.kill("SIGTERM");
  await kill(wsh);
  const renamed = (...args: string[]): string => {
    const cmd = ["unshare", "--uts", "sh", "-c", 'hostname elsewhere; exec "$0" "$@"', ...wsh.command(...args)];
    const { stdout, stderr } = Bun.spawnSync({ cmd, env: wsh.env });
    return `${stdout}${stderr}`;
  };
  expect(renamed("list")).toContain("dev");
  expect(renamed("server", "--ensure", "--bind", "none")).not.toContain("wsh:");
  expect(renamed("persist")).toContain("is persistent");
  expect(renamed("restore", "dev")).toContain("'dev' is restored");
  expect(fs.existsSync(folderOf(wsh))).toBe(true);
});
