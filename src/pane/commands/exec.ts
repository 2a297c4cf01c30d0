/**
 * Runs shell commands at the session's prompt, one after the other, and knows how each ended (design §6.1, tools.md).
 *
 * Only an empty prompt of the session's own shell is typed into; everything else is refused by name. A step lasts from
 * the C that follows its input to the next D, or to the child's end. Time never ends a command by itself: what happens
 * at the deadline is the caller's choice, and a cancelled caller stops waiting, not the command. One exec at a time.
 */

import type { Clock } from "../../base/clock.ts";
import { Wait } from "../../base/deadline.ts";
import type { CommandRecord, ExecState, OnTimeout, Step, StepResult } from "../../protocol/commands.ts";
import { WshError } from "../../protocol/errors.ts";
import type { InputHold } from "../input-gate.ts";
import type { ExecTarget, IntegratedShell, TerminalText, TextPosition } from "../ports.ts";
import type { StateObserver } from "../state/observer.ts";
import { cutOutput, type KeptLines } from "../text/kept-lines.ts";
import { linesBetween } from "../text/lines-between.ts";
import type { CommandLog } from "./command-log.ts";
import type { LineEditor, LineState } from "./line-editor.ts";
import { obstacleTo, watchObstacle } from "./prompt-obstacle.ts";
import { STUCK_MS, type StepEnd, StepWatch } from "./step-watch.ts";
import { type Leader, type Stop, stopCommand } from "./stop.ts";

/** How long a shell may take to show its first prompt, or the next one after a command, in ms. */
const PROMPT_MS = 5_000;
/** How long a command may take to begin, so that a caller who does not wait learns its id all the same, in ms. */
const BEGIN_MS = 1_000;
/** How long the shell may take to say what it ran, when a command has ended, in ms. */
const EVIDENCE_MS = 500;
/** How long a line that was typed is followed when its caller has left, in ms. */
const SETTLE_MS = 10_000;
/** Characters of a line that a message shows. */
const SHOWN_CHARS = 80;
/** How long a shell that was interrupted at its prompt may take to show the next one, in ms. */
const TAKEN_BACK_MS = 500;
const CTRL_C = Uint8Array.of(3);

export interface ExecRequest {
  readonly steps: readonly Step[];
  readonly stopOnError: boolean;
  /** For all steps together. */
  readonly maxWaitMs: number;
  readonly onTimeout: OnTimeout;
  /** Returns as soon as the (only) command has begun. */
  readonly background: boolean;
  /** What stands at the prompt is thrown away. */
  readonly clearLine: boolean;
  /** UTF-8 bytes of output of each step. */
  readonly outputLimit: number;
  readonly signal?: AbortSignal | undefined;
}

export interface ExecOutcome {
  readonly steps: readonly StepResult[];
  readonly warnings: readonly string[];
}

export interface ExecPort {
  readonly text: TerminalText;
  readonly clock: Clock;
  readonly target: ExecTarget;
  readonly log: CommandLog;
  readonly observer: StateObserver;
  readonly editor: LineEditor;
  /** Who leads the group in the foreground. */
  leader(): Leader | null;
  /** Writes what exec types past what is held back, known as such to all who look for echo. */
  send(bytes: Uint8Array, hold: InputHold): Promise<void>;
  /** Directory of the shell now. */
  cwd(): string | null;
}

export class Exec {
  private busy: string | null = null;
  /** A line that was typed and neither ran nor was given up when its caller left. */
  private unsettled: Promise<void> | null = null;

  constructor(private readonly port: ExecPort) {}

  /**
   * @throws WshError not_at_prompt, prompt_not_empty, no_shell_integration, session_ended, input_send_failed,
   *   invalid_request, cancelled
   */
  async run(request: ExecRequest): Promise<ExecOutcome> {
    if (request.background && request.steps.length > 1) {
      throw new WshError("invalid_request", "background takes one command; join them with ';' or '&&'");
    }
    if (this.busy !== null) {
      throw new WshError("not_at_prompt", `another exec is running '${this.busy}' in this session`, {
        running: this.busy,
      });
    }
    // A background command is waited for until it has begun, however short the wait.
    const least = request.background ? STUCK_MS : 0;
    const deadline = this.port.clock.now() + Math.max(least, request.maxWaitMs);
    const steps: StepResult[] = [];
    const warnings: string[] = [];
    this.busy = request.steps[0]?.command ?? "";
    try {
      let goOn = true;
      for (const step of request.steps) {
        if (!goOn) {
          steps.push(this.skipped(step));
          continue;
        }
        this.busy = step.command;
        const result = await this.step(step, request, deadline, warnings).catch((error: unknown) => {
          // What ran before has its result, so a later step that cannot be typed is only skipped.
          if (steps.length === 0 || !(error instanceof WshError) || error.code === "cancelled") throw error;
          warnings.push(`'${step.command}' was not run: ${error.message}`);
          return this.skipped(step);
        });
        steps.push(result);
        const { command_id: id } = result;
        if (id !== null) warnings.push(...(this.port.log.get(id)?.warnings ?? []));
        const ended = result.state === "finished";
        goOn = ended && !this.port.observer.exited && (!request.stopOnError || result.exit_code === 0);
      }
    } finally {
      const free = (): void => {
        this.busy = null;
        this.unsettled = null;
      };
      if (this.unsettled === null) free();
      else void this.unsettled.finally(free);
    }
    return { steps, warnings };
  }

  /** Ends a command that runs; null when it takes no notice. */
  stop(id: number, how: Stop): ReturnType<typeof stopCommand> {
    return stopCommand(this.port, id, how);
  }

  private async step(step: Step, request: ExecRequest, deadline: number, warnings: string[]): Promise<StepResult> {
    const { text, target, log } = this.port;
    const { hold, before } = await this.emptyLine(request, deadline);
    const from = text.position();
    let watch: StepWatch | null = null;
    try {
      const input = target.execInput(step.command);
      log.expect({ command: step.command, line: input.line });
      watch = new StepWatch(this.port, request.background, () => hold[Symbol.dispose]());
      await this.type(before, input.text, hold);
      const { signal } = request;
      let end = await watch.end(deadline, signal);
      if (end.kind === "timeout" && watch.record === null) end = await watch.begun(BEGIN_MS, signal);
      return await this.conclude(step, request, end, watch, hold, from, warnings);
    } finally {
      if (watch?.isOpen === true) this.unsettled = this.settle(watch, hold);
      else {
        watch?.[Symbol.dispose]();
        if (watch?.record === null) log.expect(null);
        hold[Symbol.dispose]();
      }
    }
  }

  /** Types the line into the empty editor. One that was sent in part only is given up before anything follows it. */
  private async type(before: string, line: Uint8Array, hold: InputHold): Promise<void> {
    const bytes = before === "" ? line : new Uint8Array(Buffer.concat([Buffer.from(before), line]));
    try {
      await this.port.send(bytes, hold);
    } catch (error) {
      void hold.write(CTRL_C).catch(() => {});
      throw error;
    }
  }

  /** A line that was typed and whose caller has left: it is seen to its beginning, or taken back. */
  private async settle(watch: StepWatch, hold: InputHold): Promise<void> {
    const { log, clock } = this.port;
    try {
      const end = await watch.begun(SETTLE_MS, undefined);
      const takesBack = end.kind === "stuck" || (end.kind === "unstarted" && end.exitCode === null);
      if (takesBack) await this.interrupt(hold, clock.now() + TAKEN_BACK_MS);
    } catch {
      // The program does not read any more: what waits is told so by itself.
    } finally {
      watch[Symbol.dispose]();
      if (watch.record === null) log.expect(null);
      hold[Symbol.dispose]();
    }
  }

  private async conclude(
    step: Step,
    request: ExecRequest,
    end: StepEnd,
    watch: StepWatch,
    hold: InputHold,
    from: TextPosition,
    warnings: string[],
  ): Promise<StepResult> {
    const limit = request.outputLimit;
    switch (end.kind) {
      case "finished":
        return await this.compared(step, end.record, limit, warnings);
      case "started":
        return this.ofRecord(step, "running", end.record, limit);
      case "unstarted":
        if (end.exitCode !== null) return this.ofText(step, "finished", end.exitCode, from, limit);
        return await this.takeBack(step, hold, from, limit, warnings);
      case "stuck":
        return await this.takeBack(step, hold, from, limit, warnings);
      case "exited":
        return this.ofText(step, "lost", null, from, limit);
      case "cancelled":
        throw new WshError("cancelled", "the caller stopped waiting; the command goes on");
      case "timeout":
        return await this.timedOut(step, request, watch, from);
    }
  }

  /** The shell has not run the text and may still hold it: it gets an empty line again. */
  private async takeBack(
    step: Step,
    hold: InputHold,
    from: TextPosition,
    limit: number,
    warnings: string[],
  ): Promise<StepResult> {
    warnings.push("the shell did not take the command as complete and was interrupted");
    const result = this.ofText(step, "lost", null, from, limit);
    await this.interrupt(hold, this.port.clock.now() + TAKEN_BACK_MS);
    return result;
  }

  /** Presses Ctrl+C and waits for the next prompt. */
  private async interrupt(hold: InputHold, until: number): Promise<void> {
    const prompt = this.promptComes(until, undefined);
    await hold.write(CTRL_C);
    await prompt;
  }

  /** A command's result, if what ran is what was sent. */
  private async compared(step: Step, record: CommandRecord, limit: number, warnings: string[]): Promise<StepResult> {
    const { log, clock } = this.port;
    // bash says what ran behind the end, before its next prompt.
    if (log.comparison(record.id).kind === "open" && log.phase === "ended") {
      await this.promptComes(clock.now() + EVIDENCE_MS, undefined);
    }
    const comparison = log.comparison(record.id);
    const result = this.ofRecord(step, "finished", log.get(record.id) ?? record, limit);
    if (comparison.kind === "same") return result;
    if (comparison.ran === null) {
      warnings.push("what the shell ran could not be compared with the command");
      return { ...result, verified: false };
    }
    const code = result.exit_code === null ? "" : ` (its exit code: ${result.exit_code})`;
    warnings.push(`what ran is not the command that was sent: '${shortened(comparison.ran)}'${code}`);
    return { ...result, state: "lost", exit_code: null, signal: null, verified: false, ran: comparison.ran };
  }

  private async timedOut(step: Step, request: ExecRequest, watch: StepWatch, from: TextPosition): Promise<StepResult> {
    const { log, target } = this.port;
    const limit = request.outputLimit;
    const { record } = watch;
    if (record === null) {
      if (request.onTimeout !== "leave") target.signal("SIGINT");
      return this.ofText(step, "running", null, from, limit);
    }
    const stopped = request.onTimeout === "leave" ? null : await this.stop(record.id, request.onTimeout);
    if (stopped === null) return this.ofRecord(step, "running", log.get(record.id) ?? record, limit);
    return this.ofRecord(step, stopped.by === "kill" ? "killed" : "interrupted", stopped.record, limit);
  }

  /**
   * Holds all other input back and makes sure that the line at the shell's prompt is empty, by its editor's own word.
   * @returns the hold, for as long as the line is empty or ours, and what to type before the command
   */
  private async emptyLine(
    request: ExecRequest,
    deadline: number,
  ): Promise<{ readonly hold: InputHold; readonly before: string }> {
    const { editor, target, log } = this.port;
    for (;;) {
      const shell = await this.atPrompt(deadline, request.signal);
      if (!(await editor.pasted())) throw this.refused({ kind: "pasting" });
      // The prompt may be gone meanwhile: it is looked for again.
      if (log.phase !== "prompt") continue;
      const hold = target.hold();
      let isOurs = false;
      try {
        let line = await editor.ask(hold, shell);
        if (request.clearLine && (line.kind === "text" || line.kind === "open" || line.kind === "silent")) {
          line = await this.cleared(hold, shell, line);
        }
        if (request.signal?.aborted === true) throw new WshError("cancelled", "the caller stopped waiting");
        if (line.kind === "left") continue;
        if (line.kind !== "empty") throw this.refused(line);
        isOurs = true;
        return { hold, before: line.before };
      } finally {
        if (!isOurs) hold[Symbol.dispose]();
      }
    }
  }

  /** Empties the line by the editor's own key; what that cannot empty is interrupted. */
  private async cleared(hold: InputHold, shell: IntegratedShell, line: LineState): Promise<LineState> {
    const { editor, clock } = this.port;
    let now = line;
    if (line.kind === "text") {
      await editor.clear(hold, shell);
      now = await editor.ask(hold, shell);
    }
    if (now.kind !== "text" && now.kind !== "open" && now.kind !== "silent") return now;
    await this.interrupt(hold, clock.now() + TAKEN_BACK_MS);
    return await editor.ask(hold, shell);
  }

  private refused(line: Exclude<LineState, { kind: "empty" | "left" }>): WshError {
    switch (line.kind) {
      case "text": {
        const shown = shortened(line.text);
        return new WshError("prompt_not_empty", `the line at the prompt holds '${shown}'`, { line: line.text });
      }
      case "open":
        return new WshError("prompt_not_empty", "a command, a search or a list has been begun at the prompt");
      case "pasting":
        return new WshError("prompt_not_empty", "a paste at the prompt has not ended");
      case "silent":
        return new WshError("prompt_not_empty", "the shell's line editor does not say that its line is empty", {
          hint: "A key sequence or a paste may be half typed, or a question open: look at the screen; clear_line (--clear-line) interrupts it.",
        });
      case "busy":
        return new WshError("not_at_prompt", "the shell shows its prompt and does not read its input");
      case "lines":
        return new WshError("no_shell_integration", "the shell at the prompt has no line editor that could be asked");
    }
  }

  /** Waits until the session's shell shows its prompt; refuses when something else is there. */
  private async atPrompt(deadline: number, signal: AbortSignal | undefined): Promise<IntegratedShell> {
    const { target, log, clock, observer } = this.port;
    observer.requireRunning();
    observer.observe();
    if (target.shell === null && target.replacedBy === null) {
      const reason = target.integrationReason ?? "it does not run a shell that wsh knows";
      throw new WshError("no_shell_integration", `the session has no shell integration: ${reason}`);
    }
    // A caller who does not wait still gets what is about to be: the prompt after the command before.
    const until = Math.min(Math.max(deadline, clock.now() + BEGIN_MS), clock.now() + PROMPT_MS);
    while (log.phase !== "prompt") {
      if (log.phase === "running") throw this.notAtPrompt();
      const came = await this.promptComes(until, signal);
      if (came) continue;
      const obstacle = obstacleTo(this.port, observer.observe());
      if (obstacle !== null) throw obstacle;
      observer.requireRunning();
      if (signal?.aborted === true) throw new WshError("cancelled", "the caller stopped waiting");
      if (log.active) throw this.notAtPrompt();
      throw new WshError("no_shell_integration", "the shell has shown no prompt of its integration yet");
    }
    if (log.shellHoldsTerminal() === false) throw this.notAtPrompt();
    const { shell } = target;
    if (shell !== null) return shell;
    throw new WshError("no_shell_integration", `'${target.replacedBy}' is no shell whose line editor can be asked`);
  }

  /** The next prompt, or false at the deadline, at the child's end, and when the caller is gone. */
  private promptComes(until: number, signal: AbortSignal | undefined): Promise<boolean> {
    const { log, clock } = this.port;
    const left = until - clock.now();
    if (left <= 0) return Promise.resolve(false);
    const wait = new Wait({ clock, ms: left, signal }, () => false);
    const came = (): void => wait.end(true);
    const never = (): void => wait.end(false);
    wait.own(log.on({ prompt: came, started: came, exited: never }), watchObstacle(this.port, never));
    return wait.promise;
  }

  private notAtPrompt(): WshError {
    const state = this.port.observer.observe();
    const running = this.port.log.runningCommand?.command ?? state.foreground?.name ?? "a program";
    const process = state.foreground?.name ?? null;
    const message = `the shell is not at its prompt: '${running}' runs (${state.state}: ${state.why})`;
    return new WshError("not_at_prompt", message, { running, process, state: state.state });
  }

  private skipped(step: Step): StepResult {
    return {
      ...(step.name === undefined ? {} : { name: step.name }),
      state: "skipped",
      exit_code: null,
      signal: null,
      output: "",
      omitted_lines: 0,
      duration_ms: null,
      cwd: null,
      command_id: null,
      output_cursor: this.port.text.offset,
    };
  }

  private ofRecord(step: Step, state: ExecState, record: CommandRecord, limit: number): StepResult {
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

  /** A step without a record: what came after its input. */
  private ofText(step: Step, state: ExecState, exitCode: number | null, from: TextPosition, limit: number): StepResult {
    const { text } = this.port;
    const promptAt = this.port.log.promptStart;
    const to = promptAt !== null && promptAt.line > from.line ? promptAt : text.position();
    const kept = linesBetween(text, { line: from.line + 1, index: 0 }, to, limit);
    return { ...this.skipped(step), ...outputOf(kept, limit), state, exit_code: exitCode, cwd: this.port.cwd() };
  }
}

function shortened(line: string): string {
  return line.length > SHOWN_CHARS ? `${line.slice(0, SHOWN_CHARS)}…` : line;
}

function outputOf(kept: KeptLines, limit: number): Pick<StepResult, "output" | "omitted_lines"> {
  const { text, omittedLines } = cutOutput(kept, limit);
  return { output: text, omitted_lines: omittedLines };
}
