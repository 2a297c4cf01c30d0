/** Step 7: every test. Its failures are counted and named, with the files that they are in. */
import { join } from "node:path";
import { TestReport } from "../../../scripts/test-run.ts";
import { type Checks, Failed } from "../report.ts";

/** Longest time of the whole suite, in ms. */
const SUITE_MS = 50 * 60_000;

export async function suite(checks: Checks): Promise<void> {
  const run = async () => {
    const root = join(import.meta.dir, "../../..");
    const tests = Bun.spawn([process.execPath, "test", "--timeout", "60000"], {
      cwd: root,
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
      timeout: SUITE_MS,
    });
    const report = new TestReport();
    const decoder = new TextDecoder();
    for await (const chunk of tests.stderr) {
      process.stderr.write(chunk);
      report.read(decoder.decode(chunk, { stream: true }));
    }
    const result = report.result(await tests.exited);
    if (result.failed > 0) throw new Failed(`${result.failed} tests failed`, { ...result });
    return { ...result };
  };
  await checks.check("every test", run, SUITE_MS + 60_000);
}
