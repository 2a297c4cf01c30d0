/** `wsh/test`: Bun's test runner with a fresh terminal for each test, and matchers that wait. */
import fs from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Language, type OpenOptions, type Terminal, TerminalFailure } from "../client/terminal/language.ts";
import type { Orders, Project } from "./orders.ts";
import { asSvg, asText } from "./picture.ts";
import type { Trace } from "./trace.ts";

/** Silence after which a screen is taken as it is, in ms. */
const SETTLED_MS = 200;

export type TerminalTest = (terminal: Terminal) => unknown;

/** The test that a terminal was opened for. */
interface Running {
  readonly file: string;
  readonly name: string;
  /** Names its snapshots, which are each size's own. */
  readonly project: string;
  snapshots: number;
}

const running = new WeakMap<Terminal, Running>();

/** What `wsh/test` exports besides `wsh`. @throws where no test runner is */
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
      method(whole, () => once({ file, name, project: nameOf(project), snapshots: 0 }, project, options, act));
    }
  }

  /** A failure leaves a trace; the terminal ends with the test either way. */
  async function once(it: Running, project: Project, options: OpenOptions, act: TerminalTest): Promise<void> {
    const { cols, rows, term } = project;
    const env = { ...(term === undefined ? {} : { TERM: term }), ...options.env };
    const terminal = await wsh.open({ cols, rows, cwd: dirname(it.file), ...options, env });
    running.set(terminal, it);
    try {
      await act(terminal);
    } catch (failure) {
      const [page] =
        (await trace?.save(
          join(results, `${slug(basename(it.file))}-${slug(`${it.name}-${it.project}`)}.html`),
          failure,
        )) ?? [];
      if (failure instanceof Error && page !== undefined) failure.message += `\nTrace: ${page}`;
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

  expect.extend({
    /** Shows a text, or a match, within the limit. */
    async toShow(received: unknown, what: string | RegExp, options?: { readonly timeout?: number }) {
      const terminal = terminalOf(received);
      if (this.isNot === true) {
        const screen = await terminal.screen();
        return { pass: screen.find(what) !== null, message: () => `it shows ${what}:\n${screen.text}` };
      }
      const failure = await terminal
        .waitFor(typeof what === "string" ? { text: what } : { regex: what }, options)
        .then(() => null, failureOf);
      return { pass: failure === null, message: () => failure?.message ?? "" };
    },
    /** The program, or the command of the last `run`, has ended, with this code. */
    async toHaveExited(received: unknown, code?: number, options?: { readonly timeout?: number }) {
      const end = await terminalOf(received).ended(options).catch(failureOf);
      if (end instanceof Error) return { pass: false, message: () => end.message };
      const { exit_code, signal } = end;
      const pass = code === undefined || exit_code === code;
      return { pass, message: () => `it ended with ${signal ?? exit_code ?? "an unknown code"}, not with ${code}` };
    },
    /** Looks as it did when the snapshot was written, within the limit. */
    async toMatchScreen(received: unknown, name?: string) {
      const terminal = terminalOf(received);
      const it = running.get(terminal);
      if (it === undefined) throw new Error("a snapshot belongs to a test's own terminal");
      it.snapshots++;
      const own = slug(`${it.name}-${name ?? it.snapshots}-${it.project}`);
      const stem = join(dirname(it.file), "__terminals__", `${basename(it.file)}-${own}`);
      const kept = fs.existsSync(`${stem}.txt`) ? fs.readFileSync(`${stem}.txt`, "utf8") : null;
      if (kept === null && process.env.CI && !update) throw new Error(`there is no snapshot ${stem}.txt`);
      if (kept === null || update) {
        await terminal.waitFor({ idle: SETTLED_MS });
        const screen = await terminal.screen();
        fs.mkdirSync(dirname(stem), { recursive: true });
        fs.writeFileSync(`${stem}.txt`, asText(screen));
        fs.writeFileSync(`${stem}.svg`, asSvg(screen));
        return { pass: true, message: () => "" };
      }
      let now = "";
      const isSame = await terminal
        .until(
          (screen) => {
            now = asText(screen);
            return now === kept ? true : null;
          },
          terminal.timeout,
          "",
        )
        .catch(() => false);
      return {
        pass: isSame,
        message: () => `the screen differs from ${stem}.txt (--update writes it):\n${differing(kept, now)}`,
      };
    },
  });
  return { ...others, test, it: test, expect };
}

/** What a matcher reports as its own; anything else is thrown. */
function failureOf(thrown: unknown): TerminalFailure {
  if (thrown instanceof TerminalFailure) return thrown;
  throw thrown;
}

function terminalOf(received: unknown): Terminal {
  if (typeof received === "object" && received !== null && "waitFor" in received) return received as Terminal;
  throw new Error("expect takes a terminal here");
}

function nameOf({ cols, rows, term }: Project): string {
  return `${cols}x${rows}${term === undefined ? "" : ` ${term}`}`;
}

function slug(name: string): string {
  return name.replace(/[^A-Za-z0-9._]+/g, "-").slice(0, 80);
}

/** Lines that differ, of both. */
function differing(kept: string, now: string): string {
  const [a, b] = [kept.split("\n"), now.split("\n")];
  return Array.from({ length: Math.max(a.length, b.length) }, (_, at) => at)
    .filter((at) => a[at] !== b[at])
    .flatMap((at) => [...(a[at] === undefined ? [] : [`- ${a[at]}`]), ...(b[at] === undefined ? [] : [`+ ${b[at]}`])])
    .join("\n");
}

/** The file that calls `test`. */
function callingFile(): string {
  const frames = (new Error().stack ?? "").split("\n").filter((line) => /^\s*at /.test(line));
  const own = frames.find((line) => !line.includes(import.meta.path));
  const [, file = ""] = /\(?(\/[^()]*?):\d+:\d+\)?$/.exec(own ?? "") ?? [];
  return file;
}
