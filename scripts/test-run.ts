/** Reads what `bun test` prints while it runs: how many passed, failed and were skipped, in which files, and why. */

/** What tests/support/programs.ts prints for each program that is missing. */
const SKIPPED = "SKIPPED: ";
/** Characters of the end of the output that hold the summary's counts. */
const TAIL = 4096;

export interface TestRun {
  readonly passed: number;
  readonly failed: number;
  /** Tests of a program that is not installed, and the slow sizes without `--full`. */
  readonly skipped: number;
  /** Files with a test that failed. */
  readonly files: readonly string[];
  /** What was not there, as the tests said it. */
  readonly reasons: readonly string[];
}

export class TestReport {
  private readonly broken = new Set<string>();
  private readonly reasons = new Set<string>();
  private file = "";
  private rest = "";
  private tail = "";

  /** Takes the next piece of the standard error of `bun test`. */
  read(text: string): void {
    this.tail = (this.tail + text).slice(-TAIL);
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop() ?? "";
    for (const line of lines) this.line(line);
  }

  /** @param code exit code of `bun test` */
  result(code: number): TestRun {
    const count = (word: string): number => Number(new RegExp(`^\\s*(\\d+) ${word}`, "m").exec(this.tail)?.[1] ?? 0);
    const failed = count("fail");
    return {
      passed: count("pass"),
      failed: failed === 0 && code !== 0 ? 1 : failed,
      skipped: count("skip"),
      files: [...this.broken],
      reasons: [...this.reasons],
    };
  }

  private line(line: string): void {
    // The summary names skipped and failed tests again.
    if (/^\d+ tests? (skipped|failed):$/.test(line)) this.file = "";
    this.file = /^(tests\/\S+\.test\.ts):$/.exec(line)?.[1] ?? this.file;
    if (line.startsWith("(fail) ") && this.file !== "") this.broken.add(this.file);
    if (line.startsWith(SKIPPED)) this.reasons.add(line);
  }
}
