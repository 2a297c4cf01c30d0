/** `wsh test`: runs tests of terminal programs, by the test runner of the Bun in the executable. */
import fs from "node:fs";
import os from "node:os";
import { dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { MAX_SIDE, MIN_PANE_COLS, MIN_PANE_ROWS } from "../../protocol/size.ts";
import type { Project } from "../../script/runner-input.ts";
import { collect, UsageError, wholeNumber } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { complain } from "../print.ts";
import { carryOut } from "../session/script-process.ts";

/** Default limit of a test in ms: enough for several steps that each reach their own limit. */
const TEST_MS = 60_000;

interface TestOptions {
  readonly testNamePattern?: string;
  readonly update?: boolean;
  readonly size?: readonly string[];
  readonly term?: readonly string[];
  /** Text: a file that follows the flag. */
  readonly parallel?: number | string | true;
  readonly rerunEach?: number;
  readonly retry?: number;
  readonly timeout?: number;
  readonly junit?: string;
  readonly results: string;
}

const EXAMPLE = `
Example:
  import { test, expect } from "wsh/test";
  test("asks before it deletes", { command: "./clean --all" }, async (t) => {
    await expect(t).toShow(/Delete 3 files\\?/);
    await t.type("n\\n");
    await expect(t).toHaveExited(1);
    await expect(t).toMatchScreen(); // __terminals__/NAME.txt and .svg
  });`;

export function register(program: Command): void {
  program
    .command("test [files...]")
    .description(
      'Run tests of terminal programs. They import { test, expect } from "wsh/test", without an install; \'wsh skill ' +
        "script' documents the language. Each test gets a fresh terminal; a failing one leaves a trace.",
    )
    .option("-t, --test-name-pattern <regex>", "only tests whose name matches")
    .option("-u, --update", "write snapshots of screens that differ")
    .option("--size <colsxrows>", "size of the terminals (repeatable: every test runs on each; default 80x24)", collect)
    .option("--term <name>", "TERM of the programs (repeatable: every test runs with each)", collect)
    .option("--parallel [n]", "run files in parallel, in N processes", (text) =>
      /^-?\d+$/.test(text) ? wholeNumber(1)(text) : text,
    )
    .option("--rerun-each <n>", "run every file N times", wholeNumber(1))
    .option("--retry <n>", "run a failed test again, at most N times (default: never)", wholeNumber(0))
    .option("--timeout <ms>", `longest time of a test in ms (default: ${TEST_MS})`, wholeNumber(1))
    .option("--junit <file>", "write a JUnit report")
    .option("--results <dir>", "where traces of failures go: a page of steps and screens, a recording", "test-results")
    .addHelpText("after", EXAMPLE)
    .action(async (named: string[], options: TestOptions, command: Command) => {
      const projects = projectsOf(options);
      const { testNamePattern, parallel, rerunEach, retry, timeout = TEST_MS, junit, update = false } = options;
      const files = typeof parallel === "string" ? [parallel, ...named] : named;
      const directory = fs.mkdtempSync(join(os.tmpdir(), "wsh-test-"));
      const report = join(directory, "junit.xml");
      const args = [
        ...["--timeout", String(timeout)],
        ...(testNamePattern === undefined ? [] : ["--test-name-pattern", testNamePattern]),
        ...(parallel === undefined ? [] : [typeof parallel === "number" ? `--parallel=${parallel}` : "--parallel"]),
        ...(rerunEach === undefined ? [] : [`--rerun-each=${rerunEach}`]),
        ...(retry === undefined ? [] : [`--retry=${retry}`]),
        ...["--reporter=junit", `--reporter-outfile=${report}`],
        // Bun's runner takes only a path with "./" or "/" as a path; anything else filters names.
        ...files.map((file) => (file.startsWith("/") || file.startsWith(".") ? file : `./${file}`)),
      ];
      try {
        const results = resolve(options.results);
        const code = await carryOut(instanceOf(command), args, (socket) => ({
          ...{ kind: "test", socket, projects, update, results },
        }));
        // The runner succeeds, and writes no report, when no file contains a test.
        const isEmpty = code === 0 && !fs.existsSync(report);
        if (isEmpty) complain("no tests: the files call no test(…)");
        if (junit !== undefined && fs.existsSync(report)) {
          fs.mkdirSync(dirname(resolve(junit)), { recursive: true });
          fs.copyFileSync(report, resolve(junit));
        }
        process.exitCode = isEmpty ? 1 : code;
      } finally {
        fs.rmSync(directory, { recursive: true });
      }
    });
}

/** Every size with every TERM. @throws UsageError */
function projectsOf({ size = ["80x24"], term }: TestOptions): Project[] {
  return size.flatMap((text) => {
    const [, cols, rows] = /^(\d{1,4})x(\d{1,4})$/.exec(text) ?? [];
    if (cols === undefined || rows === undefined) throw new UsageError(`'${text}' is not a size such as 80x24`);
    const cells = { cols: Number(cols), rows: Number(rows) };
    // The programs would get another size than the one in the test's name.
    if (
      Math.min(cells.cols - MIN_PANE_COLS, cells.rows - MIN_PANE_ROWS) < 0 ||
      Math.max(cells.cols, cells.rows) > MAX_SIDE
    )
      throw new UsageError(
        `no terminal is ${text}`,
        `Sizes are from ${MIN_PANE_COLS}x${MIN_PANE_ROWS} to ${MAX_SIDE}x${MAX_SIDE}.`,
      );
    return term === undefined ? [cells] : term.map((name) => ({ ...cells, term: name }));
  });
}
