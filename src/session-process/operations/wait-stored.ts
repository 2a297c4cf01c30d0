/**
 * Lets a wait with `since` search lines that have left the history too: the stored parts of commands' outputs, in
 * memory and in the spool. Only lines that are certainly newer than the cursor count.
 */
import type { Pane } from "../../pane/pane.ts";
import { type Finder, regexFinder, textFinder } from "../../pane/waiting/pattern.ts";
import type { WaitOutcome } from "../../pane/waiting/waiters.ts";
import type { Condition } from "../../protocol/conditions.ts";

/** Longest time of a search at once, in ms, and in total. */
const SLICE_MS = 8;
const MAX_WORK_MS = 10_000;

interface StoredPattern {
  readonly type: "text" | "regex";
  readonly find: Finder;
}

interface StoredSearch {
  readonly outcome: WaitOutcome | null;
  /** Number of lines searched. */
  readonly searchedLines: number;
}

export async function searchStored(
  pane: Pane,
  conditions: readonly Condition[],
  since: number | undefined,
  signal: AbortSignal,
): Promise<StoredSearch> {
  const matchers = await patternsIn(conditions);
  const began = performance.now();
  let searchedLines = 0;
  if (since === undefined || matchers.length === 0) return { outcome: null, searchedLines };
  const { log } = pane.commands;
  const start = pane.text.positionAt(since);
  for (const { id, output_start, output_end, first_line_id } of log.list()) {
    const droppedLines = pane.terminal.firstLine - first_line_id;
    if (droppedLines <= 0 || (output_end !== null && output_end <= since)) continue;
    const startsBefore = output_start < since;
    // It is no longer known which of its lines are newer.
    if (startsBefore && start === null) continue;
    const from = startsBefore && start !== null ? start.line - first_line_id + 1 : 1;
    const skip = startsBefore && start !== null ? start.index : 0;
    using storedOutput = log.storedOutput(id);
    let due = performance.now() + SLICE_MS;
    for (const { first, lines } of storedOutput?.readRange({
      from,
      to: Math.min(droppedLines, storedOutput.totalLines),
    }) ?? []) {
      searchedLines += lines.length;
      for (const [at, line] of lines.entries()) {
        const begin = first + at === from ? skip : 0;
        for (const { type, find } of matchers) {
          const match = begin > line.length ? null : find(line, begin, line.length);
          if (match === null) continue;
          const { text, groups } = match;
          const id = first_line_id + first + at - 1;
          const index = match.start + Math.max(1, match.text.length);
          const position = { lineId: id, outputCursor: pane.text.noteWithin({ line: id, index }, since) };
          return {
            outcome: { decidedBy: type, state: null, match: text, ...(groups && { groups }), ...position },
            searchedLines,
          };
        }
      }
      if (performance.now() < due) continue;
      await new Promise((resolve) => setImmediate(resolve));
      if (signal.aborted || performance.now() - began > MAX_WORK_MS) return { outcome: null, searchedLines };
      due = performance.now() + SLICE_MS;
    }
  }
  return { outcome: null, searchedLines };
}

async function patternsIn(conditions: readonly Condition[]): Promise<StoredPattern[]> {
  const patterns: StoredPattern[] = [];
  for (const each of conditions) {
    if (each.type === "text") patterns.push({ type: each.type, find: textFinder(each.text) });
    if (each.type === "regex") patterns.push({ type: each.type, find: await regexFinder(each.pattern, each.flags) });
  }
  return patterns;
}
