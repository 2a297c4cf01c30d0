/** Labelled checkpoints of one session that are saved at the same time. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { createNamed, listNamedFolders } from "../../../src/checkpoints/files/named.ts";
import { checkpointsDir } from "../../../src/checkpoints/files/paths.ts";
import { testInstance } from "../../support/registry.ts";

// A name of a checkpoint's file: only these are removed with it.
const file = "p1.1.state";

test.each([
  ["a checkpoint exists", true],
  ["none exists", false],
])("two that replace the same label both succeed, and the last one stays: %s", async (_, exists) => {
  using place = testInstance();
  const { instance } = place;
  const slot = { number: 3, label: "before", replace: true };
  const save = (text: string, until: Promise<unknown> = Promise.resolve()) =>
    createNamed(instance, slot, 1e9, async (__, directory) => {
      fs.writeFileSync(join(directory, file), text);
      await until;
    });
  if (exists) await save("old");
  const first = Promise.withResolvers<void>();
  const slow = save("last", first.promise);
  await save("first");
  first.resolve();
  const { directory } = await slow;
  expect(listNamedFolders(instance).map((each) => each.directory)).toEqual([directory]);
  expect(fs.readFileSync(join(directory, file), "utf8")).toBe("last");
  expect(fs.readdirSync(checkpointsDir(instance))).toHaveLength(1);
});
