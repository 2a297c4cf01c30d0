/**
 * Loads saved lines into history, as if they had been printed and had left the screen. Plain lines bypass the emulator;
 * others go through one, a few at a time.
 */
import { LineReader, usedCellsOf } from "../bypass/plain-line.ts";
import type { HotWindow } from "./hot-window.ts";
import { RawLines } from "./raw-lines.ts";

/** Lines of one block of history, as in a flood. */
const MAX_RAW_LINES = 512;
/** Rows for the emulator at once, by lines and by cells: together fewer than one slice may scroll. */
const MAX_LINES = 128;
const MAX_ROWS = 256;
const LF = 0x0a;

interface LoadTarget {
  readonly hot: HotWindow;
  readonly cols: number;
  /** Prints on the emulator of `hot`. */
  feed(bytes: Uint8Array): void;
}

/**
 * @param lines each ended by CR LF
 * @returns whether the emulator has printed lines: if so, discard its screen
 */
export function loadLines(lines: Uint8Array, { hot, cols, feed }: LoadTarget): boolean {
  const reader = new LineReader();
  let offset = 0;
  let hasPrinted = false;
  while (offset < lines.length) {
    const starts: number[] = [];
    const words: number[] = [];
    const isPlain = (): boolean => offset < lines.length && reader.measure(lines, offset, cols);
    while (starts.length < MAX_RAW_LINES && isPlain()) {
      starts.push(offset);
      words.push(reader.lineWord);
      offset = reader.end;
    }
    const last = words.at(-1);
    if (last !== undefined) {
      const own = [Uint32Array.from(starts), offset, Uint32Array.from(words)] as const;
      hot.appendRaw(RawLines.copyFrom(hot.lastLine + 1, lines, ...own, cols), usedCellsOf(last));
      continue;
    }
    hasPrinted = true;
    const from = offset;
    for (let count = 0; count < MAX_LINES && offset - from < MAX_ROWS * cols && !(count > 0 && isPlain()); count++) {
      const end = lines.indexOf(LF, offset);
      offset = end < 0 ? lines.length : end + 1;
      if (offset === lines.length) break;
    }
    for (let begin = from; begin < offset; begin += MAX_ROWS * cols)
      feed(lines.subarray(begin, Math.min(offset, begin + MAX_ROWS * cols)));
    hot.retireToCursor();
  }
  return hasPrinted;
}
