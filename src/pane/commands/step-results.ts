/** The results of an exec's steps, from the record of the command, or from the text without a record. */

import type { CommandRecord, ExecState, OnTimeout, Step, StepResult } from "../../protocol/commands.ts";
import { present } from "../../protocol/defined.ts";
import { skippedStep } from "../../protocol/steps.ts";
import type { ProgramState } from "../state/classify.ts";
import { cutOutput, cutToEnd } from "../text/cut-output.ts";
import { linesBetween } from "../text/lines-between.ts";
import type { RetainedLines } from "../text/retained-lines.ts";
import type { TerminalText, TextPosition } from "../text/text.ts";
import { awaitedInput } from "./asking.ts";
import type { CommandLog } from "./command-log.ts";
import { shorten } from "./prompt-line.ts";

export interface ResultsPort {
  readonly text: TerminalText;
  readonly log: CommandLog;
  /** Directory of the shell now. */
  cwd(): string | null;
}

export class StepResults {
  constructor(private readonly port: ResultsPort) {}

  skippedResult(step: Pick<Step, "name">): StepResult {
    return skippedStep(step, this.port.text.offset);
  }

  /** @param state how the command ended, if the record only says that it has ended */
  resultOfRecord(step: Pick<Step, "name">, state: ExecState, record: CommandRecord, limit: number): StepResult {
    const output = this.port.log.output(record.id) ?? { head: [], tail: [], omitted: record.output_lines };
    const doubts = doubtsOfRecord(record);
    const isOther = record.sent !== undefined && record.state !== "running";
    return {
      ...this.skippedResult(step),
      ...outputOf(output, limit),
      state: record.state === "lost" || record.state === "replaced" ? record.state : state,
      exit_code: record.exit_code,
      signal: record.signal,
      ...(record.verified ? {} : { verified: false }),
      duration_ms: record.duration_ms,
      cwd: this.port.cwd() ?? record.cwd,
      command_id: record.id,
      output_cursor: record.output_end ?? this.port.text.offset,
      ...(doubts.length === 0 ? {} : { warnings: doubts }),
      // Another command ran instead: its results are not the sent command's.
      ...(isOther ? { state: "lost", exit_code: null, signal: null, ran: record.command ?? "" } : {}),
    };
  }

  /** A command that is ready and still runs: the end of its output so far. */
  resultOfReady(step: Step, record: CommandRecord, limit: number): StepResult {
    const output = this.port.log.output(record.id) ?? { head: [], tail: [], omitted: record.output_lines };
    const { text, omittedLines } = cutToEnd(output, limit);
    return { ...this.resultOfRecord(step, "running", record, 0), output: text, omitted_lines: omittedLines };
  }

  /** A step without a record: the output after its input. */
  resultOfText(step: Step, state: ExecState, exitCode: number | null, from: TextPosition, limit: number): StepResult {
    const { text } = this.port;
    const promptAt = this.port.log.shell.promptStart;
    const to = promptAt !== null && promptAt.line > from.line ? promptAt : text.position();
    const output = linesBetween(text, { line: from.line + 1, index: 0 }, to, limit);
    return {
      ...this.skippedResult(step),
      ...outputOf(output, limit),
      state,
      exit_code: exitCode,
      cwd: this.port.cwd(),
    };
  }
}

/** Default reason why a record is not verified. */
const NOT_VERIFIED = "the shell's report lacks wsh's secret: a program could have forged exit_code and output";

/** Why a record is not exact, in words. */
function doubtsOfRecord({ warnings = [], verified, state, sent, command, exit_code }: CommandRecord): string[] {
  if (state === "running") return [...warnings];
  if (sent === undefined) return verified || warnings.length > 0 ? [...warnings] : [NOT_VERIFIED];
  const code = exit_code === null ? "" : ` (its exit code: ${exit_code})`;
  return [...warnings, `the shell ran a different command than the one sent: '${shorten(command ?? "")}'${code}`];
}

/** A command that still runs at its deadline: what it waits for, and that it was not stopped. */
export function stillRunning<R extends StepResult>(result: R, state: ProgramState, onTimeout: OnTimeout): R {
  const waits = awaitedInput(state);
  const verb = onTimeout === "kill" ? "killed" : "interrupted";
  const ignored = onTimeout === "leave" ? [] : [`the command was ${verb} at the deadline and still runs`];
  const warnings = [...(result.warnings ?? []), ...ignored];
  return {
    ...result,
    ...present({ waits_for: waits }),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}

function outputOf(kept: RetainedLines, limit: number): Pick<StepResult, "output" | "omitted_lines"> {
  const { text, omittedLines } = cutOutput(kept, limit);
  return { output: text, omitted_lines: omittedLines };
}
