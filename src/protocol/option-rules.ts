/**
 * Rules about options that exclude or require others. An operation has its rules in its definition, and a subcommand
 * checks the same rules, or its own, with its names for the options: the text of a refusal is the same in all
 * interfaces.
 */
import { WshError } from "./errors.ts";

export type OptionRule<O extends string = string> =
  | {
      /** An option that, if given, requires one of `needs`, and excludes `excludes`. */
      readonly option: O;
      readonly needs?: O | readonly O[];
      readonly excludes?: readonly O[];
      readonly hint?: string;
    }
  /** Exactly one of two options is required. */
  | { readonly oneOf: readonly [O, O] };

type ExecOption =
  | ("session" | "create" | "clear_line" | "typed" | "integrate")
  | ("background" | "until" | "steps" | "sequence" | "parallel" | "pipeline")
  | ("stdin" | "show" | "beside" | "keep");

const JOIN = "Join the commands with ';' or '&&'.";

/**
 * `session`: the command runs at a prompt; `steps`: there are several commands; `sequence`: they run one after the
 * other.
 */
export const execRules: readonly OptionRule<ExecOption>[] = [
  { option: "background", excludes: ["steps"], hint: JOIN },
  { option: "until", excludes: ["steps"], hint: JOIN },
  { option: "pipeline", excludes: ["background", "until", "show", "create", "typed", "integrate", "clear_line"] },
  { option: "show", excludes: ["create", "typed", "integrate", "clear_line", "stdin"] },
  { option: "show", excludes: ["sequence"], hint: "Set mode to parallel, or omit show." },
  { option: "session", excludes: ["stdin", "parallel", "pipeline", "show", "beside"], hint: "Omit the session." },
  { option: "keep", needs: "show" },
  { option: "beside", needs: "show" },
  { option: "clear_line", needs: "session" },
  { option: "create", needs: "session" },
  { option: "typed", needs: "session" },
  { option: "integrate", needs: "session" },
  { option: "typed", excludes: ["integrate"] },
  { option: "typed", excludes: ["background", "until"], hint: "A typed command has no id to wait for." },
];

/** Rules of output.get. */
export const outputRules: readonly OptionRule<"raw" | "range" | "command_id">[] = [
  { option: "raw", needs: "command_id" },
  { option: "range", needs: "command_id" },
];
/** Rules of pane.resize. */
export const resizeRules: readonly OptionRule<"direction" | "rows" | "cols" | "rows_percent" | "cols_percent">[] = [
  { option: "direction", excludes: ["rows", "cols", "rows_percent", "cols_percent"] },
  { option: "rows", excludes: ["rows_percent"] },
  { option: "cols", excludes: ["cols_percent"] },
];
/** Rules of pane.split and pane.move: a size, and the rectangle of a floating pane. */
export const placeRules: readonly OptionRule<"cells" | "percent" | "float" | "x" | "y" | "width" | "height">[] = [
  { option: "cells", excludes: ["percent"] },
  ...(["x", "y", "width", "height"] as const).map((option) => ({ option, needs: "float" }) as const),
];

/** Rules of checkpoint.forget. */
export const forgetRules: readonly OptionRule<"session" | "all">[] = [{ oneOf: ["session", "all"] }];
/** Rules of checkpoint.restore. */
export const restoreRules: readonly OptionRule<"session" | "all" | "as" | "label">[] = [
  ...forgetRules,
  { option: "all", excludes: ["as", "label"] },
];

type Given<O extends string> = Readonly<Partial<Record<O, unknown>>>;

/** @throws WshError invalid_request for the first broken rule */
export function requireCombinable<O extends string>(rules: readonly OptionRule<O>[], given: Given<O>): void {
  const fault = ruleFault(rules, given);
  if (fault !== null) throw new WshError("invalid_request", fault.message, { hint: fault.hint });
}

/**
 * The first broken rule; null: there is none.
 * @param given options with their values; undefined, null and false count as absent
 */
export function ruleFault<O extends string>(
  rules: readonly OptionRule<O>[],
  given: Given<O>,
  nameOf = (option: O): string => `'${option}'`,
): { readonly message: string; readonly hint?: string } | null {
  const isGiven = (option: O): boolean => given[option] != null && given[option] !== false;
  for (const rule of rules) {
    if ("oneOf" in rule) {
      const [one, other] = rule.oneOf;
      if (isGiven(one) !== isGiven(other)) continue;
      const [first, second] = [one, other].map(nameOf);
      return { message: isGiven(one) ? `${first} cannot be used with ${second}` : `${first} or ${second} is needed` };
    }
    const { option, needs = [], excludes = [], ...hint } = rule;
    if (!isGiven(option)) continue;
    const other = excludes.find(isGiven);
    if (other !== undefined) return { message: `${nameOf(option)} cannot be used with ${nameOf(other)}`, ...hint };
    const needed = [needs].flat() as readonly O[];
    if (needed.length === 0 || needed.some(isGiven)) continue;
    return { message: `${nameOf(option)} needs ${needed.map(nameOf).join(" or ")}`, ...hint };
  }
  return null;
}
