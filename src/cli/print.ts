/**
 * A command's output. Everything goes through `print`, which resolves when the text has left this process, so that a
 * pipe's reader gets all of it even if the process ends at once; if the reader is gone, the command ends silently.
 * `print` passes bytes unchanged (a running command's output, scripts, our own colours); everything else goes through
 * `say`, `printRendered`, `complain`, `table` or `printJson`, which escape control characters of others' text.
 */
import { visibleCell, visibleJson, visibleLines, visibleRendered } from "../protocol/harmless-text.ts";

/** Exit code of a program whose reader is gone: 128 + SIGPIPE. */
const READER_GONE = 141;
/** Exit code if standard output cannot be written, for example on a full disk. */
const NOT_WRITTEN = 1;

/** Node's stream reports data as written while a pipe still buffers it; this sink's flush is exact. */
let sink: Bun.FileSink | null = null;

/** Work to do when the reader is gone. */
let beforeExit: (() => Promise<unknown>) | null = null;
/** Longest time for that work, in ms. */
const BEFORE_EXIT_MS = 1_000;

/** Until disposal, runs `act` before a command ends because its reader is gone. */
export function whenReaderGoes(act: () => Promise<unknown>): Disposable {
  beforeExit = act;
  return {
    [Symbol.dispose]() {
      beforeExit = null;
    },
  };
}

/** @param text including its final newline */
export async function print(text: string | Uint8Array): Promise<void> {
  if (text.length === 0) return;
  try {
    sink ??= Bun.stdout.writer();
    await sink.write(text);
    await sink.flush();
  } catch (error) {
    const { code = "EPIPE" } = error as NodeJS.ErrnoException;
    if (code === "EPIPE" || code === "ECONNRESET") {
      await Promise.race([beforeExit?.().catch(() => {}), Bun.sleep(beforeExit === null ? 0 : BEFORE_EXIT_MS)]);
      process.exit(READER_GONE);
    }
    complain(`cannot write standard output: ${code}`);
    process.exit(NOT_WRITTEN);
  }
}

/** Prints our text that contains others' names, paths and commands. @param text including its final newline */
export function printText(text: string): Promise<void> {
  return print(visibleLines(text));
}

/** Prints a session's screen or output, as rendered by its machine. */
export function printRendered(text: string): Promise<void> {
  return print(visibleRendered(text));
}

/** Like say, on stderr and after the program's name; further lines are indented below the first. */
export function complain(text: string): void {
  const lines = visibleLines(text)
    .split("\n")
    .filter((line, index) => index === 0 || line !== "");
  process.stderr.write(`wsh: ${lines.join("\n     ")}\n`);
}

export function printJson(value: unknown): Promise<void> {
  return print(`${visibleJson(value, process.stdout.isTTY ? 2 : 0)}\n`);
}

/** Whether a stream supports colours: a terminal, unless NO_COLOR is set (https://no-color.org). */
export function takesColor(stream: { readonly isTTY?: boolean }): boolean {
  return stream.isTTY === true && (process.env.NO_COLOR ?? "") === "" && process.env.TERM !== "dumb";
}

export function bold(text: string): string {
  return takesColor(process.stdout) ? `\x1b[1m${text}\x1b[22m` : text;
}

/** Pads columns to their widest cell, with two blanks between; the last column is not padded. */
export function table(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map(visibleCell));
  const widths: number[] = [];
  for (const row of cells) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, Bun.stringWidth(cell));
  }
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - Bun.stringWidth(cell))))
      .join("  ")
      .trimEnd();
  return `${cells.map((row, index) => (index === 0 ? bold(line(row)) : line(row))).join("\n")}\n`;
}

/** A line for each key and its value, the values in one column. */
export function pairs(all: readonly (readonly [string, string])[]): string {
  const width = Math.max(...all.map(([key]) => key.length)) + 2;
  return all.map(([key, value]) => `${key.padEnd(width)}${visibleCell(value)}\n`).join("");
}

export function shorten(text: string, cells: number): string {
  if (Bun.stringWidth(text) <= cells) return text;
  let short = "";
  for (const char of text) {
    if (Bun.stringWidth(short + char) >= cells) break;
    short += char;
  }
  return `${short}…`;
}
