/**
 * Expectations of a test about a terminal. They are functions of their own and do not extend Bun's `expect`: it awaits
 * a matcher's promise in a nested event loop, in which the connection to the server loses messages.
 */
import fs from "node:fs";
import { basename, dirname, join } from "node:path";
import type { StepOptions, Terminal } from "../client/terminal/language.ts";
import { written } from "../client/terminal/steps.ts";
import { asSvg, asText } from "./picture.ts";

/** A screen that has not changed for this long (in ms) counts as complete. */
const SETTLED_MS = 200;

/** The test for which a terminal was opened. */
export interface RunningTest {
  readonly file: string;
  readonly name: string;
  /** Names its snapshots; each size has its own. */
  readonly project: string;
  snapshots: number;
}

export const testOfTerminal = new WeakMap<Terminal, RunningTest>();

/**
 * Matchers of `expect(terminal)`. Each waits until its condition holds, for at most the time limit of the terminal's
 * steps.
 */
interface TerminalMatchers {
  /** The screen shows a text, or a match. */
  toShow(what: string | RegExp, options?: StepOptions): Promise<void>;
  /** The program, or the command of the last `run`, has ended with this code. */
  toHaveExited(code?: number, options?: StepOptions): Promise<void>;
  /** The screen equals the snapshot. */
  toMatchScreen(name?: string, options?: StepOptions): Promise<void>;
  readonly not: {
    /** The screen no longer shows it. */
    toShow(what: string | RegExp, options?: StepOptions): Promise<void>;
  };
}

/** @param update whether to overwrite snapshots that differ */
export function matchers(update: boolean): (terminal: Terminal) => TerminalMatchers {
  return (terminal) => {
    const terminalMatchers: TerminalMatchers = {
      async toShow(what, options) {
        await terminal.holding(
          terminalMatchers.toShow,
          `toShow(${written(what)})`,
          (screen) => screen.find(what) !== null,
          options,
          true,
        );
      },
      async toHaveExited(code, options) {
        const { exit_code, signal } = await terminal.ended(options);
        if (code === undefined || exit_code === code) return;
        throw failure(
          terminalMatchers.toHaveExited,
          `it ended with ${signal ?? exit_code ?? "an unknown code"}, not with ${code}`,
        );
      },
      async toMatchScreen(name, { timeout } = {}) {
        const test = testOfTerminal.get(terminal);
        if (test === undefined)
          throw failure(terminalMatchers.toMatchScreen, "a snapshot belongs to a test's own terminal");
        test.snapshots++;
        const snapshotName = slug(`${test.name}-${name ?? test.snapshots}-${test.project}`);
        const stem = join(dirname(test.file), "__terminals__", `${basename(test.file)}-${snapshotName}`);
        const expected = fs.existsSync(`${stem}.txt`) ? fs.readFileSync(`${stem}.txt`, "utf8") : null;
        if (expected === null && process.env.CI && !update)
          throw failure(terminalMatchers.toMatchScreen, `the snapshot ${stem}.txt does not exist (--update writes it)`);
        if (expected === null || update) return writeSnapshot(terminal, stem);
        let now = "";
        const isSame = await terminal
          .until(
            (screen) => {
              now = asText(screen);
              return now === expected ? true : null;
            },
            timeout ?? terminal.timeout,
            "",
            true,
          )
          .catch(() => false);
        if (isSame) return;
        throw failure(
          terminalMatchers.toMatchScreen,
          `the screen differs from ${stem}.txt (--update writes it):\n${differingLines(expected, now)}`,
        );
      },
      not: {
        async toShow(what, options) {
          const text = `not.toShow(${written(what)})`;
          await terminal.holding(terminalMatchers.not.toShow, text, (screen) => screen.find(what) === null, options);
        },
      },
    };
    return terminalMatchers;
  };
}

async function writeSnapshot(terminal: Terminal, stem: string): Promise<void> {
  await terminal.waitFor({ idle: SETTLED_MS, exit: true });
  const screen = await terminal.screen();
  fs.mkdirSync(dirname(stem), { recursive: true });
  fs.writeFileSync(`${stem}.txt`, asText(screen));
  fs.writeFileSync(`${stem}.svg`, asSvg(screen));
}

/** An error of a matcher, whose stack points at the line of the test. */
function failure(matcher: (...given: never[]) => unknown, message: string): Error {
  const error = new Error(message);
  Error.captureStackTrace(error, matcher);
  return error;
}

/** Maximum bytes of a name within a file name, without the file name's prefix and suffix. */
const MAX_SLUG = 80;

/** A name of a file; a longer one ends with a hash of the whole, since sizes and TERMs are at the end. */
export function slug(name: string): string {
  const text = name.replace(/[^\p{L}\p{M}\p{N}._]+/gu, "-");
  if (Buffer.byteLength(text) <= MAX_SLUG) return text;
  return `${Buffer.from(text).toString("utf8", 0, MAX_SLUG).replaceAll("\uFFFD", "")}-${Bun.hash.crc32(name).toString(16)}`;
}

/** The lines that differ, from both texts. */
function differingLines(expected: string, now: string): string {
  const [a, b] = [expected.split("\n"), now.split("\n")];
  const lines: string[] = [];
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    if (a[at] === b[at]) continue;
    if (a[at] !== undefined) lines.push(`- ${a[at]}`);
    if (b[at] !== undefined) lines.push(`+ ${b[at]}`);
  }
  return lines.join("\n");
}
