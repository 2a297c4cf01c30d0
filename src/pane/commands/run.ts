/**
 * Types input into any program, and returns when the activity that it started has ended (docs/protocol.md, Commands).
 *
 * An end is, in this order: a shell command finished; the program waits for input again after reading the input; or
 * silence. Silence counts only if no program is known to be working, unless the caller specified its length: otherwise
 * a quiet `sleep` is awaited until the deadline. All conditions count from the moment the program received the input,
 * so the answer never shows the earlier screen.
 */

import { Alarm } from "../../base/alarm.ts";
import type { Clock } from "../../base/clock.ts";
import { Wait } from "../../base/deadline.ts";
import type { CommandRecord } from "../../protocol/commands.ts";
import type { DecidedBy } from "../../protocol/conditions.ts";
import { WshError } from "../../protocol/errors.ts";
import { DEFAULT_IDLE_MS, MAX_WAIT_MS } from "../../protocol/wait-times.ts";
import type { ProgramState } from "../state/classify.ts";
import type { StateObserver } from "../state/observer.ts";
import { isText, unreadReason } from "../state/reading.ts";
import { joinInput, type TypedInput } from "../submits.ts";
import type { CutOutput } from "../text/cut-output.ts";
import { requireOwnCursor } from "../text/own-cursor.ts";
import type { RetiredLines } from "../text/text.ts";
import { type OutputPort, type OutputRequest, RunOutput } from "./run-output.ts";

/** Time between two checks that must agree before silence counts as an end, in ms: longer than a change of programs. */
const CONFIRM_MS = 50;
/** How long the next prompt is awaited after a command has ended, so that the screen shows it, in ms. */
const PROMPT_MS = 100;
/** How long input waits for the prompt that a shell is about to show, in ms. */
const PROMPT_WAIT_MS = 1_000;
/** How long a shell may take between Enter and the start of the command, in ms. */
const COMMAND_START_MS = 500;

export interface RunRequest extends Omit<OutputRequest, "input"> {
  readonly input: TypedInput;
  /**
   * Silence that ends the run, even while the program works, in ms; 0 returns at the first activity. Absent:
   * the usual silence, unless the program is known to work.
   */
  readonly timeoutMs?: number | undefined;
  readonly maxWaitMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Called before the first byte is typed: throws when it is too late. */
  readonly requireInTime?: (() => void) | undefined;
}

export interface RunOutcome {
  readonly decidedBy: DecidedBy;
  /** Output after the input, without its echo and the prompts around it. */
  readonly output: CutOutput;
  /** The prompt before the cursor of a program that waits for input. */
  readonly prompt: string | null;
  /** The cursor from which the output counts. */
  readonly since: number;
  readonly outputCursor: number;
  /** The last shell command that ran and ended, if any. */
  readonly command: CommandRecord | null;
  readonly state: ProgramState;
  readonly warnings: readonly string[];
}

interface RunPort extends OutputPort {
  readonly clock: Clock;
  readonly observer: StateObserver;
  /** Writes the caller's input. */
  type(input: TypedInput): Promise<void>;
  /** Whether a line was entered at the prompt, and no command has begun. */
  isLineEntered(): boolean;
}

/** Lines of an input that a shell would run as commands. */
function commandLines(input: Uint8Array): number {
  const lines = new TextDecoder().decode(input).split(/[\r\n]/);
  return lines.slice(0, -1).filter((line) => line.trim() !== "").length;
}

/** The only line of an input; null for none or several. */
function onlyLine(input: Uint8Array): string | null {
  const [line = "", rest] = new TextDecoder()
    .decode(input)
    .trim()
    .split(/[\r\n]+/);
  return rest === undefined && line !== "" ? line : null;
}

function withoutBlanks(line: string): string {
  return line.replace(/\s+/g, "");
}

/** Pending runs in one session; `noteChunk` notifies them of output. */
export class Runs {
  private readonly pendingRuns = new Set<Run>();

  constructor(private readonly port: RunPort) {}

  /** Whether a caller waits for its input to be processed. */
  get isPending(): boolean {
    return this.pendingRuns.size > 0;
  }

  /** Output was parsed. Runs per chunk. */
  noteChunk(): void {
    for (const run of this.pendingRuns) run.noteChunk();
  }

  /** History drops lines. */
  noteRetired(lines: RetiredLines): void {
    for (const run of this.pendingRuns) run.output.noteRetired(lines);
  }

  /** Lines from `top` on were erased and are printed again. */
  noteErasedBelow(top: number): void {
    for (const run of this.pendingRuns) run.output.noteErasedBelow(top);
  }

  /** @throws WshError input_send_failed, session_ended, cancelled, invalid_cursor */
  async run(request: RunRequest): Promise<RunOutcome> {
    const { observer, text } = this.port;
    observer.requireRunning();
    if (request.since !== undefined) requireOwnCursor(text, request.since);
    await this.awaitPrompt(request.signal);
    request.requireInTime?.();
    const run = new Run(this.port, { ...request, input: joinInput(request.input) });
    this.pendingRuns.add(run);
    try {
      await this.port.type(request.input);
      return await run.awaitOutcome();
    } finally {
      this.pendingRuns.delete(run);
      run[Symbol.dispose]();
    }
  }

  /** Waits for a prompt that is about to be shown, or a command just entered: they belong to earlier input. */
  async awaitPrompt(signal: AbortSignal | undefined): Promise<void> {
    const { log, clock } = this.port;
    const isComing = log.phase === "prompt" && log.hasVerifiedMarks && this.port.isLineEntered();
    if (!isComing && log.phase !== "ended" && log.phase !== "drawing") return;
    const wait = new Wait<void>({ clock, ms: isComing ? COMMAND_START_MS : PROMPT_WAIT_MS, signal }, () => {});
    const come = (): void => wait.end();
    wait.own(log.on({ prompt: come, started: come, exited: come }));
    await wait.promise;
  }
}

interface RunEnd {
  readonly decidedBy: DecidedBy;
  readonly state: ProgramState | null;
}

class Run implements Disposable {
  readonly output: RunOutput;
  private readonly fromOffset: number;
  private readonly isAtPrompt: boolean;
  private readonly commandCount: number;
  private readonly alarm: Alarm;
  private readonly listener: Disposable;
  private readonly ending: Wait<RunEnd>;
  private watch: Disposable | null = null;
  private command: CommandRecord | null = null;
  private endedAt: number | null = null;
  /** Ids of the started commands; for a single line the newest, since others may have entered theirs before. */
  private startedIds: number[] = [];
  private deadline = 0;
  private sentAt = Number.POSITIVE_INFINITY;
  /** Since when the foreground program has been at rest without waiting for input. */
  private restingSince: { readonly program: number | null; readonly since: number } | null = null;
  private readonly silenceMs: number;

  constructor(
    private readonly port: RunPort,
    private readonly request: Omit<RunRequest, "input"> & OutputRequest,
  ) {
    const { text, clock, log } = port;
    this.silenceMs = request.timeoutMs ?? DEFAULT_IDLE_MS;
    this.output = new RunOutput(port, request);
    this.fromOffset = text.offset;
    this.isAtPrompt = log.phase === "prompt" && log.hasVerifiedMarks;
    this.commandCount = commandLines(request.input);
    this.alarm = new Alarm(clock, () => this.handleTimer());
    this.ending = new Wait<RunEnd>({ signal: request.signal }, () => ({ decidedBy: "cancelled", state: null }));
    this.deadline = clock.now() + Math.min(MAX_WAIT_MS, request.maxWaitMs);
    this.listener = log.on({
      started: ({ id }) => {
        this.startedIds = this.commandCount > 1 ? [...this.startedIds, id] : [id];
        this.endedAt = null;
      },
      finished: (record) => {
        this.command = record;
        // Several lines are several commands: the input ends with the last one, when the shell is at rest. The same
        // holds if the command was, or may have been, entered earlier.
        if (this.commandCount > 1 || !this.isOwn(record)) return;
        this.endedAt = clock.now();
        this.alarm.set(this.endedAt + PROMPT_MS);
      },
      prompt: () => {
        if (this.endedAt !== null) this.finish("command_finished", null);
      },
      exited: () => this.finish("exited", null),
    });
  }

  noteChunk(): void {
    if (this.silenceMs === 0) this.finish(this.endedAt === null ? "idle" : "command_finished", null);
  }

  async awaitOutcome(): Promise<RunOutcome> {
    const { observer, clock, text } = this.port;
    this.sentAt = clock.now();
    this.watch = observer.watch((state) => this.handleState(state));
    this.alarm.set(Math.min(this.deadline, this.sentAt + Math.max(1, this.silenceMs)));
    const { decidedBy, state } = await this.ending.promise;
    if (decidedBy === "cancelled")
      throw new WshError("cancelled", "the caller stopped waiting; the program keeps running");
    const warnings =
      this.startedIds.length === 0 && decidedBy !== "timeout" && this.isTextAlone() && this.output.isAtCursor
        ? ["the text was typed without Enter, so nothing ran"]
        : [];
    const now = state ?? observer.observe();
    const unread =
      !this.isAtPrompt && this.startedIds.length === 0 && isText(this.request.input) ? unreadReason(now) : null;
    if (unread !== null) warnings.push(unread);
    const isOwn = this.startedIds.length === Math.max(1, this.commandCount);
    const { lostRows } = this.output;
    if (!isOwn && lostRows > 0) warnings.push(`${lostRows} rows left a scroll region and are not in the output`);
    return {
      decidedBy,
      ...this.output.collect(now, isOwn ? this.startedIds : []),
      since: this.output.fromCursor,
      outputCursor: text.issueCursor(),
      command: this.command,
      state: now,
      // A record's doubts are about all of a command's output.
      warnings: [...warnings, ...(isOwn ? (this.command?.warnings ?? []) : [])],
    };
  }

  [Symbol.dispose](): void {
    this.alarm.clear();
    this.ending[Symbol.dispose]();
    this.listener[Symbol.dispose]();
    this.watch?.[Symbol.dispose]();
  }

  /** Whether the input has certainly started it. */
  private isOwn({ id, command }: CommandRecord): boolean {
    if (!this.startedIds.includes(id)) return false;
    const line = onlyLine(this.request.input);
    return line === null || command === null || withoutBlanks(command) === withoutBlanks(line);
  }

  /** Text without Enter or any other key. */
  private isTextAlone(): boolean {
    const { input } = this.request;
    return input.length > 0 && input.every((byte) => byte >= 32 && byte !== 127);
  }

  /** A line typed at the prompt becomes a command, or a status without one; an editor may redraw the prompt first. */
  private get isCommandComing(): boolean {
    const { log, clock } = this.port;
    if (!this.isAtPrompt || this.commandCount === 0 || this.startedIds.length > 0) return false;
    const answered = (log.shell.lastStatus?.offset ?? -1) > this.fromOffset;
    return !answered && clock.now() < this.sentAt + COMMAND_START_MS;
  }

  private handleState(state: ProgramState): void {
    const { observer } = this.port;
    if (state.state === "exited") this.finish("exited", state);
    if (state.state === "prompt" && this.isCommandComing) return;
    if (state.settled && state.state !== "running") {
      const decidedBy = state.state === "fullscreen" ? "waiting_for_input" : state.state;
      this.finish(this.command !== null && state.state === "prompt" ? "command_finished" : decidedBy, state);
      return;
    }
    const { silenceMs } = this;
    const isAwaited = this.request.timeoutMs === undefined && state.doing === "working";
    if (silenceMs === 0 || observer.quietMs() < silenceMs || isAwaited) this.restingSince = null;
    else this.confirmRest(state);
  }

  /** One observation may fall between two programs, when no group holds the terminal: two must agree. */
  private confirmRest(state: ProgramState): void {
    const now = this.port.clock.now();
    const program = state.foreground?.pid ?? null;
    const { restingSince } = this;
    if (restingSince !== null && restingSince.program === program) {
      if (now >= restingSince.since + CONFIRM_MS) this.finish("idle", state);
      return;
    }
    this.restingSince = { program, since: now };
    this.alarm.set(Math.min(this.deadline, now + CONFIRM_MS));
  }

  private handleTimer(): void {
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
    // 0 means the first activity, which `noteChunk` reports; until then only the deadline ends it.
    if (this.silenceMs === 0) this.alarm.set(this.deadline);
    else if (quiet < this.silenceMs) this.alarm.set(Math.min(this.deadline, now + this.silenceMs - quiet));
    else {
      // The watch handles longer silence: it checks again at intervals.
      this.handleState(observer.observe());
      this.alarm.set(this.deadline);
    }
  }

  private finish(decidedBy: DecidedBy, state: ProgramState | null): void {
    this.ending.end({ decidedBy, state });
  }
}
