/**
 * How the program of a pane ends, and how it is restarted. It ends on its own, on request (`end`), or for its
 * successor (`restart`); the first two kinds of end are reported once, after the last output. It also
 * releases a program that is held at its start. The owner of the pane decides how long the result of an ended
 * program stays, by the events `exited`, `endReported` and `abandoned`.
 */

import type { Clock } from "../base/clock.ts";
import type { Emitter } from "../base/emitter.ts";
import type { PtyExit } from "../pty/port.ts";
import type { Commands } from "./commands/commands.ts";
import type { Program } from "./program.ts";
import type { PaneEvents } from "./types.ts";
import type { Silence } from "./waiting/silence.ts";

/** The exit of a program that never ran. */
const UNKNOWN_EXIT: PtyExit = { code: null, signal: null };

interface LifetimePort {
  readonly program: Program;
  readonly commands: Commands;
  readonly silence: Silence;
  readonly clock: Clock;
  readonly events: Emitter<PaneEvents>;
  /** Time between SIGHUP and SIGKILL, in ms. */
  readonly killGraceMs: number;
  /** Restarts the program in the same place. @throws WshError session_create_failed */
  restartProgram(): Promise<void>;
}

export class PaneLifetime {
  /** Until when the result of the ended program stays, as wall time in ms; set by the owner. Null while it runs. */
  readableUntil: number | null = null;
  private isReported = false;
  private followerHold: Disposable | null = null;
  /** Pending requests to end the program. */
  private endRequests = 0;
  /** Called instead of reporting the program's end, when a successor is about to start. */
  private onReplaced: (() => void) | null = null;

  constructor(private readonly port: LifetimePort) {}

  /** Whether the program is being ended or replaced: nothing may delay it. */
  get isHangingUp(): boolean {
    return this.endRequests > 0;
  }

  /** Ends a running program and starts it again. @throws WshError session_create_failed */
  async restart(): Promise<void> {
    const { program, silence } = this.port;
    if (program.exit === null) await this.endForSuccessor();
    this.isReported = false;
    try {
      await this.port.restartProgram();
    } catch (error) {
      this.handleProgramEnd(program.exit ?? UNKNOWN_EXIT);
      throw error;
    }
    silence.noteStart();
  }

  /** Sends SIGHUP and SIGCONT, then SIGKILL after the grace; resolves once the program's last output was parsed. */
  async end(): Promise<void> {
    if (this.port.program.exit !== null) return;
    const ended = Promise.withResolvers<void>();
    const off = this.port.events.on("exited", () => ended.resolve());
    await this.hangUp(ended.promise);
    off();
  }

  /** Holds the program's output until a follower reads it, at most this long. */
  awaitFollower(ms: number): void {
    const hold = this.port.program.holdOutput();
    const timer = this.port.clock.after(ms, () => this.releaseFollowerHold());
    this.followerHold = {
      [Symbol.dispose]: () => {
        timer[Symbol.dispose]();
        hold[Symbol.dispose]();
      },
    };
  }

  /** The awaited follower now reads, or none is awaited any more. */
  releaseFollowerHold(): void {
    this.followerHold?.[Symbol.dispose]();
    this.followerHold = null;
  }

  /** A waiting caller has received its answer, which contains the program's end if it has ended. */
  noteEndReported(): void {
    if (this.port.program.exit === null || this.isReported) return;
    this.isReported = true;
    this.port.events.emit("endReported", undefined);
  }

  /** The caller that started the program no longer waits for it. */
  noteAbandoned(): void {
    this.port.events.emit("abandoned", undefined);
  }

  /** The program has ended and its last output was parsed. */
  handleProgramEnd(exit: PtyExit): void {
    this.port.commands.handleExit(exit, this.isHangingUp);
    if (this.onReplaced !== null) {
      this.onReplaced();
      return;
    }
    this.port.silence.noteExit();
    this.port.events.emit("exited", exit);
  }

  /** Ends the program for its successor: the pane continues, and no end is reported. */
  private async endForSuccessor(): Promise<void> {
    const ended = Promise.withResolvers<void>();
    this.onReplaced = ended.resolve;
    await this.hangUp(ended.promise);
    this.onReplaced = null;
  }

  /** Asks the program to end, then kills it; resolves with `ended`. */
  private async hangUp(ended: Promise<void>): Promise<void> {
    this.endRequests++;
    this.port.program.releaseHolds();
    for (const name of ["SIGHUP", "SIGCONT"] as const) this.signalAll(name);
    using _timer = this.port.clock.after(this.port.killGraceMs, () => this.signalAll("SIGKILL"));
    await ended;
    this.endRequests--;
  }

  private signalAll(name: NodeJS.Signals): void {
    for (const to of ["foreground", "group"] as const) {
      try {
        this.port.program.signal(name, to);
      } catch {
        // The program has ended meanwhile, or the group has no process left.
      }
    }
  }
}
