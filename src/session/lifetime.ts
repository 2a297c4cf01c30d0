/**
 * How a session's program ends, and the session with it: by itself, after which the result stays readable for a while; by
 * being killed; or to make room for its successor (restart). Each end is reported once, with its reason, after the last
 * output. What keeps an ended session longer, and what lets a waiting program go on, is here too.
 */

import type { Clock } from "../base/clock.ts";
import type { Activity } from "../pane/activity.ts";
import type { Program } from "../pane/pane.ts";
import { WshError } from "../protocol/errors.ts";
import type { EndReason } from "../protocol/session.ts";
import type { PtyExit } from "../pty/port.ts";
import type { SessionEmitter, SessionRegistry, SessionSettings } from "./types.ts";
import type { Viewers } from "./viewers.ts";

const UNKNOWN_EXIT: PtyExit = { code: null, signal: null };

export interface LifetimePort {
  readonly program: Program;
  readonly clock: Clock;
  readonly activity: Activity;
  readonly viewers: Viewers;
  readonly events: SessionEmitter;
  readonly registry: SessionRegistry;
  readonly settings: SessionSettings;
  name(): string;
  /** The session is over: everything that it owns is given up. */
  over(gone: WshError): void;
}

export class Lifetime {
  private graceTimer: Disposable | null = null;
  private graceMs: number;
  private told = false;
  private keepers = 0;
  private unfollowed: Disposable | null = null;
  private reason: EndReason | null = null;
  private killing: Promise<void> | null = null;
  private restarting: Promise<void> | null = null;
  /** Called instead of reporting the program's end, while another is about to take its place. */
  private replaced: (() => void) | null = null;

  constructor(private readonly port: LifetimePort) {
    this.graceMs = port.settings.graceMs;
  }

  get isOver(): boolean {
    return this.reason !== null;
  }

  /** It was asked to end; why is told when it is over. */
  get isEnding(): boolean {
    return this.killing !== null;
  }

  /** Its program is being ended, for good or for its successor: nobody may hold it up. */
  get isHangingUp(): boolean {
    return this.killing !== null || this.replaced !== null;
  }

  /**
   * Starts the program again in the same place; who asks while that is being done gets the same start.
   * @throws WshError session_create_failed, session_name_conflict (its name was taken since it ended)
   */
  restart(): Promise<void> {
    if (this.killing !== null) return Promise.reject(this.gone());
    this.restarting ??= this.startAgain().finally(() => {
      this.restarting = null;
    });
    return this.restarting;
  }

  private async startAgain(): Promise<void> {
    if (this.port.program.exit !== null) await this.port.registry.live();
    else await this.makeRoom();
    this.graceTimer?.[Symbol.dispose]();
    this.graceTimer = null;
    this.told = false;
    try {
      await this.port.program.restart();
    } catch (error) {
      this.programEnded(this.port.program.exit ?? UNKNOWN_EXIT);
      throw error;
    }
    this.port.activity.started();
    this.port.events.emit("info", undefined);
  }

  /** Ends the program for its successor: the session goes on, and nobody is told of an end. */
  private async makeRoom(): Promise<void> {
    const ended = Promise.withResolvers<void>();
    this.replaced = ended.resolve;
    await this.hangUp(ended.promise);
    this.replaced = null;
  }

  /** Whoever started the program waits for it no more: once it has ended its result is kept for longer. */
  keepLonger(): void {
    this.graceMs = Math.max(this.graceMs, this.port.settings.execGraceMs);
    if (this.graceTimer !== null) this.startGrace();
  }

  private startGrace(): void {
    this.graceTimer?.[Symbol.dispose]();
    this.graceTimer = this.port.clock.after(this.graceMs, () => {
      if (this.keepers === 0) this.destroy("exited");
      else this.startGrace();
    });
  }

  /** Somebody still reads: the session's end waits for that. @returns what ends it */
  keep(): () => void {
    this.keepers++;
    let kept = true;
    return () => {
      if (kept) this.keepers--;
      kept = false;
    };
  }

  /** Ends an ended session early, in favour of newer ones. @returns whether it did: not while its result is being read */
  giveWay(): boolean {
    if (this.graceTimer === null || this.keepers > 0 || this.killing !== null || this.restarting !== null) return false;
    this.destroy("exited");
    return true;
  }

  /** The program waits with its output until somebody follows it, at most so long. */
  awaitFollower(ms: number): void {
    const hold = this.port.program.pane.hold();
    const timer = this.port.clock.after(ms, () => this.followed());
    this.unfollowed = {
      [Symbol.dispose]: () => {
        timer[Symbol.dispose]();
        hold[Symbol.dispose]();
      },
    };
  }

  /** Whoever was waited for reads now. */
  followed(): void {
    this.unfollowed?.[Symbol.dispose]();
    this.unfollowed = null;
  }

  /** A waiter was told that the program has ended. */
  endTold(): void {
    if (this.port.program.exit === null || this.told) return;
    this.told = true;
    this.port.events.emit("endTold", undefined);
  }

  /** SIGHUP and SIGCONT, SIGKILL after the grace; resolves when the session is over. */
  kill(reason: "killed" | "server_stopped"): Promise<void> {
    this.killing ??= this.endProgram(reason);
    return this.killing;
  }

  private async endProgram(reason: "killed" | "server_stopped"): Promise<void> {
    this.port.events.emit("ending", undefined);
    this.port.activity.dispose(this.gone()); // to them it is gone, whatever its program's end will look like
    const left = this.port.registry.leave(this.port.name()).catch(() => {}); // tried again when the session is over
    for (const viewer of this.port.viewers.all) viewer.end({ reason });
    await this.restarting?.catch(() => {});
    if (this.port.program.exit === null) {
      const ended = Promise.withResolvers<void>();
      const off = this.port.events.on("exited", () => ended.resolve());
      await this.hangUp(ended.promise);
      off();
    }
    await left;
    this.destroy(reason);
  }

  /** Asks the program to end, then makes it; resolves when it has. */
  private async hangUp(ended: Promise<void>): Promise<void> {
    this.port.program.pane.letGo();
    for (const name of ["SIGHUP", "SIGCONT"] as const) this.signalAll(name);
    using _timer = this.port.clock.after(this.port.settings.killGraceMs, () => this.signalAll("SIGKILL"));
    await ended;
  }

  private signalAll(name: NodeJS.Signals): void {
    for (const to of ["foreground", "group"] as const) {
      try {
        this.port.program.pane.signal(name, to);
      } catch {
        // Ended meanwhile, or the group has nobody left.
      }
    }
  }

  /** The program has ended and its last output was parsed. */
  programEnded(exit: PtyExit): void {
    this.port.program.commands.exited(exit);
    if (this.replaced !== null) {
      this.replaced();
      return;
    }
    this.port.activity.exited();
    this.port.events.emit("exited", exit);
    if (this.killing !== null) return;
    void this.port.registry.ended(this.port.name()).catch(() => {});
    this.port.events.emit("info", undefined);
    for (const viewer of this.port.viewers.all) {
      viewer.end({ reason: "exited", exit_code: exit.code, signal: exit.signal });
      this.endTold();
    }
    this.startGrace();
  }

  private gone(): WshError {
    return new WshError("session_not_found", `session '${this.port.name()}' was ended`);
  }

  private destroy(reason: EndReason): void {
    if (this.reason !== null) return;
    this.reason = reason;
    this.graceTimer?.[Symbol.dispose]();
    this.followed();
    this.port.events.emit("destroyed", { reason, exit: this.port.program.exit ?? UNKNOWN_EXIT });
    const gone = this.gone();
    this.port.activity.dispose(gone);
    this.port.over(gone);
  }
}
