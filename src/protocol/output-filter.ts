/** What a caller wants to see of a command's output: lines that match, the first, the last, a range, or none at all. */
import * as v from "valibot";
import { WshError } from "./errors.ts";
import { lineTest } from "./pattern.ts";

/** Lines around a match: more is a range. */
const MAX_CONTEXT = 1_000;

const CountSchema = v.pipe(v.number(), v.integer(), v.minValue(1));

export const filterFields = {
  grep: v.optional(
    v.pipe(
      v.string(),
      v.description("only lines that match this pattern (RE2), in all of the output; with line numbers"),
    ),
  ),
  context: v.optional(
    v.pipe(
      v.number(),
      v.integer(),
      v.minValue(0),
      v.maxValue(MAX_CONTEXT),
      v.description("with grep: lines shown before and after each match"),
    ),
  ),
  head: v.optional(v.pipe(CountSchema, v.description("only the first N lines, or matches"))),
  tail: v.optional(v.pipe(CountSchema, v.description("only the last N lines, or matches"))),
};

export const RangeField = v.optional(
  v.pipe(v.string(), v.regex(/^\d+(-\d*)?$/), v.description("only these lines of a command's output: A-B, A- or A")),
);

export const LineNumbersField = v.optional(
  v.pipe(v.boolean(), v.description("begin lines with their number; default: with grep of a command's output")),
);

export const OutputModeField = v.optional(
  v.pipe(
    v.picklist(["all", "on_failure", "none"]),
    v.description("whether the output is in the result; on_failure: unless the exit code is 0"),
  ),
);

export interface OutputFilter {
  readonly grep?: string | undefined;
  readonly context?: number | undefined;
  readonly head?: number | undefined;
  readonly tail?: number | undefined;
  /** `A-B`, `A-` or `A`, from 1. */
  readonly range?: string | undefined;
  readonly line_numbers?: boolean | undefined;
}

/** A filter that was checked. */
export interface OutputQuery {
  readonly lines: { readonly from: number; readonly to: number } | null;
  /** Whether a line is asked for. */
  readonly test: ((line: string) => boolean) | null;
  /** Lines shown before and after each match. */
  readonly context: number;
  /** The first and the last so many: of the matches, else of the lines. */
  readonly head: number | null;
  readonly tail: number | null;
  /** Each line begins with its number, as by `grep -n`. */
  readonly numbers: boolean;
}

/**
 * @param numbered whether matches show their line numbers unless the filter says
 * @throws WshError invalid_request: a pattern that is none, context without a pattern, a range that ends before it begins
 */
export async function outputQuery(filter: OutputFilter, numbered: boolean): Promise<OutputQuery> {
  const { grep, context, head = null, tail = null, range } = filter;
  if (context !== undefined && grep === undefined) {
    throw new WshError("invalid_request", "'context' is for the matches of 'grep'");
  }
  return {
    lines: range === undefined ? null : lineRange(range),
    test: grep === undefined ? null : await lineTest(grep),
    context: context ?? 0,
    head,
    tail,
    numbers: filter.line_numbers ?? (numbered && grep !== undefined),
  };
}

function lineRange(text: string): { from: number; to: number } {
  const [first = "", last] = text.split("-");
  const from = Number(first);
  const to = last === undefined ? from : last === "" ? Number.MAX_SAFE_INTEGER : Number(last);
  if (from >= 1 && to >= from) return { from, to };
  throw new WshError("invalid_request", `the range '${text}' is none: lines count from 1, as in 20-80`);
}
