/** Reads what `bun test` prints while it runs: how many passed, failed and were skipped, in which files, and why. */

/** What tests/support/programs.ts prints for each program that is missing. */
const SKIPPED = "SKIPPED: ";
/** Characters of the end of the output that hold the summary's counts. */
const TAIL = 4096;
/** Lines of what a failed test printed that are kept, from their end: where its error stands. */
const ERROR_LINES = 40;
/** Failures of which the text is kept: more say nothing that these do not. */
const ERRORS = 25;

export interface TestRun {
  readonly passed: number;
  readonly failed: number;
  /** Tests of a program that is not installed, and the slow sizes without `--full`. */
  readonly skipped: number;
  /** Files with a test that failed. */
  readonly files: readonly string[];
  /** What was not there, as the tests said it. */
  readonly reasons: readonly string[];
  /** What failed tests printed, each with its file, to be read where only the end of a log is kept. */
  readonly errors: readonly string[];
}

export class TestReport {
  private readonly broken = new Set<string>();
  private readonly reasons = new Set<string>();
  private readonly errors: string[] = [];
  /** Printed since the last test ended. */
  private printed: string[] = [];
  private file = "";
  private rest = "";
  private tail = "";

  /** @param only the file that is run, when it is one: what broke off before a test ended is its failure */
  constructor(private readonly only: string | null = null) {}

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
    const counted = count("fail");
    const failed = counted === 0 && code !== 0 ? 1 : counted;
    if (failed > 0 && this.only !== null && this.errors.length === 0) {
      this.broken.add(this.only);
      this.errors.push([this.only, ...this.printed.slice(-ERROR_LINES)].join("\n"));
    }
    return {
      passed: count("pass"),
      failed,
      skipped: count("skip"),
      files: [...this.broken],
      reasons: [...this.reasons],
      errors: this.errors,
    };
  }

  private line(line: string): void {
    // The summary names skipped and failed tests again.
    if (/^\d+ tests? (skipped|failed):$/.test(line)) this.file = "";
    this.file = /^(tests\/\S+\.test\.ts):$/.exec(line)?.[1] ?? this.file;
    this.printed.push(line);
    const crashed = /^✗ (tests\/\S+\.test\.ts) \(worker crashed/.exec(line)?.[1];
    const broken = crashed ?? (line.startsWith("(fail) ") ? this.file : "");
    if (broken !== "") {
      this.broken.add(broken);
      if (this.errors.length < ERRORS) this.errors.push([broken, ...this.printed.slice(-ERROR_LINES)].join("\n"));
    }
    if (/^\((pass|fail|skip|todo)\) /.test(line)) this.printed = [];
    else if (this.printed.length > 2 * ERROR_LINES) this.printed.splice(0, ERROR_LINES);
    if (line.startsWith(SKIPPED)) this.reasons.add(line);
  }
}
