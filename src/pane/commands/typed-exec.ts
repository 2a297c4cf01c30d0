/**
 * exec at the prompt of a shell that has no integration: a nested sh, one behind ssh or in a container
 * (docs/protocol.md, Typed commands).
 *
 * The line is typed without Enter; Enter follows only when its echo is before the cursor, else Ctrl+U. From then on
 * only marks with the line's secret count, which its shell prints before and after the command. The result is never
 * verified: the secret was shown on the terminal. One typed command at a time; one whose caller left is followed until
 * its mark, the end of its shell, or until a caller abandons it.
 */
import { Wait } from "../../base/deadline.ts";
import { platform } from "../../platform/platform.ts";
import type { Step, StepResult } from "../../protocol/commands.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { PASTE_BEGIN, PASTE_END } from "../../protocol/pasted-text.ts";
import { type TypedShell, typedLine } from "../../shell/typed-line.ts";
import type { InputHold } from "../input-gate.ts";
import type { ShellMark } from "../ports.ts";
import { cutOutput } from "../text/cut-output.ts";
import type { RetiredLines, TerminalText } from "../text/text.ts";
import type { ExecPort, ExecRequest } from "./exec-port.ts";
import { signalOfExitCode } from "./exit-signal.ts";
import { CTRL_C } from "./prompt-line.ts";
import { type PromptScreen, refusalAt } from "./typed-prompt.ts";
import { type TypedEnd, TypedRun } from "./typed-run.ts";

/** How long a prompt may take to appear, in ms. */
const PROMPT_MS = 5_000;
/** How long the echo of the line may take, in ms: a slow connection's worst round trip. */
const ECHO_MS = 5_000;
/** How long the shell may take from Enter to the first mark, in ms, in addition to the echo's time. */
const MAX_START_MS = 5_000;
/** How long an interrupted or killed command may take to end, in ms. */
const STOP_MS = 2_000;
/** Lines above the cursor on which the echo may have begun: a prompt may be redrawn in another place. */
const REDRAWN_LINES = 3;
/** Bytes of the secret. */
const NONCE_BYTES = 16;
const ENTER = Uint8Array.of(13);
const CTRL_U = Uint8Array.of(21);

export class TypedExec {
  private currentRun: TypedRun | null = null;
  private readonly watchers = new Set<() => void>();

  constructor(private readonly port: ExecPort) {}

  /** A mark of a typed command. */
  handleMark(mark: ShellMark): void {
    const { currentRun } = this;
    currentRun?.handleMark(mark);
    if (currentRun?.isOver !== true) return;
    // Its output belongs to its caller, if that is still waiting.
    currentRun[Symbol.dispose]();
    this.currentRun = null;
  }

  /** Runs per chunk; costs nothing without a pending echo. */
  noteChunk(): void {
    for (const watcher of [...this.watchers]) watcher();
  }

  noteRetired(lines: RetiredLines): void {
    this.currentRun?.noteRetired(lines);
  }

  /** @throws WshError not_at_prompt, prompt_not_empty, not_echoed, session_ended, input_send_failed, cancelled */
  async runStep(
    step: Step,
    shell: TypedShell,
    request: ExecRequest,
    deadline: number,
    warnings: string[],
  ): Promise<StepResult> {
    const nonce = Buffer.from(crypto.getRandomValues(new Uint8Array(NONCE_BYTES))).toString("hex");
    const line = typedLine(step.command, shell, nonce);
    const { state, before } = await this.awaitPromptScreen(request, deadline);
    const { limits } = platform();
    if (this.port.flags()?.canonical === true && Buffer.byteLength(line) >= limits.cookedLine) {
      const message = `the terminal accepts lines of ${limits.cookedLine} bytes; the command has ${line.length}`;
      throw new WshError("not_echoed", message, { hint: "Put the command into a file and run that." });
    }
    const run = new TypedRun(
      this.port,
      nonce,
      state.state === "prompt" ? (state.foreground?.pid ?? null) : null,
      before,
    );
    request.requireInTime?.();
    const hold = this.port.target.hold();
    try {
      const began = this.port.clock.now();
      await this.typeEchoed(line, hold, deadline, request.signal);
      this.currentRun?.[Symbol.dispose]();
      this.currentRun = run;
      const echoMs = this.port.clock.now() - began;
      await hold.write(ENTER);
      const begun = await run.awaitBegin(MAX_START_MS + 2 * echoMs, request.signal);
      hold[Symbol.dispose]();
      if (begun === "cancelled") throw callerLeftError();
      if (begun === "late") {
        warnings.push(
          "Enter was pressed, but the command has not reported its start: the reader is busy, or is another shell. " +
            "It may still run; check the screen before you send it again",
        );
        return this.result(step, run, "lost", null, request);
      }
      const end = await run.awaitEnd(Math.max(0, deadline - this.port.clock.now()), request.signal);
      return await this.conclude(step, run, end, request, warnings);
    } finally {
      hold[Symbol.dispose]();
      if (run.isOver && this.currentRun === run) this.currentRun = null;
      if (this.currentRun !== run) run[Symbol.dispose]();
    }
  }

  private async conclude(
    step: Step,
    run: TypedRun,
    end: TypedEnd | null,
    request: ExecRequest,
    warnings: string[],
  ): Promise<StepResult> {
    if (end === null && request.signal?.aborted === true) throw callerLeftError();
    if (end === null) {
      const { onTimeout } = request;
      const by = onTimeout === "leave" ? null : await this.stopRun(run, onTimeout);
      const stopped = by === null ? null : await run.awaitEnd(STOP_MS, undefined);
      if (stopped?.kind === "marked" || stopped?.kind === "given_up") {
        const exitCode = stopped.kind === "marked" ? stopped.exitCode : null;
        return this.result(step, run, by === "kill" ? "killed" : "interrupted", exitCode, request);
      }
      if (stopped === null) {
        warnings.push("a typed command has no command_id: wait for text, idle or prompt, and read with since");
        return this.result(step, run, "running", null, request);
      }
      warnings.push(stopped.why);
      return this.result(step, run, "lost", null, request);
    }
    warnings.push(...run.outputDoubts());
    if (end.kind === "marked") return this.result(step, run, "finished", end.exitCode, request);
    warnings.push(end.why);
    return this.result(step, run, end.kind === "replaced" ? "replaced" : "lost", null, request);
  }

  /** Interrupts by the key, which also reaches a remote program; kills only processes visible on this machine. */
  private async stopRun(run: TypedRun, how: "interrupt" | "kill"): Promise<"interrupt" | "kill"> {
    const { target, leader } = this.port;
    run.noteInterrupt();
    const pid = leader()?.pid ?? null;
    if (how === "kill" && run.shell !== null && pid !== null && pid !== run.shell && target.kill()) return "kill";
    const hold = target.hold();
    try {
      await hold.write(CTRL_C);
    } finally {
      hold[Symbol.dispose]();
    }
    return "interrupt";
  }

  private result(
    step: Step,
    run: TypedRun,
    state: StepResult["state"],
    exitCode: number | null,
    { outputLimit }: ExecRequest,
  ): StepResult {
    const { text, omittedLines } = cutOutput(run.output(), outputLimit);
    return {
      ...defined({ name: step.name }),
      state,
      exit_code: exitCode,
      signal: signalOfExitCode(exitCode),
      typed: true,
      verified: false,
      output: text,
      omitted_lines: omittedLines,
      duration_ms: run.durationMs,
      cwd: null,
      command_id: null,
      output_cursor: run.endOffset ?? this.port.text.offset,
    };
  }

  /** Waits until the screen may show a shell's prompt. @throws WshError as step */
  async awaitPromptScreen(request: ExecRequest, deadline: number): Promise<PromptScreen> {
    const { observer, clock, target } = this.port;
    const until = Math.min(Math.max(deadline, clock.now() + 1_000), clock.now() + PROMPT_MS);
    for (;;) {
      observer.requireRunning();
      if (request.signal?.aborted === true) throw new WshError("cancelled", "the caller stopped waiting");
      const standing = this.currentScreen();
      if (standing.isTouched && request.clearLine) {
        const hold = target.hold();
        await hold.write(CTRL_U).finally(() => hold[Symbol.dispose]());
        target.typed.noteDiscarded();
        continue;
      }
      const refusal = refusalAt(standing) ?? this.unfinishedRefusal(standing, request);
      if (refusal === null) return standing;
      if (!refusal.isPassing || clock.now() >= until) throw refusal.error;
      const wait = new Wait<void>({ clock, ms: until - clock.now(), signal: request.signal }, () => {});
      wait.own(observer.watch(() => (refusalAt(this.currentScreen())?.isPassing === true ? undefined : wait.end())));
      await wait.promise;
    }
  }

  private currentScreen(): PromptScreen {
    const { observer, text, target } = this.port;
    const { line, index } = text.position();
    return {
      state: observer.observe(),
      quietMs: observer.quietMs(),
      before: (text.line(line) ?? "").slice(0, index),
      isTouched: target.typed.isLineOpen || target.typed.isPasting,
    };
  }

  /** An earlier typed command has not ended, unless the kernel shows the shell at its prompt. */
  private unfinishedRefusal({ state }: PromptScreen, { clearLine }: ExecRequest): ReturnType<typeof refusalAt> {
    const { currentRun } = this;
    if (currentRun === null || currentRun.isOver || clearLine || state.state === "prompt") return null;
    const message = "the previous typed command has not reported its end";
    const hint = "Wait for its output, or press Ctrl+C; {clear_line} abandons it.";
    return { error: new WshError("not_at_prompt", message, { state: state.state, hint }), isPassing: false };
  }

  /** Types the line, and clears it again when it does not appear. */
  private async typeEchoed(
    line: string,
    hold: InputHold,
    deadline: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { text, clock, target } = this.port;
    const from = text.cursorLine;
    const ms = Math.min(ECHO_MS, Math.max(STOP_MS, deadline - clock.now()));
    const wait = new Wait<boolean>({ clock, ms, signal }, () => false);
    const watcher = (): void => void (isShown(text, from, line) && wait.end(true));
    this.watchers.add(watcher);
    wait.own(() => this.watchers.delete(watcher));
    // One paste if the editor supports it: keys bound to completion or correction do not act on it.
    const typed = target.bracketedPaste ? `${PASTE_BEGIN}${line}${PASTE_END}` : line;
    await this.port.send(new TextEncoder().encode(typed), hold);
    watcher();
    if (await wait.promise) return;
    await hold.write(CTRL_U);
    if (signal?.aborted === true) throw new WshError("cancelled", "the caller stopped waiting; nothing was run");
    throw new WshError("not_echoed", "the typed line did not appear at the cursor and was erased (Ctrl+U)");
  }
}

function callerLeftError(): WshError {
  return new WshError("cancelled", "the caller stopped waiting; the command keeps running");
}

/** Whether the line is before the cursor, with any wrapping. */
function isShown(text: TerminalText, from: number, line: string): boolean {
  const position = text.position();
  const shown = text
    .lines(Math.max(0, from - REDRAWN_LINES), position.line)
    .map(({ id, text: content }) => (id === position.line ? content.slice(0, position.index) : content))
    .join("");
  return withoutBlanks(shown).endsWith(withoutBlanks(line));
}

function withoutBlanks(text: string): string {
  return text.replace(/\s+/g, "");
}
