/** The probe that compares wsh's numbers with a machine's headers, on this machine. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { compare, compiler, probeHeaders } from "../../packaging/probe/constants.ts";
import { darwin } from "../../src/platform/darwin.ts";
import { system } from "../../src/platform/system.ts";
import { testWith } from "../support/programs.ts";

const withCompiler = testWith("cc");

withCompiler("this machine's headers say what the table says", () => {
  const comparison = compare(system, probeHeaders(compiler ?? "cc"));
  expect(comparison.differences).toEqual([]);
  expect(comparison.compared).toBeGreaterThan(60);
});

withCompiler("the program exits with 0 and prints the comparison as JSON", () => {
  const script = join(import.meta.dir, "../../packaging/probe/constants.ts");
  const { exitCode, stdout } = Bun.spawnSync([process.execPath, script]);
  expect(JSON.parse(stdout.toString())).toMatchObject({ system: system.name, differences: [] });
  expect(exitCode).toBe(0);
});

test("a wrong number, size or name is found", () => {
  const printed = JSON.parse(
    JSON.stringify({
      system: darwin.name,
      constants: { ...darwin.constants, ARG_MAX: 1024 * 1024, MAX_CANON: 1024 },
      layouts: darwin.layouts,
    }),
  );
  expect(compare(darwin, printed).differences).toEqual([]);
  printed.constants.ENOENT = 11;
  printed.layouts.proc_bsdinfo.bytes = 144;
  printed.constants.NEW = 1;
  delete printed.constants.POLLIN;
  expect(
    compare(darwin, printed)
      .differences.map(({ what }) => what)
      .sort(),
  ).toEqual(["constants/ENOENT", "constants/NEW", "constants/POLLIN", "layouts/proc_bsdinfo/bytes"]);
});

test("without a compiler it reports that and exits with 2", () => {
  const script = join(import.meta.dir, "../../packaging/probe/constants.ts");
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, script], {
    env: { ...process.env, CC: "no-such-compiler" },
  });
  expect(stderr.toString()).toContain("no C compiler");
  expect(exitCode).toBe(2);
});
