/** Retained lines are loaded into history as if they had been printed: text, styles, links, numbers, at any width. */
import { expect, test } from "bun:test";
import { TerminalModel, type TerminalSink } from "../../../src/terminal/model.ts";
import { defaultProfile } from "../../../src/terminal/profile.ts";
import { storedLines } from "../../../src/terminal/stored-text.ts";

const ROWS = 5;
const COLS = 20;

function open(historyLines = 10_000): TerminalModel {
  const ignore = (): void => {};
  const sink: TerminalSink = {
    ...{ reply: ignore, chunk: ignore, mark: ignore, bell: ignore, title: ignore, cwd: ignore },
    ...{ alternate: ignore, clipboard: ignore, reset: ignore },
    crashed: (error) => {
      throw error;
    },
  };
  const limits = { historyLines, historyBytes: 64e6 };
  return new TerminalModel({ rows: ROWS, cols: COLS, ...limits, nonce: null, profile: defaultProfile }, sink);
}

const kinds: readonly ((n: number) => string)[] = [
  (n) => `plain ${n}`,
  () => "",
  (n) => `\x1b[1;31mred ${n}\x1b[0m and not`,
  (n) => `a line of more than one row of ${COLS} cells ${n}`,
  (n) => `wide 你好 ${n} e\u0301 👩‍👩‍👧`,
  (n) => `\x1b]8;;https://a.b/${n}\x1b\\link\x1b]8;;\x1b\\ ${n}`,
  (n) => `\x1b[4:3;58;5;9mcurly ${n}\x1b[0m`,
  (n) => `${"x".repeat(9_000)} ${n}`,
];

/** Runs of one kind, and others in turn. */
function some(count: number): string[] {
  return Array.from(
    { length: count },
    (_, n) => kinds[n < 200 ? n % kinds.length : n < 1_000 ? 0 : (n >> 4) % 7]?.(n) ?? "",
  );
}

const bytes = (lines: readonly string[]): Uint8Array =>
  Buffer.from(lines.map((line) => (line.includes("\x1b") ? `${line}\x1b[0m\r\n` : `${line}\r\n`)).join(""));

test("loaded lines equal printed ones, before and after a resize and more output", async () => {
  const lines = some(1_500);
  const [printed, loaded] = [open(), open()];
  const filler = "\r\n".repeat(ROWS - 1);
  await printed.write(Buffer.concat([bytes(lines), Buffer.from(`${filler}\x1b[H`)]));
  loaded.loadLines(bytes(lines), 0);
  const same = (): void => {
    expect(loaded.screenTop.line).toBe(printed.screenTop.line);
    expect(storedLines(loaded.storedSource, 0, 1e9)).toEqual(storedLines(printed.storedSource, 0, 1e9));
    for (const format of ["plain", "styled"] as const) {
      const of = (model: TerminalModel) => model.scrollback({ offset: 0, limit: 10_000, format }).lines;
      expect(of(loaded).slice(0, -ROWS)).toEqual(of(printed).slice(0, -ROWS));
    }
  };
  expect(loaded.screenTop.line).toBe(lines.length);
  same();
  const more = Buffer.from(`${some(40).join("\x1b[0m\r\n")}\x1b[0m\r\n`);
  for (const model of [printed, loaded]) await model.write(more);
  same();
  for (const model of [printed, loaded]) await model.resize(ROWS, 33);
  expect(storedLines(loaded.storedSource, 0, 1e9)).toEqual(storedLines(printed.storedSource, 0, 1e9));
});

test("they begin with their number, and the limit applies", async () => {
  const model = open(100);
  model.loadLines(bytes(some(300)), 7_000);
  expect(model.screenTop.line).toBe(7_300);
  expect(model.firstLine).toBe(7_200);
  await model.write(Buffer.from("next\r\n"));
  expect(model.lineText(7_300)).toBe("next");
  expect(model.lineText(7_299)).toBe("plain 299");
});

test("none at all", () => {
  const model = open();
  model.loadLines(new Uint8Array(0), 3);
  expect(model.screenTop.line).toBe(3);
  expect(model.totalLines).toBe(ROWS);
});
