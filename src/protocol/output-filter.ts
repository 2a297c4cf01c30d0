/** A caller's filter for a command's output: lines that match, the first, the last, a range, or none at all. */
import * as v from "valibot";
import { WshError } from "./errors.ts";
import { integerBetween, integerFrom, optional } from "./fields.ts";
import { linePattern } from "./pattern.ts";

/** Maximum lines around a match; for more, use a range. */
const MAX_CONTEXT = 1_000;

const CountSchema = integerFrom(1);

const ContextSchema = integerBetween(0, MAX_CONTEXT);
const ModeSchema = v.picklist(["all", "on_failure", "none"]);

export const filterFields = {
  grep: optional(v.string(), "only lines that match (RE2)"),
  context: optional(ContextSchema, "lines around each match"),
  head: optional(CountSchema, "only the first N"),
  tail: optional(CountSchema, "only the last N"),
};

/** The same for one step, and whether its output is included; described with the common ones. */
export const stepFilterFields = {
  grep: v.optional(v.string()),
  context: v.optional(ContextSchema),
  head: v.optional(CountSchema),
  tail: v.optional(CountSchema),
  output: v.optional(ModeSchema),
};

export const RangeField = optional(v.pipe(v.string(), v.regex(/^\d+(-\d*)?$/)), "lines of a command: A-B, A- or A");

export const LineNumbersField = optional(v.boolean(), "number the lines (default: a command's matches)");

export const OutputModeField = optional(ModeSchema, "whether output is shown (default: all)");

export interface OutputFilter {
  readonly grep?: string | undefined;
  readonly context?: number | undefined;
  readonly head?: number | undefined;
  readonly tail?: number | undefined;
  /** `A-B`, `A-` or `A`, from 1. */
  readonly range?: string | undefined;
  readonly line_numbers?: boolean | undefined;
}

/** A checked filter. */
export interface OutputQuery {
  readonly lines: { readonly from: number; readonly to: number } | null;
  /** Whether a line is requested. */
  readonly test: ((line: string) => boolean) | null;
  /** Start of the match in such a line. */
  readonly start: ((line: string) => number) | null;
  /** Lines shown before and after each match. */
  readonly context: number;
  /** Number of matches (without a pattern: lines) at the start and at the end. */
  readonly head: number | null;
  readonly tail: number | null;
  /** Whether each line begins with its number, like `grep -n`. */
  readonly numbers: boolean;
}

/**
 * @param numbered default for showing line numbers of matches
 * @throws WshError invalid_request: an invalid pattern, context without a pattern, a range that ends before it begins
 */
export async function outputQuery(filter: OutputFilter, numbered: boolean): Promise<OutputQuery> {
  const { grep, context, head = null, tail = null, range } = filter;
  if (context !== undefined && grep === undefined) {
    throw new WshError("invalid_request", "'context' needs 'grep'");
  }
  const pattern = grep === undefined ? null : await linePattern(grep);
  return {
    lines: range === undefined ? null : lineRange(range),
    test: pattern?.test ?? null,
    start: pattern?.start ?? null,
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
  throw new WshError("invalid_request", `invalid range '${text}': lines are numbered from 1, as in 20-80`);
}

export interface StepFilter {
  /** Null: the whole output. */
  readonly query: OutputQuery | null;
  readonly mode: "all" | "on_failure" | "none";
}

/** Fields of exec, for all steps or for one. */
interface StepFilterFields extends Omit<OutputFilter, "range" | "line_numbers"> {
  readonly output?: StepFilter["mode"] | undefined;
}

/**
 * The filters of an exec's steps: a step's own, otherwise the common one. Call before anything runs.
 * @throws WshError invalid_request
 */
export function stepFilters(all: StepFilterFields, steps: readonly StepFilterFields[]): Promise<StepFilter[]> {
  return Promise.all(steps.map((step) => stepFilter(filterOf(all, step))));
}

/** The effective fields for a step. */
export function filterOf(all: StepFilterFields, step: StepFilterFields): StepFilterFields {
  const { grep = all.grep, head = all.head, tail = all.tail, output = all.output } = step;
  // The common context belongs to the common pattern.
  const context = step.context ?? (step.grep === undefined ? all.context : undefined);
  return { grep, context, head, tail, output };
}

async function stepFilter(fields: StepFilterFields): Promise<StepFilter> {
  const { grep, head, tail, output = "all" } = fields;
  const query = await outputQuery(fields, true);
  return { query: grep === undefined && head === undefined && tail === undefined ? null : query, mode: output };
}
