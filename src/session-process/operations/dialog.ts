/**
 * `run` with steps: types each as soon as its expected condition holds, and stops at the first that does not.
 * Everything is checked before anything is typed. The output is everything since the first step, including echoed
 * answers, except the command line that a first step types at the shell's prompt.
 */
import * as v from "valibot";
import type { ParsedInput } from "../../operations/table.ts";
import type { Pane } from "../../pane/pane.ts";
import { joinInput, type TypedInput } from "../../pane/submits.ts";
import { type Finder, regexFinder, textFinder } from "../../pane/waiting/pattern.ts";
import type { WaitOutcome } from "../../pane/waiting/waiters.ts";
import type { Caller } from "../../protocol/caller.ts";
import { type Condition, ConditionSchema, conditionsFor } from "../../protocol/conditions.ts";
import type { RunStep } from "../../protocol/dialog.ts";
import { WshError } from "../../protocol/errors.ts";
import { MAX_WAIT_MS } from "../../protocol/wait-times.ts";
import { decodeFor, typeInto } from "./typing.ts";

type Outcome = Awaited<ReturnType<Pane["commands"]["run"]>>;

/** How a dialog ended: the last step's run, or the step that failed. */
interface DialogEnd {
  readonly outcome: Outcome;
  /** How the wait for `until` ended; null: there was none. */
  readonly untilOutcome: WaitOutcome | null;
  readonly unmetStep: { readonly step: number; readonly why: string } | null;
}

interface DialogRunStep {
  readonly step: RunStep;
  readonly expected: Condition | null;
  /** For a text or pattern: searches text that is already on the screen. */
  readonly finder: Finder | null;
}

type ToCondition = ReturnType<typeof conditionsFor>;

interface DialogPort {
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly leasedPort: number | null;
  /** Called before the first byte is typed: throws if it is too late. */
  readonly requireInTime: () => void;
}

export async function runDialog(
  pane: Pane,
  input: ParsedInput<"run">,
  { caller, signal, leasedPort, requireInTime }: DialogPort,
): Promise<DialogEnd> {
  const toCondition = conditionsFor(leasedPort);
  const { terminal, commands } = pane;
  let hasBegun = false;
  const begin = (): void => {
    if (!hasBegun) requireInTime();
    hasBegun = true;
  };
  const steps = await checkSteps(pane, input, toCondition);
  const deadline = performance.now() + Math.min(MAX_WAIT_MS, input.max_wait_ms);
  const remainingMs = (): number => Math.max(0, Math.round(deadline - performance.now()));
  await commands.promptShown(signal);
  const startCursor = input.since ?? (await terminal.whenAtRest(() => pane.giveCursor()));
  const [first] = steps;
  const startsAtPrompt = input.since === undefined && commands.log.phase === "prompt" && first?.expected === null;
  const startingInput = startsAtPrompt ? joinInput(decodeStep(pane, first.step)) : undefined;
  const run = (bytes: TypedInput, maxWaitMs: number): Promise<Outcome> =>
    commands.run({
      input: bytes,
      timeoutMs: input.timeout_ms,
      maxWaitMs,
      outputLimit: input.output_limit,
      since: startCursor,
      startingInput,
      signal,
    });
  const noInput = { text: new Uint8Array(), enter: null };
  const awaitEnd = async (since: number | undefined): Promise<DialogEnd> => {
    const anyOf = [...(input.until ?? []).map(toCondition), ...END_CONDITIONS];
    const untilOutcome = await commands.wait({ anyOf, since: since ?? startCursor, maxWaitMs: remainingMs(), signal });
    if (untilOutcome.decidedBy === "cancelled") throw cancelledError();
    const outcome = await run(noInput, 0);
    const { decidedBy, command = null } = untilOutcome;
    return { outcome: { ...outcome, decidedBy, command: command ?? outcome.command }, untilOutcome, unmetStep: null };
  };
  let searchFrom = input.since;
  for (const [index, { step, expected, finder }] of steps.entries()) {
    if (expected !== null) {
      const isAlreadyShown =
        searchFrom === undefined && finder !== null && visibleText(pane).some((row) => finder(row, 0, row.length));
      const isMet =
        isAlreadyShown || (await awaitCondition(pane, expected, searchFrom ?? startCursor, remainingMs(), signal));
      if (!isMet) {
        const outcome = await run(noInput, 0);
        const why =
          pane.exit !== null ? "the program has ended" : remainingMs() > 0 ? "the command has ended" : "in time";
        return { outcome, untilOutcome: null, unmetStep: { step: index, why } };
      }
    }
    const next = steps[index + 1];
    const bytes = decodeStep(pane, step);
    const isTyped = joinInput(bytes).length > 0;
    if (isTyped) begin();
    await commands.hideFromHistory(caller, joinInput(bytes));
    if (next === undefined) {
      if (input.until !== undefined) {
        const since = isTyped ? await terminal.whenAtRest(() => pane.giveCursor()) : searchFrom;
        pane.requireRunning();
        await typeInto(pane, bytes);
        return awaitEnd(since);
      }
      if (isTyped || expected === null)
        return { outcome: await run(bytes, remainingMs()), untilOutcome: null, unmetStep: null };
      // The expected condition holds, and nothing was typed whose end could be awaited.
      return { outcome: { ...(await run(noInput, 0)), decidedBy: expected.type }, untilOutcome: null, unmetStep: null };
    }
    searchFrom = pane.outputCursor;
    if (next.expected !== null) {
      await terminal.whenAtRest(() => pane.giveCursor());
      searchFrom = pane.outputCursor;
      pane.requireRunning();
      await typeInto(pane, bytes);
      continue;
    }
    const outcome = await run(bytes, remainingMs());
    if (outcome.decidedBy === "timeout")
      return { outcome, untilOutcome: null, unmetStep: { step: index + 1, why: "in time" } };
  }
  // Nothing was typed.
  return awaitEnd(input.since);
}

function cancelledError(): WshError {
  return new WshError("cancelled", "the caller stopped waiting; the program keeps running");
}

/**
 * Every step with its keys, conditions and patterns checked. @throws WshError invalid_request, unknown_key,
 * payload_too_large
 */
async function checkSteps(
  pane: Pane,
  input: ParsedInput<"run">,
  toCondition: ToCondition,
): Promise<readonly DialogRunStep[]> {
  const first: RunStep = { input: input.input, keys: input.keys, submit: input.submit };
  const isTyped = input.input !== "" || input.keys !== undefined || input.submit;
  const requestedSteps = [...(isTyped ? [first] : []), ...(input.steps ?? [])];
  const steps: DialogRunStep[] = [];
  for (const [index, step] of requestedSteps.entries()) {
    const bytes = joinInput(decodeStep(pane, step));
    if (step.expect === undefined && bytes.length === 0) {
      throw new WshError("invalid_request", `step ${index} has nothing to expect or type`);
    }
    const expected = step.expect === undefined ? null : conditionOf(step.expect, toCondition);
    steps.push({ step, expected, finder: await finderOf(expected) });
  }
  return steps;
}

/** A text that is not the name of a condition stands for that text on the terminal. */
function conditionOf(expect: NonNullable<RunStep["expect"]>, toCondition: ToCondition): Condition {
  const parsed = v.safeParse(ConditionSchema, expect);
  return parsed.success ? toCondition(parsed.output) : { type: "text", text: String(expect) };
}

function finderOf(expected: Condition | null): Promise<Finder> | Finder | null {
  if (expected?.type === "text") return textFinder(expected.text);
  return expected?.type === "regex" ? regexFinder(expected.pattern, expected.flags) : null;
}

function decodeStep(pane: Pane, { input, keys, submit = false }: RunStep): TypedInput {
  return decodeFor(pane, { data: input, encoding: "utf8", keys, submit, paste: false });
}

/**
 * Text in which a first step may find its condition: the screen of a full-screen program, otherwise the cursor's line.
 */
function visibleText({ terminal }: Pane): readonly string[] {
  const { lines, cursor } = terminal.screen("plain");
  const rows = lines.map(String);
  return terminal.alternate ? rows : [(rows[cursor.row] ?? "").padEnd(cursor.col)];
}

/** Conditions that the end of the typed command causes instead of making them impossible. */
const CAUSED_BY_END: ReadonlySet<Condition["type"]> = new Set(["command_finished", "prompt", "idle", "exited"]);

/** After these conditions, nothing else can follow from the typed text. */
const END_CONDITIONS: readonly Condition[] = [{ type: "command_finished" }, { type: "exited" }];

/** Whether the condition is met before the deadline, the program's end, or the end of the typed command. */
async function awaitCondition(
  pane: Pane,
  expected: Condition,
  since: number,
  maxWaitMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const ends = CAUSED_BY_END.has(expected.type) ? [] : END_CONDITIONS;
  const outcome = await pane.commands.wait({ anyOf: [expected, ...ends], since, maxWaitMs, signal });
  if (outcome.decidedBy === "cancelled") throw cancelledError();
  if (outcome.decidedBy === expected.type) return true;
  // A program's last output arrives with its end.
  const last = await pane.commands.wait({ anyOf: [expected], since, maxWaitMs: 0, signal });
  return last.decidedBy === expected.type;
}
