/**
 * tmux 3.3a and `wsh tmux` get the same command lines and formats in the same state, and print and return the same
 * except for a list of differences. All of it with WSH_TEST_FULL; some lines in each run of the tests.
 */
import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { tmuxPlaces } from "../../src/instance/paths.ts";
import { pathOf } from "../support/programs.ts";
import { until } from "../support/until.ts";
import { finished, Wsh } from "../support/wsh.ts";
import { changing, differences, formats, looking, reading, setUp } from "./lines.ts";
import { loaded, loaders } from "./loaders.ts";

const isFull = process.env.WSH_TEST_FULL !== undefined;
const EVERY = 25;

const version = pathOf("tmux") === null ? "" : Bun.spawnSync(["tmux", "-V"]).stdout.toString().trim();

interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Answers {
  readonly tmux: Answer;
  readonly wsh: Answer;
}

function isSame({ tmux, wsh }: Answers): boolean {
  return Bun.deepEquals(tmux, wsh);
}

class Both implements AsyncDisposable {
  private constructor(private readonly wsh: Wsh) {}

  static async start(): Promise<Both> {
    const both = new Both(new Wsh({ env: { WSH_TMUX: "on" } }));
    mkdirSync(join(both.wsh.dir, "tmux"));
    await Bun.write(
      join(both.wsh.dir, "good.conf"),
      "set -g @good 1; kill-pane -t nobody; set -g @good 2\nset -ag @good 3\n",
    );
    await Bun.write(join(both.wsh.dir, "bad.conf"), "set -g @bad 1\nkill-pane -Y\n");
    // Ids of wsh begin at 1.
    await both.tmux(["new-session", "-d", "-s", "zero", "cat"]);
    for (const [i, line] of setUp.entries()) {
      const answers = await both.ask(line);
      for (const { code, stderr } of Object.values(answers))
        if (code !== 0) throw new Error(`${line.join(" ")}: ${stderr}`);
      if (i === 0) await both.tmux(["kill-session", "-t", "zero"]);
    }
    const programs = ["list-panes", "-a", "-F", "#{pane_current_command}"];
    await until("every program to run", async () => {
      const { tmux, wsh } = await both.ask(programs);
      return tmux.stdout === wsh.stdout && /^(cat\n)+$/.test(tmux.stdout);
    });
    return both;
  }

  /** The calls of a program that parses their output; through the binary, also to wsh. */
  async load(calls: readonly string[]): Promise<void> {
    const ids = { tmux: new Map<string, string>(), wsh: new Map<string, string>() };
    const wordsOf = (line: string, of: ReadonlyMap<string, string>): string[] =>
      line
        .replace(/(?<!#)\{(\w+)\}/g, (_, name: string) => of.get(name) ?? "")
        .split(/(?<!\\) /)
        .map((word) => word.replaceAll("\\ ", " "));
    const { socket } = tmuxPlaces(this.wsh.instance, 1);
    for (const call of calls) {
      const [, name, line = ""] = /^(?:(\w+)=)?(.*)$/.exec(call) ?? [];
      const [tmux, wsh] = await Promise.all([
        this.tmux(wordsOf(line, ids.tmux)),
        this.tmux(wordsOf(line, ids.wsh), ["-S", socket]),
      ]);
      // Ids count from another number.
      const like = ({ stdout, ...rest }: Answer) => ({ call, ...rest, stdout: stdout.replace(/\d+/g, "N") });
      expect(like(wsh)).toEqual(like(tmux));
      if (name === undefined) continue;
      ids.tmux.set(name, tmux.stdout.trim());
      ids.wsh.set(name, wsh.stdout.trim());
    }
  }

  async ask(words: readonly string[]): Promise<Answers> {
    const [tmux, wsh] = await Promise.all([this.tmux(words), this.wsh.run("tmux", ...words)]);
    return { tmux, wsh };
  }

  /**
   * The answers to something that changes nothing, as soon as they are as expected (the same), else those after
   * {@link PATIENCE_MS}: tmux names a window after its program up to half a second after that printed something.
   */
  async settled(words: readonly string[], isExpected = isSame): Promise<Answers> {
    let answers = await this.ask(words);
    if (isExpected(answers)) return answers;
    await until("the expected answers", async () => {
      answers = await this.ask(words);
      return isExpected(answers);
    }).catch(() => {});
    return answers;
  }

  private async tmux(words: readonly string[], server = ["-L", "compared", "-f", "/dev/null"]): Promise<Answer> {
    const child = Bun.spawn(["tmux", ...server, ...words], {
      cwd: this.wsh.dir,
      env: { ...this.wsh.env, TMUX_TMPDIR: join(this.wsh.dir, "tmux") },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    return finished(child);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tmux(["kill-server"]);
    await this.wsh[Symbol.asyncDispose]();
  }
}

function chosen<T>(all: readonly T[]): readonly T[] {
  return isFull ? all : all.filter((_, i) => i % EVERY === 0);
}

/** A loader whose calls are all among those of others: in the full sizes. */
const REPEATED = "tmuxinator, nameless";

/** Several formats in one command line, each on its own line. */
function printing(all: readonly string[]): string[] {
  return all.flatMap((format, i) => [
    ...(i === 0 ? [] : [";"]),
    ...["display-message", "-p", "-t", "main:0.0", "--", `[${format}]`],
  ]);
}

describe.skipIf(version !== "tmux 3.3a")("as tmux 3.3a", () => {
  test(
    "formats and command lines that change nothing",
    async () => {
      await using both = await Both.start();
      const { tmux, wsh } = await both.settled(printing(formats));
      expect(wsh.stdout.split("\n")).toEqual(tmux.stdout.split("\n"));
      const found: string[] = [];
      for (const line of chosen(reading)) {
        const isDifferent = differences.has(line.join(" "));
        const answers = await both.settled(line, ({ tmux, wsh }) => Bun.deepEquals(tmux, wsh) !== isDifferent);
        if (Bun.deepEquals(answers.tmux, answers.wsh) === isDifferent) found.push(Bun.inspect({ line, ...answers }));
      }
      expect(found).toEqual([]);
    },
    isFull ? 240_000 : 60_000,
  );

  test("the calls of tmuxp and tmuxinator give the same windows, panes, layouts and focus", async () => {
    await using both = await Both.start();
    await both.ask(["set-option", "-g", "default-command", "cat"]);
    for (const [name, calls] of Object.entries(loaders)) if (isFull || name !== REPEATED) await both.load(calls);
    const shown = (text: string) =>
      text
        .replaceAll(/[0-9a-f]{4},(\d+x\d+)/g, "$1")
        .replaceAll(/(\d+x\d+,\d+,\d+),\d+/g, "$1")
        .split("\n");
    const panes = ["list-panes", "-a", "-F", loaded];
    const screens = ["capture-pane", "-p", "-t", "both:0.1", ";", "capture-pane", "-p", "-t", "focus:0.1"];
    const isRunning = ({ stdout }: Answer) => /^(.* cat\n)+$/.test(stdout);
    const { tmux, wsh } = await both.settled(
      panes,
      (answers) =>
        isRunning(answers.tmux) &&
        isRunning(answers.wsh) &&
        shown(answers.wsh.stdout).join() === shown(answers.tmux.stdout).join(),
    );
    expect(shown(wsh.stdout)).toEqual(shown(tmux.stdout));
    const answers = await both.settled(screens);
    expect(answers.wsh).toEqual(answers.tmux);
  }, 60_000);

  test.skipIf(!isFull)(
    "command lines that change something, and what is there then",
    async () => {
      await using both = await Both.start();
      const found: string[] = [];
      for (const line of changing) {
        for (const [name, words] of [
          [line.join(" "), line],
          [`after ${line.join(" ")}`, ["list-panes", "-a", "-F", looking]],
        ] as const) {
          const answers = await both.ask(words);
          if (Bun.deepEquals(answers.tmux, answers.wsh) === differences.has(name))
            found.push(Bun.inspect({ name, ...answers }));
        }
      }
      expect(found).toEqual([]);
    },
    240_000,
  );
});
