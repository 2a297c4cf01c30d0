/** On a machine without some of the programs that tests drive, their tests are skipped, which is printed and counted. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { TestReport } from "../scripts/test-run.ts";
import { pathOf } from "./support/programs.ts";

const absent = "wsh-test-absent";
let dir: string;
beforeAll(() => {
  dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-t-"));
  for (const folder of ["bin", "sbin"]) fs.mkdirSync(join(dir, folder));
  fs.symlinkSync("/bin/sh", join(dir, "bin/sh"));
  fs.symlinkSync("/bin/sh", join(dir, "sbin/wsh-test-daemon"));
});
afterAll(() => {
  fs.rmSync(dir, { recursive: true, force: true });
});

test("tests of missing programs are skipped, named once, counted by check, and fail nothing", async () => {
  const file = join(dir, "some.test.ts");
  fs.writeFileSync(
    file,
    `import { describe, test } from "bun:test";
     import { anyOf, isMissing, testWith } from ${JSON.stringify(join(import.meta.dir, "support/programs.ts"))};
     const run = () => {};
     const wrong = () => { throw new Error("was run"); };
     testWith("sh")("runs", run);
     testWith("wsh-test-daemon")("finds daemons beside", run);
     test.skipIf(anyOf("wsh-test-none", "sh") === null)("one of two", run);
     testWith("sh", "${absent}")("needs both", wrong);
     testWith("${absent}")("needs it", wrong);
     describe.skipIf(isMissing("${absent}"))("many", () => { test("a", wrong); test("b", wrong); });
     test.skipIf(anyOf("${absent}-2", "${absent}-3") === null)("one of none", wrong);
    `,
  );
  const run = Bun.spawn([process.execPath, "test", file], {
    cwd: dir,
    env: { ...process.env, PATH: join(dir, "bin") },
    stdout: "ignore",
    stderr: "pipe",
  });
  const report = new TestReport();
  report.read(await new Response(run.stderr).text());
  const { passed, failed, skipped, reasons } = report.result(await run.exited);
  expect({ passed, failed, skipped }).toEqual({ passed: 3, failed: 0, skipped: 5 });
  expect(reasons).toEqual([
    `SKIPPED: '${absent}' is not installed, so what tests it does not run`,
    `SKIPPED: '${absent}-2' is not installed, so what tests it does not run`,
  ]);
});

test("check counts failures by file, and an aborted run", () => {
  const report = new TestReport();
  report.read("bun test v1\n\ntests/a.test.ts:\n(pass) one\nerror: wrong\n(fail) t");
  report.read("wo\n\n1 tests skipped:\n(skip) three\n\n1 tests failed:\n(fail) two\n\n 1 pass\n 1 skip\n 1 fail\n");
  expect(report.result(1)).toEqual({
    passed: 1,
    failed: 1,
    skipped: 1,
    files: ["tests/a.test.ts"],
    reasons: [],
    errors: ["tests/a.test.ts\nerror: wrong\n(fail) two"],
  });
  expect(new TestReport().result(134).failed).toBe(1);
});

test("a file whose tests ended their own process is counted, and named", async () => {
  const cwd = join(dir, "crash");
  fs.mkdirSync(join(cwd, "tests"), { recursive: true });
  const head = 'import { test } from "bun:test";';
  // Long enough that each file gets its own process.
  fs.writeFileSync(join(cwd, "tests/well.test.ts"), `${head} test("well", () => Bun.sleep(500));`);
  fs.writeFileSync(
    join(cwd, "tests/crash.test.ts"),
    `${head} test("first", () => Bun.sleep(100)); test("crash", () => { process.kill(process.pid, "SIGKILL"); });`,
  );
  const run = Bun.spawn([process.execPath, "test", "--parallel=2"], { cwd, stdout: "ignore", stderr: "pipe" });
  const report = new TestReport();
  report.read(await new Response(run.stderr).text());
  expect(report.result(await run.exited)).toMatchObject({ failed: 1, files: ["tests/crash.test.ts"] });
});

test("programs are looked up only by tests/support/programs.ts", async () => {
  // Started shells search for their own PATH.
  const own = ["support/programs.ts", "support/live-pane.ts", "support/terminals/shell-terminal.ts"];
  const looking: string[] = [];
  for await (const file of new Bun.Glob("**/*.ts").scan(import.meta.dir)) {
    if (own.includes(file) || file === "missing-programs.test.ts") continue;
    if (/Bun\.which\(/.test(await Bun.file(join(import.meta.dir, file)).text())) looking.push(file);
  }
  expect(looking).toEqual([]);
  expect(pathOf("sh")).not.toBeNull();
});
