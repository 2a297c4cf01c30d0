/**
 * `bun run check`: types, lint and format, then every test over a freshly built binary. `--full` adds the slow sizes
 * (WSH_TEST_FULL=1). Ends with what was skipped for want of a program, and the plain line
 * `N passed, N failed, N skipped`.
 */
import os from "node:os";
import { join } from "node:path";
import { TestReport, type TestRun } from "./test-run.ts";

/** Test files that run at the same time: one, with the programs that it starts, keeps two processors busy. */
const WORKERS = Math.max(1, Math.floor(os.availableParallelism() / 2));

const root = join(import.meta.dir, "..");
const full = process.argv.includes("--full");
const env: Record<string, string | undefined> = { ...process.env, ...(full ? { WSH_TEST_FULL: "1" } : {}) };
let passed = 0;
let failed = 0;
let skipped = 0;

function step(name: string, command: string[]): boolean {
  const started = performance.now();
  const result = Bun.spawnSync(command, { cwd: root, env, stdout: "inherit", stderr: "inherit", stdin: "ignore" });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${result.success ? "ok" : "FAILED"}  ${name} (${seconds} s)`);
  if (result.success) passed++;
  else failed++;
  return result.success;
}

/** Runs test files, all when none is named. */
async function runTests(files: readonly string[], how: `--parallel=${number}` | "--isolate"): Promise<TestRun> {
  // Black-box tests wait for conditions on shared machines: a minute for a single one.
  const command = [process.execPath, "test", how, "--timeout", full ? "600000" : "60000", ...files];
  const run = Bun.spawn(command, { cwd: root, env, stdout: "inherit", stderr: "pipe", stdin: "ignore" });
  const report = new TestReport();
  const decoder = new TextDecoder();
  for await (const chunk of run.stderr) {
    process.stderr.write(chunk);
    report.read(decoder.decode(chunk, { stream: true }));
  }
  return report.result(await run.exited);
}

/**
 * The whole suite. Files with a failure are run once more, one at a time, to tell what is unsteady from what is broken;
 * either is a defect, so the first run's failures count whatever the second one says.
 */
async function tests(): Promise<void> {
  const first = await runTests([], `--parallel=${WORKERS}`);
  passed += first.passed;
  failed += first.failed;
  skipped += first.skipped;
  if (first.files.length > 0) {
    const second = await runTests(first.files, "--isolate");
    const again = new Set(second.files);
    console.log(["", "What failed, again:", ...first.errors, ...second.errors].join("\n\n"));
    for (const file of first.files) console.log(`${again.has(file) ? "BROKEN  " : "UNSTEADY"}  ${file}`);
  }
  for (const reason of first.reasons) console.log(reason);
}

step("system packages", [join(root, "scripts/system-packages")]);
step("types", [process.execPath, "run", "typecheck"]);
step("lint and format", [process.execPath, "x", "biome", "check", "."]);
if (step("build", [process.execPath, "run", "build.ts"])) await tests();
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exit(failed === 0 ? 0 : 1);
