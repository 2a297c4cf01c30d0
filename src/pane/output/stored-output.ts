/**
 * A snapshot of one command's output for a reader: lines with their numbers, from 1, from memory and from the
 * spool. Lines stored nowhere appear as a jump in the numbers, and in `missing`. It is read part by part, so
 * at most one block is in memory. The spool stays until the snapshot is disposed of.
 */

import type { RetainedLines } from "../text/retained-lines.ts";
import type { SpoolBlock, SpoolView } from "./spool.ts";

/** Lines of memory that are handed out at once. */
const PART_LINES = 1_024;

export interface LineRange {
  readonly from: number;
  /** Inclusive. */
  readonly to: number;
}

/** Consecutive lines. */
interface OutputPart {
  /** Number of the first. */
  readonly first: number;
  readonly lines: readonly string[];
}

/** Parts that a read could not see. */
export interface MissingLines {
  /** The available lines, as in `1–3000, 45161–60000 of 60000`. */
  readonly searched: string;
  readonly reason: string;
}

export class StoredOutput implements Disposable {
  /** Lines of the output, stored or not. */
  readonly totalLines: number;
  /** Number of the first line of the tail. */
  private readonly firstTailLine: number;

  /**
   * @param cutLines number of lines too long to be stored completely
   * @param missingReason reason for missing lines, if the spool has none
   */
  constructor(
    readonly retained: RetainedLines,
    private readonly spool: SpoolView | null,
    private readonly cutLines: number,
    private readonly missingReason: string,
  ) {
    const { head, tail, omitted } = retained;
    this.totalLines = head.length + omitted + tail.length;
    this.firstTailLine = head.length + omitted + 1;
  }

  [Symbol.dispose](): void {
    this.spool?.[Symbol.dispose]();
  }

  /** The stored lines of a range, in order. */
  *readRange({ from, to }: LineRange): Generator<OutputPart> {
    const { head, tail } = this.retained;
    yield* slices(1, head, from, to);
    if (this.spool !== null) {
      for (const block of this.spool.blocks) {
        const last = block.first + block.count - 1;
        if (last < from || block.first > to) continue;
        const lines = this.spool.read(block);
        const start = Math.max(0, from - block.first);
        const end = Math.min(block.count, to - block.first + 1);
        if (lines.length > 0) yield { first: block.first + start, lines: lines.slice(start, end) };
      }
    }
    yield* slices(this.firstTailLine, tail, from, to);
  }

  /** The parts of a range that are not stored completely; null when all is. */
  missingIn({ from, to }: LineRange): MissingLines | null {
    const there = this.ranges().flatMap((range) => {
      const part = { from: Math.max(from, range.from), to: Math.min(to, range.to) };
      return part.from <= part.to ? [part] : [];
    });
    const count = there.reduce((sum, range) => sum + range.to - range.from + 1, 0);
    const isAll = count >= to - from + 1;
    if (isAll && this.cutLines === 0) return null;
    const shown = there.map((range) => (range.from === range.to ? `${range.from}` : `${range.from}–${range.to}`));
    const because = [
      ...(isAll ? [] : [this.spool?.stopReason ?? this.missingReason]),
      ...(this.cutLines === 0 ? [] : [`${this.cutLines} lines were too long and were truncated`]),
    ];
    return { searched: `${shown.join(", ") || "none"} of ${this.totalLines}`, reason: because.join("; ") };
  }

  /** The stored lines, adjoining ranges joined. */
  private ranges(): LineRange[] {
    const { head, tail } = this.retained;
    const ranges: { from: number; to: number }[] = [];
    const add = ({ first, count }: Pick<SpoolBlock, "first" | "count">): void => {
      const last = ranges.at(-1);
      if (count === 0) return;
      if (last !== undefined && last.to + 1 === first) last.to += count;
      else ranges.push({ from: first, to: first + count - 1 });
    };
    add({ first: 1, count: head.length });
    for (const block of this.spool?.blocks ?? []) add(block);
    add({ first: this.firstTailLine, count: tail.length });
    return ranges;
  }
}

function* slices(first: number, lines: readonly string[], from: number, to: number): Generator<OutputPart> {
  const start = Math.max(0, from - first);
  const end = Math.min(lines.length, to - first + 1);
  for (let index = start; index < end; index += PART_LINES) {
    yield { first: first + index, lines: lines.slice(index, Math.min(end, index + PART_LINES)) };
  }
}
