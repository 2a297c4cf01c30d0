/**
 * tmux 3.3a and `wsh tmux` are given the same command lines and formats in the same state, and print and return the same
 * but for a list of differences. All of it with WSH_TEST_FULL; some lines in each run of the tests.
 */
import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathOf } from "../support/programs.ts";
import { until } from "../support/until.ts";
import { finished, Wsh } from "../support/wsh.ts";
import { changing, differences, formats, looking, reading, setUp } from "./lines.ts";

const isFull = process.env.WSH_TEST_FULL !== undefined;
const EVERY = 25;

const version = pathOf("tmux") === null ? "" : Bun.spawnSync(["tmux", "-V"]).stdout.toString().trim();

interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

class Both implements AsyncDisposable {
  private constructor(private readonly wsh: Wsh) {}

  static async start(): Promise<Both> {
    const both = new Both(new Wsh());
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

  async ask(words: readonly string[]): Promise<{ readonly tmux: Answer; readonly wsh: Answer }> {
    const [tmux, wsh] = await Promise.all([this.tmux(words), this.wsh.run("tmux", ...words)]);
    return { tmux, wsh };
  }

  private async tmux(words: readonly string[]): Promise<Answer> {
    const child = Bun.spawn(["tmux", "-L", "compared", "-f", "/dev/null", ...words], {
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

/** Several formats in one command line, each on a line of its own. */
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
      const { tmux, wsh } = await both.ask(printing(formats));
      expect(wsh.stdout.split("\n")).toEqual(tmux.stdout.split("\n"));
      const found: string[] = [];
      for (const line of chosen(reading)) {
        const answers = await both.ask(line);
        if (Bun.deepEquals(answers.tmux, answers.wsh) === differences.has(line.join(" ")))
          found.push(Bun.inspect({ line, ...answers }));
      }
      expect(found).toEqual([]);
    },
    isFull ? 240_000 : 60_000,
  );

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
