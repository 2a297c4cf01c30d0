/**
 * Runs shell commands at the shell's prompt, one after the other, and determines each result (docs/protocol.md,
 * Commands).
 *
 * exec types only into an empty prompt of the pane's own shell; it refuses everything else and names it. A
 * step lasts from the C that follows its input to the next D, or to the program's end. A deadline alone never
 * ends a command: the caller chooses what happens then, and a cancelled caller stops waiting, not the
 * command. One exec at a time.
 */

import type { CommandRecord, ExecState, Step, StepResult } from "../../protocol/commands.ts";
import { WshError } from "../../protocol/errors.ts";
import { execRules, requireCombinable } from "../../protocol/option-rules.ts";
import type { InputHold } from "../input-gate.ts";
import { awaitDrained } from "../output/drained.ts";
import type { TextPosition } from "../text/text.ts";
import type { WaitOutcome } from "../waiting/waiters.ts";
import { AskingDetector } from "./asking.ts";
import type { ExecPort, ExecRequest } from "./exec-port.ts";
import { type IntegratePort, ShellIntegrator } from "./integrate.ts";
import { hideKey } from "./line-editor.ts";
import { CTRL_C, PromptLine } from "./prompt-line.ts";
import { StepResults, stillRunning } from "./step-results.ts";
import { MAX_UNSTARTED_MS, type StepEnd, StepWatch } from "./step-watch.ts";
import { type StopMethod, stopCommand } from "./stop.ts";
import { TypedExec } from "./typed-exec.ts";

/** How long a command may take to start, in ms, so that a caller that does not wait still learns its id. */
const MAX_START_MS = 1_000;
/** How long a typed line is followed after its caller has left, in ms. */
const ABANDONED_FOLLOW_MS = 10_000;

export interface ExecOutcome {
  readonly steps: readonly StepResult[];
  readonly warnings: readonly string[];
  /** The outcome that ended the wait for a background command. */
  readonly decision: WaitOutcome | null;
}

export class Exec {
  private runningCommandText: string | null = null;
  /** A typed line that had neither run nor been cleared when its caller left. */
  private unsettledLine: Promise<void> | null = null;
  private decision: WaitOutcome | null = null;
  private readonly promptLine: PromptLine;
  private readonly results: StepResults;
  readonly typedExec: TypedExec;

  private readonly integration: ShellIntegrator;

  constructor(
    private readonly port: ExecPort,
    inside: IntegratePort,
  ) {
    this.promptLine = new PromptLine(port);
    this.results = new StepResults(port);
    this.typedExec = new TypedExec(port);
    this.integration = new ShellIntegrator(port, this.typedExec, inside);
  }

  /**
   * @throws WshError not_at_prompt, prompt_not_empty, no_shell_integration, session_ended, input_send_failed,
   *   invalid_request, cancelled
   */
  async run(request: ExecRequest): Promise<ExecOutcome> {
    const { background, typed, integrate } = request;
    requireCombinable(execRules, { session: true, steps: request.steps.length > 1, background, typed, integrate });
    if (this.runningCommandText !== null) {
      throw new WshError("not_at_prompt", `another exec is running '${this.runningCommandText}' in this session`, {
        running: this.runningCommandText,
      });
    }
    // A background command is awaited until it has started, even with a shorter wait.
    const least = request.background ? MAX_UNSTARTED_MS : 0;
    const deadline = this.port.clock.now() + Math.max(least, request.maxWaitMs);
    const steps: StepResult[] = [];
    const warnings: string[] = [];
    this.runningCommandText = request.steps[0]?.command ?? "";
    this.decision = null;
    try {
      let goOn = true;
      for (const [index, step] of request.steps.entries()) {
        if (!goOn) {
          steps.push(this.results.skippedResult(step));
          continue;
        }
        // No step begins once the caller is gone, even if the one before ended at that moment.
        if (request.signal?.aborted === true) throw new WshError("cancelled", "the caller is gone");
        this.runningCommandText = step.command;
        // A command started in time is continued.
        const { requireInTime, ...rest } = request;
        const result = await this.runStep(step, index === 0 ? request : rest, deadline, warnings).catch(
          (error: unknown) => {
            // Steps that ran have their results, so a later step that cannot be typed is only skipped.
            if (steps.length === 0 || !(error instanceof WshError) || error.code === "cancelled") throw error;
            warnings.push(`'${step.command}' was not run: ${error.message}`);
            return this.results.skippedResult(step);
          },
        );
        steps.push(result);
        warnings.push(...(result.warnings ?? []));
        const ended = result.state === "finished";
        goOn = ended && !this.port.observer.hasExited && (!request.stopOnError || result.exit_code === 0);
      }
    } finally {
      const free = (): void => {
        this.runningCommandText = null;
        this.unsettledLine = null;
      };
      if (this.unsettledLine === null) free();
      else void this.unsettledLine.finally(free);
    }
    return { steps, warnings, decision: this.decision };
  }

  /**
   * The result of a command that the caller has followed itself.
   * @param state how an ended command ended, by its deadline
   */
  async result(record: CommandRecord, state: ExecState, limit: number): Promise<StepResult> {
    if (record.state === "running") return this.results.resultOfRecord({}, "running", record, limit);
    return this.resultOf({}, record, limit, state);
  }

  /** Ends a running command; null when the command ignores it. */
  stop(id: number, how: StopMethod): ReturnType<typeof stopCommand> {
    return stopCommand(this.port, id, how);
  }

  private async runStep(step: Step, request: ExecRequest, deadline: number, warnings: string[]): Promise<StepResult> {
    const { text, target, log } = this.port;
    const { typed } = request;
    if (typed !== undefined && !this.isAtOwnPrompt) {
      return await this.typedExec.runStep(step, typed, request, deadline, warnings);
    }
    if (request.integrate !== undefined && this.isInside) {
      await this.integration.integrate(request.integrate, request, deadline, warnings);
    }
    const { hold, before, oneLine } = await this.promptLine.holdEmptyLine(request, deadline);
    let watch: StepWatch | null = null;
    try {
      const recorded = request.beforeTyping?.() ?? null;
      if (recorded !== null) await recorded;
      const from = text.position();
      const { shell } = target;
      const isHidden = request.isHidden === true && log.hasVerifiedMarks && shell !== null;
      const input = target.execInput(step.command, { oneLine, indented: isHidden });
      request.requireInTime?.();
      log.expect({ command: step.command, line: input.line, byProgram: request.byProgram });
      watch = new StepWatch(this.port, request.background, () => hold[Symbol.dispose]());
      if (isHidden) await hold.write(hideKey(shell));
      await this.typeLine(before, input.text, hold);
      const { signal } = request;
      using _asking = this.leaveWhenAsked(watch, request);
      let end = await watch.awaitEnd(deadline, signal);
      if (end.kind === "timeout" && watch.record === null) end = await watch.awaitBegin(MAX_START_MS, signal);
      return await this.concludeStep(step, request, end, watch, hold, from, deadline, warnings);
    } finally {
      if (watch?.isOpen === true) this.unsettledLine = this.followAbandoned(watch, hold);
      else {
        watch?.[Symbol.dispose]();
        if (watch?.record === null) log.expect(null);
        hold[Symbol.dispose]();
      }
    }
  }

  /** Stops waiting when the command asks: the caller would have to answer, but waits for the command to end. */
  private leaveWhenAsked(watch: StepWatch, { askingMs, onTimeout, background }: ExecRequest): AskingDetector | null {
    if (askingMs === undefined || onTimeout !== "leave" || background) return null;
    return new AskingDetector(this.port.clock, this.port.observer, askingMs, () => watch.stopWaiting());
  }

  /** Whether the session's own shell, which can be queried, shows its prompt. */
  private get isAtOwnPrompt(): boolean {
    const { target, log } = this.port;
    return target.shell !== null && log.phase === "prompt" && log.shellHoldsTerminal() !== false;
  }

  /** Whether another program than the shell that answers queries is in the foreground, or there is no such shell. */
  private get isInside(): boolean {
    const { target, log } = this.port;
    if (this.isAtOwnPrompt) return false;
    // A starting shell will show its prompt; a program that its startup files run in the foreground may be a shell.
    const hasShell = target.shell !== null && target.replacedBy === null && log.shellHoldsTerminal() !== false;
    return log.phase === "running" || (log.phase === "none" && !hasShell);
  }

  /** Types the line into the empty editor. A partly sent line is cleared before anything follows it. */
  private async typeLine(before: string, line: Uint8Array, hold: InputHold): Promise<void> {
    const bytes = before === "" ? line : new Uint8Array(Buffer.concat([Buffer.from(before), line]));
    try {
      await this.port.send(bytes, hold);
    } catch (error) {
      void hold.write(CTRL_C).catch(() => {});
      throw error;
    }
  }

  /** Follows a typed line whose caller has left, until it starts or is cleared. */
  private async followAbandoned(watch: StepWatch, hold: InputHold): Promise<void> {
    const { log } = this.port;
    try {
      const end = await watch.awaitBegin(ABANDONED_FOLLOW_MS, undefined);
      const takesBack = end.kind === "stuck" || (end.kind === "unstarted" && end.exitCode === null);
      if (takesBack) await this.promptLine.interrupt(hold);
    } catch {
      // The program no longer reads: pending callers get their errors separately.
    } finally {
      watch[Symbol.dispose]();
      if (watch.record === null) log.expect(null);
      hold[Symbol.dispose]();
    }
  }

  private async concludeStep(
    step: Step,
    request: ExecRequest,
    end: StepEnd,
    watch: StepWatch,
    hold: InputHold,
    from: TextPosition,
    deadline: number,
    warnings: string[],
  ): Promise<StepResult> {
    const limit = request.outputLimit;
    switch (end.kind) {
      case "finished":
        return this.resultOf(step, end.record, limit);
      case "started":
        if (request.until !== undefined) return await this.awaitReady(step, request, end.record, deadline, warnings);
        return this.results.resultOfRecord(step, "running", end.record, limit);
      case "unstarted":
        if (end.exitCode !== null) return this.results.resultOfText(step, "finished", end.exitCode, from, limit);
        return await this.clearUnstarted(step, hold, from, limit, warnings);
      case "stuck":
        return await this.clearUnstarted(step, hold, from, limit, warnings);
      case "exited":
        return this.results.resultOfText(step, "lost", null, from, limit);
      case "cancelled":
        throw new WshError("cancelled", "the caller stopped waiting; the command keeps running");
      case "timeout":
        return await this.timedOutResult(step, request, watch, from);
    }
  }

  /** Waits for a background command to be ready, or to end before that. */
  private async awaitReady(
    step: Step,
    request: ExecRequest,
    { id, output_start }: CommandRecord,
    deadline: number,
    warnings: string[],
  ): Promise<StepResult> {
    const { log, clock } = this.port;
    const { until = [], onTimeout, outputLimit, signal } = request;
    const decision = await this.port.wait({
      anyOf: [...until, { type: "command_finished" }],
      commandId: id,
      since: output_start,
      maxWaitMs: Math.max(0, deadline - clock.now()),
      signal,
    });
    if (decision.decidedBy === "cancelled") {
      throw new WshError("cancelled", "the caller stopped waiting; the command keeps running");
    }
    this.decision = decision;
    warnings.push(...(decision.warnings ?? []));
    const stops = decision.decidedBy === "timeout" && onTimeout !== "leave";
    const stopped = stops ? await this.stop(id, onTimeout) : null;
    if (stopped !== null && stopped.by !== null) {
      return this.results.resultOfRecord(step, stateAfter(stopped.by), stopped.record, outputLimit);
    }
    if (log.get(id)?.state === "running") await awaitDrained(() => this.port.text.offset);
    const record = log.get(id);
    if (record === null) throw new WshError("command_not_found", `the record of command ${id} is no longer stored`);
    if (record.state !== "running") return this.resultOf(step, record, outputLimit);
    const result = this.results.resultOfReady(step, record, request.readyLimit);
    return decision.decidedBy === "timeout" ? stillRunning(result, this.port.observer.observe(), onTimeout) : result;
  }

  /** The shell has not run the text and may still hold it: clears its line. */
  private async clearUnstarted(
    step: Step,
    hold: InputHold,
    from: TextPosition,
    limit: number,
    warnings: string[],
  ): Promise<StepResult> {
    warnings.push("the shell did not take the command as complete and was interrupted");
    const result = this.results.resultOfText(step, "lost", null, from, limit);
    await this.promptLine.interrupt(hold);
    return result;
  }

  /** A command's result, if the command that ran is the one sent. */
  private resultOf(
    step: Pick<Step, "name">,
    record: CommandRecord,
    limit: number,
    state: ExecState = "finished",
  ): StepResult {
    return this.results.resultOfRecord(step, state, this.port.log.get(record.id) ?? record, limit);
  }

  private async timedOutResult(
    step: Step,
    request: ExecRequest,
    watch: StepWatch,
    from: TextPosition,
  ): Promise<StepResult> {
    const { log, target } = this.port;
    const limit = request.outputLimit;
    const { record } = watch;
    if (record === null) {
      if (request.onTimeout !== "leave") target.interrupt();
      const result = this.results.resultOfText(step, "running", null, from, limit);
      return stillRunning(result, this.port.observer.observe(), request.onTimeout);
    }
    const stopped = request.onTimeout === "leave" ? null : await this.stop(record.id, request.onTimeout);
    if (stopped === null) {
      const result = this.results.resultOfRecord(step, "running", log.get(record.id) ?? record, limit);
      return stillRunning(result, this.port.observer.observe(), request.onTimeout);
    }
    return this.results.resultOfRecord(step, stateAfter(stopped.by), stopped.record, limit);
  }
}

function stateAfter(by: StopMethod | null): ExecState {
  return by === null ? "finished" : by === "kill" ? "killed" : "interrupted";
}
