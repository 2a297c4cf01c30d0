/** `wsh/test`: Bun's test runner with a fresh terminal for each test, and matchers that wait. */

import { basename, dirname, join } from "node:path";
import { type Language, type OpenOptions, Terminal } from "../client/terminal/language.ts";
import { defined } from "../protocol/defined.ts";
import { matchers, type RunningTest, slug, testOfTerminal } from "./matchers.ts";
import type { Orders, Project } from "./runner-input.ts";
import type { Trace } from "./trace.ts";

type TerminalTest = (terminal: Terminal) => unknown;

/** Exports of `wsh/test` besides `wsh`. @throws outside a test runner */
export async function testModule(wsh: Language, orders: Orders, trace: Trace | null): Promise<object> {
  if (orders.kind !== "test") throw new Error("'wsh/test' is for files that 'wsh test' runs");
  const { test: bunTest, expect, ...others } = await import("bun:test");
  const { projects, update, results } = orders;

  function run(method: typeof bunTest, name: string, given: OpenOptions | TerminalTest, last?: TerminalTest): void {
    const act = typeof given === "function" ? given : last;
    const options = typeof given === "function" ? {} : given;
    if (act === undefined) throw new Error(`the test '${name}' has no function`);
    const file = callingFile();
    for (const project of projects) {
      const whole = projects.length === 1 ? name : `${name} [${nameOf(project)}]`;
      method(whole, () => runOnce({ file, name, project: nameOf(project), snapshots: 0 }, project, options, act));
    }
  }

  /** Runs a test; its terminal ends with it. A failure leaves a trace. */
  async function runOnce(
    runningTest: RunningTest,
    project: Project,
    options: OpenOptions,
    act: TerminalTest,
  ): Promise<void> {
    const { cols, rows, term } = project;
    const env = { ...defined({ TERM: term }), ...options.env };
    const terminal = await wsh.open({ cols, rows, cwd: dirname(runningTest.file), ...options, env });
    testOfTerminal.set(terminal, runningTest);
    try {
      await act(terminal);
    } catch (failure) {
      const { file, name, project: projectName } = runningTest;
      const path = join(results, `${slug(basename(file))}-${slug(`${name}-${projectName}`)}.html`);
      const [page] = (await trace?.save(path, failure)) ?? [];
      if (failure instanceof Error && page !== undefined) failure.message += `\nTrace: ${page}`;
      if (failure instanceof Error) failure.stack = withoutOwnFrames(failure.stack ?? "");
      throw failure;
    } finally {
      await trace?.close();
      await terminal.close();
    }
  }

  type Named = (name: string, given: OpenOptions | TerminalTest, last?: TerminalTest) => void;
  const test: Named & Record<"only" | "skip" | "todo", Named> = Object.assign(
    ((...given) => run(bunTest, ...given)) as Named,
    {
      only: ((...given) => run(bunTest.only as typeof bunTest, ...given)) as Named,
      skip: ((...given) => run(bunTest.skip as typeof bunTest, ...given)) as Named,
      todo: ((...given) => run(bunTest.todo as typeof bunTest, ...given)) as Named,
    },
  );

  const expectTerminal = matchers(update);
  const expecting = new Proxy(expect, {
    apply: (target, self, given: Parameters<typeof expect>) =>
      given[0] instanceof Terminal ? expectTerminal(given[0]) : Reflect.apply(target, self, given),
  });
  return { ...others, test, it: test, expect: expecting };
}

function nameOf({ cols, rows, term }: Project): string {
  return `${cols}x${rows}${term === undefined ? "" : ` ${term}`}`;
}

/** The stack without this runtime's frames, which say nothing about the test. */
function withoutOwnFrames(stack: string): string {
  const isOwn = (line: string): boolean => /^\s*at /.test(line) && line.includes(import.meta.path);
  return stack
    .split("\n")
    .filter((line) => !isOwn(line))
    .join("\n");
}

/** Path of the file that calls `test`. */
function callingFile(): string {
  const frames = (new Error().stack ?? "").split("\n").filter((line) => /^\s*at /.test(line));
  const own = frames.find((line) => !line.includes(import.meta.path));
  const [, file = ""] = /\(?(\/[^()]*?):\d+:\d+\)?$/.exec(own ?? "") ?? [];
  return file;
}
