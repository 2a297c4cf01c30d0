/**
 * Answers to a program's terminal queries, on their way to the program. An ended program reads nothing: its answers
 * would appear as text at the shell's next prompt (`cat` of a binary file leaves them by the dozen). While a command of
 * the shell runs, answers therefore wait until the program is seen reading or its output has paused. They are dropped
 * if the querying command ends first, and when a terminal that echoes would print them among the output of exec's own
 * command: a program that reads answers switches echo off. When no end will be reported they are sent at once.
 * Invariant: answers keep their order, and none waits after output stops and the program rests, nor longer than ten
 * seconds.
 */
import type { Clock } from "../base/clock.ts";
import type { PtyFlags } from "../pty/port.ts";
import type { ProgramState } from "./state/classify.ts";

/** Time between two checks, in ms: a program that asks and reads is seen reading by the second. */
const CHECK_INTERVAL_MS = 3;
/**
 * Consecutive checks without output after which an answer is sent even if the kernel shows no reader (ssh, another
 * user's program): about 40 ms. Checks are counted, not time: on a busy machine, output may wait to be read.
 */
const MAX_QUIET_CHECKS = 13;
/**
 * The same limit while the kernel shows the program at work, 0.3 s: a program that waits for a processor reads
 * late.
 */
const MAX_WORKING_CHECKS = 100;
/** Longest wait of an answer while output keeps coming, in ms. */
const MAX_WAIT_MS = 10_000;
/** Limit of pending bytes; more is not answered, as with a full input queue. */
const MAX_PENDING_BYTES = 64 * 1024;

interface AnswersPort {
  readonly clock: Clock;
  send(bytes: Uint8Array): void;
  /** Whether a command of the shell runs whose end the shell will report. */
  expectsReportedEnd(): boolean;
  /** The program's present state. Costs reads of /proc. */
  state(): Pick<ProgramState, "settled" | "doing">;
  /** Whether the terminal would print the answer within the requested output of a command. */
  wouldEcho(): boolean;
}

export class QueryAnswers implements Disposable {
  private pendingAnswers: Uint8Array[] = [];
  private pendingBytes = 0;
  private waitingSince = 0;
  private quietChecks = 0;
  /**
   * Whether the program was seen reading and has printed nothing since. A shell at its next prompt reports
   * that prompt first.
   */
  private isReading = false;
  private timer: Disposable | null = null;

  constructor(private readonly port: AnswersPort) {}

  add(answer: Uint8Array): void {
    if (!this.port.expectsReportedEnd()) {
      this.port.send(answer);
      return;
    }
    if (this.pendingBytes + answer.length > MAX_PENDING_BYTES) return;
    if (this.pendingAnswers.length === 0) this.waitingSince = this.port.clock.now();
    this.quietChecks = 0;
    this.pendingAnswers.push(answer);
    this.pendingBytes += answer.length;
    this.timer ??= this.scheduleCheck();
  }

  /** Runs per chunk. */
  noteOutput(): void {
    this.quietChecks = 0;
    this.isReading = false;
  }

  /** The command that asked has ended, or its program has been restarted. */
  drop(): void {
    this.timer?.[Symbol.dispose]();
    this.timer = null;
    this.pendingAnswers = [];
    this.pendingBytes = 0;
    this.isReading = false;
  }

  [Symbol.dispose](): void {
    this.drop();
  }

  private scheduleCheck(): Disposable {
    return this.port.clock.after(CHECK_INTERVAL_MS, () => {
      if (!this.isDue()) {
        this.timer = this.scheduleCheck();
        return;
      }
      const { pendingAnswers } = this;
      this.drop();
      if (this.port.wouldEcho()) return;
      for (const answer of pendingAnswers) this.port.send(answer);
    });
  }

  private isDue(): boolean {
    this.quietChecks++;
    if (this.port.clock.now() - this.waitingSince >= MAX_WAIT_MS) return true;
    if (this.quietChecks === 1) return false;
    const { settled, doing } = this.port.state();
    // Output printed before the program read has arrived by the next check.
    const wasReading = this.isReading;
    this.isReading = settled;
    if (this.isReading) return wasReading;
    return this.quietChecks >= (doing === "working" ? MAX_WORKING_CHECKS : MAX_QUIET_CHECKS);
  }
}

/** The terminal itself echoes input to a program that reads lines. */
export function echoesInput(flags: PtyFlags | null): boolean {
  return flags?.canonical === true && flags.echo;
}
