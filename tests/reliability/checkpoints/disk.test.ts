/** A state directory that is full, or not writable: sessions continue, and checkpoints are written when possible again. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { contentOf } from "../../support/content-of.ts";
import { until } from "../../support/until.ts";
import { Wsh } from "../../support/wsh.ts";
import { canMount, Enclave } from "../faults/enclosed.ts";
import { folderOf, textOf, written, writtenToPrompt } from "./crashed-sessions.ts";

describe.skipIf(!canMount)("a full disk", () => {
  test("costs no output, and earlier checkpoints stay complete; with room writing resumes", async () => {
    const state = (wsh: Wsh): string => join(wsh.env.HOME ?? "", ".local/state");
    await using enclave = await Enclave.open(state, "256k", { config: 'history = "off"\n' });
    await enclave.ok("new", "dev");
    await enclave.ok("exec", "dev", "--", "echo before");
    const files = (): string => enclave.shell('cd "$0"/wsh/t.checkpoints/s1 2>/dev/null && ls');
    await until("a checkpoint", () => files().includes(".state"));
    enclave.fill();
    const kept = files();
    expect(await enclave.ok("exec", "dev", "--", "seq 1 2000 | tail -1; seq 1 500 > /dev/null")).toBe("2000\n");
    expect(files()).toContain(".state");
    enclave.empty();
    await enclave.ok("exec", "dev", "--", "echo after");
    const generations = (): number =>
      files()
        .split("\n")
        .filter((name) => name.endsWith(".state")).length;
    await until(
      "another generation",
      () => generations() > kept.split("\n").filter((n) => n.endsWith(".state")).length,
    );
    // The next one may be being written.
    await until("no unfinished file", () => !files().includes(".new"));
  });
});

test("a checkpoint's folder that is open to others is not written to; the session continues", async () => {
  await using wsh = new Wsh();
  await wsh.session("dev");
  await wsh.exec("dev", "echo one");
  await writtenToPrompt(wsh, "one");
  const outside = join(wsh.dir, "elsewhere");
  fs.renameSync(folderOf(wsh), outside);
  fs.symlinkSync(outside, folderOf(wsh));
  const before = fs.readdirSync(outside).sort();
  expect(await wsh.ok("exec", "dev", "--", "echo two")).toBe("two\n");
  const log = join(wsh.instance.sessionLog);
  await until("it to be said", () => contentOf(log).includes("is a symbolic link"));
  expect(fs.readdirSync(outside).sort()).toEqual(before);
  fs.unlinkSync(folderOf(wsh));
  await wsh.exec("dev", "echo three");
  await written(wsh, "three");
  expect(textOf(wsh)).toContain("two");
});
