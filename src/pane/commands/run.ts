/**
 * Types input into the program, whatever it is, and returns when what the input started has ended (docs/protocol.md,
 * Commands).
 *
 * An end is, in this order: a shell command finished; the program waits for input again after reading what was sent; or
 * silence, and then only if nothing is known to be working: a quiet `sleep` is awaited until the deadline. All of it
 * counts from the moment the input was taken, so the answer never shows the screen from before.
 */

import { Alarm } from "../../base/alarm.ts";
import type { Clock } from "../../base/clock.ts";
import { Wait } from "../../base/deadline.ts";
import type { CommandRecord } from "../../protocol/commands.ts";
import type { DecidedBy } from "../../protocol/conditions.ts";
import { MAX_WAIT_MS } from "../../protocol/conditions.ts";
import { WshError } from "../../protocol/errors.ts";
import type { ProgramState } from "../state/classify.ts";
import type { StateObserver } from "../state/observer.ts";
import { type CutOutput, cutOutput } from "../text/cut-output.ts";
import type { EchoTracker } from "../text/echo.ts";
import { linesBetween } from "../text/lines-between.ts";
import type { TerminalText, TextPosition } from "../text/text.ts";
import type { CommandLog } from "./command-log.ts";

/** Time between two checks that must agree before silence counts as an end, in ms: longer than a change of programs. */
const CONFIRM_MS = 50;
/** How long the next prompt is awaited after a command has ended, so that the screen shows it, in ms. */
const PROMPT_MS = 100;
/** How long a shell may take between Enter and the start of the command, in ms. */
const COMMAND_MS = 500;

export interface RunRequest {
  readonly input: Uint8Array;
  /** Silence that ends it, in ms; 0 returns at the first activity. */
  readonly timeoutMs: number;
  readonly maxWaitMs: number;
  /** UTF-8 bytes of output. */
  readonly outputLimit: number;
  readonly signal?: AbortSignal | undefined;
}

export interface RunOutcome {
  readonly decidedBy: DecidedBy;
  /** Output after the input, without its echo. */
  readonly output: CutOutput;
  readonly outputCursor: number;
  /** The last shell command that ran and ended, if any. */
  readonly command: CommandRecord | null;
  readonly state: ProgramState;
  readonly warnings: readonly string[];
}

export interface RunPort {
  readonly text: TerminalText;
  readonly clock: Clock;
  readonly log: CommandLog;
  readonly observer: StateObserver;
  readonly echo: EchoTracker;
  /** Writes what the caller types. */
  type(bytes: Uint8Array): Promise<void>;
}

/** Lines of an input that a shell would take as commands. */
function commandLines(input: Uint8Array): number {
  const lines = new TextDecoder().decode(input).split(/[\r\n]/);
  return lines.slice(0, -1).filter((line) => line.trim() !== "").length;
}

/** Pending runs in one session; `chunk` notifies them of output. */
export class Runs {
  private readonly waiting = new Set<Run>();

  constructor(private readonly port: RunPort) {}

  /** Output was parsed. Runs per chunk. */
  chunk(): void {
    for (const run of this.waiting) run.chunk();
  }

  /** @throws WshError input_send_failed, session_ended, cancelled */
  async run(request: RunRequest): Promise<RunOutcome> {
    const { observer } = this.port;
    observer.requireRunning();
    const run = new Run(this.port, request);
    this.waiting.add(run);
    try {
      await this.port.type(request.input);
      return await run.outcome();
    } finally {
      this.waiting.delete(run);
      run[Symbol.dispose]();
    }
  }
}

interface RunEnd {
  readonly decidedBy: DecidedBy;
  readonly state: ProgramState | null;
}

class Run implements Disposable {
  private readonly from: TextPosition;
  private readonly fromOffset: number;
  private readonly atPrompt: boolean;
  private readonly lines: number;
  private readonly alarm: Alarm;
  private readonly listener: Disposable;
  private readonly done: Wait<RunEnd>;
  private watch: Disposable | null = null;
  private command: CommandRecord | null = null;
  private endedAt: number | null = null;
  private started = 0;
  private deadline = 0;
  private sentAt = Number.POSITIVE_INFINITY;
  /** Since when the foreground program has been at rest without waiting for input. */
  private idle: { readonly program: number | null; readonly since: number } | null = null;

  constructor(
    private readonly port: RunPort,
    private readonly request: RunRequest,
  ) {
    const { text, clock, log } = port;
    this.from = text.position();
    this.fromOffset = text.offset;
    this.atPrompt = log.phase === "prompt" && log.verified;
    this.lines = commandLines(request.input);
    this.alarm = new Alarm(clock, () => this.timePassed());
    this.done = new Wait<RunEnd>({ signal: request.signal }, () => ({ decidedBy: "cancelled", state: null }));
    this.deadline = clock.now() + Math.min(MAX_WAIT_MS, request.maxWaitMs);
    this.listener = log.on({
      started: () => void this.started++,
      finished: (record) => {
        this.command = record;
        // Several lines are several commands: the end is the last one's, when the shell is at rest.
        if (this.lines > 1) return;
        this.endedAt = clock.now();
        this.alarm.set(this.endedAt + PROMPT_MS);
      },
      prompt: () => {
        if (this.command !== null && this.lines <= 1) this.finish("command_finished", null);
      },
      exited: () => this.finish("exited", null),
    });
  }

  chunk(): void {
    if (this.request.timeoutMs === 0) this.finish(this.endedAt === null ? "idle" : "command_finished", null);
  }

  async outcome(): Promise<RunOutcome> {
    const { timeoutMs } = this.request;
    const { observer, clock, text } = this.port;
    this.sentAt = clock.now();
    this.watch = observer.watch((state) => this.stateSeen(state));
    this.alarm.set(Math.min(this.deadline, this.sentAt + Math.max(1, timeoutMs)));
    const { decidedBy, state } = await this.done.promise;
    if (decidedBy === "cancelled") throw new WshError("cancelled", "the caller stopped waiting; what runs goes on");
    const warnings =
      this.started === 0 && decidedBy !== "timeout" && this.isTextAlone()
        ? ["the input has no newline and nothing ran: set submit to send Enter after it"]
        : [];
    return {
      decidedBy,
      output: this.output(),
      outputCursor: text.offset,
      command: this.command,
      state: state ?? observer.observe(),
      warnings: [...warnings, ...(this.command?.warnings ?? [])],
    };
  }

  [Symbol.dispose](): void {
    this.alarm.clear();
    this.done[Symbol.dispose]();
    this.listener[Symbol.dispose]();
    this.watch?.[Symbol.dispose]();
  }

  /** Text without Enter or any other key. */
  private isTextAlone(): boolean {
    const { input } = this.request;
    return input.length > 0 && input.every((byte) => byte >= 32 && byte !== 127);
  }

  private output(): CutOutput {
    const { log, text, echo } = this.port;
    const { outputLimit } = this.request;
    // Of a command that was already running, such as a REPL, only the output after this input.
    const own = this.command === null || this.started !== 1 ? null : log.output(this.command.id);
    const kept = own ?? linesBetween(text, this.from, text.position(), outputLimit, (line) => echo.masks(line));
    return cutOutput(kept, outputLimit);
  }

  /** A line typed at the prompt becomes a command, or a status without one; an editor may redraw the prompt first. */
  private get isCommandComing(): boolean {
    const { log, clock } = this.port;
    if (!this.atPrompt || this.lines === 0 || this.started > 0) return false;
    const answered = (log.lastStatus?.offset ?? -1) > this.fromOffset;
    return !answered && clock.now() < this.sentAt + COMMAND_MS;
  }

  private stateSeen(state: ProgramState): void {
    const { observer } = this.port;
    if (state.state === "exited") this.finish("exited", state);
    if (state.state === "prompt" && this.isCommandComing) return;
    if (state.settled && state.state !== "running") {
      const decidedBy = state.state === "fullscreen" ? "waiting_for_input" : state.state;
      this.finish(this.command !== null && state.state === "prompt" ? "command_finished" : decidedBy, state);
      return;
    }
    const { timeoutMs } = this.request;
    if (timeoutMs === 0 || observer.quietMs() < timeoutMs || state.doing === "working") this.idle = null;
    else this.confirmIdle(state);
  }

  /** One observation may fall between two programs, when no group holds the terminal: two must agree. */
  private confirmIdle(state: ProgramState): void {
    const now = this.port.clock.now();
    const program = state.foreground?.pid ?? null;
    const { idle } = this;
    if (idle !== null && idle.program === program) {
      if (now >= idle.since + CONFIRM_MS) this.finish("idle", state);
      return;
    }
    this.idle = { program, since: now };
    this.alarm.set(Math.min(this.deadline, now + CONFIRM_MS));
  }

  private timePassed(): void {
    const { clock, observer } = this.port;
    const now = clock.now();
    if (this.endedAt !== null) {
      const shownBy = Math.min(this.deadline, this.endedAt + PROMPT_MS);
      if (now >= shownBy) this.finish("command_finished", null);
      else this.alarm.set(shownBy);
      return;
    }
    if (now >= this.deadline) {
      this.finish("timeout", null);
      return;
    }
    const quiet = observer.quietMs();
    // 0 means the first activity, which `chunk` reports; until then only the deadline ends it.
    if (this.request.timeoutMs === 0) this.alarm.set(this.deadline);
    else if (quiet < this.request.timeoutMs)
      this.alarm.set(Math.min(this.deadline, now + this.request.timeoutMs - quiet));
    else {
      // Longer silence is the watch's to judge: it checks again now and then.
      this.stateSeen(observer.observe());
      this.alarm.set(this.deadline);
    }
  }

  private finish(decidedBy: DecidedBy, state: ProgramState | null): void {
    this.done.end({ decidedBy, state });
  }
}
