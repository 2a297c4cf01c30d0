/**
 * `bun run check`: types, lint and format, then every test over a freshly built binary. `--full` adds the slow sizes
 * (WSH_TEST_FULL=1). Ends with the plain line `N passed, N failed`, and how
 * many were skipped.
 */
import { join } from "node:path";

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

interface TestRun {
  readonly passed: number;
  readonly failed: number;
  /** Tests of a program that is not installed, and the slow sizes without `--full`. */
  readonly skipped: number;
  /** Files with a test that failed. */
  readonly files: readonly string[];
}

/** Runs test files (all when none is named) and counts what `bun test` reports. */
async function runTests(files: readonly string[]): Promise<TestRun> {
  // Black-box tests wait for conditions on shared machines: a minute for a single one.
  const command = [process.execPath, "test", "--timeout", full ? "600000" : "60000", ...files];
  const run = Bun.spawn(command, { cwd: root, env, stdout: "inherit", stderr: "pipe", stdin: "ignore" });
  const broken = new Set<string>();
  let file = "";
  let rest = "";
  let tail = "";
  const decoder = new TextDecoder();
  for await (const chunk of run.stderr) {
    process.stderr.write(chunk);
    const text = decoder.decode(chunk, { stream: true });
    tail = (tail + text).slice(-4096);
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      // The summary names skipped and failed tests again.
      if (/^\d+ tests? (skipped|failed):$/.test(line)) file = "";
      file = /^(tests\/\S+\.test\.ts):$/.exec(line)?.[1] ?? file;
      if (line.startsWith("(fail) ") && file !== "") broken.add(file);
    }
  }
  const code = await run.exited;
  const count = (word: string): number => Number(new RegExp(`^\\s*(\\d+) ${word}`, "m").exec(tail)?.[1] ?? 0);
  const wrong = count("fail");
  return {
    passed: count("pass"),
    failed: wrong === 0 && code !== 0 ? 1 : wrong,
    skipped: count("skip"),
    files: [...broken],
  };
}

/**
 * The whole suite. Files with a failure are run once more by themselves, to tell what is unsteady from what is broken;
 * either is a defect, so the first run's failures count whatever the second one says.
 */
async function tests(): Promise<void> {
  const first = await runTests([]);
  passed += first.passed;
  failed += first.failed;
  skipped += first.skipped;
  if (first.files.length === 0) return;
  const again = new Set((await runTests(first.files)).files);
  for (const file of first.files) console.log(`${again.has(file) ? "BROKEN  " : "UNSTEADY"}  ${file}`);
}

step("system packages", [join(root, "scripts/system-packages")]);
step("types", [process.execPath, "x", "tsc", "--noEmit"]);
step("lint and format", [process.execPath, "x", "biome", "check", "."]);
if (step("build", [process.execPath, "run", "build.ts"])) await tests();
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
process.exit(failed === 0 ? 0 : 1);
