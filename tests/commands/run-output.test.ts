/**
 * The output of a run is what `tmux capture-pane -pJ` shows after the input: seeded random programs draw on
 * both, and the differences on tmux's screen before and after must be what the run returns.
 */
import { afterAll, beforeAll, describe, test } from "bun:test";
import { join } from "node:path";
import { $ } from "bun";
import { contentOf } from "../support/content-of.ts";
import { Http } from "../support/http.ts";
import { isMissing } from "../support/programs.ts";
import { type RunAnswer, SessionApi } from "../support/session-api.ts";
import { seededRandom } from "../support/terminals/outer-screen.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const full = process.env.WSH_TEST_FULL === "1";
const seed = Number(process.env.WSH_RUN_SEED ?? (full ? Date.now() % 1_000_000 : 7));
const rounds = full ? 120 : 15;
const ROWS = 24;
const COLS = 60;
const script = join(import.meta.dir, "../fixtures/print-lines.sh");

type Pick = (count: number) => number;

const words = ["alpha", "βeta", "漢字", "x", "10%", "> ", "$ ", "a b  c", "-----", "e\u0301t\u00e9"];

/** One thing that programs do to a screen. */
function step(pick: Pick, clears: boolean): string {
  const word = words[pick(words.length)] ?? "";
  const place = `\\033[${1 + pick(ROWS - 4)};${1 + pick(COLS - 20)}H`;
  const kinds = [
    word,
    word,
    `${word}\\r\\n`,
    `\\r${word}`,
    `\\r\\033[K${word}`,
    "\\033[K",
    "\\033[1K",
    "\\033[2K",
    place + word,
    `\\033[${1 + pick(3)}A\\r${word}`,
    `\\033[${1 + pick(5)}D${word}`,
    "\\033[J",
    `\\033[?1049h\\033[H${word}\\r\\n${word}\\033[?1049l`,
    ...(clears ? ["\\033[H\\033[2J", `${word.repeat(14)}\\r\\n`] : []),
  ];
  return kinds[pick(kinds.length)] ?? "";
}

function program(pick: Pick, clears: boolean): string {
  const steps = Array.from({ length: 1 + pick(9) }, () => step(pick, clears));
  return (clears ? "\\033[H\\033[2J" : "") + steps.join("");
}

/** tmux with the same program, for comparison. */
class Reference implements AsyncDisposable {
  private constructor(
    private readonly socket: string,
    private readonly counter: string,
  ) {}

  static async start(dir: string): Promise<Reference> {
    const self = new Reference(join(dir, "t"), join(dir, "drawn"));
    await $`tmux -u -S ${self.socket} -f /dev/null new-session -d -x ${COLS} -y ${ROWS} bash ${script} ${self.counter}`;
    return self;
  }

  private drawn = 0;

  async draw(line: string): Promise<void> {
    await $`tmux -S ${this.socket} send-keys -l -- ${line}`;
    await $`tmux -S ${this.socket} send-keys Enter`;
    const count = String(++this.drawn);
    await until("tmux to draw", () => contentOf(this.counter).trim() === count);
  }

  /** Rows without trailing blanks, wrapped ones joined; and the cursor's position. */
  async screen(): Promise<{ rows: string[]; y: number; x: number }> {
    const text = await $`tmux -S ${this.socket} capture-pane -pJ`.text();
    const at = await $`tmux -S ${this.socket} display-message -p ${"#{cursor_y} #{cursor_x}"}`.text();
    const [y = 0, x = 0] = at.trim().split(" ").map(Number);
    return { rows: text.split("\n").map((row) => row.trimEnd()), y, x };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await $`tmux -S ${this.socket} kill-server`.quiet().nothrow();
  }
}

function trimmed(lines: readonly string[]): string[] {
  const end = lines.findLastIndex((line) => line !== "") + 1;
  const from = lines.findIndex((line) => line !== "");
  return from === -1 ? [] : lines.slice(from, end);
}

/** Output according to the run. The cursor's line may be taken for a prompt, or have one at its end. */
function isShown({ output = "", prompt }: RunAnswer, expected: readonly string[]): boolean {
  const lines = output.split("\n");
  // With a prompt, too: the earlier one is behind the output, as after a text without an end of line.
  if (Bun.deepEquals(trimmed(lines), expected)) return true;
  if (prompt === undefined) return false;
  const above = trimmed(expected.slice(0, -1));
  const last = lines.at(-1) ?? "";
  const alone = prompt.trimEnd().endsWith(expected.at(-1) ?? "") && Bun.deepEquals(trimmed(lines), above);
  return (
    alone ||
    (isJoined(last, prompt.trimEnd(), expected.at(-1) ?? "") && Bun.deepEquals(trimmed(lines.slice(0, -1)), above))
  );
}

/** Whether a line is the two joined, with the blanks between them that lines of an output end without. */
function isJoined(output: string, prompt: string, line: string): boolean {
  if (!line.startsWith(output) || !line.endsWith(prompt) || line.length < output.length + prompt.length) return false;
  return line.slice(output.length, line.length - prompt.length).trim() === "";
}

/**
 * Permitted differences between the two: a program's echo of a word, the rest of half a wide character, and a
 * wrapped row whose end was erased, which tmux no longer considers wrapped.
 */
function isDecidable(line: string): boolean {
  if (/(alpha|βeta|漢字|-----|été|a b {2}c){14}.*\[[12]?K/.test(line)) return false;
  return line.includes("\\") && !(line.includes("漢字") && /\[\dD/.test(line));
}

describe.skipIf(isMissing("tmux"))("the output of a run and tmux's screen", () => {
  const wsh = new Wsh();
  let api: SessionApi;
  let reference: Reference;
  beforeAll(async () => {
    await wsh.server();
    const http = new Http({ unix: wsh.instance.httpSocket });
    api = await SessionApi.shell(http, "drawn", { shell: "bash", rows: ROWS, cols: COLS });
    reference = await Reference.start(wsh.dir);
    await api.run(`bash ${script}\n`);
  });
  afterAll(async () => {
    await reference[Symbol.asyncDispose]();
    await wsh[Symbol.asyncDispose]();
  });

  const random = seededRandom(seed);
  const pick: Pick = (count) => Math.floor(random() * count);

  test("after a clear it ends with the whole screen", async () => {
    for (let round = 0; round < rounds; round++) {
      // First, over a blank screen with the cursor in its middle: its blank rows are part of the output, too.
      const line = ["\\033[16;1H", "\\033[H\\033[2Jabc\\r\\n\\033[12;30Hx\\r\\n"][round] ?? program(pick, true);
      if (!isDecidable(line)) continue;
      const [ran] = await Promise.all([api.run(`${line}\n`), reference.draw(line)]);
      const expected = trimmed((await reference.screen()).rows);
      const lines = (ran.output ?? "").split("\n");
      if (
        expected.length === 0 ||
        // Also when it is empty: the line of the prompt may be all that the screen shows.
        [...lines, ""].some((_, at) => isShown({ ...ran, output: lines.slice(at).join("\n") }, expected))
      )
        continue;
      throw new Error(JSON.stringify({ seed, round, line, ran, expected }));
    }
  });

  test("without a clear it is the difference", async () => {
    const blank = "\\033[H\\033[2J";
    for (let round = 0; round < rounds; round++) {
      if (round % 5 === 0) await Promise.all([api.run(`${blank}\n`), reference.draw(blank)]);
      const before = await reference.screen();
      const line = program(pick, false);
      if (!isDecidable(line)) continue;
      const [ran] = await Promise.all([api.run(`${line}\n`), reference.draw(line)]);
      const after = await reference.screen();
      const expected = changed(before, after.rows);
      // The cursor's row may be blank before and after, and still have changed: its text was erased meanwhile.
      if (isShown(ran, expected) || isShown(ran, changed(before, after.rows, true))) continue;
      throw new Error(JSON.stringify({ seed, round, line, before, ran, expected }));
    }
  });
});

/**
 * Rows that differ: from the cursor on where a row was only continued. Blank ones between added rows count.
 * @param withCursor the row of the cursor counts, too, if it is blank as before
 */
function changed(
  before: { rows: string[]; y: number; x: number },
  after: readonly string[],
  withCursor = false,
): string[] {
  const last = Math.max(
    before.y,
    before.rows.findLastIndex((row) => row !== ""),
  );
  const lines = after.flatMap((row, y) => {
    const was = before.rows[y] ?? "";
    if (y > last) return [row];
    if (row === was) return withCursor && row === "" && y === before.y ? [""] : [];
    if (y !== before.y) return [row];
    const kept = cells(was, before.x);
    return [row.padEnd(kept.length).startsWith(kept) ? row.slice(kept.length) : row];
  });
  return trimmed(lines);
}

/** The text in the first cells of a row. */
function cells(row: string, count: number): string {
  let text = "";
  for (const { segment } of new Intl.Segmenter().segment(row)) {
    if (Bun.stringWidth(text + segment) > count) break;
    text += segment;
  }
  return text + " ".repeat(Math.max(0, count - Bun.stringWidth(text)));
}
