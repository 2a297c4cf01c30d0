/** Copy mode: the cost of one key of a search, including counting all matches in the history and rendering. */

import { decodeKeys, initialKeyState } from "../src/keys/decode.ts";
import { CopyMode } from "../src/session/copy-mode/copy-mode.ts";
import { copyModeSource } from "../src/session-process/copy-mode-source.ts";
import { TerminalModel } from "../src/terminal/model.ts";
import { defaultProfile } from "../src/terminal/profile.ts";
import { figure, percentile } from "./figure.ts";
import type { Measure } from "./measure.ts";

const ROWS = 50;
const COLS = 120;
/** Lines of each history, and how often the patterns are typed in it. */
const SIZES = [
  [10_000, 12],
  [100_000, 4],
] as const;
/** Frequent, rare and missing patterns. */
const PATTERNS = ["error", "module 4711", "nowhere to be found"];

export const copyMode: Measure = {
  name: "copy-mode",
  async run() {
    const lines = [];
    for (const [count, rounds] of SIZES) lines.push(await measured(count, rounds));
    return {
      title: "Looking back: a key of a search, ms",
      columns: ["p50", "p99", "entering"],
      lines,
      alone: true,
      goal: "10,000 lines: 30 ms a key",
      meaning:
        "Keys of three patterns typed one by one over lines of about 60 characters; each counts all matches, goes to the " +
        "nearest one, and makes the picture of 120×50 anew. Entering freezes the screen and makes the first picture.",
    };
  },
};

async function measured(count: number, rounds: number) {
  const nothing = (): void => {};
  const sink = { reply: nothing, chunk: nothing, mark: nothing, bell: nothing, title: nothing, cwd: nothing };
  const terminal = new TerminalModel(
    { rows: ROWS, cols: COLS, historyLines: count, historyBytes: 1e9, nonce: null, profile: defaultProfile },
    { ...sink, alternate: nothing, clipboard: nothing, reset: nothing, retired: nothing },
  );
  for (let at = 0; at < count + ROWS; at++) {
    const level = at % 7 === 0 ? "error" : "info";
    await terminal.write(
      Buffer.from(`12:00:${at % 60} ${level} in module ${(at * 7919) % 9973}: request took ${at % 911} ms\r\n`),
    );
  }
  const source = copyModeSource(terminal, () => []);
  const keys: number[] = [];
  const entering: number[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const pattern of PATTERNS) {
      const began = performance.now();
      const port = { changed: nothing, copied: nothing, showMessage: nothing, left: nothing };
      const look = new CopyMode(source, "vi", port);
      look.grid();
      entering.push(performance.now() - began);
      for (const key of `?${pattern}\r`) {
        const pressed = performance.now();
        for (const event of decodeKeys(initialKeyState, Buffer.from(key)).events) look.handleInput(event);
        look.grid();
        keys.push(performance.now() - pressed);
      }
      look.close();
    }
  }
  terminal.dispose();
  const figures = [figure(keys), figure([percentile(keys, 0.99)]), figure(entering)];
  return { who: `${count.toLocaleString("en")} lines`, figures };
}
