/** Operations on commands: `src/pane` decides, and these handlers convert its answers to the wire's form. */

import type { HandlerContext } from "../../endpoint/operations/context.ts";
import type { OperationOutput, ParsedInput } from "../../operations/table.ts";
import { stillRunning } from "../../pane/commands/step-results.ts";
import { awaitDrained } from "../../pane/output/drained.ts";
import type { Pane } from "../../pane/pane.ts";
import { cutOutput, cutToEnd } from "../../pane/text/cut-output.ts";
import { unsavedSince } from "../../pane/text/own-cursor.ts";
import type { ProcessFacts } from "../../platform/foreground.ts";
import {
  type CommandRecord,
  DEFAULT_OUTPUT_LIMIT,
  isPartial,
  READY_OUTPUT_LIMIT,
  type StepResult,
  stepsOf,
} from "../../protocol/commands.ts";
import { type ConditionInput, conditionsFor, splitConditions } from "../../protocol/conditions.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { stepFilters } from "../../protocol/output-filter.ts";
import { agentOfCaller, ownerOf } from "../../protocol/owner.ts";
import { requireInTime } from "../../protocol/requests.ts";
import { waitForAnswer } from "../../session/questions/wait-answer.ts";
import { receiptKey, receiptOf, witnessOf } from "../receipts.ts";
import type { PaneHandlers } from "./context.ts";
import { decisionOf } from "./decision.ts";
import { offerLine } from "./offer.ts";
import { commandOutput, getOutput } from "./output-page.ts";
import { run } from "./run.ts";
import { disorderOf } from "./screen.ts";
import { requireSameContext } from "./session-context.ts";
import { stepOutput, withPortHolder } from "./step-output.ts";
import { searchStored } from "./wait-stored.ts";

/** Time after a key during which a person counts as typing, in ms. */
const TYPING_WINDOW_MS = 3_000;
/** Bytes of a command's output returned with its end. */
const SHORT_OUTPUT_BYTES = 1_024;
/** Time for a program to end after it was interrupted or killed at its deadline, in ms. */
const MAX_STOP_MS = 2_000;

export const commandHandlers: Pick<
  PaneHandlers,
  | "run"
  | "prompt.offer"
  | "exec"
  | "process.wait"
  | "commands.result"
  | "commands.stop"
  | "wait"
  | "output.get"
  | "status.get"
  | "commands.list"
  | "commands.get"
  | "commands.output"
  | "commands.receipt"
  | "receipt.key"
> = {
  run: reportingEnd(run),
  "prompt.offer": offerLine,
  exec: reportingEnd(exec),
  "process.wait": reportingEnd(processWait),
  wait: reportingEnd(wait),
  "commands.result": reportingEnd(commandResult),
  "commands.stop": stopCommand,
  "output.get": getOutput,
  "status.get": getStatus,
  "commands.list": (pane, { limit }) => {
    const records = pane.commands.log.list();
    return records.slice(Math.max(0, records.length - limit));
  },
  "commands.get": (pane, { id }) => pane.commands.log.require(id),
  "commands.receipt": (pane, { id }, { session }) => receiptOf(pane, id, session),
  "receipt.key": () => receiptKey(),
  "commands.output": (pane, input, { signal }) => commandOutput(pane, input.id, input, signal),
};

async function wait(pane: Pane, input: ParsedInput<"wait">, context: HandlerContext): Promise<OperationOutput<"wait">> {
  const { program, askIds } = splitConditions(input.any_of);
  if (askIds.length === 0) return waitForProgram(pane, program, input, context);
  const { questions, session } = context;
  const warnings: string[] = [];
  const answer = await waitForAnswer(questions, {
    ids: askIds,
    maxWaitMs: input.max_wait_ms,
    signal: context.signal,
    session,
    others:
      program.length === 0
        ? null
        : async (signal) => {
            const outcome = await waitForProgram(pane, program, input, { ...context, session, signal });
            if (outcome.decided_by !== "timeout" && outcome.decided_by !== "cancelled") return outcome;
            warnings.push(...(outcome.warnings ?? []));
            return null;
          },
  });
  if (answer !== null && "other" in answer) return answer.other;
  const doubts = warnings.length === 0 ? {} : { warnings };
  const decision =
    answer === null ? { decided_by: "timeout" as const, ...doubts } : { decided_by: "answer" as const, ...answer };
  return { session, ...decision, state: pane.state(), output_cursor: pane.giveCursor() };
}

async function waitForProgram(
  pane: Pane,
  program: readonly ConditionInput[],
  input: ParsedInput<"wait">,
  context: HandlerContext,
): Promise<OperationOutput<"wait">> {
  const { since: givenSince } = input;
  const since =
    typeof givenSince === "object"
      ? (givenSince[context.session] ?? givenSince[pane.id] ?? givenSince[context.sessionId])
      : givenSince;
  const unsaved = unsavedSince(pane.text, since);
  const anyOf = program.map(conditionsFor(context.leasedPort));
  const { signal } = context;
  const hasDroppedLines = since !== undefined && droppedSince(pane, since, 0) > 0;
  const storedSearch = hasDroppedLines
    ? await searchStored(pane, anyOf, since, signal)
    : { outcome: null, searchedLines: 0 };
  const maxWaitMs = input.max_wait_ms;
  const outcome =
    storedSearch.outcome ??
    (await pane.commands.wait({ anyOf, commandId: input.command_id, since, maxWaitMs, signal }));
  const { command } = outcome;
  const unsearchedLines = outcome.decidedBy === "timeout" ? droppedSince(pane, since, storedSearch.searchedLines) : 0;
  const count = unsearchedLines === Number.POSITIVE_INFINITY ? "some" : unsearchedLines;
  const warning = `${count} lines since the cursor have left the history and were not searched: grep a command's output by its id`;
  const warnings = [...(outcome.warnings ?? []), ...unsaved, ...(unsearchedLines > 0 ? [warning] : [])];
  // A cursor at the end of the output is returned with its screen.
  if (outcome.match === undefined && outcome.outputCursor === pane.outputCursor)
    await pane.terminal.whenAtRest(() => pane.giveCursor());
  return {
    session: context.session,
    ...decisionOf(outcome),
    state: outcome.state?.state ?? pane.state(),
    output_cursor: outcome.outputCursor,
    ...(command === undefined ? {} : { command, ...shortOutput(pane, command) }),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}

/** Number of lines that have left the history, except those searched; Infinity: they cannot be counted. */
function droppedSince({ text, terminal }: Pane, since: number | undefined, searchedLines: number): number {
  const line = since === undefined ? terminal.firstLine : text.lineAt(since);
  return line === null ? Number.POSITIVE_INFINITY : Math.max(0, terminal.firstLine - line - searchedLines);
}

/** A small part of a command's output: the rest can be read by its id. */
function shortOutput(pane: Pane, { id }: CommandRecord): { output?: string; omitted_lines?: number } {
  const output = pane.commands.log.output(id);
  if (output === null) return {};
  const { text, omittedLines } = cutOutput(output, SHORT_OUTPUT_BYTES);
  return { output: text, ...(omittedLines === 0 ? {} : { omitted_lines: omittedLines }) };
}

async function exec(pane: Pane, input: ParsedInput<"exec">, context: HandlerContext): Promise<OperationOutput<"exec">> {
  const requestedSteps = stepsOf(input);
  const filters = await stepFilters(input, requestedSteps);
  const { signal } = context;
  requireSameContext(pane, context.session, input);
  if (input.port !== undefined && context.leasedPort === null) {
    throw new WshError("invalid_request", `'port' is for a new session: '${context.session}' exists, without one`);
  }
  const witness = witnessOf(pane);
  const outcome = await pane.commands.exec({
    steps: requestedSteps,
    stopOnError: input.stop_on_error,
    maxWaitMs: input.max_wait_ms,
    askingMs: input.asking_ms,
    onTimeout: input.on_timeout,
    background: input.background || input.until !== undefined,
    until: input.until?.map(conditionsFor(context.leasedPort)),
    typed: input.typed,
    integrate: input.integrate,
    clearLine: input.clear_line,
    outputLimit: input.output_limit ?? DEFAULT_OUTPUT_LIMIT,
    readyLimit: input.output_limit ?? READY_OUTPUT_LIMIT,
    byProgram: context.caller.kind !== "cli" || agentOfCaller(context.caller) !== null,
    isHidden: pane.commands.hidesFromHistory(context.caller),
    requireInTime: () => requireInTime(context.deadline),
    beforeTyping: () => witness?.beforeTyping(ownerOf(context.caller)) ?? null,
    signal,
  });
  await witness?.whenSettled();
  const { warnings, decision } = outcome;
  const steps = await Promise.all(
    outcome.steps.map(async (step, n) => {
      const filter = filters[n];
      const limit = input.output_limit ?? DEFAULT_OUTPUT_LIMIT;
      const stepResult = await withPortHolder(pane, step, context);
      return filter === undefined ? stepResult : stepOutput(pane, stepResult, filter, limit, signal);
    }),
  );
  // A step's own warnings are among the outcome's, except those that were added here.
  const allWarnings = [...new Set([...warnings, ...steps.flatMap((step) => step.warnings ?? [])])];
  const warningFields = allWarnings.length === 0 ? {} : { warnings: allWarnings };
  if (input.steps !== undefined) {
    return { session: context.session, output_cursor: pane.giveCursor(), steps: [...steps], ...warningFields };
  }
  const [onlyStep] = steps;
  if (onlyStep === undefined) throw new WshError("internal_error", "exec did not run any steps");
  return {
    ...(decision === null ? {} : decisionOf(decision)),
    ...onlyStep,
    ...warningFields,
    session: context.session,
  };
}

/** The pane's own program as a command, from its start to its end: all its output counts. */
async function processWait(
  pane: Pane,
  input: ParsedInput<"process.wait">,
  context: HandlerContext,
): Promise<OperationOutput<"process.wait">> {
  const { signal } = context;
  const startedCommand = pane.commands.log.last();
  const { until } = input;
  await stepFilters(input, [{}]);
  const askingAborter = new AbortController();
  const leavesAsking = input.asking_ms !== undefined && input.on_timeout === "leave" && until === undefined;
  using _asking = leavesAsking ? pane.commands.onAsking(input.asking_ms ?? 0, () => askingAborter.abort()) : null;
  const waitOutcome = await pane.commands.wait({
    anyOf: [
      ...(until ?? []).map(conditionsFor(context.leasedPort)),
      { type: until === undefined ? "exited" : "command_finished" },
    ],
    commandId: until === undefined ? undefined : startedCommand?.id,
    since: until === undefined ? undefined : startedCommand?.output_start,
    maxWaitMs: input.max_wait_ms,
    signal: AbortSignal.any([signal, askingAborter.signal]),
  });
  const isLeftAsking = waitOutcome.decidedBy === "cancelled" && askingAborter.signal.aborted && !signal.aborted;
  const outcome = isLeftAsking ? { ...waitOutcome, decidedBy: "timeout" as const } : waitOutcome;
  const hadEnded = pane.exit !== null;
  // A background call has no waiting caller, however soon the program ends.
  if (input.max_wait_ms === 0 || until !== undefined) pane.lifetime.noteAbandoned();
  if (!hadEnded && (outcome.decidedBy === "cancelled" || input.on_timeout === "leave")) pane.lifetime.noteAbandoned();
  if (outcome.decidedBy === "cancelled")
    throw new WshError("cancelled", "the wait was cancelled; the program keeps running");
  const how = hadEnded || outcome.decidedBy !== "timeout" || input.on_timeout === "leave" ? null : input.on_timeout;
  if (how !== null) await stopProgram(pane, how);
  if (until !== undefined && pane.exit === null) await awaitDrained(() => pane.outputCursor);
  const record = pane.commands.log.last();
  const retained = (record === null ? null : pane.commands.log.output(record.id)) ?? { head: [], tail: [], omitted: 0 };
  const { exit } = pane;
  const { output_limit: limit = DEFAULT_OUTPUT_LIMIT } = input;
  const keepsRunning = until !== undefined && exit === null;
  const cut = keepsRunning ? cutToEnd(retained, input.output_limit ?? READY_OUTPUT_LIMIT) : cutOutput(retained, limit);
  const stopped = input.on_timeout === "interrupt" ? "interrupted" : "killed";
  const warnings = [...(outcome.warnings ?? []), ...(record?.warnings ?? [])];
  const timedOut = exit === null && outcome.decidedBy === "timeout" && input.max_wait_ms > 0;
  const step: StepResult = {
    state: exit === null ? "running" : how === null ? "finished" : stopped,
    exit_code: exit?.code ?? null,
    signal: exit?.signal ?? null,
    output: cut.text,
    omitted_lines: cut.omittedLines,
    duration_ms: record?.duration_ms ?? null,
    cwd: pane.startCwd,
    command_id: record?.id ?? null,
    output_cursor: pane.outputCursor,
    ...(warnings.length === 0 ? {} : { warnings }),
  };
  const fullStep = timedOut ? stillRunning(step, pane.commands.state(), input.on_timeout) : step;
  return {
    ...(until === undefined ? {} : decisionOf(outcome)),
    ...withReadableUntil(pane, await withRequestedOutput(pane, fullStep, input, context), input.extend),
  };
}

/** The result of one command in exec's form, for a caller that has followed it itself. */
async function commandResult(
  pane: Pane,
  input: ParsedInput<"commands.result">,
  context: HandlerContext,
): Promise<OperationOutput<"commands.result">> {
  const { id, stopped, output_limit: limit = DEFAULT_OUTPUT_LIMIT } = input;
  const record = pane.commands.log.require(id);
  const commandStep = await pane.commands.result(record, stopped ?? "finished", limit);
  const onTimeout = stopped === undefined ? "leave" : stopped === "killed" ? "kill" : "interrupt";
  const step = record.state === "running" ? stillRunning(commandStep, pane.commands.state(), onTimeout) : commandStep;
  const fullStep = pane.runsOneCommand ? { ...step, cwd: pane.startCwd } : step;
  return {
    ...withReadableUntil(pane, await withRequestedOutput(pane, fullStep, input, context), true),
    session: context.session,
  };
}

/** The step with the requested part of its output. */
async function withRequestedOutput(
  pane: Pane,
  result: StepResult,
  input: ParsedInput<"commands.result" | "process.wait">,
  context: HandlerContext,
): Promise<StepResult> {
  const [filter] = await stepFilters(input, [{}]);
  const withHolder = await withPortHolder(pane, result, context);
  if (filter === undefined) return withHolder;
  return stepOutput(pane, withHolder, filter, input.output_limit ?? DEFAULT_OUTPUT_LIMIT, context.signal);
}

/**
 * States until when an ended program's separate session can be read, and extends that time if the result is partial.
 */
function withReadableUntil(pane: Pane, result: StepResult, extend: boolean): StepResult {
  if (pane.exit !== null && extend && isPartial(result)) pane.lifetime.noteAbandoned();
  const { readableUntil } = pane.lifetime;
  return readableUntil === null ? result : { ...result, readable_until: new Date(readableUntil).toISOString() };
}

/** Signals the pane's own program, and waits up to MAX_STOP_MS for its end. */
async function stopProgram(pane: Pane, how: "interrupt" | "kill"): Promise<void> {
  pane.signal(how === "interrupt" ? "SIGINT" : "SIGKILL", "foreground");
  const { decidedBy } = await pane.commands.wait({ anyOf: [{ type: "exited" }], maxWaitMs: MAX_STOP_MS });
  if (decidedBy === "timeout") pane.lifetime.noteAbandoned();
}

async function stopCommand(
  pane: Pane,
  { id, how }: ParsedInput<"commands.stop">,
): Promise<OperationOutput<"commands.stop">> {
  const { commands } = pane;
  const record = commands.log.require(id);
  if (record.state !== "running") return record;
  let by: typeof how | null = how;
  if (pane.runsOneCommand) await stopProgram(pane, how);
  else {
    const outcome = await commands.stop(id, how);
    if (outcome !== null) by = outcome.by;
  }
  const stopped = by === null ? undefined : by === "kill" ? ("killed" as const) : ("interrupted" as const);
  return { ...commands.log.require(id), ...defined({ stopped }) };
}

/** Adds the program's end to the answer, if it has ended. */
function reportingEnd<I, O>(
  handler: (pane: Pane, input: I, context: HandlerContext) => Promise<O>,
): (pane: Pane, input: I, context: HandlerContext) => Promise<O> {
  return (pane, input, context) => handler(pane, input, context).finally(() => pane.lifetime.noteEndReported());
}

function getStatus(pane: Pane): OperationOutput<"status.get"> {
  const { terminal } = pane;
  const programState = pane.commands.state();
  const { modes } = terminal;
  return {
    alive: pane.exit === null,
    state: programState.state,
    why: programState.why,
    decided_from: programState.decidedFrom,
    relay: programState.relay !== null,
    foreground: foregroundOf(programState.foreground),
    cwd: pane.commands.cwd() ?? terminal.cwd ?? pane.startCwd,
    title: terminal.title,
    idle_ms: pane.activity.idleMs(),
    last_command: pane.commands.log.last(),
    human_typing: pane.writer.typedWithin(TYPING_WINDOW_MS),
    modes: {
      alternate_screen: terminal.alternate,
      bracketed_paste: modes.bracketedPaste,
      application_cursor: modes.applicationCursor,
      mouse: modes.mouseTracking !== "none",
      mouse_sgr: modes.mouseEncoding === "sgr",
    },
    ...disorderOf(pane),
    shell_integration: pane.integration(),
    output_cursor: pane.giveCursor(),
    exit_code: pane.exit?.code ?? null,
    signal: pane.exit?.signal ?? null,
  };
}

function foregroundOf(facts: ProcessFacts | null): OperationOutput<"status.get">["foreground"] {
  return facts === null ? null : { pid: facts.pid, name: facts.name, command_line: facts.args.join(" ") };
}
