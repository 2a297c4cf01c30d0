/** The path that starts wsh for others must still exist after an upgrade. */
import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brewLinks, linkTo } from "../../../src/launch/own-program.ts";

test("Homebrew's links are preferred to the version in its Cellar, where they lead to this executable", () => {
  const prefix = realpathSync(mkdtempSync(join(tmpdir(), "wsh-brew-")));
  try {
    const old = join(prefix, "Cellar/wsh/0.1.0/bin/wsh");
    const present = join(prefix, "Cellar/wsh/0.2.0/bin/wsh");
    for (const file of [old, present]) {
      mkdirSync(join(file, ".."), { recursive: true });
      writeFileSync(file, "");
    }
    mkdirSync(join(prefix, "opt"));
    symlinkSync("../Cellar/wsh/0.2.0", join(prefix, "opt/wsh"));
    // Linked as a keg only: nothing in PREFIX/bin.
    expect(linkTo(present, [null, ...brewLinks(present)])).toBe(join(prefix, "opt/wsh/bin/wsh"));
    mkdirSync(join(prefix, "bin"));
    symlinkSync("../Cellar/wsh/0.2.0/bin/wsh", join(prefix, "bin/wsh"));
    expect(linkTo(present, [null, ...brewLinks(present)])).toBe(join(prefix, "bin/wsh"));
    // Another version is behind the links: they would start that one.
    expect(linkTo(old, brewLinks(old))).toBeNull();
    expect(brewLinks("/usr/local/bin/wsh")).toEqual([]);
  } finally {
    rmSync(prefix, { recursive: true });
  }
});
