/** `run`: the result of an input, or of a dialog, and of the wait at its end. */
import type { HandlerContext } from "../../endpoint/operations/context.ts";
import type { OperationOutput, ParsedInput } from "../../operations/table.ts";
import type { Pane } from "../../pane/pane.ts";
import { joinInput } from "../../pane/submits.ts";
import { unsavedSince } from "../../pane/text/own-cursor.ts";
import type { Caller } from "../../protocol/caller.ts";
import type { CommandRecord } from "../../protocol/commands.ts";
import { present } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { requireInTime } from "../../protocol/requests.ts";
import { decisionOf } from "./decision.ts";
import { runDialog } from "./dialog.ts";
import { disorderWarnings, screenWithSelection } from "./screen.ts";
import { requireSameContext } from "./session-context.ts";
import { decodeFor } from "./typing.ts";

/** Maximum commands listed in an answer (the newest), and characters of each. */
const MAX_COMMANDS = 100;
const COMMAND_LENGTH = 200;

export async function run(
  pane: Pane,
  input: ParsedInput<"run">,
  { signal, session, deadline, caller, leasedPort }: HandlerContext,
): Promise<OperationOutput<"run">> {
  const { terminal } = pane;
  requireSameContext(pane, session, input);
  const { outcome, untilOutcome, unmetStep } =
    input.steps === undefined && input.until === undefined
      ? { outcome: await runOnce(pane, input, caller, signal, deadline), untilOutcome: null, unmetStep: null }
      : await runDialog(pane, input, { caller, signal, leasedPort, requireInTime: () => requireInTime(deadline) });
  const { command, output, prompt } = outcome;
  const disorder = await terminal.whenAtRest(() => disorderWarnings(pane));
  const warnings = [...outcome.warnings, ...unsavedSince(pane.text, input.since), ...disorder];
  const includedParts = new Set(input.include);
  const result = await terminal.whenAtRest(() => ({
    ...(untilOutcome === null ? {} : decisionOf(untilOutcome)),
    state: outcome.state.state,
    decided_by: outcome.decidedBy,
    ...(command === null ? {} : endFields(command, outcome.since, pane.commands.cwd())),
    ...endedCommands(pane, outcome.since),
    generation: pane.activity.generation,
    since: outcome.since,
    output_cursor: outcome.outputCursor,
    ...present({ prompt }),
    ...(includedParts.has("output") ? { output: output.text, omitted_lines: output.omittedLines } : {}),
    ...(includedParts.has("screen") ? { screen: screenWithSelection(terminal, input.format, input.tail) } : {}),
    ...(warnings.length === 0 ? {} : { warnings }),
  }));
  if (unmetStep !== null) {
    const { step, why } = unmetStep;
    const message = `step ${step} failed: the expected text or condition did not appear${why === "in time" ? " in time" : `, ${why}`}`;
    throw new WshError("expect_not_met", message, { step, ...result });
  }
  const running = pane.commands.log.runningCommand;
  const isRunning = running === null || command !== null ? {} : { command_id: running.id };
  if (untilOutcome !== null || outcome.decidedBy === "idle") return { ...isRunning, ...result };
  if (outcome.decidedBy !== "timeout") return result;
  throw new WshError("idle_timeout", `the typed command did not end within ${input.max_wait_ms} ms`, {
    ...isRunning,
    ...result,
  });
}

/** The commands that ended after a cursor, if there are several. */
function endedCommands(pane: Pane, since: number): Pick<OperationOutput<"run">, "commands"> {
  const ended = pane.commands.log.list().filter(({ output_end }) => output_end !== null && output_end > since);
  if (ended.length < 2) return {};
  return {
    commands: ended.slice(-MAX_COMMANDS).map(({ id, command, exit_code, signal }) => ({
      command_id: id,
      command: command === null ? null : command.slice(0, COMMAND_LENGTH),
      exit_code,
      ...present({ signal }),
    })),
  };
}

async function runOnce(
  pane: Pane,
  input: ParsedInput<"run">,
  caller: Caller,
  signal: AbortSignal,
  deadline: number | undefined,
): ReturnType<Pane["commands"]["run"]> {
  const typedInput = decodeFor(pane, { ...input, data: input.input, encoding: "utf8", paste: false });
  await pane.commands.promptShown(signal);
  requireInTime(deadline);
  await pane.commands.hideFromHistory(caller, joinInput(typedInput));
  return pane.commands.run({
    input: typedInput,
    timeoutMs: input.timeout_ms,
    maxWaitMs: input.max_wait_ms,
    outputLimit: input.output_limit,
    since: input.since,
    signal,
    requireInTime: () => requireInTime(deadline),
  });
}

/**
 * The directory is the shell's current one: the caller knows the one in which the command started. The duration
 * is included only if the command began after `since`: for an earlier one it would be the age of the program that
 * was quit.
 */
function endFields(command: CommandRecord, since: number, cwd: string | null): Partial<OperationOutput<"run">> {
  const { exit_code, signal, duration_ms, id, output_start } = command;
  const duration = output_start < since ? {} : { duration_ms };
  return { exit_code, signal, ...duration, cwd: cwd ?? command.cwd, command_id: id };
}
