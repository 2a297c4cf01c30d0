/**
 * exec without a session: each command gets its own session, so its status is the process's and no shell prompt has to
 * be parsed. The sessions stay readable for a while (tag `exec`).
 */

import { inPipeline, inSequence, type StepFiles } from "../../../launch/pipeline.ts";
import type { CallContext } from "../../../operations/call.ts";
import type { OperationOutput, ParsedInput } from "../../../operations/table.ts";
import { MAX_PARALLEL, NO_PAGERS, type Step, stepsOf } from "../../../protocol/commands.ts";
import { defined } from "../../../protocol/defined.ts";
import { WshError } from "../../../protocol/errors.ts";
import { execRules, requireCombinable } from "../../../protocol/option-rules.ts";
import { stepFilters } from "../../../protocol/output-filter.ts";
import { agentOfCaller } from "../../../protocol/owner.ts";
import type { CreatedSession } from "../../../protocol/session.ts";
import { skippedStep } from "../../../protocol/steps.ts";
import type { SessionProxies } from "../../sessions/session-proxies.ts";
import { awaitStep, type FreshInput, type ProcessResult } from "./run-step.ts";
import { paneBesideWhichToShow, runShown } from "./shown.ts";
import { requireNotBegun, stepRequest } from "./step-requests.ts";

/** Sessions of exec are as tall as a screen and wide enough for build output; both affect only wrapping. */
const EXEC_ROWS = 24;
const EXEC_COLS = 80;

type Output = OperationOutput<"exec.fresh">;
type CreateSession = (
  input: ParsedInput<"sessions.create">,
  context: CallContext,
  files?: StepFiles,
) => Promise<CreatedSession>;

export async function execFresh(
  proxies: SessionProxies,
  create: CreateSession,
  input: FreshInput,
  context: CallContext,
): Promise<Output> {
  const steps = atMostParallel(stepsOf(input), input.mode);
  const { mode, until, show, beside } = input;
  const isMany = steps.length > 1;
  requireCombinable(execRules, {
    until,
    show,
    beside,
    steps: isMany,
    sequence: isMany && mode === "sequence",
    pipeline: mode === "pipeline",
    background: mode !== "parallel" && input.background,
    keep: input.keep !== "none",
  });
  await stepFilters(input, steps);
  const deadline = performance.now() + input.max_wait_ms;
  const remainingMs = (): number => Math.max(0, deadline - performance.now());
  /** Failures of steps; results of earlier and parallel steps are returned too. */
  const failures = new Map<ProcessResult, unknown>();
  const runStep = async (step: Step, index: number, files?: StepFiles): Promise<ProcessResult> => {
    const request = { ...context, ...stepRequest(context, index) };
    try {
      // Nothing begins for a caller that has cancelled, or whose token has ended.
      if (context.signal.aborted) throw new WshError("cancelled", "the caller is gone");
      return await runInOwnSession(proxies, create, input, step, remainingMs(), request, files);
    } catch (thrown) {
      const { code, message } = WshError.from(thrown);
      const isLost = lostCodes.has(code);
      const result: ProcessResult = {
        ...skippedStep(step, 0),
        state: isLost ? "lost" : "skipped",
        warnings: [`${isLost ? "it may or may not have run" : "not run"}: ${message} (${code})`],
      };
      failures.set(result, thrown);
      return result;
    }
  };
  const shownBeside = input.show ? await paneBesideWhichToShow(proxies, input, context) : null;
  const results = await runAll();
  const [first] = results;
  const haveAllFailed = results.every((each) => failures.has(each) || each.state === "skipped");
  // Nothing ran, or the caller no longer waits.
  if (first !== undefined && failures.has(first) && (haveAllFailed || context.signal.aborted))
    throw failures.get(first);
  if (input.show && shownBeside === null) warn(results, "no terminal is attached: it ran without a visible pane");
  const last = results.at(-1);
  if (last === undefined) throw new WshError("internal_error", "exec did not run any steps");
  if (input.steps !== undefined) {
    // Parallel steps have no common session or cursor.
    const { session, output_cursor } = last;
    return input.mode === "parallel" ? { steps: results } : { session, output_cursor, steps: results };
  }
  const { name, ...single } = last;
  return single;

  async function runAll(): Promise<ProcessResult[]> {
    if (shownBeside !== null) return runShown(proxies, input, steps, shownBeside, remainingMs, context);
    if (input.mode === "parallel") return Promise.all(steps.map((step, index) => runStep(step, index)));
    const sequence = { run: runStep, skipped, stops: (result: ProcessResult) => endsSequence(result, input) };
    if (input.mode === "sequence") return inSequence(steps, sequence);
    await requireNotBegun(proxies.instance, context);
    return inPipeline(proxies.instance, steps, sequence);
  }
}

function warn(results: ProcessResult[], warning: string): void {
  const [first] = results;
  if (first !== undefined) results[0] = { ...first, warnings: [...(first.warnings ?? []), warning] };
}

/** @throws WshError invalid_request when too many would run at once */
function atMostParallel(steps: readonly Step[], mode: FreshInput["mode"]): readonly Step[] {
  if (mode === "parallel" && steps.length > MAX_PARALLEL) {
    throw new WshError(
      "invalid_request",
      `'steps': ${steps.length} parallel commands exceed the limit of ${MAX_PARALLEL}`,
    );
  }
  return steps;
}

/** Errors after which the command may have run. */
const lostCodes: ReadonlySet<string> = new Set(["session_unavailable", "session_crashed", "outcome_unknown"]);

/** At the deadline the sequence ends, however the step does: the next one would be stopped as it begins. */
function endsSequence({ state, exit_code }: ProcessResult, { stop_on_error }: FreshInput): boolean {
  const hasFailed = state !== "finished" || exit_code !== 0;
  return hasFailed && (stop_on_error || state === "running" || state === "interrupted" || state === "killed");
}

function skipped(step: Step, before: ProcessResult): ProcessResult {
  const { output_cursor, session } = before;
  return { ...skippedStep(step, output_cursor), ...defined({ session }) };
}

function isBindable({ process, caller }: CallContext): boolean {
  return process !== undefined || caller.connected;
}

async function runInOwnSession(
  proxies: SessionProxies,
  create: CreateSession,
  input: FreshInput,
  step: Step,
  waitMs: number,
  context: CallContext,
  files: StepFiles = {},
): Promise<ProcessResult> {
  const { stdin_path, stdout_path } = files;
  const info = await create(
    {
      name: null,
      command: step.command,
      rows: EXEC_ROWS,
      cols: EXEC_COLS,
      cwd: input.cwd ?? null,
      env: { ...NO_PAGERS, ...input.env },
      tags: ["exec"],
      shell: null,
      if_exists: "error",
      name_prefix: "exec-",
      ...defined({ port: input.port }),
      // Processes that an agent's command leaves running end with the agent.
      ...(agentOfCaller(context.caller) !== null && isBindable(context) ? { owner_bound: true } : {}),
      ...(input.stdin === undefined || stdin_path !== undefined ? {} : { stdin: input.stdin }),
    },
    context,
    defined({ stdin_path, stdout_path }),
  );
  const result = await awaitStep(await proxies.find(info.id), input, step, waitMs, context, { session: info.name });
  const warnings = [...(info.warnings ?? []), ...(result.warnings ?? [])];
  return { ...result, ...defined({ free_port: info.port }), ...(warnings.length === 0 ? {} : { warnings }) };
}
