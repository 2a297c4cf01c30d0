/**
 * One typed command from its Enter on: its marks, the output between them, and the end of its shell. It ends with its
 * second mark, or with its shell; later output does not belong to it.
 */
import { Wait } from "../../base/deadline.ts";
import { platform } from "../../platform/platform.ts";
import { shellKind } from "../../shell/plan.ts";
import type { ShellMark } from "../ports.ts";
import type { ProgramState } from "../state/classify.ts";
import type { RetainedLines } from "../text/retained-lines.ts";
import { RunningOutput } from "../text/running-output.ts";
import type { RetiredLines, TextPosition } from "../text/text.ts";
import { defaultCommandLogLimits } from "./command-records.ts";
import type { ExecPort } from "./exec-port.ts";
import { countersOf, doubtsOf } from "./log-entry.ts";

/**
 * marked: by its own mark. gone: its shell has ended. replaced: its shell has become another program. given_up: the
 * shell shows the earlier prompt again, and has dropped the rest of the line with the mark (Ctrl+C).
 */
export type TypedEnd =
  | { readonly kind: "marked"; readonly exitCode: number }
  | { readonly kind: "gone" | "replaced" | "given_up"; readonly why: string };

/** Silence after which a prompt counts as final when only the screen shows it, in ms. */
const REST_MS = 300;

/** Advice for making the shell's commands exact. */
function integrationHint(shell: string): string {
  return `integrate (${shell}) makes its commands exact`;
}

const NO_LINES: RetainedLines = { head: [], tail: [], omitted: 0 };

export class TypedRun implements Disposable {
  /** Output bytes up to the end. */
  endOffset: number | null = null;
  private runningOutput: RunningOutput | null = null;
  private retainedOutput: RetainedLines | null = null;
  private startedAt: number | null = null;
  private endedAt: number | null = null;
  private end: TypedEnd | null = null;
  private countersBefore = { scrolledAway: 0, replacedParts: 0 };
  private isInterrupted = false;
  private waiters = new Set<() => void>();
  private readonly disposables: Disposable[];
  private readonly image: string | null;

  /**
   * @param shell pid of the shell, if the kernel shows it on this machine
   * @param prompt text before the cursor when the line was typed
   */
  constructor(
    private readonly port: ExecPort,
    private readonly nonce: string,
    readonly shell: number | null,
    private readonly prompt: string,
  ) {
    const { log } = port;
    const outer = log.runningCommand?.id;
    this.image = this.currentImage();
    this.disposables = [
      log.on({
        finished: ({ id, exit_code }) => {
          if (id === outer) this.handleShellEnd(`the shell exited${exit_code === null ? "" : `, with ${exit_code}`}`);
        },
        exited: () => this.handleShellEnd("the session's program has exited"),
      }),
    ];
  }

  /** The command was interrupted: from now on a prompt is its end, even if only the screen shows it. */
  noteInterrupt(): void {
    this.isInterrupted = true;
  }

  get isOver(): boolean {
    return this.end !== null;
  }

  /** Time from mark to mark; null when one is missing. */
  get durationMs(): number | null {
    return this.startedAt === null || this.endedAt === null ? null : Math.round(this.endedAt - this.startedAt);
  }

  handleMark({ nonce, exitCode, position, offset }: ShellMark): void {
    if (nonce !== this.nonce || this.end !== null) return;
    const { text, clock } = this.port;
    if (exitCode === null) {
      this.startedAt ??= clock.now();
      this.countersBefore = countersOf(text);
      this.runningOutput ??= new RunningOutput(text, position, defaultCommandLogLimits.recordBytes);
    } else if (this.runningOutput !== null) {
      this.closeOutput(position, offset);
      this.endedAt = clock.now();
      this.end = { kind: "marked", exitCode };
    }
    for (const tell of [...this.waiters]) tell();
  }

  noteRetired(lines: RetiredLines): void {
    if (this.end === null) this.runningOutput?.noteRetired(lines);
  }

  /** Waits for the first mark. */
  async awaitBegin(ms: number, signal: AbortSignal | undefined): Promise<"begun" | "late" | "cancelled"> {
    await this.awaitCondition(() => this.runningOutput !== null || this.end !== null, ms, signal);
    if (this.runningOutput !== null || this.end !== null) return "begun";
    return signal?.aborted === true ? "cancelled" : "late";
  }

  /** Waits for the end; null at the deadline, or when the caller is gone. */
  async awaitEnd(ms: number, signal: AbortSignal | undefined): Promise<TypedEnd | null> {
    await this.awaitCondition(() => this.end !== null, ms, signal);
    return this.end;
  }

  /** Its output, so far while it runs. */
  output(): RetainedLines {
    return this.retainedOutput ?? this.runningOutput?.collect(this.port.text.position()) ?? NO_LINES;
  }

  /** Reasons why the output may be incomplete. */
  outputDoubts(): readonly string[] {
    const { countersBefore, runningOutput } = this;
    return runningOutput === null
      ? []
      : doubtsOf({ ...countersBefore, doubts: [], output: runningOutput }, this.port.text);
  }

  [Symbol.dispose](): void {
    for (const each of this.disposables) each[Symbol.dispose]();
  }

  private async awaitCondition(holds: () => boolean, ms: number, signal: AbortSignal | undefined): Promise<void> {
    if (holds()) return;
    const wait = new Wait<void>({ clock: this.port.clock, ms, signal }, () => {});
    const tell = (): void => void (holds() && wait.end());
    this.waiters.add(tell);
    wait.own(
      () => this.waiters.delete(tell),
      this.port.observer.watch((state) => this.checkShell(state)),
    );
    await wait.promise;
  }

  /** Checks whether its shell still runs, as the same program. */
  private checkShell(state: ProgramState): void {
    const { shell } = this;
    if (this.end === null && this.runningOutput !== null && this.isBackAtPrompt(state)) {
      this.finish({ kind: "given_up", why: "the shell shows its prompt again without completing the line" });
    }
    if (shell === null || this.end !== null) return;
    if (!platform().processes.isAlive(shell)) this.handleShellEnd("the shell has ended");
    else if (this.currentImage() !== this.image) {
      const name = platform().processes.stat(shell)?.name ?? "another program";
      const more = shellKind(name) === "other" ? "" : `; ${integrationHint(name)}`;
      this.finish({ kind: "replaced", why: `the shell has become '${name}' (exec)${more}` });
    }
  }

  private isBackAtPrompt({ state, settled, foreground }: ProgramState): boolean {
    const { text, observer } = this.port;
    const { line, index } = text.position();
    if (this.prompt.trim() === "" || (text.line(line) ?? "").slice(0, index).trim() !== this.prompt.trim())
      return false;
    if (this.shell !== null) return state === "prompt" && settled && foreground?.pid === this.shell;
    return this.isInterrupted && observer.quietMs() >= REST_MS;
  }

  private currentImage(): string | null {
    const image = this.shell === null ? null : platform().processes.image(this.shell);
    return image === null ? null : `${image.executable}\0${image.start}`;
  }

  private handleShellEnd(why: string): void {
    this.finish({ kind: "gone", why });
  }

  private finish(end: TypedEnd): void {
    if (this.end !== null) return;
    const { text } = this.port;
    const position = text.position();
    // The line at the cursor is the next prompt.
    this.closeOutput(end.kind === "gone" ? position : { line: position.line, index: 0 }, text.offset);
    this.end = end;
    for (const tell of [...this.waiters]) tell();
  }

  private closeOutput(position: TextPosition, offset: number): void {
    this.retainedOutput = this.runningOutput?.collect(position) ?? NO_LINES;
    this.endOffset = offset;
  }
}
