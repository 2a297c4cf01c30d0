/** Runs test files, each in a process of its own, some at the same time. */
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { ProcessorTime } from "./processor-time.ts";
import { TestReport, type TestRun } from "./test-run.ts";

/** Longest time of a file, in times of a test: one that hangs without a way to stop it ends the run of its file only. */
const TESTS_IN_A_FILE = 10;

export interface FileRun {
  readonly file: string;
  readonly ms: number;
  /** Processor time of all that it started, in seconds. */
  readonly processor: number;
  /** What it printed. */
  readonly output: string;
  readonly result: TestRun;
}

export interface FilesOptions {
  readonly root: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** For each test, in ms. */
  readonly timeoutMs: number;
  readonly workers: number;
  readonly ended?: (run: FileRun) => void;
}

/** @returns the runs in the order of `files` */
export async function runFiles(files: readonly string[], options: FilesOptions): Promise<FileRun[]> {
  const runs: FileRun[] = [];
  const waiting = files.entries();
  const work = async () => {
    // Workers share the iterator: each file is taken once.
    for (const [at, file] of waiting) {
      const run = await runFile(file, options);
      runs[at] = run;
      options.ended?.(run);
    }
  };
  await Promise.all(Array.from({ length: options.workers }, work));
  return runs;
}

async function runFile(file: string, { root: cwd, env, timeoutMs }: FilesOptions): Promise<FileRun> {
  const started = performance.now();
  using processor = ProcessorTime.open();
  const command = processor.command([process.execPath, "test", "--timeout", String(timeoutMs), file]);
  // A file, not a pipe, which a process that the tests left would hold open.
  const dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-check-"));
  try {
    const log = Bun.file(join(dir, "output"));
    const limits = { timeout: TESTS_IN_A_FILE * timeoutMs, killSignal: "SIGKILL" } as const;
    const run = Bun.spawn(command, { cwd, env, stdin: "ignore", stdout: "ignore", stderr: log, ...limits });
    const code = await run.exited;
    const output = await log.text();
    const report = new TestReport(file);
    report.read(output);
    const used = processor.seconds(Number(run.resourceUsage()?.cpuTime.total ?? 0));
    return { file, ms: performance.now() - started, processor: used, output, result: report.result(code) };
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
}
