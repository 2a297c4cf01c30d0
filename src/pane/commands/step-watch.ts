/**
 * Follows one step of an exec: from before its input is sent to the end of the command that it started, or to another
 * outcome. All other input is held back until the shell has accepted the line, so that nothing joins it.
 */

import type { Clock } from "../../base/clock.ts";
import { Wait } from "../../base/deadline.ts";
import type { CommandRecord } from "../../protocol/commands.ts";
import type { StateObserver } from "../state/observer.ts";
import type { TerminalText } from "../text/text.ts";
import type { CommandLog } from "./command-log.ts";

/** How long a new prompt must remain after an input that started no command before it counts as the end, in ms. */
const UNSTARTED_MS = 100;
/** How long a reading shell may take to start the command before the input is cleared, in ms. */
export const MAX_UNSTARTED_MS = 2_000;

/** Progress of a step. `unstarted`: the shell refused the text and shows a new prompt (a syntax error). */
export type StepEnd =
  | { readonly kind: "finished"; readonly record: CommandRecord }
  | { readonly kind: "started"; readonly record: CommandRecord }
  | { readonly kind: "unstarted"; readonly exitCode: number | null }
  | { readonly kind: "stuck" | "timeout" | "exited" | "cancelled" };

interface WatchPort {
  readonly text: TerminalText;
  readonly clock: Clock;
  readonly log: CommandLog;
  readonly observer: StateObserver;
}

/** Watches one step from before its input is sent; `end` may be awaited again with a later deadline. */
export class StepWatch implements Disposable {
  /** The step's command, once it has started. */
  record: CommandRecord | null = null;
  private stepEnd: StepEnd | null = null;
  private onProgress: (() => void) | null = null;
  private readonly listener: Disposable;
  private readonly timers: Disposable[] = [];
  private isDisposed = false;

  constructor(
    private readonly port: WatchPort,
    background: boolean,
    /** The shell runs the line or has discarded it: no other input can join it. */
    private readonly onAccepted: () => void,
  ) {
    const { log, clock } = port;
    const begin = port.text.offset;
    const unstarted = (): void => {
      if (this.record !== null || this.stepEnd !== null) return;
      if (!port.observer.observe().settled) {
        // The shell is busy: the input may still become a command.
        this.startTimer(UNSTARTED_MS, unstarted);
        return;
      }
      const { lastStatus } = log.shell;
      const exitCode = lastStatus !== null && lastStatus.offset > begin ? lastStatus.exitCode : null;
      this.finish({ kind: "unstarted", exitCode });
    };
    this.listener = log.on({
      started: (record) => {
        this.record ??= record;
        this.onAccepted();
        if (background) this.finish({ kind: "started", record });
      },
      finished: (record) => {
        if (record.id === this.record?.id) this.finish({ kind: "finished", record });
      },
      prompt: () => this.startTimer(UNSTARTED_MS, unstarted),
      exited: () => this.finish({ kind: "exited" }),
    });
    const began = clock.now();
    const check = (): void => {
      if (this.record !== null || this.stepEnd !== null) return;
      // The shell is at its prompt, has read everything, and started nothing: it takes the text as incomplete.
      const stuck = clock.now() - began >= MAX_UNSTARTED_MS && port.observer.observe().settled;
      if (stuck && log.phase === "prompt") this.finish({ kind: "stuck" });
      else this.startTimer(MAX_UNSTARTED_MS / 4, check);
    };
    this.startTimer(MAX_UNSTARTED_MS, check);
  }

  /** Whether the command has not started, and may still start. */
  get isOpen(): boolean {
    return this.record === null && this.stepEnd === null;
  }

  async awaitEnd(deadline: number, signal: AbortSignal | undefined): Promise<StepEnd> {
    if (this.stepEnd === null) {
      const { clock } = this.port;
      const wait = new Wait<void>({ clock, ms: deadline - clock.now(), signal }, () => {});
      this.onProgress = () => wait.end();
      await wait.promise;
      this.onProgress = null;
    }
    return this.stepEnd ?? { kind: signal?.aborted === true ? "cancelled" : "timeout" };
  }

  /** Stops waiting for the command's end, as its deadline does, once it runs. */
  stopWaiting(): void {
    if (this.record !== null) this.onProgress?.();
  }

  /** Waits until the command has started, has ended without starting, or the time is up. */
  async awaitBegin(ms: number, signal: AbortSignal | undefined): Promise<StepEnd> {
    const listener = this.port.log.on({ started: () => this.onProgress?.() });
    const end = await this.awaitEnd(this.port.clock.now() + ms, signal);
    listener[Symbol.dispose]();
    return end;
  }

  [Symbol.dispose](): void {
    this.isDisposed = true;
    this.listener[Symbol.dispose]();
    for (const timer of this.timers) timer[Symbol.dispose]();
  }

  private finish(end: StepEnd): void {
    this.stepEnd ??= end;
    this.onProgress?.();
  }

  private startTimer(ms: number, fire: () => void): void {
    if (!this.isDisposed) this.timers.push(this.port.clock.after(ms, fire));
  }
}
