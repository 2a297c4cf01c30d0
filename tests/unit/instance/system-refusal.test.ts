/** What the system refuses is reported with its cause: a directory's fault, or a limit. */
import { expect, test } from "bun:test";
import { refused } from "../../../src/instance/system-refusal.ts";

const thrown = (code: string) => Object.assign(new Error(`${code}: refused, open '/run/wsh'`), { code });

test("a full disk is the directory's fault, and too many open files are a limit", () => {
  const full = refused("the name cannot be changed", thrown("ENOSPC"));
  expect(full.toBody()).toMatchObject({
    code: "runtime_dir_unusable",
    hint: expect.stringContaining("Free disk space"),
  });
  for (const code of ["EMFILE", "ENFILE"]) {
    const { code: given, message, hint } = refused("the lock cannot be taken", thrown(code)).toBody();
    expect({ given, message, hint }).toEqual({
      given: "resource_limit_reached",
      message: `the lock cannot be taken: ${code}: refused, open '/run/wsh'`,
      hint: expect.stringContaining("ulimit -n"),
    });
  }
});
