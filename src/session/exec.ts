/**
 * Runs shell commands at the session's prompt, one after the other, and knows how each ended (design §6.1, tools.md).
 *
 * Only an empty prompt of the session's own shell is typed into; everything else is refused by name. A step lasts from
 * the C that follows its input to the next D, or to the child's end. Time never ends a command by itself: what happens
 * at the deadline is the caller's choice, and a cancelled caller stops waiting, not the command. One exec at a time.
 */
import type { CommandRecord, ExecState, OnTimeout, Step, StepResult } from "../protocol/commands.ts";
import { WshError } from "../protocol/errors.ts";
import { cutOutput, type KeptLines } from "./commands.ts";
import { linesBetween } from "./commands-output.ts";
import { obstacleTo, watchObstacle } from "./exec-obstacle.ts";
import type { Clock, ExecTarget, TerminalText, TextPosition } from "./exec-port.ts";
import type { PromptInput } from "./exec-prompt.ts";
import { type Leader, type Stop, stopCommand } from "./exec-stop.ts";
import type { StateObserver } from "./program-state-observer.ts";
import type { CommandRecorder } from "./recorder.ts";

/** How long a shell may take to show its first prompt, or the next one after a command, in ms. */
const PROMPT_MS = 5_000;
/** After an input that began no command, how long a new prompt must stand before that counts as the end, in ms. */
const UNSTARTED_MS = 100;
/** How long a shell that reads on may go without beginning the command before the input is taken back, in ms. */
const STUCK_MS = 2_000;
/** How long a command may take to begin, so that a caller who does not wait learns its id all the same, in ms. */
const BEGIN_MS = 1_000;
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
  readonly recorder: CommandRecorder;
  readonly observer: StateObserver;
  readonly prompt: PromptInput;
  /** Who leads the group in the foreground. */
  leader(): Leader | null;
  /** Writes what exec types, known as such to all who look for echo. */
  send(bytes: Uint8Array): Promise<void>;
  /** Directory of the shell now. */
  cwd(): string | null;
}

/** How far a step came. `unstarted`: the shell refused the text and shows a new prompt (a syntax error). */
type StepEnd =
  | { readonly kind: "finished"; readonly record: CommandRecord }
  | { readonly kind: "started"; readonly record: CommandRecord }
  | { readonly kind: "unstarted"; readonly exitCode: number | null }
  | { readonly kind: "stuck" | "timeout" | "exited" | "cancelled" };

export class Exec {
  private busy: string | null = null;

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
        if (id !== null) warnings.push(...(this.port.recorder.get(id)?.warnings ?? []));
        const ended = result.state === "finished";
        goOn = ended && !this.port.observer.exited && (!request.stopOnError || result.exit_code === 0);
      }
    } finally {
      this.busy = null;
    }
    return { steps, warnings };
  }

  /** Ends a command that runs; null when it takes no notice. */
  stop(id: number, how: Stop): ReturnType<typeof stopCommand> {
    return stopCommand(this.port, id, how);
  }

  private async step(step: Step, request: ExecRequest, deadline: number, warnings: string[]): Promise<StepResult> {
    const { text, target, recorder } = this.port;
    await this.atPrompt(deadline, request.signal);
    const from = text.position();
    const input = target.execInput(step.command);
    recorder.expect(step.command);
    const watch = new StepWatch(this.port, request.background);
    try {
      await this.port.send(input);
      const { signal } = request;
      let end = await watch.end(deadline, signal);
      if (end.kind === "timeout" && watch.record === null) end = await watch.begun(BEGIN_MS, signal);
      return await this.conclude(step, request, end, watch, from, warnings);
    } finally {
      watch[Symbol.dispose]();
      if (watch.record === null) recorder.expect(null);
    }
  }

  private async conclude(
    step: Step,
    request: ExecRequest,
    end: StepEnd,
    watch: StepWatch,
    from: TextPosition,
    warnings: string[],
  ): Promise<StepResult> {
    const limit = request.outputLimit;
    switch (end.kind) {
      case "finished":
        return this.ofRecord(step, "finished", end.record, limit);
      case "started":
        return this.ofRecord(step, "running", end.record, limit);
      case "unstarted":
        if (end.exitCode !== null) return this.ofText(step, "finished", end.exitCode, from, limit);
        return await this.takeBack(step, from, limit, warnings);
      case "stuck":
        return await this.takeBack(step, from, limit, warnings);
      case "exited":
        return this.ofText(step, "lost", null, from, limit);
      case "cancelled":
        throw new WshError("cancelled", "the caller stopped waiting; the command goes on");
      case "timeout":
        return await this.timedOut(step, request, watch, from);
    }
  }

  /** The shell has not run the text and may still hold it: it gets an empty line again. */
  private async takeBack(step: Step, from: TextPosition, limit: number, warnings: string[]): Promise<StepResult> {
    warnings.push("the shell did not take the command as complete and was interrupted");
    const result = this.ofText(step, "lost", null, from, limit);
    const prompt = this.promptComes(this.port.clock.now() + TAKEN_BACK_MS, undefined);
    await this.port.send(CTRL_C);
    await prompt;
    return result;
  }

  private async timedOut(step: Step, request: ExecRequest, watch: StepWatch, from: TextPosition): Promise<StepResult> {
    const { recorder, target } = this.port;
    const limit = request.outputLimit;
    const { record } = watch;
    if (record === null) {
      if (request.onTimeout !== "leave") target.signal("SIGINT");
      return this.ofText(step, "running", null, from, limit);
    }
    const stopped = request.onTimeout === "leave" ? null : await this.stop(record.id, request.onTimeout);
    if (stopped === null) return this.ofRecord(step, "running", recorder.get(record.id) ?? record, limit);
    return this.ofRecord(step, stopped.by === "kill" ? "killed" : "interrupted", stopped.record, limit);
  }

  /** Waits until the session's shell shows an empty prompt; refuses when something else is there. */
  private async atPrompt(deadline: number, signal: AbortSignal | undefined): Promise<void> {
    const { target, recorder, clock, prompt, text, observer } = this.port;
    observer.requireRunning();
    observer.observe();
    if (target.shell === null && target.replacedBy === null) {
      const reason = target.integrationReason ?? "it does not run a shell that wsh knows";
      throw new WshError("no_shell_integration", `the session has no shell integration: ${reason}`);
    }
    // A caller who does not wait still gets what is about to be: the prompt after the command before.
    const until = Math.min(Math.max(deadline, clock.now() + BEGIN_MS), clock.now() + PROMPT_MS);
    while (recorder.phase !== "prompt") {
      if (recorder.phase === "running") throw this.notAtPrompt();
      const came = await this.promptComes(until, signal);
      if (came) continue;
      const obstacle = obstacleTo(this.port, observer.observe());
      if (obstacle !== null) throw obstacle;
      observer.requireRunning();
      if (signal?.aborted === true) throw new WshError("cancelled", "the caller stopped waiting");
      if (recorder.active) throw this.notAtPrompt();
      throw new WshError("no_shell_integration", "the shell has shown no prompt of its integration yet");
    }
    if (recorder.shellHoldsTerminal() === false) throw this.notAtPrompt();
    const start = recorder.inputStart;
    if (start !== null && !prompt.isEmpty(text, start)) {
      throw new WshError("prompt_not_empty", "something has been typed since the prompt");
    }
  }

  /** The next prompt, or false at the deadline, at the child's end, and when the caller is gone. */
  private promptComes(until: number, signal: AbortSignal | undefined): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const { recorder, clock } = this.port;
    const left = until - clock.now();
    if (left <= 0 || signal?.aborted === true) return Promise.resolve(false);
    const cancel = (): void => resolve(false);
    const listener = recorder.on({ prompt: () => resolve(true), started: () => resolve(true), exited: cancel });
    const timer = clock.after(left, cancel);
    const obstacle = watchObstacle(this.port, cancel);
    signal?.addEventListener("abort", cancel, { once: true });
    return promise.finally(() => {
      listener[Symbol.dispose]();
      timer[Symbol.dispose]();
      obstacle[Symbol.dispose]();
      signal?.removeEventListener("abort", cancel);
    });
  }

  private notAtPrompt(): WshError {
    const state = this.port.observer.observe();
    const running = this.port.recorder.runningCommand?.command ?? state.foreground?.name ?? "a program";
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
    const kept = this.port.recorder.output(record.id) ?? { head: [], tail: [], omitted: record.output_lines };
    return {
      ...this.skipped(step),
      ...outputOf(kept, limit),
      state: record.state === "lost" || record.state === "replaced" ? record.state : state,
      exit_code: record.exit_code,
      signal: record.signal,
      duration_ms: record.duration_ms,
      cwd: this.port.cwd() ?? record.cwd,
      command_id: record.id,
      output_cursor: record.output_end ?? this.port.text.offset,
    };
  }

  /** A step without a record: what came after its input. */
  private ofText(step: Step, state: ExecState, exitCode: number | null, from: TextPosition, limit: number): StepResult {
    const { text } = this.port;
    const promptAt = this.port.recorder.promptStart;
    const to = promptAt !== null && promptAt.line > from.line ? promptAt : text.position();
    const kept = linesBetween(text, { line: from.line + 1, index: 0 }, to, limit);
    return { ...this.skipped(step), ...outputOf(kept, limit), state, exit_code: exitCode, cwd: this.port.cwd() };
  }
}

function outputOf(kept: KeptLines, limit: number): Pick<StepResult, "output" | "omitted_lines"> {
  const { text, omittedLines } = cutOutput(kept, limit);
  return { output: text, omitted_lines: omittedLines };
}

/** Watches one step from before its input is sent; `end` may be awaited again with a later deadline. */
class StepWatch implements Disposable {
  /** The step's command, once it has begun. */
  record: CommandRecord | null = null;
  private ended: StepEnd | null = null;
  private notify: (() => void) | null = null;
  private readonly listener: Disposable;
  private readonly timers: Disposable[] = [];
  private disposed = false;

  constructor(
    private readonly port: ExecPort,
    background: boolean,
  ) {
    const { recorder, clock } = port;
    const begin = port.text.offset;
    const unstarted = (): void => {
      if (this.record !== null || this.ended !== null) return;
      if (!port.observer.observe().settled) {
        // The shell is busy: what was typed may still become a command.
        this.after(UNSTARTED_MS, unstarted);
        return;
      }
      const { lastStatus } = recorder;
      const exitCode = lastStatus !== null && lastStatus.offset > begin ? lastStatus.exitCode : null;
      this.finish({ kind: "unstarted", exitCode });
    };
    this.listener = recorder.on({
      started: (record) => {
        this.record ??= record;
        if (background) this.finish({ kind: "started", record });
      },
      finished: (record) => {
        if (record.id === this.record?.id) this.finish({ kind: "finished", record });
      },
      prompt: () => this.after(UNSTARTED_MS, unstarted),
      exited: () => this.finish({ kind: "exited" }),
    });
    const began = clock.now();
    const check = (): void => {
      if (this.record !== null || this.ended !== null) return;
      // The shell is at its prompt, has read everything, and began nothing: the text is not complete for it.
      const stuck = clock.now() - began >= STUCK_MS && port.observer.observe().settled;
      if (stuck && recorder.phase === "prompt") this.finish({ kind: "stuck" });
      else this.after(STUCK_MS / 4, check);
    };
    this.after(STUCK_MS, check);
  }

  async end(deadline: number, signal: AbortSignal | undefined): Promise<StepEnd> {
    if (this.ended === null) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const left = deadline - this.port.clock.now();
      const timer = this.port.clock.after(Math.max(0, left), resolve);
      this.notify = resolve;
      const cancel = (): void => resolve();
      signal?.addEventListener("abort", cancel, { once: true });
      if (signal?.aborted !== true) await promise;
      timer[Symbol.dispose]();
      signal?.removeEventListener("abort", cancel);
      this.notify = null;
    }
    return this.ended ?? { kind: signal?.aborted === true ? "cancelled" : "timeout" };
  }

  /** Once it has begun, or has ended without, as at a deadline. */
  async begun(ms: number, signal: AbortSignal | undefined): Promise<StepEnd> {
    const listener = this.port.recorder.on({ started: () => this.notify?.() });
    const end = await this.end(this.port.clock.now() + ms, signal);
    listener[Symbol.dispose]();
    return end;
  }

  [Symbol.dispose](): void {
    this.disposed = true;
    this.listener[Symbol.dispose]();
    for (const timer of this.timers) timer[Symbol.dispose]();
  }

  private finish(end: StepEnd): void {
    this.ended ??= end;
    this.notify?.();
  }

  private after(ms: number, fire: () => void): void {
    if (!this.disposed) this.timers.push(this.port.clock.after(ms, fire));
  }
}
