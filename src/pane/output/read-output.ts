/**
 * Answers a query about an output: a range of its lines, those that match a pattern with surrounding lines, the first
 * or last of either, within a limit of bytes. Output of any length is read block by block and in slices of time, so
 * that the terminal continues in between, and only possible parts of the answer are held.
 */

import { WshError } from "../../protocol/errors.ts";
import type { OutputQuery } from "../../protocol/output-filter.ts";
import { Answer, type AnswerText } from "./answer.ts";
import type { LineRange, Missing, StoredOutput } from "./stored-output.ts";

/** Time that a search takes at once, in ms: less than a frame of a screen. */
const SLICE_MS = 8;
/** Lines searched between two checks of the clock. */
const CLOCK_LINES = 64;
/** Time that one search may take in all, in ms of work. */
const MAX_WORK_MS = 10_000;

export interface OutputReading extends AnswerText {
  /** Lines of the whole output. */
  readonly totalLines: number;
  /** Unreadable parts; null when nothing is missing. */
  readonly missing: Missing | null;
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
  const work = new Work(signal);
  const ranges = rangesOf(output, query);
  const answer = new Answer(query, limit);
  const addOverwritten = (number: number, line: string): void => {
    for (const text of overwritten.get(number) ?? []) {
      // The loop below finds text that is still visible.
      if (!line.startsWith(text) && query.test?.(text) === true) answer.add(number, text);
    }
  };
  for (const range of ranges) {
    for (const { first, lines } of output.parts(range)) {
      for (const [at, line] of lines.entries()) {
        if (overwritten.size > 0) addOverwritten(first + at, line);
        answer.add(first + at, line);
        if (at % CLOCK_LINES === 0 && work.isDue) await work.pause();
      }
    }
  }
  // Lines at the end that were overwritten by blanks are not part of the output.
  const isToEnd = (query.lines?.to ?? Number.POSITIVE_INFINITY) > output.total;
  for (const number of isToEnd ? overwritten.keys() : []) if (number > output.total) addOverwritten(number, "");
  const missing = ranges.map((range) => output.missing(range)).find((part) => part !== null) ?? null;
  return { ...answer.result(ranges), totalLines: output.total, missing };
}

/** The time spent on one read, in slices. */
class Work {
  private began = performance.now();
  private spent = 0;

  constructor(private readonly signal: AbortSignal | undefined) {}

  get isDue(): boolean {
    return performance.now() - this.began >= SLICE_MS;
  }

  /** Lets other work run. @throws WshError regex_too_slow, cancelled */
  async pause(): Promise<void> {
    this.spent += performance.now() - this.began;
    if (this.spent > MAX_WORK_MS) {
      throw new WshError("regex_too_slow", `the search was stopped after ${Math.round(this.spent)} ms`);
    }
    await new Promise((resolve) => setImmediate(resolve));
    if (this.signal?.aborted === true) throw new WshError("cancelled", "the caller stopped waiting for the output");
    this.began = performance.now();
  }
}

/** The ranges to read. */
function rangesOf({ total }: StoredOutput, { lines, test, head, tail }: OutputQuery): LineRange[] {
  const from = Math.max(1, lines?.from ?? 1);
  const to = Math.min(total, lines?.to ?? total);
  if (from > to) return [];
  if (test !== null || (head === null && tail === null)) return [{ from, to }];
  const headTo = head === null ? from - 1 : Math.min(to, from + head - 1);
  const tailFrom = tail === null ? to + 1 : Math.max(from, to - tail + 1);
  if (tailFrom <= headTo + 1) return [{ from, to }];
  return [...(head === null ? [] : [{ from, to: headTo }]), ...(tail === null ? [] : [{ from: tailFrom, to }])];
}
