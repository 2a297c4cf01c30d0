/**
 * Answers a query about an output: a range of its lines, those that match a pattern with surrounding lines, the first
 * or last of either, within a limit of bytes. Output of any length is read block by block and in slices of time, so
 * that the terminal continues in between, and only possible parts of the answer are held.
 */

import { WshError } from "../../protocol/errors.ts";
import type { OutputQuery } from "../../protocol/output-filter.ts";
import { AnswerCollector, type AnswerText } from "./answer.ts";
import type { LineRange, MissingLines, StoredOutput } from "./stored-output.ts";

/** Time that a search takes at once, in ms: less than a frame of a screen. */
const SLICE_MS = 8;
/** Lines searched between two checks of the clock. */
const LINES_PER_CLOCK_CHECK = 64;
/** Time that one search may take in all, in ms of work. */
const MAX_WORK_MS = 10_000;

export interface OutputReading extends AnswerText {
  /** Lines of the whole output. */
  readonly totalLines: number;
  /** Unreadable parts; null when nothing is missing. */
  readonly missing: MissingLines | null;
}

/**
 * @param limit UTF-8 bytes of the text; beyond it the beginning and the end remain
 * @param overwritten overwritten text by line: a pattern finds it too
 * @throws WshError regex_too_slow, cancelled
 */
export async function readOutput(
  output: StoredOutput,
  query: OutputQuery,
  limit: number,
  signal?: AbortSignal,
  overwritten: ReadonlyMap<number, readonly string[]> = new Map(),
): Promise<OutputReading> {
  const work = new SlicedWork(signal);
  const ranges = rangesOf(output, query);
  const answer = new AnswerCollector(query, limit);
  const addOverwritten = (number: number, line: string): void => {
    for (const text of overwritten.get(number) ?? []) {
      // The loop below finds text that is still visible.
      if (!line.startsWith(text) && query.test?.(text) === true) answer.add(number, text);
    }
  };
  for (const range of ranges) {
    for (const { first, lines } of output.readRange(range)) {
      for (const [at, line] of lines.entries()) {
        if (overwritten.size > 0) addOverwritten(first + at, line);
        answer.add(first + at, line);
        if (at % LINES_PER_CLOCK_CHECK === 0 && work.isDue) await work.pause();
      }
    }
  }
  // Lines at the end that were overwritten by blanks are not part of the output.
  const isToEnd = (query.lines?.to ?? Number.POSITIVE_INFINITY) > output.totalLines;
  for (const number of isToEnd ? overwritten.keys() : []) if (number > output.totalLines) addOverwritten(number, "");
  const missing = ranges.map((range) => output.missingIn(range)).find((part) => part !== null) ?? null;
  return { ...answer.result(ranges), totalLines: output.totalLines, missing };
}

/** The time spent on one read, in slices. */
class SlicedWork {
  private sliceStart = performance.now();
  private spentMs = 0;

  constructor(private readonly signal: AbortSignal | undefined) {}

  get isDue(): boolean {
    return performance.now() - this.sliceStart >= SLICE_MS;
  }

  /** Lets other work run. @throws WshError regex_too_slow, cancelled */
  async pause(): Promise<void> {
    this.spentMs += performance.now() - this.sliceStart;
    if (this.spentMs > MAX_WORK_MS) {
      throw new WshError("regex_too_slow", `the search was stopped after ${Math.round(this.spentMs)} ms`);
    }
    await new Promise((resolve) => setImmediate(resolve));
    if (this.signal?.aborted === true) throw new WshError("cancelled", "the caller stopped waiting for the output");
    this.sliceStart = performance.now();
  }
}

/** The ranges to read. */
function rangesOf({ totalLines }: StoredOutput, { lines, test, head, tail }: OutputQuery): LineRange[] {
  const from = Math.max(1, lines?.from ?? 1);
  const to = Math.min(totalLines, lines?.to ?? totalLines);
  if (from > to) return [];
  if (test !== null || (head === null && tail === null)) return [{ from, to }];
  const headTo = head === null ? from - 1 : Math.min(to, from + head - 1);
  const tailFrom = tail === null ? to + 1 : Math.max(from, to - tail + 1);
  if (tailFrom <= headTo + 1) return [{ from, to }];
  return [...(head === null ? [] : [{ from, to: headTo }]), ...(tail === null ? [] : [{ from: tailFrom, to }])];
}
