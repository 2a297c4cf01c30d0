/** The results of an exec's steps, from the record of the command or from the text where there is no record. */

import {
  type CommandRecord,
  type ExecState,
  type OnTimeout,
  type Step,
  type StepResult,
  skippedStep,
} from "../../protocol/commands.ts";
import type { ProgramState } from "../state/classify.ts";
import { cutOutput, cutToEnd } from "../text/cut-output.ts";
import type { KeptLines } from "../text/kept-lines.ts";
import { linesBetween } from "../text/lines-between.ts";
import type { TerminalText, TextPosition } from "../text/text.ts";
import { awaitedInput } from "./asking.ts";
import type { CommandLog } from "./command-log.ts";

type StillRuns = Pick<StepResult, "waits_for" | "warnings">;

export interface ResultsPort {
  readonly text: TerminalText;
  readonly log: CommandLog;
  /** Directory of the shell now. */
  cwd(): string | null;
}

export class StepResults {
  constructor(private readonly port: ResultsPort) {}

  skipped(step: Step): StepResult {
    return skippedStep(step, this.port.text.offset);
  }

  ofRecord(step: Step, state: ExecState, record: CommandRecord, limit: number): StepResult {
    const kept = this.port.log.output(record.id) ?? { head: [], tail: [], omitted: record.output_lines };
    return {
      ...this.skipped(step),
      ...outputOf(kept, limit),
      state: record.state === "lost" || record.state === "replaced" ? record.state : state,
      exit_code: record.exit_code,
      signal: record.signal,
      ...(record.verified ? {} : { verified: false }),
      duration_ms: record.duration_ms,
      cwd: this.port.cwd() ?? record.cwd,
      command_id: record.id,
      output_cursor: record.output_end ?? this.port.text.offset,
    };
  }

  /** A command that is ready and runs on: the end of what it has printed until now. */
  ofReady(step: Step, record: CommandRecord, limit: number): StepResult {
    const kept = this.port.log.output(record.id) ?? { head: [], tail: [], omitted: record.output_lines };
    const { text, omittedLines } = cutToEnd(kept, limit);
    return { ...this.ofRecord(step, "running", record, 0), output: text, omitted_lines: omittedLines };
  }

  /** A step without a record: what came after its input. */
  ofText(step: Step, state: ExecState, exitCode: number | null, from: TextPosition, limit: number): StepResult {
    const { text } = this.port;
    const promptAt = this.port.log.promptStart;
    const to = promptAt !== null && promptAt.line > from.line ? promptAt : text.position();
    const kept = linesBetween(text, { line: from.line + 1, index: 0 }, to, limit);
    return { ...this.skipped(step), ...outputOf(kept, limit), state, exit_code: exitCode, cwd: this.port.cwd() };
  }
}

/** What a reader needs of a command that still runs at its deadline: what it waits for, and that it was not stopped. */
export function stillRuns(state: ProgramState, onTimeout: OnTimeout): StillRuns {
  const waits = awaitedInput(state);
  const verb = onTimeout === "kill" ? "killed" : "interrupted";
  return {
    ...(waits === null ? {} : { waits_for: waits }),
    ...(onTimeout === "leave" ? {} : { warnings: [`the command was ${verb} at the deadline and still runs`] }),
  };
}

function outputOf(kept: KeptLines, limit: number): Pick<StepResult, "output" | "omitted_lines"> {
  const { text, omittedLines } = cutOutput(kept, limit);
  return { output: text, omitted_lines: omittedLines };
}
