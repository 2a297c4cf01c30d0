/**
 * The session events of server-level WebSockets, in an order that works for clients that identify sessions by name
 * alone (as the reference's does). A session is announced while it runs: `session_destroyed` is sent when its program
 * ends, though its record stays readable for the grace period. Nothing is sent under a name that another session may
 * have taken since. A restarted session is announced again. At any moment each name belongs to at most one announced
 * session.
 */

import type { WireEvent } from "../../protocol/control.ts";
import type { LifecycleEvent } from "../../protocol/events.ts";
import type { EndReason, SessionInfo } from "../../protocol/session.ts";
import { type Exit, lifecycleEvents } from "./lifecycle-events.ts";

export class Announcements {
  /** Sessions that clients count as running, by id, as last announced. */
  private readonly announced = new Map<string, SessionInfo>();

  constructor(private readonly emit: (event: LifecycleEvent) => void) {}

  /** Sessions that existed before the first listener: clients have listed them. */
  begin(sessions: readonly SessionInfo[]): void {
    for (const session of sessions) if (session.running) this.announced.set(session.id, session);
  }

  created(session: SessionInfo): void {
    const announced = this.announced.get(session.id);
    if (announced === undefined) this.announce(session);
    else {
      // Another process now serves the same session: changes in between were not reported.
      this.announced.set(session.id, session);
      for (const event of lifecycleEvents.layoutEvents(announced, session)) this.emit(event);
    }
    // A program may end before anything listens.
    if (!session.running) this.sessionEnded(session, { exit_code: session.exit_code, signal: session.signal });
  }

  /** Handles a session's own report. @param leaving whether it was asked to end, and will report its end */
  event(session: SessionInfo, event: WireEvent, leaving: boolean): void {
    const { id } = session;
    if (!this.announced.has(id)) {
      // Restarted, or considered ended too early.
      if (session.running && !leaving) this.announce(session);
      return;
    }
    if (event.event === "session_exited") {
      const exit = lifecycleEvents.exitOf(event);
      if (leaving) this.emit(lifecycleEvents.exited(session, exit));
      else this.sessionEnded(session, exit);
      return;
    }
    if (event.event === "session_renamed") this.supersede(session);
    const lifecycleEvent = lifecycleEvents.eventOf(session, event);
    if (lifecycleEvent === null) return;
    this.announced.set(id, session);
    this.emit(lifecycleEvent);
  }

  /** The session's process is gone. */
  destroyed(session: SessionInfo, reason: EndReason, exit: Exit): void {
    if (this.announced.delete(session.id)) this.emit(lifecycleEvents.destroyed(session, reason, exit));
  }

  private announce(session: SessionInfo): void {
    this.supersede(session);
    this.announced.set(session.id, session);
    this.emit(lifecycleEvents.created(session));
  }

  private sessionEnded(session: SessionInfo, exit: Exit): void {
    this.emit(lifecycleEvents.exited(session, exit));
    this.destroyed(session, "exited", exit);
  }

  /** A session has a name that clients attribute to another one: the other has lost it, whatever it still reports. */
  private supersede({ id, name }: SessionInfo): void {
    for (const old of [...this.announced.values()]) {
      if (old.name !== name || old.id === id) continue;
      this.destroyed(old, "killed", { exit_code: null, signal: null });
    }
  }
}
