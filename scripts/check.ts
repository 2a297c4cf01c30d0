/**
 * `bun run check`: types, lint and format, then every test over a freshly built binary. `--full` adds the slow sizes
 * (WSH_TEST_FULL=1). Ends with the plain line `N passed, N failed`.
 */
import { join } from "node:path";

const root = join(import.meta.dir, "..");
const full = process.argv.includes("--full");
const env: Record<string, string | undefined> = { ...process.env, ...(full ? { WSH_TEST_FULL: "1" } : {}) };
let passed = 0;
let failed = 0;

function step(name: string, command: string[]): boolean {
  const started = performance.now();
  const result = Bun.spawnSync(command, { cwd: root, env, stdout: "inherit", stderr: "inherit", stdin: "ignore" });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${result.success ? "ok" : "FAILED"}  ${name} (${seconds} s)`);
  if (result.success) passed++;
  else failed++;
  return result.success;
}

/** Runs the test files, each in a process of its own kind of `bun test`, and counts what it reports. */
async function tests(): Promise<void> {
  // Half a minute for a single test: black-box tests wait for conditions on shared machines.
  const command = [process.execPath, "test", "--timeout", full ? "600000" : "60000"];
  const run = Bun.spawn(command, { cwd: root, env, stdout: "inherit", stderr: "pipe", stdin: "ignore" });
  let tail = "";
  const decoder = new TextDecoder();
  for await (const chunk of run.stderr) {
    process.stderr.write(chunk);
    tail = (tail + decoder.decode(chunk, { stream: true })).slice(-4096);
  }
  const code = await run.exited;
  const count = (word: string): number => Number(new RegExp(`^\\s*(\\d+) ${word}`, "m").exec(tail)?.[1] ?? 0);
  passed += count("pass");
  const broken = count("fail");
  failed += broken === 0 && code !== 0 ? 1 : broken;
}

step("system packages", [join(root, "scripts/system-packages")]);
step("types", [process.execPath, "x", "tsc", "--noEmit"]);
step("lint and format", [process.execPath, "x", "biome", "check", "."]);
if (step("build", [process.execPath, "run", "build.ts"])) await tests();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
