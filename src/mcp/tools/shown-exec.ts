/**
 * Results of commands in the form for a model: the decision first, without empty fields (no signal, nothing omitted, no
 * duration of a running command). An unknown exit code remains: null means unknown. Pure.
 */
import type { OperationOutput } from "../../operations/table.ts";
import type { Step, StepResult } from "../../protocol/commands.ts";
import { defined } from "../../protocol/defined.ts";

/** Characters of a command that replaces its step's name. */
const NAME_LENGTH = 40;

type Result = OperationOutput<"exec"> | OperationOutput<"exec.fresh">;

/**
 * The result of sequential commands.
 *
 * @param cwd the caller's directory, which is omitted
 */
export function shownExec(result: Result, cwd?: string): object {
  const { steps } = result;
  if (steps === undefined) return withoutDefaults(result, cwd);
  return { ...result, steps: steps.map((step) => shownStep(step, cwd)) };
}

/** The result of parallel commands: each unremarkable one is a line. */
export function shownParallel(result: Result, given: readonly Step[] | undefined, cwd?: string): object {
  const { steps } = result;
  if (steps === undefined) return withoutDefaults(result, cwd);
  return { ...result, steps: steps.map((step, n) => compactStep({ name: nameOf(given?.[n]), ...step }, cwd)) };
}

/** Sessions are numbered in order of creation, so a step without a name is identified by its command. */
function nameOf(step: Step | undefined): string | undefined {
  return step === undefined || step.command.length <= NAME_LENGTH
    ? step?.command
    : `${step.command.slice(0, NAME_LENGTH)}…`;
}

function shownStep({ name, session, ...step }: StepResult, cwd: string | undefined): object {
  if (step.state !== "skipped") return { ...defined({ name, session }), ...withoutDefaults(step, cwd) };
  const { state, exit_code, warnings } = step;
  return { ...defined({ name }), state, exit_code, ...defined({ warnings }) };
}

/** Describes the output of a step: where it is, its duration and its size. One with a doubt is shown whole. */
function compactStep(step: StepResult, cwd: string | undefined): object {
  const hasDoubt = step.verified === false || step.warnings !== undefined || step.incomplete === true;
  if (step.state !== "finished" || step.exit_code !== 0 || step.output !== "" || hasDoubt) return shownStep(step, cwd);
  const { name, session, pane, state, exit_code, duration_ms, command_id, matches, total_lines, readable_until } = step;
  return {
    ...defined({ name, session, pane }),
    state,
    exit_code,
    duration_ms,
    command_id,
    ...defined({ matches, total_lines, readable_until }),
  };
}

const DEFAULT_VALUES: Readonly<Record<string, unknown>> = {
  signal: null,
  omitted_lines: 0,
  duration_ms: null,
  cwd: null,
  command_id: null,
};

function withoutDefaults(whole: Result | StepResult, cwd: string | undefined): object {
  const { verified, ...rest } = whole;
  // A typed command is never verified, and is marked as typed.
  const doubt = verified === false && whole.typed !== true ? { verified } : {};
  const result = { ...rest, ...doubt };
  return Object.fromEntries(
    Object.entries(result).filter(
      ([key, value]) => !(key in DEFAULT_VALUES && DEFAULT_VALUES[key] === value) && !(key === "cwd" && value === cwd),
    ),
  );
}
