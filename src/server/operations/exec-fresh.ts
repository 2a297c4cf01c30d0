/**
 * exec without a session: each command gets its own session, so its status is the process's and no shell prompt has to
 * be parsed. The sessions stay readable for a while (tag `exec`).
 */
import type { CallContext } from "../../operations/call.ts";
import type { OperationOutput, ParsedInput } from "../../operations/table.ts";
import { MAX_PARALLEL, type Step, stepsOf } from "../../protocol/commands.ts";
import { WshError } from "../../protocol/errors.ts";
import { filterOf, stepFilters } from "../../protocol/output-filter.ts";
import type { SessionInfo } from "../../protocol/session.ts";
import type { Hosts } from "../hosts/session-hosts.ts";

/** Sessions of exec are as tall as a screen and wide enough for build output; both only affect wrapping. */
const EXEC_ROWS = 24;
const EXEC_COLS = 80;
/** Id of the one command of such a session: its program. */
const ONLY_COMMAND = 1;

type Input = ParsedInput<"exec.fresh">;
type Output = OperationOutput<"exec.fresh">;
type Result = OperationOutput<"process.wait"> & { readonly session: string };
export type CreateSession = (input: ParsedInput<"sessions.create">, context: CallContext) => Promise<SessionInfo>;

export async function execFresh(
  hosts: Hosts,
  create: CreateSession,
  input: Input,
  context: CallContext,
): Promise<Output> {
  const steps = atMostParallel(stepsOf(input), input.mode);
  if (input.until !== undefined && steps.length > 1) {
    throw new WshError("invalid_request", "'until' takes one command; join several with ';' or '&&'");
  }
  await stepFilters(input, steps);
  const deadline = performance.now() + input.max_wait_ms;
  const runStep = (step: Step): Promise<Result> =>
    runInOwnSession(hosts, create, input, step, Math.max(0, deadline - performance.now()), context);
  const results =
    input.mode === "parallel" ? await Promise.all(steps.map(runStep)) : await inSequence(steps, input, runStep);
  const last = results.at(-1);
  if (last === undefined) throw new WshError("internal_error", "exec ran no step");
  if (input.steps !== undefined) {
    // Of several at once, no session and no cursor is that of all.
    const { session, output_cursor } = last;
    return input.mode === "parallel" ? { steps: results } : { session, output_cursor, steps: results };
  }
  const { name, ...single } = last;
  return single;
}

/** @throws WshError invalid_request when too many would run at once */
function atMostParallel(steps: readonly Step[], mode: Input["mode"]): readonly Step[] {
  if (mode === "parallel" && steps.length > MAX_PARALLEL) {
    throw new WshError(
      "invalid_request",
      `'steps': ${steps.length} commands at once are over the limit of ${MAX_PARALLEL}`,
    );
  }
  return steps;
}

async function inSequence(
  steps: readonly Step[],
  input: Input,
  run: (step: Step) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let stopped = false;
  for (const step of steps) {
    const before = results.at(-1);
    if (stopped && before !== undefined) {
      results.push(skipped(step, before));
      continue;
    }
    const result = await run(step);
    results.push(result);
    const failed = result.state !== "finished" || result.exit_code !== 0;
    stopped = failed && (input.stop_on_error || result.state === "running");
  }
  return results;
}

function skipped(step: Step, before: Result): Result {
  return {
    ...(step.name === undefined ? {} : { name: step.name }),
    session: before.session,
    state: "skipped",
    exit_code: null,
    signal: null,
    output: "",
    omitted_lines: 0,
    duration_ms: null,
    cwd: null,
    command_id: null,
    output_cursor: before.output_cursor,
  };
}

async function runInOwnSession(
  hosts: Hosts,
  create: CreateSession,
  input: Input,
  step: Step,
  waitMs: number,
  context: CallContext,
): Promise<Result> {
  const info = await create(
    {
      name: null,
      command: step.command,
      rows: EXEC_ROWS,
      cols: EXEC_COLS,
      cwd: input.cwd ?? null,
      env: input.env ?? null,
      tags: ["exec"],
      shell: null,
      if_exists: "error",
      name_prefix: "exec-",
      ...(input.stdin === undefined ? {} : { stdin: input.stdin }),
    },
    context,
  );
  const host = await hosts.find(info.id);
  const { access, caller, signal } = context;
  const leaves = input.background && input.until === undefined;
  const wait = {
    max_wait_ms: Math.round(leaves ? 0 : waitMs),
    ...(input.asking_ms === undefined || input.background ? {} : { asking_ms: input.asking_ms }),
    on_timeout: leaves ? "leave" : input.on_timeout,
    ...(input.output_limit === undefined ? {} : { output_limit: input.output_limit }),
    ...(input.until === undefined ? {} : { until: input.until }),
    ...filterOf(input, step),
  };
  const waited = host.request("process.wait", wait, { access, caller, signal });
  const result = (await waited.catch(rethrowStarted(info.name))) as OperationOutput<"process.wait">;
  return { ...result, session: info.name, ...(step.name === undefined ? {} : { name: step.name }) };
}

/** A failure of the wait says where the command runs, and that it was started. */
function rethrowStarted(session: string): (thrown: unknown) => never {
  return (thrown) => {
    const error = WshError.from(thrown);
    if (error.code !== "host_unavailable") throw error;
    throw new WshError(error.code, `the command was started in session '${session}', which does not answer`, {
      session,
      command_id: ONLY_COMMAND,
      hint: "Do not send it again: it may run on. {wait} for command_finished there.",
    });
  };
}
