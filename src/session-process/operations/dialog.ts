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
  readonly until: WaitOutcome | null;
  readonly unmet: { readonly step: number; readonly why: string } | null;
}

interface DialogRunStep {
  readonly step: RunStep;
  readonly expected: Condition | null;
  /** For a text or pattern: searches text that is already on the screen. */
  readonly find: Finder | null;
}

type ToCondition = ReturnType<typeof conditionsFor>;

interface DialogPort {
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly leasedPort: number | null;
  /** Called before the first byte is typed: throws if it is too late. */
  readonly inTime: () => void;
}

export async function runDialog(
  pane: Pane,
  input: ParsedInput<"run">,
  { caller, signal, leasedPort, inTime }: DialogPort,
): Promise<DialogEnd> {
  const toCondition = conditionsFor(leasedPort);
  const { terminal, commands } = pane;
  let isBegun = false;
  const begin = (): void => {
    if (!isBegun) inTime();
    isBegun = true;
  };
  const steps = await checked(pane, input, toCondition);
  const deadline = performance.now() + Math.min(MAX_WAIT_MS, input.max_wait_ms);
  const remainingMs = (): number => Math.max(0, Math.round(deadline - performance.now()));
  await commands.promptShown(signal);
  const from = input.since ?? (await terminal.whenAtRest(() => pane.giveCursor()));
  const [first] = steps;
  const atPrompt = input.since === undefined && commands.log.phase === "prompt" && first?.expected === null;
  const startingInput = atPrompt ? joinInput(decodeStep(pane, first.step)) : undefined;
  const run = (bytes: TypedInput, maxWaitMs: number): Promise<Outcome> =>
    commands.run({
      input: bytes,
      timeoutMs: input.timeout_ms,
      maxWaitMs,
      outputLimit: input.output_limit,
      since: from,
      startingInput,
      signal,
    });
  const nothing = { text: new Uint8Array(), enter: null };
  const ended = async (since: number | undefined): Promise<DialogEnd> => {
    const anyOf = [...(input.until ?? []).map(toCondition), ...ENDS];
    const until = await commands.wait({ anyOf, since: since ?? from, maxWaitMs: remainingMs(), signal });
    if (until.decidedBy === "cancelled") throw cancelled();
    const outcome = await run(nothing, 0);
    const { decidedBy, command = null } = until;
    return { outcome: { ...outcome, decidedBy, command: command ?? outcome.command }, until, unmet: null };
  };
  let counted = input.since;
  for (const [index, { step, expected, find }] of steps.entries()) {
    if (expected !== null) {
      const stands = counted === undefined && find !== null && standing(pane).some((row) => find(row, 0, row.length));
      const met = stands || (await awaited(pane, expected, counted ?? from, remainingMs(), signal));
      if (!met) {
        const outcome = await run(nothing, 0);
        const why =
          pane.exit !== null ? "the program has ended" : remainingMs() > 0 ? "the command has ended" : "in time";
        return { outcome, until: null, unmet: { step: index, why } };
      }
    }
    const next = steps[index + 1];
    const bytes = decodeStep(pane, step);
    const isTyped = joinInput(bytes).length > 0;
    if (isTyped) begin();
    await commands.hideFromHistory(caller, joinInput(bytes));
    if (next === undefined) {
      if (input.until !== undefined) {
        const since = isTyped ? await terminal.whenAtRest(() => pane.giveCursor()) : counted;
        pane.requireRunning();
        await typeInto(pane, bytes);
        return ended(since);
      }
      if (isTyped || expected === null) return { outcome: await run(bytes, remainingMs()), until: null, unmet: null };
      // The expected condition holds, and nothing was typed whose end could be awaited.
      return { outcome: { ...(await run(nothing, 0)), decidedBy: expected.type }, until: null, unmet: null };
    }
    counted = pane.outputCursor;
    if (next.expected !== null) {
      await terminal.whenAtRest(() => pane.giveCursor());
      counted = pane.outputCursor;
      pane.requireRunning();
      await typeInto(pane, bytes);
      continue;
    }
    const outcome = await run(bytes, remainingMs());
    if (outcome.decidedBy === "timeout") return { outcome, until: null, unmet: { step: index + 1, why: "in time" } };
  }
  // Nothing was typed.
  return ended(input.since);
}

function cancelled(): WshError {
  return new WshError("cancelled", "the caller stopped waiting; the program keeps running");
}

/**
 * Every step with its keys, conditions and patterns checked. @throws WshError invalid_request, unknown_key,
 * payload_too_large
 */
async function checked(
  pane: Pane,
  input: ParsedInput<"run">,
  toCondition: ToCondition,
): Promise<readonly DialogRunStep[]> {
  const first: RunStep = { input: input.input, keys: input.keys, submit: input.submit };
  const isTyped = input.input !== "" || input.keys !== undefined || input.submit;
  const given = [...(isTyped ? [first] : []), ...(input.steps ?? [])];
  const steps: DialogRunStep[] = [];
  for (const [at, step] of given.entries()) {
    const bytes = joinInput(decodeStep(pane, step));
    if (step.expect === undefined && bytes.length === 0) {
      throw new WshError("invalid_request", `step ${at} has nothing to expect or type`);
    }
    const expected = step.expect === undefined ? null : conditionOf(step.expect, toCondition);
    steps.push({ step, expected, find: await finderOf(expected) });
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
function standing({ terminal }: Pane): readonly string[] {
  const { lines, cursor } = terminal.screen("plain");
  const rows = lines.map(String);
  return terminal.alternate ? rows : [(rows[cursor.row] ?? "").padEnd(cursor.col)];
}

/** Conditions that the end of the typed command causes instead of making them impossible. */
const FOLLOW_AN_END: ReadonlySet<Condition["type"]> = new Set(["command_finished", "prompt", "idle", "exited"]);

/** After these conditions, nothing else can follow from the typed text. */
const ENDS: readonly Condition[] = [{ type: "command_finished" }, { type: "exited" }];

/** Whether the condition is met before the deadline, the program's end, or the end of the typed command. */
async function awaited(
  pane: Pane,
  expected: Condition,
  since: number,
  maxWaitMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const ends = FOLLOW_AN_END.has(expected.type) ? [] : ENDS;
  const outcome = await pane.commands.wait({ anyOf: [expected, ...ends], since, maxWaitMs, signal });
  if (outcome.decidedBy === "cancelled") throw cancelled();
  if (outcome.decidedBy === expected.type) return true;
  // A program's last output arrives with its end.
  const last = await pane.commands.wait({ anyOf: [expected], since, maxWaitMs: 0, signal });
  return last.decidedBy === expected.type;
}
