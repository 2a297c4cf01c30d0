/**
 * Sessions that end with the connection of their owner (`owner_bound`), if the owner has no process on this machine. A
 * session process sees no connection except the server's: it is notified, and ends after a grace time of its own.
 */
import { CONTEXT, type SessionProxy } from "./session-proxy.ts";

export class BoundSessions {
  /** Ids of sessions by the caller that created them. */
  private readonly sessionsByCaller = new Map<string, Set<string>>();

  constructor(private readonly sessions: () => readonly SessionProxy[]) {}

  add(caller: string, session: string): void {
    const sessions = this.sessionsByCaller.get(caller) ?? new Set();
    this.sessionsByCaller.set(caller, sessions.add(session));
  }

  /** A caller's connection has ended. */
  callerGone(caller: string): void {
    const ids = this.sessionsByCaller.get(caller);
    if (ids === undefined) return;
    this.sessionsByCaller.delete(caller);
    for (const proxy of this.sessions()) {
      if (ids.has(proxy.info.id)) proxy.connection?.request("peer.owner_gone", {}, CONTEXT).catch(() => {});
    }
  }
}
