/**
 * How a session ends: with its program, after which the result stays readable for a while; by a kill; or early, evicted
 * for newer sessions. It ends once, with one reason, after the program's last output. Also owns the reasons to retain
 * an ended session longer. The pane's lifetime handles the end of the program itself.
 */

import type { Clock } from "../base/clock.ts";
import { WshError } from "../protocol/errors.ts";
import type { EndReason } from "../protocol/session.ts";
import type { PtyExit } from "../pty/port.ts";
import type { PaneRef, SessionEmitter, SessionRegistry, SessionSettings } from "./types.ts";
import type { Viewers } from "./viewers.ts";

/** The exit of a program about which nothing is known. */
const UNKNOWN_EXIT: PtyExit = { code: null, signal: null };

interface LifetimePort {
  readonly pane: PaneRef;
  readonly clock: Clock;
  readonly viewers: Viewers;
  readonly events: SessionEmitter;
  readonly registry: SessionRegistry;
  readonly settings: SessionSettings;
  name(): string;
  /** The session has ended: everything that it owns is released. */
  onEnd(gone: WshError): void;
}

export class Lifetime {
  private graceTimer: Disposable | null = null;
  private graceMs: number;
  private pendingReaders = 0;
  private reason: EndReason | null = null;
  private killing: Promise<void> | null = null;
  private restarting: Promise<void> | null = null;

  constructor(private readonly port: LifetimePort) {
    this.graceMs = port.settings.graceMs;
    port.pane.events.on("exited", (exit) => this.handleProgramEnd(exit));
    port.pane.events.on("abandoned", () => this.extendGrace());
  }

  get isOver(): boolean {
    return this.reason !== null;
  }

  /** Whether the session was asked to end; the reason is reported at its end. */
  get isEnding(): boolean {
    return this.killing !== null;
  }

  /** Whether the program is being ended or replaced: nothing may delay it. */
  get isHangingUp(): boolean {
    return this.killing !== null || this.port.pane.lifetime.isHangingUp;
  }

  /**
   * Restarts the program in the same pane; a concurrent caller gets the same restart.
   * @param start starts another program than the previous one; not called during a restart
   * @throws WshError session_create_failed, session_name_conflict (its name was taken since it ended)
   */
  restart(start = () => this.port.pane.lifetime.restart()): Promise<void> {
    if (this.killing !== null) return Promise.reject(this.endedError());
    this.restarting ??= this.performRestart(start).finally(() => {
      this.restarting = null;
    });
    return this.restarting;
  }

  private async performRestart(start: () => Promise<void>): Promise<void> {
    if (this.port.pane.exit !== null) await this.port.registry.live();
    this.graceTimer?.[Symbol.dispose]();
    this.graceTimer = null;
    this.port.pane.lifetime.readableUntil = null;
    try {
      await start();
    } catch (error) {
      this.resumeGrace();
      throw error;
    }
    this.port.events.emit("info", undefined);
  }

  /** After a restart that started nothing: the session is ended as before. */
  private resumeGrace(): void {
    const { pane, events, registry } = this.port;
    if (pane.exit === null || this.graceTimer !== null || this.reason !== null) return;
    void registry.ended(this.port.name()).catch(() => {});
    this.startGrace();
    events.emit("info", undefined);
  }

  /** The caller that started the program has stopped waiting: once the program ends, its result is retained longer. */
  private extendGrace(): void {
    this.graceMs = Math.max(this.graceMs, this.port.settings.execGraceMs);
    if (this.graceTimer !== null) this.startGrace();
  }

  private startGrace(): void {
    this.graceTimer?.[Symbol.dispose]();
    this.port.pane.lifetime.readableUntil = this.port.clock.wall() + this.graceMs;
    this.graceTimer = this.port.clock.after(this.graceMs, () => {
      if (this.pendingReaders === 0) this.destroy("exited");
      else this.startGrace();
    });
  }

  /** Delays the session's end until a reader has finished. @returns the release function */
  delayEnd(): () => void {
    this.pendingReaders++;
    let isPending = true;
    return () => {
      if (isPending) this.pendingReaders--;
      isPending = false;
    };
  }

  /** Ends an ended session early, in favour of newer ones. @returns false while its result is being read */
  evict(): boolean {
    if (this.graceTimer === null || this.pendingReaders > 0 || this.killing !== null || this.restarting !== null)
      return false;
    this.destroy("exited");
    return true;
  }

  /** Sends SIGHUP and SIGCONT, then SIGKILL after the grace; resolves when the session has ended. */
  kill(reason: Exclude<EndReason, "exited" | "session_crashed">): Promise<void> {
    this.killing ??= this.endProgram(reason);
    return this.killing;
  }

  private async endProgram(reason: Exclude<EndReason, "exited" | "session_crashed">): Promise<void> {
    const { pane, events, registry, viewers } = this.port;
    events.emit("ending", undefined);
    pane.silence.dispose(this.endedError()); // viewers lose the session at once, even if its program ends later
    const leaving = registry.leave(this.port.name()).catch(() => {}); // tried again when the session has ended
    for (const viewer of viewers.all) viewer.end({ reason: reason === "server_stopped" ? reason : "killed" });
    await this.restarting?.catch(() => {});
    await pane.lifetime.end(reason);
    await leaving;
    this.destroy(reason);
  }

  /** The program has ended and its last output was parsed. */
  private handleProgramEnd(exit: PtyExit): void {
    const { pane, events, registry, viewers } = this.port;
    events.emit("exited", exit);
    if (this.killing !== null) return;
    void registry.ended(this.port.name()).catch(() => {});
    events.emit("info", undefined);
    for (const viewer of viewers.all) {
      viewer.end({ reason: "exited", exit_code: exit.code, signal: exit.signal });
      pane.lifetime.noteEndReported();
    }
    this.startGrace();
  }

  private endedError(): WshError {
    return new WshError("session_not_found", `session '${this.port.name()}' was ended`);
  }

  /** Ends at once a session whose program has ended or was never started. */
  destroy(reason: EndReason): void {
    if (this.reason !== null) return;
    this.reason = reason;
    this.graceTimer?.[Symbol.dispose]();
    this.port.events.emit("destroyed", { reason, exit: this.port.pane.exit ?? UNKNOWN_EXIT });
    this.port.onEnd(this.endedError());
  }
}
