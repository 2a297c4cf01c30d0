/**
 * `bun run check`: types, lint and format, then every test over a freshly built binary. `--full` adds the slow sizes
 * (WSH_TEST_FULL=1). Says how long each step and the slowest files took; ends with what was skipped for want of a
 * program, and the plain line `N passed, N failed, N skipped`.
 */
import os from "node:os";
import { join } from "node:path";
import { type FileRun, runFiles } from "./test-files.ts";

/** Test files at the same time, for each processor: they wait for terminals, shells and browsers most of their time. */
const FILES_PER_PROCESSOR = 3;
/**
 * Of tests, processes live for a second: what the compilers do in it, an eighth of their time the optimizing one and a
 * twentieth the other, pays nothing back. They get them later than the product does (after twenty and eight times as
 * much), except where it is measured and in the full sizes; what floods or goes through thousands of inputs still gets
 * them.
 */
const COMPILED_AFTER = "4000";
const OPTIMIZED_AFTER = "20000";
const SHORT_LIVES = {
  BUN_JSC_thresholdForJITAfterWarmUp: COMPILED_AFTER,
  BUN_JSC_thresholdForOptimizeAfterWarmUp: OPTIMIZED_AFTER,
  BUN_JSC_thresholdForOptimizeAfterLongWarmUp: OPTIMIZED_AFTER,
  BUN_JSC_thresholdForOptimizeSoon: OPTIMIZED_AFTER,
  // Memory kept ready, collected and given back: 30 of the 96 ms that a session takes in its first four seconds.
  BUN_JSC_useWarmUpMarkedBlocks: "0",
  BUN_GC_TIMER_DISABLE: "1",
  MIMALLOC_PURGE_HOLES: "0",
  MIMALLOC_PURGE_DELAY: "-1",
};
/** What nearly every file loads, in one file with bytecode: 24 ms of a processor instead of 100. */
const COMMANDS = "tests/support/in-process-commands.ts";
/** Files that are named, those that take most processor time. */
const SLOWEST = 15;

const root = join(import.meta.dir, "..");
const full = process.argv.includes("--full");
const env: Record<string, string | undefined> = {
  ...process.env,
  ...(full ? { WSH_TEST_FULL: "1" } : {}),
  // What is built here: no file has to look whether a source is newer.
  WSH_BIN: join(root, "dist/wsh"),
  WSH_TEST_COMMANDS: join(root, "dist/tests/in-process-commands.js"),
};
// Black-box tests wait for conditions on shared machines: a minute for a single one.
const run = { root, env, timeoutMs: full ? 600_000 : 60_000 };
let passed = 0;
let failed = 0;
let skipped = 0;

async function step(name: string, command: string[]): Promise<boolean> {
  const started = performance.now();
  const child = Bun.spawn(command, { cwd: root, env, stdout: "pipe", stderr: "pipe", stdin: "ignore" });
  // Beside others: what it prints comes in one piece.
  const [out, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const isWell = (await child.exited) === 0;
  process.stdout.write(out + error);
  say(name, started, isWell);
  if (isWell) passed++;
  else failed++;
  return isWell;
}

function say(name: string, started: number, isWell: boolean): void {
  console.log(`${isWell ? "ok" : "FAILED"}  ${name} (${seconds(performance.now() - started)})`);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** Of a file that is well a line, else everything that it printed. */
function report({ file, ms, processor, output, result }: FileRun): void {
  if (result.failed > 0) console.log(output);
  const outcome = `${file}: ${result.passed} passed, ${result.failed} failed, ${processor.toFixed(1)} s of processor`;
  say(outcome, performance.now() - ms, result.failed === 0);
}

/** A failure's file, test, first error and the lines that say what was expected. */
function inShort(error: string): string {
  const [file = "", ...lines] = error.split("\n");
  const test = lines.findLast((line) => line.startsWith("(fail) ")) ?? "";
  const why = lines.filter((line) => /^\s*(error|\w*Error|Expected|Received)\b.*:/.test(line)).slice(0, 4);
  return [`${file} ${test}`, ...why.map((line) => `  ${line.trim().slice(0, 300)}`)].join("\n");
}

/** @param isMeasured runs as in the product, with compiled code */
async function runSome(
  name: string,
  files: readonly string[],
  workers: number,
  isMeasured = false,
): Promise<FileRun[]> {
  const started = performance.now();
  const lives = full || isMeasured ? {} : SHORT_LIVES;
  const runs = await runFiles(files, { ...run, env: { ...env, ...lives }, workers, ended: report });
  const isWell = runs.every(({ result }) => result.failed === 0);
  say(`${name}: ${files.length} files, ${workers} at a time`, started, isWell);
  return runs;
}

/**
 * Every file in a process of its own: those that wait for silence after the others, those that measure at last and alone.
 * Files with a failure are run once more to tell what is unsteady from what is broken; either is a defect, so the first
 * run's failures count whatever the second one says.
 * @param beside what has to end before anything is measured
 */
async function tests(beside: Promise<unknown>): Promise<void> {
  const { together, quiet, alone } = await testFiles();
  const runs = await runSome("tests", together, FILES_PER_PROCESSOR * os.availableParallelism());
  await beside;
  runs.push(...(await runSome("tests that want a quiet machine", quiet, quiet.length, true)));
  runs.push(...(await runSome("tests that measure", alone, 1, true)));
  for (const { result } of runs) {
    passed += result.passed;
    failed += result.failed;
    skipped += result.skipped;
  }
  const used = runs.reduce((sum, { processor }) => sum + processor, 0);
  console.log(
    `The slowest files, with the processor time of all that they started (${used.toFixed(1)} s in all files):`,
  );
  for (const { file, ms, processor } of [...runs].sort((a, b) => b.processor - a.processor).slice(0, SLOWEST)) {
    console.log(`${seconds(ms).padStart(8)} ${processor.toFixed(1).padStart(6)}  ${file}`);
  }
  const broken = runs.filter(({ result }) => result.failed > 0);
  if (broken.length > 0) {
    const files = broken.map(({ file }) => file);
    const again = await runFiles(files, { ...run, workers: 1 });
    console.log(["What failed, again:", ...[...broken, ...again].flatMap(({ result }) => result.errors)].join("\n\n"));
    for (const { file, result } of again) console.log(`${result.failed > 0 ? "BROKEN  " : "UNSTEADY"}  ${file}`);
    // In short at the end, too: of a long log often nothing else is kept.
    for (const { result } of broken) for (const error of result.errors) console.log(inShort(error));
  }
  for (const reason of new Set(runs.flatMap(({ result }) => result.reasons))) console.log(reason);
}

/**
 * Those that measure say so at their beginning, with the reason: `// Alone: …`; `// Quiet: …` those that take hardly any
 * processor time and run beside each other, but not beside all. Long files first, so that none is left at the end.
 */
async function testFiles() {
  const found: { readonly file: string; readonly text: string }[] = [];
  for await (const file of new Bun.Glob("tests/**/*.test.ts").scan(root)) {
    found.push({ file, text: await Bun.file(join(root, file)).text() });
  }
  found.sort((a, b) => b.text.length - a.text.length);
  const placeOf = (text: string): string => /^\/\/ (Alone|Quiet): /m.exec(text)?.[1] ?? "";
  const names = (place: string) => found.filter(({ text }) => placeOf(text) === place).map(({ file }) => file);
  return { together: names(""), quiet: names("Quiet"), alone: names("Alone") };
}

await step("system packages", [join(root, "scripts/system-packages")]);
const bundling = [process.execPath, "build", COMMANDS, "--target", "bun", "--bytecode", "--outdir", "dist/tests"];
const built = Promise.all([step("build", [process.execPath, "run", "build.ts"]), step("commands of tests", bundling)]);
const examined = Promise.all([
  step("types", [process.execPath, "run", "typecheck"]),
  step("lint and format", [process.execPath, "x", "biome", "check", "."]),
]);
if ((await built).every(Boolean)) await tests(examined);
await examined;
console.log(`Everything took ${seconds(performance.now())}.`);
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exit(failed === 0 ? 0 : 1);
